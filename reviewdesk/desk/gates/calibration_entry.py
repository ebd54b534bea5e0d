"""Check the ``calibration:`` entries of a suite against a labels file or a run's labels."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import astuple, replace

from reviewdesk.desk.core import Desk
from reviewdesk.desk.figures.calibration import frame, labelled_rows, subjects
from reviewdesk.desk.figures.labels_file import file_page, file_rows
from reviewdesk.desk.figures.question import answer
from reviewdesk.desk.files import named
from reviewdesk.desk.gates.new_report import JoinedReport, NewReport, OpenDesk, joined_report
from reviewdesk.domain.gates.expect import (
    ASKED,
    COMPOSITE,
    COMPOSITE_OF,
    OF_A_RUN,
    RANGED,
    SPLIT,
    EntryKind,
    EntryResult,
    Expectation,
    Finding,
    GateQuestion,
    GateStatus,
    TargetValue,
    calibration_readings,
    hold,
)
from reviewdesk.domain.gates.such_items import of_counts, pass_rate, such_items
from reviewdesk.domain.labels.label_columns import LabelledRows
from reviewdesk.domain.labels.question import LEVEL
from reviewdesk.domain.labels.segments import composite_low, worst_low
from reviewdesk.domain.labels.summary import panel_intervals
from reviewdesk.domain.records import Calibration, Design, Metrics, Run
from reviewdesk.domain.safetext import show_line
from reviewdesk.domain.stats.calibration import Rows, measure, scaled_confusion
from reviewdesk.domain.stats.calibration_page import of_trusted
from reviewdesk.domain.stats.correction import Corrected, CorrectionStatus
from reviewdesk.domain.stats.figures import Estimate, Fit, PanelIntervals, Target, widest
from reviewdesk.domain.stats.reliability import fit
from reviewdesk.domain.verdict import SLACK
from reviewdesk.errors import ReviewDeskError, SuiteError, UsageError
from reviewdesk.reports.bytes.source import Source
from reviewdesk.reports.suites.suite import CalibrationGate, default_expectations
from reviewdesk.store.connect import reading
from reviewdesk.views.queue import said
from reviewdesk.views.words import DESIGNS

OTHER_SET = "reliability of another set"
NO_SET = "neither reliability nor the rows say what the judge decided and deserved to decide"
ALONE = "no report was read: --report FILE checks a panel by them"
BOTH = "Write the two together: reviewdesk labels export --format suite -o FOLDER."
UNEVEN = "the rows have weights and were not drawn from a run: give reliability"
HALF = 0.5
"""The most that a reliability block may differ from its rows, whose weights may be rounded."""


class _Labels(Struct, frozen=True):
    """The labels that an entry names, with the figures measured on them.

    ``intervals`` and ``own``, the pass rate, are ``None`` without a draw. The judge passed
    ``passed`` of the run's ``decided`` verdicts, if known.
    """

    calibration: Calibration
    fit: Fit
    rows: Rows
    intervals: PanelIntervals | None
    representative: bool
    own: Estimate | None
    rate: Corrected | None
    expect: tuple[Expectation, ...]
    passed: float = 0
    decided: float | None = None
    joined: JoinedReport | None = None
    of_run: Mapping[str, TargetValue] = {}
    """Those expected targets that only a run has."""
    question: GateQuestion | None = None
    independent: bool = True
    """Whether it is known which rows share a label."""
    others: tuple[Rows, ...] = ()
    """Without a draw, the rows as they are if every item without an answer is wrong, or right."""

    @property
    def line(self) -> Metrics:
        return self.calibration.headline


def entry_result(
    suite: str,
    gate: CalibrationGate,
    folder: Path,
    open_desk: OpenDesk,
    report: NewReport | None = None,
) -> EntryResult:
    """Check a ``calibration:`` entry, by a new ``report`` if given; its ``error`` says why not."""
    result = EntryResult(gate.name, EntryKind.CALIBRATION, gate.source)
    found = None
    other = False
    honest = Estimate(None)
    try:
        if report is not None:
            # The counts and rates belong to the panel that was labelled.
            gate = gate.model_copy(update={"counts": None, "observed": None, "observed_n": None})
            join = joined_report(suite, gate, folder, open_desk, report)
            found = replace(_of_rows(gate, join.made, join.passed, join.decided), joined=join)
        else:
            found = _of_file(gate, folder) if gate.run is None else _of_run(gate, open_desk)
            other = _is_other_set(suite, gate, found)
    except SuiteError as error:
        result.error = str(error)
    except ReviewDeskError as error:
        what = f"{'labels' if gate.run is None else 'run'}: {error.message}"
        result.error = str(SuiteError(suite, gate.source_line, what, error.hint))
    else:
        own = such_items(found.rows, found.line, found.fit, found.intervals)
        others = [such_items(one, measure(one, None), fit(one), None) for one in found.others]
        ranged = {name: widest(one, [each[name] for each in others]) for name, one in own.items()}
        if found.rows.passed is None and gate.reliability is not None:
            # Then the figures of the confusion come from the suite's block.
            ranged |= of_counts(*astuple(gate.reliability))
        ranged["honest_rate"] = honest = _pass_rate(gate, found, other=other)
        values = calibration_readings(
            found.line, found.fit, found.rate, ranged, by_default=gate.by_default
        )
        values |= found.of_run
        result.add(hold(one, values.get(one.target, OF_A_RUN)) for one in found.expect)
        result.notes = _notes(gate, found, honest, other=other)
        if found.joined:
            result.add(found.joined.changes)
    result.question = _question(gate, found)
    if found is not None:
        result.design = found.calibration.design
        result.representative = found.representative
        result.doubts = _doubts(gate, found, result.findings, other=other)
    if found is not None and found.joined:
        nothing = ("no check could be made",) if result.status is GateStatus.SKIP else ()
        result.short = (*found.joined.short, *nothing)
        result.join = found.joined.counts
    return result


def _of_file(gate: CalibrationGate, folder: Path) -> _Labels:
    frame = None if gate.frame is None else folder / named(gate.frame)
    file = file_rows(Source.from_path(folder / named(gate.labels or "")), frame)
    page = file_page(file)
    drawn = file.run
    return _Labels(
        page.calibration,
        page.fit,
        file.rows,
        None if drawn is None else panel_intervals(drawn, Target.ITEMS),
        page.representative,
        None if drawn is None else pass_rate(drawn),
        gate.rate,
        gate.expect,
        *_observed_counts(gate),
        independent=file.independent,
        others=() if page.representative else file.others,
    )


def _of_run(gate: CalibrationGate, open_desk: OpenDesk) -> _Labels:
    desk = open_desk()
    run = desk.run(gate.run)
    with reading(desk.conn):
        made = labelled_rows(desk, run)
    totals = made.figures
    passed, decided = _observed_counts(gate)
    if not decided:
        passed = totals.passed
        decided = totals.passed + totals.failed
    found = _of_rows(gate, made, passed, decided)
    asked = answer(desk, run)
    if asked is not None:
        look = asked.look
        of = asked.question
        note = of.text, of.at, asked.known, asked.reply, look.low, look.high, of.level
        found = replace(found, question=GateQuestion(*note))
    return replace(found, of_run=_run_targets(desk, run, made, found, gate))


def _run_targets(
    desk: Desk, run: Run, made: LabelledRows, found: _Labels, gate: CalibrationGate
) -> dict[str, TargetValue]:
    values = {}
    for target in {one.target for one in found.expect}:
        if target.startswith(SPLIT):
            by = target.removeprefix(SPLIT)
            low, note = worst_low(made, frame(desk, run, by), by)
            values[target] = TargetValue(low, note=note, skip=note if low is None else "")
        elif target == COMPOSITE or target.startswith(COMPOSITE_OF):
            weighed = subjects(desk, run, made, gate.composite or {}, Target.ITEMS)
            name = target.removeprefix(COMPOSITE_OF) if target != COMPOSITE else None
            low, note = composite_low(weighed, name)
            if low is None:
                raise UsageError(note, "Judge it on every dimension, or weigh others.")
            values[target] = TargetValue(low, note=note)
        elif target in ASKED:
            asked = found.question
            end = target == ASKED[0]
            if asked is not None and asked.level < LEVEL - SLACK:
                note = f"the run was asked at a level of {asked.level:.3g}: gates need {LEVEL:g}"
                values[target] = TargetValue(-1.0 if end else 1.0, note=note)
            elif asked is None or (gate.question is not None and gate.question.text != asked.text):
                which = "a question"
                if gate.question is not None:
                    which = f'"{show_line(gate.question.text, 120)}"'
                note = f"the run was not asked {which} last: reviewdesk ask"
                # A figure that was not asked about is only known to be from -1 to 1.
                values[target] = TargetValue(-1.0 if end else 1.0, note=note)
            else:
                values[target] = TargetValue(asked.low if end else asked.high)
    return values


def _of_rows(gate: CalibrationGate, made: LabelledRows, passed: float, decided: float) -> _Labels:
    """Measure labels of a run; ``reliability`` and rate of a suite replace those of the run."""
    found = made.lines
    line = found.headline
    observed = line.observed_positive_rate if gate.observed is None else gate.observed
    rate = None
    if gate.reliability is not None:
        rate = gate.reliability.correct(observed) if observed is not None else None
    elif line.n and line.corrected_status is not None:
        # By the confusion of the run's own labels.
        found_rate = (line.corrected_rate, line.corrected_rate_low, line.corrected_rate_high)
        value, low, high = (one or 0.0 for one in found_rate)
        rate = Corrected(value, low, high, CorrectionStatus(line.corrected_status))
    return _Labels(
        found,
        fit(made.headline),
        made.headline,
        panel_intervals(made, Target.ITEMS) if found.design.stands else None,
        found.design.stands,
        pass_rate(made),
        rate,
        default_expectations(observed if rate else None) if gate.by_default else gate.expect,
        passed,
        decided,
        others=() if found.design.stands else tuple(one.rows for one in made.either_answer()),
    )


def _observed_counts(gate: CalibrationGate) -> tuple[float, float | None]:
    return (gate.observed or 0.0) * (gate.observed_n or 0.0), gate.observed_n


def _is_other_set(suite: str, gate: CalibrationGate, found: _Labels) -> bool:
    """Return True if the entry's ``reliability`` block comes from another set than its labels.

    One with the total of the labels must agree with them; else raise SuiteError.
    """
    block = gate.reliability
    line = found.line
    if block is None:
        return False
    if abs(block.n - line.n) >= HALF:
        return True
    stated = block.tp + block.tn
    right = (line.accuracy or 0.0) * line.n
    labels = f"the {line.n} labels of {show_line(gate.source, 120)}"
    if abs(stated - right) > HALF + SLACK:
        problem = f"reliability: tp + tn is {stated:.6g}, but {right:.6g} of {labels} are correct"
        raise SuiteError(suite, gate.line_of("reliability"), problem, BOTH)
    own = scaled_confusion(found.rows)
    if own and any(
        abs(a - b) > HALF + SLACK for a, b in zip(astuple(block), astuple(own), strict=True)
    ):
        theirs, ours = (", ".join(f"{n:.6g}" for n in astuple(one)) for one in (block, own))
        problem = f"reliability: tp, fn, tn, fp are {theirs}, but {labels} give {ours}"
        raise SuiteError(suite, gate.line_of("reliability"), problem, BOTH)
    return False


def _pass_rate(gate: CalibrationGate, found: _Labels, *, other: bool) -> Estimate:
    if not other and found.own is not None:
        return found.own
    if not found.decided:
        return Estimate(None, reason="the judge decided nothing, or how much is not known")
    cells = gate.reliability or scaled_confusion(found.rows)
    if cells is None:
        return Estimate(None, reason=NO_SET)
    if gate.reliability is None and (found.line.ess or 0.0) < found.line.n - SLACK * found.line.n:
        return Estimate(None, reason=UNEVEN)
    return of_trusted(found.passed, found.decided, *astuple(cells))


def _doubts(
    gate: CalibrationGate, found: _Labels, findings: Sequence[Finding], *, other: bool
) -> tuple[str, ...]:
    """Return the reasons why a passing entry is not yet evidence about the judge.

    If the suite limits a figure that has an interval, the whole interval must be within the limit.
    """
    unknown = [
        f"{one.expected.target}: {one.reading.skip}"
        for one in findings
        if one.expected.target in found.of_run and one.status is GateStatus.SKIP
    ]
    unproven = [
        f"{one.expected.target} is {one.reading.low:.4g} to {one.reading.high:.4g}, "
        f"which reaches past {one.limit:.6g}"
        for one in findings
        if one.expected.target in RANGED and one.status is GateStatus.PASS and one.reaches_past
    ]
    return (
        *(() if found.representative else (DESIGNS[found.calibration.design],)),
        *(found.joined.doubts if found.joined else ()),
        *(() if found.independent else ("independence unknown",)),
        *((OTHER_SET,) if other else ()),
        *unknown,
        *(() if gate.by_default else unproven),
    )


def _question(gate: CalibrationGate, found: _Labels | None) -> GateQuestion | None:
    if gate.run is None and gate.question is not None:
        return GateQuestion(**gate.question.model_dump())
    return found.question if found else None


def _notes(
    gate: CalibrationGate, found: _Labels, honest: Estimate, *, other: bool
) -> tuple[str, ...]:
    asked = _question(gate, found)
    design = () if found.calibration.design is Design.FILE else (DESIGNS[found.calibration.design],)
    rate: tuple[str, ...] = ()
    if found.decided and honest.estimate is not None:
        by = "lang-reiczigel" if other or found.own is None else "group"
        ends = f"{honest.low:.3f} to {honest.high:.3f} for new items, by {by}"
        rate = (f"true pass rate {honest.estimate:.3f}, {ends}",)
    related = found.intervals is not None and found.intervals.tests < found.intervals.counted
    tests = f" on {found.intervals.tests} tests" if found.intervals and related else ""
    return (
        *(found.joined.notes if found.joined else ()),
        f"{found.line.n} labels{tests}",
        *design,
        *((OTHER_SET,) if other else ()),
        *rate,
        *((said(asked),) if asked else ()),
        *(() if found.joined or gate.run else (ALONE,)),
        *found.calibration.warnings,
    )
