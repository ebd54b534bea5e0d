"""Compute the page of pace: how one reviewer's work on a run goes, and how the figures moved."""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING

from reviewdesk.desk.figures.label_rows import labelled
from reviewdesk.desk.review.history import PaceReader
from reviewdesk.desk.review.repeats import WorkLog
from reviewdesk.domain.labels.coverage import RunRate, of_strata
from reviewdesk.domain.labels.work import (
    HUNDRED,
    MovedFigure,
    WorkPage,
    agreements,
    reasons_to_stop,
    work_pace,
)
from reviewdesk.domain.query.filter import MIXED
from reviewdesk.domain.records import Metrics, Run
from reviewdesk.domain.stats.figures import Ranged
from reviewdesk.domain.stats.rates import wilson
from reviewdesk.store.connect import reading

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reviewdesk.desk.core import Desk
    from reviewdesk.domain.labels.rows import LabelledRow, RunFigures

_Figures = dict[str, tuple[Ranged, str]]
_LABELLED = "labelled verdicts"
_RUN = "this run"


def work_page(desk: Desk, run: Run, *, blind: bool = False) -> WorkPage:
    """Compute how the reviewer's work goes; ``blind`` leaves out what unlabelled verdicts tell."""
    from reviewdesk.store import figures

    with reading(desk.conn, desk.path):
        labels = labelled(desk, run)
        totals = figures.run_figures(desk.conn, run.key)
        log = WorkLog(desk, run)
        log.read()
        given, pairs = log.newest_labels(), log.pairs()
        timed = PaceReader().read(desk, run).timed()
    recent = set(given[-HUNDRED:])
    past = [row for row in labels if row.item not in recent]
    find = _blind_figures if blind else _open_figures
    before, after = find(past, totals), find(labels, totals)
    found = agreements(pairs)
    if blind:
        known = find(_prefix(labels, desk.queue(run, "", MIXED)), totals)
    else:
        known = {name: one for name, one in after.items() if one[1] == _RUN}
    accuracy = known.get("accuracy")
    return WorkPage(
        labels=len(given),
        pace=work_pace(timed),
        agreement=found,
        moved=tuple(
            MovedFigure(name, before.get(name, (Ranged(None), ""))[0], ranged, basis)
            for name, (ranged, basis) in after.items()
        ),
        stop=reasons_to_stop(timed, found, accuracy[0] if accuracy else None),
    )


def _prefix(labelled: Sequence[LabelledRow], order: Sequence[int]) -> list[LabelledRow]:
    """Return the labelled verdicts before the first unlabelled one in an order.

    In the blind order, which depends on no answer, they are a simple random sample of the run.
    """
    by_key = {row.key: row for row in labelled if row.place.seen}
    return [by_key[key] for key in takewhile(by_key.__contains__, order)]


def _blind_figures(labelled: Sequence[LabelledRow], _totals: RunFigures) -> _Figures:
    from reviewdesk.domain.labels.summary import alone

    return _of_labelled(alone(labelled, {}).metrics)


def _open_figures(labelled: Sequence[LabelledRow], totals: RunFigures) -> _Figures:
    """Return the figures of the run if the labels stand for it, else those of the labels."""
    from reviewdesk.domain.labels.summary import both_lines, described
    from reviewdesk.domain.labels.weighed_rows import make_rows

    made = make_rows(labelled, totals)
    calibration, lacking = both_lines(made), described(made)
    if not calibration.design.stands:
        return _of_labelled(calibration.labelled)
    rates = {"accuracy": made.right_parts, "pass rate by strata": made.pass_parts}
    found: _Figures = {
        name: (_ranged(of_strata(parts, lacking)), _RUN) for name, parts in rates.items()
    }
    return {**found, "ECE": (Ranged(calibration.headline.ece), _RUN)}


def _of_labelled(line: Metrics) -> _Figures:
    """Return accuracy with Wilson's interval, and ECE, which has no interval worth showing."""
    if not line.n or line.tp is None or line.tn is None:
        return {}
    ends = wilson(line.tp + line.tn, line.n)
    return {
        "accuracy": (Ranged(line.accuracy, *ends), _LABELLED),
        "ECE": (Ranged(line.ece), _LABELLED),
    }


def _ranged(rate: RunRate) -> Ranged:
    return Ranged(rate.estimate, rate.low, rate.high, rate.reason or "")
