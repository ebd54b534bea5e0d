"""What interval each of the panel's figures has through the draw, for the run or for such items."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from reviewdesk.domain.calibration import Bools, Floats, Rows
from reviewdesk.domain.figures import Estimate, Interval, Pair, Target
from reviewdesk.domain.intervals import RESAMPLES, SEED, TAIL
from reviewdesk.domain.records import Design, Truth
from reviewdesk.domain.sampling import FIRST_REST, decided_strata
from reviewdesk.domain.stratified import stratified_rate, stratified_ratio
from reviewdesk.domain.summary import Labelled, Rowed, RunFigures, pass_parts, right_parts


@dataclass(frozen=True, slots=True)
class PanelIntervals:
    """The panel's figures with 95% intervals through the draw, all of one target.

    A rate without a label in some stratum is ``None`` between bounds. Brier, gap and kappa are
    ``None`` unless the design is weighted or a census.
    """

    target: Target
    accuracy: Estimate
    sensitivity: Estimate
    specificity: Estimate
    brier: Interval | None
    gap: Interval | None
    kappa: Interval | None


def panel_intervals(
    made: Rowed, labelled: Sequence[Labelled], figures: RunFigures, target: Target = Target.RUN
) -> PanelIntervals:
    """Every interval of the panel: rates by ``stratified``, the others by bootstrap in strata."""
    drawn = made.weighing.design in {Design.WEIGHTED, Design.CENSUS}
    draws = _Draws.of(made, figures, target) if drawn else None
    return PanelIntervals(
        target=target,
        accuracy=stratified_rate(right_parts(labelled, figures), target),
        sensitivity=stratified_ratio(_pairs(labelled, figures, Truth.PASS), target),
        specificity=stratified_ratio(_pairs(labelled, figures, Truth.FAIL), target),
        brier=draws.interval(_brier) if draws else None,
        gap=draws.interval(_gap) if draws else None,
        kappa=draws.interval(_kappa) if draws else None,
    )


def _pairs(labelled: Sequence[Labelled], figures: RunFigures, truth: Truth) -> list[Pair]:
    """Per decided stratum the labels of one truth: all hits where the panel decides it, or none.

    Whether it is a hit is known of every verdict, which bounds the strata without a label.
    """
    made = []
    for h, part in zip(
        sorted(decided_strata(figures.sizes)), pass_parts(labelled, figures), strict=True
    ):
        n = int(part.labelled)
        k = int(part.hits) if truth is Truth.PASS else n - int(part.hits)
        hit = (h % FIRST_REST == 0) is (truth is Truth.PASS)
        made.append(
            Pair(part.size, n, k, 0, part.size, 0)
            if hit
            else Pair(part.size, n, 0, k, 0, part.size)
        )
    return made


@dataclass(frozen=True, slots=True)
class _Draws:
    """Bootstrap weights ``[resamples, n]`` of the n rows that count.

    The rescaled bootstrap within strata: each redraws its m rows, and a row drawn r times weighs
    ``w(1 - c + cr)``, ``c = √((1 - m/N)m/(m-1))`` for the run and ``√(m/(m-1))`` for such items.
    A stratum of one row has none to redraw from and stays. Source: Rao and Wu 1988.
    """

    rows: Rows
    weights: Floats

    @staticmethod
    def of(made: Rowed, figures: RunFigures, target: Target) -> _Draws | None:
        """Of the rows of positive weight; ``None`` under two of them."""
        weight = np.asarray(made.weights, dtype=np.float64)
        stratum = np.asarray([verdict.place.stratum for verdict in made.verdicts])[weight > 0]
        rows = made.rows.weighted(weight)
        if len(rows.weight) < 2:
            return None
        rng = np.random.default_rng(SEED)
        weights = np.tile(rows.weight, (RESAMPLES, 1))
        for h in np.unique(stratum):
            places = np.flatnonzero(stratum == h)
            m = len(places)
            if m < 2:
                continue
            left = 1 - m / figures.sizes[int(h)] if target is Target.RUN else 1.0
            c = (max(left, 0.0) * m / (m - 1)) ** 0.5
            drawn = rng.multinomial(m, np.full(m, 1 / m), size=RESAMPLES)
            weights[:, places] *= 1 - c + c * drawn
        return _Draws(rows, weights)

    def interval(self, figure: Callable[[Rows, Floats], Floats]) -> Interval | None:
        """The 2.5% and 97.5% points of a figure over the redraws in which it is defined."""
        with np.errstate(invalid="ignore", divide="ignore"):
            found = figure(self.rows, self.weights)
        found = found[np.isfinite(found)]
        if not len(found):
            return None
        low, high = np.quantile(found, [TAIL, 1 - TAIL])
        return Interval(float(low), float(high))


def _mean(values: Floats | Bools, weights: Floats) -> Floats:
    found: Floats = weights @ values / weights.sum(axis=1)
    return found


def _brier(rows: Rows, weights: Floats) -> Floats:
    return _mean((rows.confidence - rows.correct) ** 2, weights)


def _gap(rows: Rows, weights: Floats) -> Floats:
    return _mean(rows.confidence - rows.correct, weights)


def _kappa(rows: Rows, weights: Floats) -> Floats:
    """Cohen's kappa of the panel with the labels."""
    passed = np.zeros(len(rows.correct), np.bool_) if rows.passed is None else rows.passed
    deserved: Bools = passed == rows.correct
    said, should = _mean(passed, weights), _mean(deserved, weights)
    chance = said * should + (1 - said) * (1 - should)
    found: Floats = (_mean(rows.correct, weights) - chance) / (1 - chance)
    return found
