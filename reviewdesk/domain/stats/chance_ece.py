"""The ECE that a perfectly calibrated judge would show on the same rows by chance alone."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from reviewdesk.domain.stats.calibration import Floats, Rows, bin_index, ece
from reviewdesk.domain.stats.counters import BINS
from reviewdesk.domain.stats.figures import NullEce
from reviewdesk.domain.stats.reliability import PLACES, weighted_rows
from reviewdesk.domain.verdict import SLACK

DRAWS = 9_999
"""The number of simulated calibrated judges; a p then has four decimals."""
SEED = 20
RISK = 0.05
LEAF = 512
"""Up to this many rows a distribution is built row by row; above, an FFT combines its halves."""
NEGLIGIBLE = 1e-17
"""Outcomes at the ends of a distribution are left out if they are less likely than this."""
ATOMS = 2_000_000
"""The most outcomes that one side of a bin may have; with more, its mean is simulated."""


class DiscreteDistribution(Struct, frozen=True):
    """A discrete distribution: ``value[i]`` has probability ``chance[i]``."""

    value: Floats
    chance: Floats

    def __add__(self, other: DiscreteDistribution) -> DiscreteDistribution:
        """Return the distribution of the sum of two independent variables."""
        value = np.add.outer(self.value, other.value).ravel()
        return DiscreteDistribution(value, np.multiply.outer(self.chance, other.chance).ravel())


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
    bins = _bins(rows)
    total = float(rows.weight.sum())
    rng = np.random.default_rng(seed)
    simulated = np.zeros(draws)
    for cells in bins:
        simulated += np.abs(_simulate(cells, rng, draws))
    simulated /= total
    means = [_mean_size(cells) for cells in bins]
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


def _bins(rows: Rows) -> list[list[DiscreteDistribution]]:
    """Return the distribution of ``w·(hits - mean hits)`` per populated bin and distinct weight."""
    index = bin_index(rows.confidence)
    weight = np.round(rows.weight, PLACES)
    made = []
    for place in range(BINS):
        inside = index == place
        if inside.any():
            made.append(
                [
                    _cell(rows.confidence[inside & (weight == one)], float(one))
                    for one in np.unique(weight[inside])
                ]
            )
    return made


def _cell(confidence: Floats, weight: float) -> DiscreteDistribution:
    chance = poisson_binomial(confidence)
    likely = np.flatnonzero(chance > NEGLIGIBLE)
    kept = slice(int(likely[0]), int(likely[-1]) + 1)
    value = weight * (np.arange(len(chance)) - confidence.sum())
    return DiscreteDistribution(value[kept], chance[kept])


def _mean_size(cells: Sequence[DiscreteDistribution]) -> float | None:
    """Compute ``E|sum|`` of independent cells exactly; ``None`` if they have too many outcomes.

    The cells are summed into two sides of similar size. For each outcome of one side, the mean over
    the other needs only its cumulated chances, so that pairs of outcomes are never enumerated.
    """
    sides = [DiscreteDistribution(np.zeros(1), np.ones(1))] * 2
    for cell in sorted(cells, key=lambda cell: -len(cell.value)):
        side = int(len(sides[1].value) < len(sides[0].value))
        if len(sides[side].value) * len(cell.value) > ATOMS:
            return None
        sides[side] = sides[side] + cell
    one, other = sides
    order = np.argsort(other.value, kind="stable")
    value = other.value[order]
    chance = other.chance[order]
    below = np.concatenate([[0.0], np.cumsum(chance)])
    mean_below = np.concatenate([[0.0], np.cumsum(chance * value)])
    cut = np.searchsorted(value, -one.value)
    size = one.value * (below[-1] - 2 * below[cut]) + (mean_below[-1] - 2 * mean_below[cut])
    return float((one.chance * size).sum())


def _simulate(
    cells: Sequence[DiscreteDistribution], rng: np.random.Generator, draws: int
) -> Floats:
    """Simulate the sum of independent cells ``draws`` times: ``[draws]``."""
    total = np.zeros(draws)
    for cell in cells:
        upto = np.cumsum(cell.chance)
        place = np.searchsorted(upto, rng.random(draws) * upto[-1], side="right")
        total += cell.value[np.minimum(place, len(upto) - 1)]
    return total
