"""All figures that one set of rows gives for a judge's confidence, with their 95% intervals."""

from __future__ import annotations

import math

import numpy as np

from reviewdesk.domain.stats.calibration import Bools, Rows, counters_of, effective_sample_size
from reviewdesk.domain.stats.chance_ece import null_ece
from reviewdesk.domain.stats.corp import corp, murphy
from reviewdesk.domain.stats.correction import Z
from reviewdesk.domain.stats.figures import Fit, Interval
from reviewdesk.domain.stats.rates import wilson
from reviewdesk.domain.stats.recalibration import suggestions
from reviewdesk.domain.stats.reliability import (
    auroc,
    log_loss,
    reliability_bins,
    spiegelhalter,
    weighted_rows,
)

RESAMPLES = 2_000
SEED = 20
CHUNK = 1 << 21
"""Rows held at once while resampling: 16 MB per column."""
TAIL = 0.025
REDRAWN = 4_000_000
"""The most rows drawn in all for the interval of Brier; larger sets get fewer redraws."""
FEWEST = 500


def fit(rows: Rows) -> Fit:
    """Compute every figure of the rows, with the rows' weights.

    Brier is redrawn 2,000 times; above 2,000 rows, as often as 4,000,000 drawn rows allow, but at
    least 500 times. The more rows there are, the fewer redraws a stable interval needs.
    """
    resamples = min(RESAMPLES, max(FEWEST, REDRAWN // max(len(rows.confidence), 1)))
    labels = rows.by_label()
    return Fit(
        n=rows.labels,
        ece=counters_of(rows).ece,
        null=null_ece(labels),
        bins=reliability_bins(rows),
        corp=corp(rows),
        murphy=murphy(rows),
        spiegelhalter=spiegelhalter(labels),
        auroc=auroc(rows),
        log_loss=log_loss(rows),
        brier=brier_interval(rows, resamples),
        gap=gap_interval(rows),
        accuracy=accuracy_interval(rows),
        suggestions=suggestions(labels),
    )


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
    mean, n = counters_of(rows).gap, len(rows.weight)
    if mean is None or n < 2:
        return None
    off = rows.weight * (rows.confidence - rows.correct - mean)
    variance = float((off**2).sum() / rows.weight.sum() ** 2) * n / (n - 1)
    half = Z * math.sqrt(variance)
    return Interval(max(mean - half, -1.0), min(mean + half, 1.0))


def accuracy_interval(rows: Rows) -> Interval | None:
    """Return the interval of the weighted accuracy, see ``share_ends``; ``None`` without rows.

    With a draw's weights it ignores the strata, which ``stratified.stratified_rate`` uses.
    """
    rows = weighted_rows(rows)
    return Interval(*share_ends(rows, rows.correct)) if len(rows.weight) else None


def share_ends(rows: Rows, hit: Bools) -> tuple[float, float]:
    """Return Wilson's interval of the share of rows that ``hit``; 0..1 if there are none.

    It takes Kish's effective number of labels. With equal weights it is the plain Wilson interval.
    """
    ess = effective_sample_size(rows.masses()) or 0.0
    part = float((rows.weight * hit).sum() / rows.weight.sum()) if ess else 0.0
    return wilson(min(part, 1.0) * ess, ess)
