"""Intervals of the panel's figures through the draw, for the run or for such items."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from reviewdesk.domain.labels.sampling import FIRST_REST, decided_strata
from reviewdesk.domain.labels.summary import (
    LabelledRow,
    LabelledRows,
    RunFigures,
    pass_parts,
    right_parts,
)
from reviewdesk.domain.records import Design, Truth
from reviewdesk.domain.stats.calibration import Bools, Floats, Rows
from reviewdesk.domain.stats.figures import (
    Interval,
    Pair,
    PanelIntervals,
    Target,
)
from reviewdesk.domain.stats.intervals import (
    CHUNK,
    RESAMPLES,
    SEED,
    TAIL,
)
from reviewdesk.domain.stats.stratified import stratified_rate, stratified_ratio

Figure: TypeAlias = Callable[[Rows, Floats], Floats]
"""Computes a figure of n rows under each of b sets of weights ``[b, n]``; returns ``[b]``."""
_MIN_REDRAWS = 200
_MAX_ROWS_DRAWN = 10_000_000
"""The most rows drawn in all; very many labels get fewer redraws, but ``_MIN_REDRAWS`` or more."""


def panel_intervals(
    made: LabelledRows,
    labelled: Sequence[LabelledRow],
    figures: RunFigures,
    target: Target = Target.RUN,
) -> PanelIntervals:
    """Compute the panel's intervals: rates by ``stratified``, others by bootstrap within strata."""
    drawn = made.weighing.design in {Design.WEIGHTED, Design.CENSUS}
    of = (_brier, _gap, _kappa)
    brier, gap, kappa = _bootstrap(made, figures, target, of) if drawn else [None] * len(of)
    return PanelIntervals(
        target=target,
        counted=int(sum(part.labelled for part in right_parts(labelled, figures))),
        accuracy=stratified_rate(right_parts(labelled, figures), target),
        sensitivity=stratified_ratio(_pairs(labelled, figures, Truth.PASS), target),
        specificity=stratified_ratio(_pairs(labelled, figures, Truth.FAIL), target),
        brier=brier,
        gap=gap,
        kappa=kappa,
    )


def _pairs(labelled: Sequence[LabelledRow], figures: RunFigures, truth: Truth) -> list[Pair]:
    """Count the labels of one truth per decided stratum: as hits if the panel decided so too.

    The decision of every verdict is known, which bounds the strata without a label.
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


def _bootstrap(
    made: LabelledRows, figures: RunFigures, target: Target, of: Sequence[Figure]
) -> list[Interval | None]:
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
            left = 1 - m / figures.sizes[h] if target is Target.RUN else 1.0
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
