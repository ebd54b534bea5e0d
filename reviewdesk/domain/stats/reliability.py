"""How stated confidence relates to being right: bins, a test, ranking and log-loss."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from reviewdesk.domain.stats.calibration import (
    Bools,
    Floats,
    Rows,
    bin_index,
    counters_of,
    ece,
    effective_sample_size,
)
from reviewdesk.domain.stats.correction import BINS
from reviewdesk.domain.stats.figures import (
    Bin,
    Estimate,
    Fit,
    LogLoss,
    NullEce,
    Part,
    Target,
    ZTest,
)
from reviewdesk.domain.stats.intervals import (
    brier_interval,
    gap_interval,
    kappa_interval,
    loss_strata,
)
from reviewdesk.domain.stats.rates import wilson
from reviewdesk.domain.verdict import SLACK

CLIP = 2.0**-52
"""The least distance of a probability from 0 and 1 before its logarithm is taken."""
PLACES = 12
"""Confidences are compared to this many decimals, so that ``1 - 0.7`` and 0.3 tie."""


def weighted_rows(rows: Rows) -> Rows:
    """Return the rows of positive weight; rows of weight 0 represent no verdict."""
    return rows if bool((rows.weight > 0).all()) else rows.weighted(rows.weight)


def levels(confidence: Floats) -> tuple[Floats, npt.NDArray[np.int64]]:
    found, place = np.unique(np.round(confidence, PLACES), return_inverse=True)
    return found, place.reshape(-1).astype(np.int64)


def reliability_bins(rows: Rows) -> tuple[Bin, ...]:
    """Return the populated bins among ten of equal width, ``min(floor(10c + 1e-9), 9)``, by index.

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


DRAWS = 9_999
"""The number of simulated calibrated judges; a p then has four decimals."""
SEED = 20
RISK = 0.05
LEAF = 512
"""Up to this many rows a distribution is built row by row; above, an FFT combines its halves."""
NEGLIGIBLE = 1e-17
"""Outcomes at the ends of a distribution are left out if they are less likely than this."""
ATOMS = 2_000_000
"""The most outcomes that a bin may have; with more, its mean is simulated."""


Chances: TypeAlias = tuple[Floats, Floats]
"""A discrete distribution: some values, and the probability of each."""


def null_ece(rows: Rows, draws: int = DRAWS, seed: int = SEED) -> NullEce | None:
    """Compute mean, 95th percentile and p of ECE if each row is right with chance = confidence.

    The mean is ``Σ_b E|Σ_i w_i(c_i - Y_i)| / W`` over independent Y_i ~ Bernoulli(c_i), from the
    exact distribution per bin (Poisson-binomial per weight); if a bin has too many different
    weights, it is the mean of the simulations. The percentile and ``p = (1 + #{sim >= observed}) /
    (1 + draws)`` are simulated with a fixed seed. Confidences and weights are taken as fixed.
    ``None`` without rows.
    """
    rows = weighted_rows(rows)
    if not len(rows.weight):
        return None
    total = float(rows.weight.sum())
    rng = np.random.default_rng(seed)
    simulated = np.zeros(draws)
    means = []
    index = bin_index(rows.confidence)
    weight = np.round(rows.weight, PLACES)
    for place in np.unique(index):
        # The chances of w·(hits - mean hits) per distinct weight.
        cells = []
        for one in np.unique(weight[index == place]):
            confidence = rows.confidence[(index == place) & (weight == one)]
            chance = poisson_binomial(confidence)
            likely = np.flatnonzero(chance > NEGLIGIBLE)
            kept = slice(int(likely[0]), int(likely[-1]) + 1)
            value = float(one) * (np.arange(len(chance)) - confidence.sum())
            cells.append((value[kept], chance[kept]))
        off = np.zeros(draws)
        for value, chance in cells:
            upto = np.cumsum(chance)
            at = np.searchsorted(upto, rng.random(draws) * upto[-1], side="right")
            off += value[np.minimum(at, len(upto) - 1)]
        simulated += np.abs(off)
        means.append(_mean_size(cells))
    simulated /= total
    known = [mean for mean in means if mean is not None]
    exact = len(known) == len(means)
    least = ece(rows) - SLACK
    return NullEce(
        expected=sum(known) / total if exact else float(simulated.mean()),
        exact=exact,
        p95=float(np.sort(simulated)[math.ceil((1 - RISK) * (draws + 1)) - 1]),
        p=(1 + int((simulated >= least).sum())) / (1 + draws),
    )


def poisson_binomial(chances: Floats) -> Floats:
    """Return the chance of k = 0..n successes in n independent trials, ``[n + 1]``.

    ``chances`` ``[n]`` are the trials' probabilities. Few trials are added one by one; for more, an
    FFT multiplies the distributions of both halves. The error is about 1e-16 per entry.
    """
    n = len(chances)
    if n > LEAF:
        first = poisson_binomial(chances[: n // 2])
        second = poisson_binomial(chances[n // 2 :])
        size = 1 << n.bit_length()
        product = np.fft.irfft(np.fft.rfft(first, size) * np.fft.rfft(second, size), size)
        return np.maximum(product[: n + 1], 0.0)
    found = np.zeros(n + 1)
    found[0] = 1.0
    for k, chance in enumerate(chances.tolist(), start=1):
        hit = found[:k] * chance
        found[:k] -= hit
        found[1 : k + 1] += hit
    return found


def _mean_size(cells: Sequence[Chances]) -> float | None:
    """Compute ``E|sum|`` of independent cells exactly; ``None`` if they have too many outcomes."""
    value = np.zeros(1)
    chance = np.ones(1)
    for values, chances in cells:
        if len(value) * len(values) > ATOMS:
            return None
        value = np.add.outer(value, values).ravel()
        chance = np.multiply.outer(chance, chances).ravel()
    return float(np.abs(value) @ chance)


def fit(rows: Rows) -> Fit:
    """Compute every figure of the rows, with the rows' weights.

    Intervals assume rows drawn at random from such items, with Kish's effective number of labels;
    ``panel_intervals`` uses the strata of a draw.
    """
    labels = rows.by_label()
    heavy = weighted_rows(rows)
    strata = loss_strata(heavy, [0] * len(heavy.weight), {0: _part(heavy)})
    known = bool(len(heavy.weight))
    kappa = None
    counters = counters_of(heavy)
    if heavy.passed is not None and counters.cells.kappa is not None:
        halves = [_part(heavy, heavy.passed), _part(heavy, ~heavy.passed)]
        ends = kappa_interval(halves, [True, False], Target.ITEMS)
        kappa = Estimate(counters.cells.kappa, *ends)
    return Fit(
        n=rows.labels,
        ece=counters_of(rows).ece,
        null=null_ece(labels),
        bins=reliability_bins(rows),
        spiegelhalter=spiegelhalter(labels),
        auroc=auroc(rows),
        log_loss=log_loss(rows),
        brier=Estimate(counters.brier, *brier_interval(strata, Target.ITEMS)) if known else None,
        gap=Estimate(counters.gap, *gap_interval(strata, Target.ITEMS)) if known else None,
        accuracy=Estimate(counters.accuracy, *share_ends(heavy)) if known else None,
        kappa=kappa,
    )


def _part(rows: Rows, kept: Bools | None = None) -> Part:
    """Count some rows and the right ones, as an equivalent number of labels of equal weight."""
    ess = effective_sample_size(rows.masses()) or 0.0
    total = float(rows.weight.sum())
    weight = rows.weight if kept is None else rows.weight * kept
    scale = ess / total if total else 0.0
    n = float(weight.sum()) * scale
    hits = float((weight * rows.correct).sum()) * scale
    return Part(n, n, min(hits, n))


def share_ends(rows: Rows) -> tuple[float, float]:
    """Return Wilson's interval of the accuracy of rows; 0..1 without rows.

    It uses Kish's effective number of labels. With equal weights it is the plain Wilson interval.
    """
    part = _part(rows)
    return wilson(part.hits, part.labelled)
