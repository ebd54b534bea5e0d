"""Intervals of the panel's figures through the draw, for the run or for such items."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from msgspec.structs import replace

from reviewdesk.domain.labels.summary import as_wrong_and_right
from reviewdesk.domain.labels.weighed_rows import LabelledRows
from reviewdesk.domain.stats.calibration import counters_of
from reviewdesk.domain.stats.correction import RIGHT, WRONG
from reviewdesk.domain.stats.figures import (
    ALONE,
    ConfidenceSums,
    Effect,
    Interval,
    PanelIntervals,
    Part,
    Target,
)
from reviewdesk.domain.stats.intervals import (
    brier_interval,
    gap_interval,
    kappa_interval,
    loss_strata,
)
from reviewdesk.domain.stats.stratified import Voted, right_part, stratified_rates


def panel_intervals(
    made: LabelledRows,
    target: Target = Target.RUN,
    sums: Mapping[int, ConfidenceSums] | None = None,
) -> PanelIntervals:
    """Compute the panel's intervals through the draw.

    Those for such items, which gates use, cover what the items without an answer could have been.
    ``sums`` holds the confidences of all verdicts by stratum. Without it, Brier and gap also carry
    the doubt about the confidences of the verdicts without a label; so do those of such items,
    which are the same for a run, a file of its labels and a new report.
    """
    found = _of_answers(made, target, sums)
    if target is Target.RUN:
        return found
    ends = [_of_answers(one, target, sums) for one in as_wrong_and_right(made)]
    return replace(
        found,
        accuracy=_widest(found.accuracy, [one.accuracy for one in ends]),
        sensitivity=_widest(found.sensitivity, [one.sensitivity for one in ends]),
        specificity=_widest(found.specificity, [one.specificity for one in ends]),
        brier=_widest(found.brier, [one.brier for one in ends]),
        gap=_widest(found.gap, [one.gap for one in ends]),
        kappa=_widest(found.kappa, [one.kappa for one in ends]),
    )


def _widest(found: Any, others: Sequence[Any]) -> Any:
    """Return an interval with the outermost ends of the others, or with its own without any."""
    known = [one for one in others if one is not None]
    if found is None or not known:
        return found
    return replace(found, low=min(one.low for one in known), high=max(one.high for one in known))


def _of_answers(
    made: LabelledRows, target: Target, sums: Mapping[int, ConfidenceSums] | None
) -> PanelIntervals:
    """Compute the intervals by the labels that say pass or fail alone."""
    found = stratified_rates(made.voted, target, made.clusters)
    effect = ALONE if made.clusters is None else made.clusters.effect(RIGHT, WRONG, target)
    brier, gap = _losses(made, target, effect, sums)
    counted = round(sum(one.labels for one in made.voted))
    return PanelIntervals(
        target=target,
        counted=counted,
        tests=counted if made.clusters is None else made.clusters.tests,
        accuracy=found.accuracy,
        sensitivity=found.sensitivity,
        specificity=found.specificity,
        brier=brier,
        gap=gap,
        kappa=_kappa(made, target, effect),
    )


def _losses(
    made: LabelledRows,
    target: Target,
    effect: Effect,
    sums: Mapping[int, ConfidenceSums] | None,
) -> tuple[Interval | None, Interval | None]:
    """Return the intervals of Brier and gap over the decided verdicts that have a confidence."""
    rows = made.rows.weighted(made.weights)
    if not len(rows.weight):
        return None, None
    stratum = np.array(
        [
            verdict.place.stratum
            for verdict, weight in zip(made.verdicts, made.weights, strict=True)
            if weight > 0
        ]
    )
    parts = {}
    for one in made.voted:
        mine = stratum == one.stratum
        known = one.size if sums is None else sums[one.stratum].n if one.stratum in sums else 0
        if known:
            weight = rows.weight[mine]
            right = float(np.average(rows.correct[mine], weights=weight)) if len(weight) else 0.0
            part = right_part(one, effect.deff)
            share = known / one.size
            rated = len(weight) / one.counted.n if one.counted.n else 0.0
            labelled = min(part.labelled * rated, part.size * share)
            hits = min(right, 1.0) * labelled
            parts[one.stratum] = Part(part.size * share, labelled, hits, part.share * share)
    strata = loss_strata(rows, stratum.tolist(), parts, sums)
    counters = counters_of(rows)
    # The labels' own confidences may differ from those of all verdicts.
    return (
        _holding(brier_interval(strata, target, effect.z), counters.brier),
        _holding(gap_interval(strata, target, effect.z), counters.gap),
    )


def _holding(found: Interval, value: float | None) -> Interval:
    """Return an interval, widened to hold the estimate that is printed beside it."""
    return found if value is None else Interval(min(found.low, value), max(found.high, value))


def _kappa(made: LabelledRows, target: Target, effect: Effect) -> Interval | None:
    """Return the interval of kappa; ``None`` without a label, or if chance would agree on all."""
    value = counters_of(made.rows.weighted(made.weights)).cells.kappa
    if value is None:
        return None
    found = [one for voted in made.voted for one in _by_decision(voted, effect.deff)]
    ends = kappa_interval([part for part, _ in found], [one for _, one in found], target, effect.z)
    return _holding(ends, value)


def _by_decision(found: Voted, deff: float) -> list[tuple[Part, bool]]:
    """Return the labels of a stratum's passes and of its fails, each with the decision."""
    whole = right_part(found, deff)
    cells = found.counted
    each = whole.labelled / cells.n if cells.n else 0.0
    made = []
    for passed, count, right, wrong in (
        (True, found.passes, cells.tp, cells.fp),
        (False, found.fails, cells.tn, cells.fn),
    ):
        share = count / found.size
        labelled = (right + wrong) * each
        if count:
            size = max(whole.size * share, labelled)
            made.append((Part(size, labelled, right * each, whole.share * share), passed))
    return made
