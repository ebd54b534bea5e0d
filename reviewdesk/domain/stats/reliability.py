"""How stated confidence relates to being right, and the intervals of gap and Brier."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct

from reviewdesk.domain.stats.calibration import (
    BINS,
    Rows,
    bin_index,
    ece,
    effective_sample_size,
    measure,
)
from reviewdesk.domain.stats.correction import Z
from reviewdesk.domain.stats.dense import Bools, Floats
from reviewdesk.domain.stats.distributions import t_quantile
from reviewdesk.domain.stats.figures import (
    Bin,
    ConfidenceSums,
    Estimate,
    Fit,
    LogLoss,
    NullEce,
    Part,
    Target,
    ZTest,
)
from reviewdesk.domain.stats.kappa import kappa_interval
from reviewdesk.domain.stats.rates import drawn_rate, midp_interval, wilson
from reviewdesk.domain.verdict import SLACK

CLIP = 2.0**-52
"""The least distance of a probability from 0 and 1 before its logarithm is taken."""
PLACES = 12
"""Confidences are compared to this many decimals, so that ``1 - 0.7`` and 0.3 tie."""


def weighted_rows(rows: Rows) -> Rows:
    return rows if bool((rows.weight > 0).all()) else rows.weighted(rows.weight)


def reliability_bins(rows: Rows) -> tuple[Bin, ...]:
    """Return the populated bins among ten of equal width, by index; their means are weighted."""
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
    """Test calibration: ``z = Σ w(y-c)(1-2c) / √Σ w²(1-2c)²c(1-c)`` (Spiegelhalter 1986)."""
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
    """Compute the chance that a right verdict is surer than a wrong one (Hanley, McNeil 1982)."""
    rows = weighted_rows(rows)
    if rows.correct.all() or not rows.correct.any():
        return None
    place = np.unique(np.round(rows.confidence, PLACES), return_inverse=True)[1].reshape(-1)
    right = np.bincount(place, weights=rows.weight * rows.correct)
    wrong = np.bincount(place, weights=rows.weight * ~rows.correct)
    below = np.cumsum(wrong) - wrong / 2
    return float((right * below).sum() / (right.sum() * wrong.sum()))


def log_loss(rows: Rows) -> LogLoss | None:
    """Compute the mean of minus the log of the chance given to what was true, in nats."""
    rows = weighted_rows(rows)
    if not len(rows.weight):
        return None
    inside = np.clip(rows.confidence, CLIP, 1 - CLIP)
    chance = np.where(rows.correct, inside, 1 - inside)
    value = float(-(rows.weight * np.log(chance)).sum() / rows.weight.sum())
    return LogLoss(value, int((inside != rows.confidence).sum()))


RISK = 0.05
LEAF = 512
"""Up to this many rows a distribution is built row by row; above, an FFT combines its halves."""
ATOMS = 2_000_000
"""The most outcomes that a bin may have; with more, its mean is simulated."""


def null_ece(rows: Rows, draws: int = 9_999) -> NullEce | None:
    """Compute mean, 95th percentile and p of ECE if each row is right with chance = confidence.

    The mean is ``Σ_b E|Σ_i w_i(c_i - Y_i)| / W`` over independent Y_i ~ Bernoulli(c_i), exact
    unless a bin has too many different weights. The rest is simulated with a fixed seed.
    """
    rows = weighted_rows(rows)
    if not len(rows.weight):
        return None
    total = float(rows.weight.sum())
    rng = np.random.default_rng(20)
    simulated = np.zeros(draws)
    means = []
    exact = True
    index = bin_index(rows.confidence)
    weight = np.round(rows.weight, PLACES)
    for place in np.unique(index):
        off = np.zeros(draws)
        value = np.zeros(1)
        chance = np.ones(1)
        for one in np.unique(weight[index == place]):
            # The chances of w·(hits - mean hits) of the rows of this weight.
            confidence = rows.confidence[(index == place) & (weight == one)]
            chances = poisson_binomial(confidence)
            likely = np.flatnonzero(chances > 1e-17)  # the rest is negligible
            kept = slice(int(likely[0]), int(likely[-1]) + 1)
            values = float(one) * (np.arange(len(chances)) - confidence.sum())[kept]
            chances = chances[kept]
            upto = np.cumsum(chances)
            at = np.searchsorted(upto, rng.random(draws) * upto[-1], side="right")
            off += values[np.minimum(at, len(upto) - 1)]
            exact = exact and len(value) * len(values) <= ATOMS
            if exact:
                value = np.add.outer(value, values).ravel()
                chance = np.multiply.outer(chance, chances).ravel()
        simulated += np.abs(off)
        means.append(float(np.abs(value) @ chance))
    simulated /= total
    least = ece(rows) - SLACK
    return NullEce(
        expected=sum(means) / total if exact else float(simulated.mean()),
        exact=exact,
        p95=float(np.sort(simulated)[math.ceil((1 - RISK) * (draws + 1)) - 1]),
        p=(1 + int((simulated >= least).sum())) / (1 + draws),
    )


def poisson_binomial(chances: Floats) -> Floats:
    """Return the chance of k = 0..n successes in n independent trials, ``[n + 1]``."""
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


def fit(rows: Rows) -> Fit:
    """Compute every figure of the rows, as if they were drawn at random from such items."""
    labels = rows.by_label()
    heavy = weighted_rows(rows)
    strata = loss_strata(heavy, [0] * len(heavy.weight), {0: _part(heavy)})
    known = bool(len(heavy.weight))
    kappa = None
    line = measure(heavy)
    if line.kappa is not None and heavy.passed is not None:
        halves = [_part(heavy, heavy.passed), _part(heavy, ~heavy.passed)]
        ends = kappa_interval(halves, [True, False], Target.ITEMS)
        kappa = Estimate(line.kappa, *ends)
    return Fit(
        n=rows.labels,
        ece=ece(rows),
        null=null_ece(labels),
        bins=reliability_bins(rows),
        spiegelhalter=spiegelhalter(labels),
        auroc=auroc(rows),
        log_loss=log_loss(rows),
        brier=Estimate(line.brier, *brier_interval(strata, Target.ITEMS)) if known else None,
        gap=Estimate(line.gap, *gap_interval(strata, Target.ITEMS)) if known else None,
        accuracy=Estimate(line.accuracy, *share_ends(heavy)) if known else None,
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
    """Return Wilson's interval of rows' accuracy at Kish's effective n; 0..1 without rows."""
    part = _part(rows)
    return wilson(part.hits, part.labelled)


class Known(Struct, frozen=True):
    """A quantity's mean and variance in a stratum; ``off`` is half as wide as its 95% interval."""

    mean: float
    variance: float
    off: float = 0.0


class Bounded(Struct, frozen=True):
    """The mean of some values and of their squares, with the ends of the values' range."""

    mean: float
    square: float
    least: float
    most: float

    def interval(self, n: float, size: float | None, z: float) -> tuple[float, float]:
        """Return the interval of the mean of ``size`` values, or of a process, from n of them.

        It is that of a share of the range at n/f values: mid-p in a stratum of ``size``, Wilson's
        without one. f is the variance as a share of the largest that the mean allows, with one
        value added at either end of the range, so that few values never count as many.
        """
        span = self.most - self.least
        if span <= 0:
            return self.mean, self.mean
        share = min(max((self.mean - self.least) / span, 0.0), 1.0)
        square = (self.square - 2 * self.least * self.mean + self.least**2) / span**2
        mean = (share * n + 1) / (n + 2)
        moment = (square * n + 1) / (n + 2)
        factor = min(max((moment - mean**2) / (mean * (1 - mean)), 1e-9), 1.0)
        hits = share * n / factor
        n = n / factor
        if size is None:
            low, high = wilson(hits, n, z)
        else:
            low, high = midp_interval(Part(size / factor, n, hits), z)
        return self.least + span * low, self.least + span * high


class LossStratum(Struct, frozen=True):
    """One stratum for Brier and gap: its labels, and what is known without labels.

    The squared error of a verdict with confidence c, wrong (e = 1) or right (e = 0), is
    ``(1-c)² + e(2c-1)``. ``part`` counts its labels and how many are right; ``confidence`` and
    ``sure`` describe c and ``(1-c)²``; ``excess`` describes ``e(2c-1)``.
    """

    part: Part
    confidence: Known
    sure: Known
    excess: Bounded


def loss_strata(
    rows: Rows,
    stratum: Sequence[int],
    parts: Mapping[int, Part],
    sums: Mapping[int, ConfidenceSums] | None = None,
) -> list[LossStratum]:
    """Describe the strata of labelled rows; ``parts`` counts the labels of each and its size.

    ``sums`` describes all verdicts. Without it the rows also estimate the confidence, with the
    spread of all rows for each stratum.
    """
    place = np.asarray(stratum)
    c = rows.confidence
    columns = c, (1 - c) ** 2
    n = len(c)
    # The half widths of the 95% t intervals of a mean of one row.
    doubts = [1.0, 1.0]
    if n > 1:
        off = t_quantile(0.975, n - 1)
        spreads = [_moments(column, rows.weight)[1] * n / (n - 1) for column in columns]
        doubts = [off * math.sqrt(spread) for spread in spreads]
    excess = np.where(rows.correct, 0.0, 2 * c - 1)
    made = []
    for h, part in parts.items():
        mine = place == h
        weight = rows.weight[mine]
        if sums is not None:
            one, two, three, four = (power / sums[h].n for power in sums[h].powers)
            # The moments of c, and of (1-c)².
            mean = 1 - 2 * one + two
            square = 1 - 4 * one + 6 * two - 4 * three + four
            known = [Known(one, max(two - one**2, 0.0)), Known(mean, max(square - mean**2, 0.0))]
            low = sums[h].low
            high = sums[h].high
        elif part.labelled:
            scale = math.sqrt(max(1 - part.labelled / part.size, 0.0) / part.labelled)
            known = [
                Known(*_moments(column[mine], weight), scale * doubt)
                for column, doubt in zip(columns, doubts, strict=True)
            ]
            low = float(c.min())
            high = float(c.max())
        else:
            known = [Known(0.5, 0.0, 0.5), Known(0.0, 0.0)]
            low = 0.5
            high = 1.0
        mean, variance = _moments(excess[mine], weight)
        held = Bounded(mean, variance + mean**2, min(2 * low - 1, 0.0), max(2 * high - 1, 0.0))
        made.append(LossStratum(part, known[0], known[1], held))
    return made


def _moments(values: Floats, weight: Floats) -> tuple[float, float]:
    if not len(values):
        return 0.0, 0.0
    mean = float(np.average(values, weights=weight))
    return mean, float(np.average((values - mean) ** 2, weights=weight))


def gap_interval(
    strata: Sequence[LossStratum], target: Target, z: float = Z
) -> tuple[float, float]:
    """Return the 95% ends of mean confidence less accuracy. Source: Zou and Donner 2008."""
    parts = [one.part for one in strata]
    right = drawn_rate(parts, target, z)
    mean, off = _mean_of([one.confidence for one in strata], parts, target, z)
    # If a stratum has no label, there is no estimate, and the ends are used as bounds.
    low = right.low if right.estimate is None else right.estimate
    high = right.high if right.estimate is None else right.estimate
    return (
        max(mean - high - math.hypot(right.high - high, off), -1.0),
        min(mean - low + math.hypot(low - right.low, off), 1.0),
    )


def _mean_of(
    found: Sequence[Known], parts: Sequence[Part], target: Target, z: float
) -> tuple[float, float]:
    """Return the mean of a quantity over all strata, and the distance of its ends."""
    shares = _shares(parts)
    means, variances, offs = np.array([(one.mean, one.variance, one.off) for one in found]).T
    mean = float(shares @ means)
    off = float(((shares * offs) ** 2).sum())
    if target is Target.ITEMS:
        variance = float(shares @ (variances + means**2)) - mean**2
        off += z * z * max(variance, 0.0) / sum(part.size for part in parts)
    return mean, math.sqrt(off)


def brier_interval(
    strata: Sequence[LossStratum], target: Target, z: float = Z
) -> tuple[float, float]:
    """Return the 95% ends of the mean squared error of confidence, see ``LossStratum``."""
    parts = [one.part for one in strata]
    mean, off = _mean_of([one.sure for one in strata], parts, target, z)
    below = above = off**2
    # The excess of all strata, with those without labels at one end of their range.
    means = [0.0, 0.0]
    squares = [0.0, 0.0]
    for share, one in zip(_shares(parts).tolist(), strata, strict=True):
        held = one.excess
        known = bool(one.part.labelled)
        if known:
            low, high = held.interval(one.part.labelled, one.part.size, z)
            below += (share * (held.mean - low)) ** 2
            above += (share * (high - held.mean)) ** 2
        for end, value in enumerate((held.least, held.most)):
            means[end] += share * (held.mean if known else value)
            squares[end] += share * (held.square if known else value**2)
    if target is Target.ITEMS:
        size = sum(part.size for part in parts)
        least = min(one.excess.least for one in strata)
        most = max(one.excess.most for one in strata)
        ends = [Bounded(*pair, least, most) for pair in zip(means, squares, strict=True)]
        below += (means[0] - ends[0].interval(size, None, z)[0]) ** 2
        above += (ends[1].interval(size, None, z)[1] - means[1]) ** 2
    return (
        max(mean + means[0] - math.sqrt(below), 0.0),
        min(mean + means[1] + math.sqrt(above), 1.0),
    )


def _shares(parts: Sequence[Part]) -> Floats:
    masses = np.array([part.share for part in parts], np.float64)
    return np.asarray(masses / masses.sum())
