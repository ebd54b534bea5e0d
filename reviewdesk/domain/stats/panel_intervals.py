"""Intervals of the panel's figures through the draw, for the run or for such items."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from reviewdesk.domain.labels.non_response import as_wrong_and_right
from reviewdesk.domain.labels.weighed_rows import LabelledRows
from reviewdesk.domain.stats.calibration import Bools, Floats, Rows
from reviewdesk.domain.stats.figures import Interval, PanelIntervals, Target
from reviewdesk.domain.stats.fit import CHUNK, RESAMPLES, SEED, TAIL
from reviewdesk.domain.stats.stratified import stratified_rates

Figure: TypeAlias = Callable[[Rows, Floats], Floats]
"""Computes a figure of n rows under each of b sets of weights ``[b, n]``; returns ``[b]``."""
_MIN_REDRAWS = 200
_MAX_ROWS_DRAWN = 10_000_000
"""The most rows drawn in all; very many labels get fewer redraws, but ``_MIN_REDRAWS`` or more."""


def panel_intervals(made: LabelledRows, target: Target = Target.RUN) -> PanelIntervals:
    """Compute the panel's intervals through the draw.

    Those for such items, which gates use, cover what the items without an answer could have been.
    """
    found = _of_answers(made, target)
    if target is Target.RUN:
        return found
    ends = [_of_answers(one, target) for one in as_wrong_and_right(made)]
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


def _of_answers(made: LabelledRows, target: Target) -> PanelIntervals:
    """Compute the intervals by the labels that say pass or fail alone."""
    of, found = (_brier, _gap, _kappa), stratified_rates(made.voted, target, clusters=made.clusters)
    drawn = made.weighing.design.stands
    brier, gap, kappa = _bootstrap(made, target, of) if drawn else [None] * len(of)
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
        kappa=kappa,
    )


def _bootstrap(made: LabelledRows, target: Target, of: Sequence[Figure]) -> list[Interval | None]:
    """Return the 2.5% and 97.5% points of some figures over redraws of the rows that count.

    It is the rescaled bootstrap within strata, seeded: m rows are drawn from each stratum's m, and
    a row drawn r times weighs ``w(1 - c + cr)``, with ``c = √((1 - m/N)m/(m-1))`` for the run and
    ``√(m/(m-1))`` for such items. A stratum of one row is not redrawn. A figure is ``None`` under
    two rows, and if no redraw defines it. Source: Rao and Wu 1988.
    """
    weight = np.asarray(made.weights, dtype=np.float64)
    stratum = np.asarray([verdict.place.stratum for verdict in made.verdicts])[weight > 0]
    rows, n = made.rows.weighted(weight), int((weight > 0).sum())
    if n < 2:
        return [None] * len(of)
    redraws = min(RESAMPLES, max(_MIN_REDRAWS, _MAX_ROWS_DRAWN // n))
    rng, step = np.random.default_rng(SEED), max(1, CHUNK // n)
    found = []
    for start in range(0, redraws, step):
        weights = np.tile(rows.weight, (min(step, redraws - start), 1))
        for h in np.unique(stratum).tolist():
            places = np.flatnonzero(stratum == h)
            m = len(places)
            left = 1 - m / made.figures.sizes[h] if target is Target.RUN else 1.0
            if m < 2 or left <= 0:
                continue
            c = (left * m / (m - 1)) ** 0.5
            times = rng.multinomial(m, np.full(m, 1 / m), size=len(weights))
            weights[:, places] *= 1 - c + c * times
        with np.errstate(invalid="ignore", divide="ignore"):
            found.append([figure(rows, weights) for figure in of])
    return [_percentile_interval(np.concatenate(values)) for values in zip(*found, strict=True)]


def _percentile_interval(found: Floats) -> Interval | None:
    defined = found[np.isfinite(found)]
    if not len(defined):
        return None
    low, high = np.quantile(defined, [TAIL, 1 - TAIL])
    return Interval(float(low), float(high))


def _mean(values: Floats | Bools, weights: Floats) -> Floats:
    found: Floats = weights @ values / weights.sum(axis=1)
    return found


def _brier(rows: Rows, weights: Floats) -> Floats:
    return _mean((rows.confidence - rows.correct) ** 2, weights)


def _gap(rows: Rows, weights: Floats) -> Floats:
    return _mean(rows.confidence - rows.correct, weights)


def _kappa(rows: Rows, weights: Floats) -> Floats:
    """Compute Cohen's kappa of the panel with the labels, ``[b]``; not finite where undefined."""
    passed = np.zeros(len(rows.correct), np.bool_) if rows.passed is None else rows.passed
    deserved: Bools = passed == rows.correct
    panel, labels = _mean(passed, weights), _mean(deserved, weights)
    chance = panel * labels + (1 - panel) * (1 - labels)
    found: Floats = (_mean(rows.correct, weights) - chance) / (1 - chance)
    return found
