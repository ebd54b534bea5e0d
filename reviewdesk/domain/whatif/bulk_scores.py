"""The scores of many panels at once: means, ranks and trims, rounded as for a single panel."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from itertools import combinations

import numpy as np

from reviewdesk.domain.jury.trim import trim_count
from reviewdesk.domain.run.columns import ROUNDINGS, Bools, Floats, Small
from reviewdesk.domain.stats.dense import Rows, cases, dense, given, parts, ranked
from reviewdesk.domain.verdict import Rounding


class Scores:
    """The scores of n panels, ``[s, n]``, with NaN for a missing score.

    Every figure is ``[n]``, NaN for a panel without scores. If ``exact``, a sum is rounded once, as
    ``math.fsum`` rounds it; else after each term, so that a figure is off by ``doubt`` at most.
    """

    def __init__(
        self, scores: Floats, weights: Floats, *, most: float, exact: bool = False
    ) -> None:
        """Keep scores and weights; a missing weight counts as 1, and no score exceeds ``most``."""
        self._scores, self._weights = scores, weights
        self._exact, self._sum = exact, exact_sums if exact else _sums
        self.count = given(scores)
        # Each of s sums, s products and a quotient is off by half a unit in the last place.
        self.doubt = 8 * (len(scores) + 1) * float(np.finfo(np.float64).eps) * most

    @cached_property
    def mean(self) -> Floats:
        """The mean of the scores."""
        return self._by_count(partial(self._kept_mean, cut=0))

    @cached_property
    def median(self) -> Floats:
        """The median; for an even number of scores, the mean of the two in the middle."""

        def middle(block: Floats) -> Floats:
            m = len(block)
            rows = ranked(block, (m - 1) // 2)
            return (rows[(m - 1) // 2] + rows[m // 2]) / 2

        return self._by_count(middle)

    @cached_property
    def lowest(self) -> Floats:
        """The lowest score."""
        return self._by_count(lambda block: np.minimum.reduce(block, axis=0))

    @cached_property
    def highest(self) -> Floats:
        """The highest score."""
        return self._by_count(lambda block: np.maximum.reduce(block, axis=0))

    @cached_property
    def weighted(self) -> Floats:
        """The weighted mean ``Σ s·w / Σ w`` over the jurors that gave a score."""
        found = np.full(len(self.count), np.nan)
        for here in parts(len(found)):
            weights = self._weights[:, here]
            block = np.where(np.isnan(weights), 1.0, weights)
            for (m,), rows in cases(self.count[here]):
                if m:
                    scores, heavy = dense(rows, m, self._scores[:, here], block)
                    # Weights are relative to the heaviest, as in the average of a single panel.
                    shares = heavy / np.maximum.reduce(heavy, axis=0)
                    found[here][rows] = self._sum(scores * shares) / self._sum(shares)
        return found

    def trimmed(self, fraction: Floats, rounding: Small) -> Floats:
        """Return the mean of the scores that a trim keeps; fraction and rounding are ``[n]``."""
        found = np.full(len(self.count), np.nan)
        for (m, share, way), rows in cases(self.count, fraction, rounding):
            if m:
                cut = trim_count(m, share, Rounding.DOWN if way < 0 else ROUNDINGS[way])
                (scores,) = dense(rows, m, self._scores)
                _in_blocks(found, rows, scores, partial(self._kept_mean, cut=cut))
        return found

    def left_out(self, fraction: Floats, rounding: Small) -> Bools:
        """Return the seats, ``[s, n]``, that a trim leaves out at both ends, by (score, seat)."""
        scores = self._scores
        # How many seats of the panel come before each seat: [s, n].
        before = np.zeros(scores.shape, np.min_scalar_type(len(scores)))
        for one, two in combinations(range(len(scores)), 2):
            before[two] += scores[one] <= scores[two]
            before[one] += scores[one] > scores[two]
        found = np.zeros(scores.shape, np.bool_)
        for (m, share, way), rows in cases(self.count, fraction, rounding):
            cut = trim_count(m, share, Rounding.DOWN if way < 0 else ROUNDINGS[way])
            if cut:
                place = before[:, rows]
                out = (place < cut) | (place >= m - cut)
                found[:, rows] = out & ~np.isnan(scores[:, rows])
        return found

    def _kept_mean(self, block: Floats, cut: int) -> Floats:
        if cut == 1 and not self._exact:
            # Two ends are found in fewer passes than the network takes to set them apart.
            total = _sums(block)
            total -= np.minimum.reduce(block, axis=0)
            total -= np.maximum.reduce(block, axis=0)
            return total / (len(block) - 2)
        kept = ranked(block, cut)[cut : len(block) - cut]
        return self._sum(kept) / len(kept)

    def _by_count(self, figure: Callable[[Floats], Floats]) -> Floats:
        """Compute a figure for the panels of each number of scores."""
        found = np.full(len(self.count), np.nan)
        for (m,), rows in cases(self.count):
            if m:
                (scores,) = dense(rows, m, self._scores)
                _in_blocks(found, rows, scores, figure)
        return found


def _in_blocks(
    found: Floats, rows: Rows, scores: Floats, figure: Callable[[Floats], Floats]
) -> None:
    """Put a figure of each panel of ``scores`` at its place in ``found``."""
    for here in parts(scores.shape[1]):
        found[here if isinstance(rows, slice) else rows[here]] = figure(scores[:, here])


def _sums(terms: Floats | Sequence[Floats]) -> Floats:
    total = terms[0].copy()
    for term in terms[1:]:
        total += term
    return total


def exact_sums(terms: Floats | Sequence[Floats]) -> Floats:
    """Sum over the first axis as ``math.fsum`` does: exactly, and rounded once.

    A sum and its rounding error are carried along; where the error itself is rounded, ``fsum``
    computes the sum. Source of the error-free step: Knuth 1969, the two-sum.
    """
    high, low = np.zeros_like(terms[0]), np.zeros_like(terms[0])
    rounded = np.zeros(len(high), np.bool_)
    for term in terms:
        high, error = _two_sum(high, term)
        low, lost = _two_sum(low, error)
        rounded |= lost != 0
    total: Floats = high + low
    for i in np.flatnonzero(rounded):
        total[i] = math.fsum([float(term[i]) for term in terms])
    return total


def _two_sum(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """Return ``a + b`` rounded, and the exact error of the rounding."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)
