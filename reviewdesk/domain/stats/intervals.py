"""95% intervals of Brier, gap and accuracy for a set of labelled rows."""

from __future__ import annotations

import math

import numpy as np

from reviewdesk.domain.stats.calibration import (
    Rows,
    accuracy,
    effective_sample_size,
    gap,
)
from reviewdesk.domain.stats.correction import Z
from reviewdesk.domain.stats.figures import Interval
from reviewdesk.domain.stats.rates import wilson
from reviewdesk.domain.stats.reliability import weighted_rows

RESAMPLES = 2_000
SEED = 20
CHUNK = 1 << 21
"""Rows held at once while resampling: 16 MB per column."""
TAIL = 0.025


def brier_interval(rows: Rows, resamples: int = RESAMPLES, seed: int = SEED) -> Interval | None:
    """Bootstrap the weighted Brier score: the 2.5% and 97.5% points of ``resamples`` redraws.

    Each redraw picks n rows with their weights, by a fixed seed, and gives ``Σ w(c-y)² / Σ w``.
    ``None`` under two rows; zero width if every row has the same error. Source: Efron 1979.
    """
    rows = weighted_rows(rows)
    n = len(rows.weight)
    if n < 2:
        return None
    loss = rows.weight * (rows.confidence - rows.correct) ** 2
    rng = np.random.default_rng(seed)
    found = np.empty(resamples)
    step = max(1, CHUNK // n)
    for start in range(0, resamples, step):
        picked = rng.integers(n, size=(min(step, resamples - start), n))
        found[start : start + step] = loss[picked].sum(axis=1) / rows.weight[picked].sum(axis=1)
    low, high = np.quantile(found, [TAIL, 1 - TAIL])
    return Interval(float(low), float(high))


def gap_interval(rows: Rows) -> Interval | None:
    """Return the gap's interval ``mean ± z·√(Σ w²(d - mean)²/W² · n/(n-1))``, d = c - y.

    The variance is the linearised one of a mean with fixed weights; the ends are clamped to -1..1.
    ``None`` under two rows; zero width if all d are equal. Source: Cochran 1977, section 6.
    """
    rows = weighted_rows(rows)
    mean, n = gap(rows), len(rows.weight)
    if mean is None or n < 2:
        return None
    off = rows.weight * (rows.confidence - rows.correct - mean)
    variance = float((off**2).sum() / rows.weight.sum() ** 2) * n / (n - 1)
    half = Z * math.sqrt(variance)
    return Interval(max(mean - half, -1.0), min(mean + half, 1.0))


def accuracy_interval(rows: Rows) -> Interval | None:
    """Return Wilson's interval of the weighted accuracy at Kish's effective sample size.

    With equal weights it is the plain Wilson interval. With a draw's weights it ignores the strata,
    which ``stratified.stratified_rate`` uses. ``None`` without rows.
    """
    rows = weighted_rows(rows)
    share, ess = accuracy(rows), effective_sample_size(rows.weight)
    if share is None or ess is None:
        return None
    return Interval(*wilson(min(share, 1.0) * ess, ess))
