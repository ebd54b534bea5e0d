"""Compute everything on the calibration page: how well a run's judge matches its labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from enum import Flag, auto
from typing import TYPE_CHECKING

from msgspec.structs import replace

from reviewdesk.desk.figures.ballots import juror_counts
from reviewdesk.desk.figures.blockers import blockers
from reviewdesk.desk.figures.label_rows import labelled
from reviewdesk.desk.review.filters import tag_counts
from reviewdesk.desk.review.history import PaceReader
from reviewdesk.domain.gates.limits import default_checks
from reviewdesk.domain.labels.coverage import more, of_strata
from reviewdesk.domain.labels.strata import audit, strata
from reviewdesk.domain.records import Run
from reviewdesk.domain.stats.calibration_page import CalibrationPage, TruthCounts
from reviewdesk.domain.stats.figures import Target
from reviewdesk.store.connect import reading

if TYPE_CHECKING:
    from reviewdesk.desk.core import Desk
    from reviewdesk.domain.labels.rows import LabelledRow
    from reviewdesk.domain.labels.weighed_rows import LabelledRows
    from reviewdesk.domain.stats.figures import ConfidenceSums


class FitScope(Flag):
    """The sets of rows that are measured in full; a blind session shows ``ALONE`` only."""

    NONE = 0
    HEADLINE = auto()
    ALONE = auto()
    BOTH = HEADLINE | ALONE


def calibration_page(
    desk: Desk,
    run: Run,
    source: str | None = None,
    *,
    jurors: bool = True,
    fits: FitScope = FitScope.BOTH,
) -> CalibrationPage:
    """Compute a run's calibration page; ``jurors`` reads ballots, ``fits`` selects intervals."""
    from reviewdesk.domain.labels import summary
    from reviewdesk.domain.labels.rows import chosen_source
    from reviewdesk.domain.labels.weighed_rows import make_rows
    from reviewdesk.store import figures

    with reading(desk.conn, desk.path):
        labels = labelled(desk, run)
        totals = figures.run_figures(desk.conn, run.key)
        given = figures.blind_by_item(desk.conn)
        counted = juror_counts(desk, run) if jurors else None
        tags = tuple(tag_counts(desk, run))
        speed = PaceReader().pace(desk, run)
        sums = (
            figures.confidence_sums(
                desk.conn,
                run.key,
                chosen_source(totals, source),
                scores_stated=totals.scores_stated,
            )
            if FitScope.HEADLINE in fits
            else {}
        )
    made = make_rows(labels, totals, source)
    found = summary.both_lines(made)
    reached = strata(
        [verdict.place for verdict in labels], totals.sizes, totals.audits, totals.decided
    )
    lacking = summary.described(made)
    page = CalibrationPage(
        calibration=found,
        split=summary.split(made, given),
        alone=summary.alone(labels, given, source, fits=FitScope.ALONE in fits),
        gates=default_checks(found.headline),
        strata=reached,
        audit=audit(reached, summary.audited(made)),
        counts=_counts(run, labels, totals.passed + totals.failed),
        honest=of_strata(made.pass_parts, lacking),
        accuracy=of_strata(made.right_parts, lacking),
        more=more(made.pass_parts, found.headline),
        bins=summary.bin_counts(made),
        jurors=counted,
        tags=tags,
        pace=speed,
        blockers=blockers(desk, run, found.gaps),
        undone=run.contents - sum(one.labelled for one in reached),
    )
    return _with_fit(page, made, sums) if FitScope.HEADLINE in fits else page


def _with_fit(
    page: CalibrationPage, made: LabelledRows, sums: Mapping[int, ConfidenceSums]
) -> CalibrationPage:
    """Return the page with the intervals and the simulated figures of the headline's rows."""
    from reviewdesk.domain.stats.fit import fit
    from reviewdesk.domain.stats.panel_intervals import panel_intervals

    fitted = fit(made.headline)
    run = panel_intervals(made, Target.RUN, sums)
    # Of such items as gates see them, which may have a report or a file without all confidences.
    such = panel_intervals(made, Target.ITEMS)
    gates = default_checks(page.calibration.headline, fitted.null)
    return replace(page, gates=gates, fit=fitted, intervals=run, such=such)


def _counts(run: Run, labelled: list[LabelledRow], decided: int) -> TruthCounts:
    cells = Counter(
        (verdict.decision, verdict.place.truth)
        for verdict in labelled
        if verdict.decided and verdict.decision is not None
    )
    return TruthCounts(run.whole, len(labelled), dict(cells), run.whole - decided)
