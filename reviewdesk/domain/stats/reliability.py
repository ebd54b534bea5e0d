"""How stated confidence relates to being right: bins, a test, ranking and log-loss."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from reviewdesk.domain.stats.calibration import Floats, Rows, bin_index
from reviewdesk.domain.stats.counters import BINS
from reviewdesk.domain.stats.figures import Bin, LogLoss, ZTest
from reviewdesk.domain.stats.rates import wilson

CLIP = 2.0**-52
"""The least distance of a probability from 0 and 1 before its logarithm is taken."""
PLACES = 12
"""Confidences are compared to this many decimals, so that ``1 - 0.7`` and 0.3 tie."""


def weighted_rows(rows: Rows) -> Rows:
    """Return the rows of positive weight; rows of weight 0 stand for no verdict."""
    return rows if bool((rows.weight > 0).all()) else rows.weighted(rows.weight)


def levels(confidence: Floats) -> tuple[Floats, npt.NDArray[np.int64]]:
    """Return the distinct confidences in ascending order, and each row's index among them."""
    found, place = np.unique(np.round(confidence, PLACES), return_inverse=True)
    return found, place.reshape(-1).astype(np.int64)


def reliability_bins(rows: Rows) -> tuple[Bin, ...]:
    """Return the populated ones of ten equal bins ``min(floor(10c + 1e-9), 9)``, by index.

    Mean confidence and accuracy are weighted. The accuracy's Wilson interval uses the bin's Kish
    effective sample size as n, which is the row count if all weights are equal.
    """
    rows = weighted_rows(rows)
    index = bin_index(rows.confidence)

    mass, sure, right = (
        np.bincount(index, weights=values, minlength=BINS)
        for values in (rows.weight, rows.weight * rows.confidence, rows.weight * rows.correct)
    )
    label = np.arange(len(index)) if rows.content is None else rows.content
    _, first, place = np.unique(label * BINS + index, return_index=True, return_inverse=True)
    weight_of_label = np.bincount(place, weights=rows.weight)
    n = np.bincount(index[first], minlength=BINS)
    squares = np.bincount(index[first], weights=weight_of_label**2, minlength=BINS)
    made = []
    for place in map(int, np.flatnonzero(n)):
        weight = float(mass[place])
        ess = float(mass[place] ** 2 / squares[place])
        accuracy = min(float(right[place]) / weight, 1.0)
        low, high = wilson(accuracy * ess, ess)
        mean = float(sure[place]) / weight
        made.append(Bin(place, int(n[place]), weight, mean, accuracy, low, high, ess))
    return tuple(made)


def spiegelhalter(rows: Rows) -> ZTest:
    """Test perfect calibration: ``z = Σ w(y-c)(1-2c) / √Σ w²(1-2c)²c(1-c)``, two-sided p.

    z is standard normal under calibration. It is undefined without rows, and if every confidence is
    0, one half or 1, since Brier cannot vary then. Source: Spiegelhalter 1986, with fixed weights.
    """
    rows = weighted_rows(rows)
    lean = rows.weight * (1 - 2 * rows.confidence)
    variance = float((lean**2 * rows.confidence * (1 - rows.confidence)).sum())
    if not len(rows.weight):
        return ZTest(None, None, "no rows")
    if variance <= 0:
        return ZTest(None, None, "every confidence is 0, 0.5 or 1")
    z = float((lean * (rows.correct - rows.confidence)).sum()) / math.sqrt(variance)
    return ZTest(z, math.erfc(abs(z) / math.sqrt(2)))


def auroc(rows: Rows) -> float | None:
    """Compute the chance that a right verdict is more confident than a wrong one; a tie is half.

    ``Σ_right Σ_wrong w·v·([c > d] + ½[c = d])`` over the weight of all pairs, for confidences c and
    d with weights w and v. ``None`` without rows or with one outcome only. Source: Hanley and
    McNeil 1982.
    """
    rows = weighted_rows(rows)
    if rows.correct.all() or not rows.correct.any():
        return None
    _, place = levels(rows.confidence)
    right = np.bincount(place, weights=rows.weight * rows.correct)
    wrong = np.bincount(place, weights=rows.weight * ~rows.correct)
    below = np.cumsum(wrong) - wrong / 2
    return float((right * below).sum() / (right.sum() * wrong.sum()))


def log_loss(rows: Rows) -> LogLoss | None:
    """Compute the weighted mean of ``-log(c)`` if right and ``-log(1-c)`` if wrong, in nats.

    Confidences are clipped to 2^-52 from 0 and 1, and the clipped rows are counted: each wrong one
    adds up to 36 nats by that choice alone. ``None`` without rows.
    """
    rows = weighted_rows(rows)
    if not len(rows.weight):
        return None
    inside = np.clip(rows.confidence, CLIP, 1 - CLIP)
    chance = np.where(rows.correct, inside, 1 - inside)
    value = float(-(rows.weight * np.log(chance)).sum() / rows.weight.sum())
    return LogLoss(value, int((inside != rows.confidence).sum()))
