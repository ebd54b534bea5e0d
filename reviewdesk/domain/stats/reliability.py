"""How stated confidence and being right go together: bins, a test, ranking and log-loss."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from reviewdesk.domain.stats.calibration import (
    BINS,
    Floats,
    Rows,
    bin_index,
)
from reviewdesk.domain.stats.figures import Bin, LogLoss, ZTest
from reviewdesk.domain.stats.rates import wilson

CLIP = 2.0**-52
"""How near to 0 or 1 a probability may come under a logarithm."""
PLACES = 12
"""Decimals to which confidences count as equal: ``1 - 0.7`` and 0.3 tie."""


def counted(rows: Rows) -> Rows:
    """The rows of positive weight; the others stand for nothing."""
    return rows if bool((rows.weight > 0).all()) else rows.weighted(rows.weight)


def levels(confidence: Floats) -> tuple[Floats, npt.NDArray[np.int64]]:
    """The distinct confidences in order, and for each row the place of its own among them."""
    found, place = np.unique(np.round(confidence, PLACES), return_inverse=True)
    return found, place.reshape(-1).astype(np.int64)


def logit(confidence: Floats) -> Floats:
    """``log(c / (1 - c))`` with c clipped to 2^-52 from either end."""
    inside = np.clip(confidence, CLIP, 1 - CLIP)
    return np.log(inside) - np.log1p(-inside)


def reliability_bins(rows: Rows) -> tuple[Bin, ...]:
    """The populated ones of ten equal bins ``min(floor(10c + 1e-9), 9)``, by index.

    Mean confidence and accuracy are weighted; the Wilson interval of the accuracy takes the bin's
    Kish effective sample size for n, which is the count where all weights are equal.
    """
    rows = counted(rows)
    index = bin_index(rows.confidence)

    n = np.bincount(index, minlength=BINS)
    mass, squares, sure, right = (
        np.bincount(index, weights=values, minlength=BINS)
        for values in (
            rows.weight,
            rows.weight**2,
            rows.weight * rows.confidence,
            rows.weight * rows.correct,
        )
    )
    made = []
    for place in map(int, np.flatnonzero(n)):
        weight, ess = float(mass[place]), float(mass[place] ** 2 / squares[place])
        accuracy = min(float(right[place]) / weight, 1.0)
        low, high = wilson(accuracy * ess, ess)
        mean = float(sure[place]) / weight
        made.append(Bin(place, int(n[place]), weight, mean, accuracy, low, high, ess))
    return tuple(made)


def spiegelhalter(rows: Rows) -> ZTest:
    """Test of perfect calibration ``Σ w(y-c)(1-2c) / √Σ w²(1-2c)²c(1-c)``, two-sided p.

    Normal under calibration; undefined where every confidence is 0, one half or 1, for their Brier
    score then cannot vary. Source: Spiegelhalter 1986, with weights as fixed constants.
    """
    rows = counted(rows)
    lean = rows.weight * (1 - 2 * rows.confidence)
    variance = float((lean**2 * rows.confidence * (1 - rows.confidence)).sum())
    if not len(rows.weight):
        return ZTest(None, None, "no rows")
    if variance <= 0:
        return ZTest(None, None, "every confidence is 0, 0.5 or 1")
    z = float((lean * (rows.correct - rows.confidence)).sum()) / math.sqrt(variance)
    return ZTest(z, math.erfc(abs(z) / math.sqrt(2)))


def auroc(rows: Rows) -> float | None:
    """Chance that a right verdict has more confidence than a wrong one, a tie counting half.

    ``Σ_right Σ_wrong w·v·[c > d] + ½[c = d]`` over all pairs' weight; undefined without rows
    or with one outcome only. Source: Hanley and McNeil 1982.
    """
    rows = counted(rows)
    if rows.correct.all() or not rows.correct.any():
        return None
    _, place = levels(rows.confidence)
    right = np.bincount(place, weights=rows.weight * rows.correct)
    wrong = np.bincount(place, weights=rows.weight * ~rows.correct)
    below = np.cumsum(wrong) - wrong / 2
    return float((right * below).sum() / (right.sum() * wrong.sum()))


def log_loss(rows: Rows) -> LogLoss | None:
    """Weighted mean of ``-log(c)`` where right and ``-log(1-c)`` where wrong, in nats.

    Confidences are clipped to 2^-52 from 0 and 1, and the clipped rows counted: each wrong one adds
    up to 36 nats by that choice alone. ``None`` without rows.
    """
    rows = counted(rows)
    if not len(rows.weight):
        return None
    inside = np.clip(rows.confidence, CLIP, 1 - CLIP)
    chance = np.where(rows.correct, inside, 1 - inside)
    value = float(-(rows.weight * np.log(chance)).sum() / rows.weight.sum())
    return LogLoss(value, int((inside != rows.confidence).sum()))
