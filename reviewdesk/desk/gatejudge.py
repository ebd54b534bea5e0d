"""The ``calibration:`` entries of a suite: a labels file, or the labels of a loaded run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from reviewdesk.desk.files import named
from reviewdesk.domain.correction import Corrected, Status
from reviewdesk.domain.expect import EntryResult, Expectation, Kind, Tally, hold
from reviewdesk.domain.gates import Outcome
from reviewdesk.domain.honest import Honest, Method, of_strata, of_trusted
from reviewdesk.domain.judgegate import Judge, Target
from reviewdesk.domain.records import Calibration, Design, Metrics
from reviewdesk.errors import ReviewDeskError, SuiteError

if TYPE_CHECKING:
    from reviewdesk.desk.gatejury import OpenDesk
    from reviewdesk.reports.suite import JudgeGate


@dataclass(frozen=True, slots=True)
class _Found:
    """What an entry is held to, and what to know of its labels."""

    judge: Judge
    calibration: Calibration
    expect: tuple[Expectation, ...]
    representative: bool
    honest: Honest | None = None


def judged(suite: str, gate: JudgeGate, folder: Path, open_desk: OpenDesk) -> EntryResult:
    """What became of a ``calibration:`` entry."""
    tally, problem, found = Tally(), "", None
    try:
        found = _of_run(gate, open_desk) if gate.run is not None else _of_file(gate, folder)
    except ReviewDeskError as error:
        what = f"{'labels' if gate.run is None else 'run'}: {error.message}"
        problem = str(SuiteError(suite, gate.source_line, what, error.hint))
    else:
        tally.add(hold(one, found.judge.read(Target(one.target))) for one in found.expect)
    return EntryResult(
        name=gate.name,
        kind=Kind.CALIBRATION,
        source=gate.source,
        case=None,
        status=Outcome.FAIL if problem else tally.status,
        counts=tally.counts,
        units=tally.units,
        origins=tally.origins,
        findings=tuple(tally.findings),
        notes=_notes(found) if found else (),
        error=problem,
        design=found.calibration.design if found else None,
        representative=found.representative if found else None,
    )


def _of_file(gate: JudgeGate, folder: Path) -> _Found:
    from reviewdesk.desk.labelled import calibrate_file
    from reviewdesk.reports.source import Source

    page = calibrate_file(Source.from_path(folder / named(gate.labels or "")))
    judge = Judge(page.calibration.headline, page.fit, gate.rate, by_default=gate.by_default)
    return _Found(judge, page.calibration, gate.expect, page.representative)


def _of_run(gate: JudgeGate, open_desk: OpenDesk) -> _Found:
    """The figures of the design that the labels of a run carry.

    A confusion that the suite gives is that of a trusted set from elsewhere; the observed rate is
    the run's own unless the suite gives one.
    """
    from reviewdesk.domain import summary
    from reviewdesk.reports.suite import default_expectations
    from reviewdesk.store import figures
    from reviewdesk.store.connect import reading

    desk = open_desk()
    run = desk.run(gate.run)
    with reading(desk.conn, desk.path):
        labelled = figures.labelled(desk.conn, run.key)
        totals = figures.run_figures(desk.conn, run.key)
    made = summary.make_rows(labelled, totals)
    found = summary.both_lines(made, labelled, totals)
    line = found.headline
    observed = line.observed_positive_rate if gate.observed is None else gate.observed
    if (matrix := gate.reliability) is None:
        rate = _own_rate(line)
        honest = of_strata(summary.pass_parts(labelled, totals), summary.described(made, totals))
    else:
        rate = matrix.correct(observed) if observed is not None else None
        honest = of_trusted(
            *(totals.passed, totals.passed + totals.failed),
            *(matrix.tp, matrix.fn, matrix.tn, matrix.fp),
        )
    return _Found(
        Judge(line, summary.headline_fit(made, found), rate, by_default=gate.by_default),
        found,
        default_expectations(observed if rate else None) if gate.by_default else gate.expect,
        found.design in {Design.WEIGHTED, Design.CENSUS},
        honest,
    )


def _own_rate(line: Metrics) -> Corrected | None:
    """The correction by the confusion of the run's own labels."""
    rate, low, high = line.corrected_rate, line.corrected_rate_low, line.corrected_rate_high
    if not line.n or rate is None or low is None or high is None or line.corrected_status is None:
        return None
    return Corrected(rate, low, high, Status(line.corrected_status))


def _notes(found: _Found) -> tuple[str, ...]:
    design = () if found.calibration.design is Design.FILE else (found.calibration.design.value,)
    return (
        f"{found.calibration.headline.n} labels",
        *design,
        *(() if found.honest is None else _said(found.honest)),
        *found.calibration.warnings,
    )


def _said(found: Honest) -> tuple[str, ...]:
    if found.method is Method.NONE or found.estimate is None:
        return ()
    by = found.method.replace("_", "-")
    return (f"true pass rate {found.estimate:.3f}, {found.low:.3f} to {found.high:.3f} by {by}",)
