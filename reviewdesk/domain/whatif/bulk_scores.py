"""The scores of many panels at once: means, ranks and trims, rounded as for a single panel."""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np

from reviewdesk.domain.jury.trim import trim_count
from reviewdesk.domain.run.columns import NOTHING, ROUNDINGS, Bools, Floats, Ints, Small
from reviewdesk.domain.verdict import Rounding

_MOST_CODES = 1 << 16


class Scores:
    """The scores of n panels, ``[n, s]``, with NaN for a missing score.

    Every figure is ``[n]``, NaN for a panel without scores. A mean is the sum rounded once, as
    ``math.fsum`` rounds it, divided by the number of scores.
    """

    def __init__(self, scores: Floats, weights: Floats) -> None:
        """Keep scores and weights; a missing weight counts as 1."""
        self._given = ~np.isnan(scores)
        self._scores, self._weights = np.where(self._given, scores, 0.0), weights
        self.count = count_marked(self._given)
        ranked = np.sort(np.where(self._given, scores, np.inf), axis=1)
        # One contiguous row per seat, because the sums go seat by seat.
        self._ranked = np.ascontiguousarray(ranked.T)
        self._trims: dict[bytes, Floats] = {}

    @cached_property
    def mean(self) -> Floats:
        """The mean of the scores."""
        return _ratio(exact_sums(self._scores.T), self.count)

    @cached_property
    def median(self) -> Floats:
        """The median; for an even number of scores, the mean of the two in the middle."""
        return (self._rank((self.count - 1) // 2) + self._rank(self.count // 2)) / 2

    @cached_property
    def lowest(self) -> Floats:
        """The lowest score."""
        return self._rank(np.zeros_like(self.count))

    @cached_property
    def highest(self) -> Floats:
        """The highest score."""
        return self._rank(self.count - 1)

    def _rank(self, rank: Ints) -> Floats:
        """Return the score at a rank of each panel, counted from 0 for the lowest."""
        if not len(self._ranked):
            return np.full(len(self.count), np.nan)
        found = self._ranked[np.maximum(rank, 0), np.arange(len(rank))]
        return np.where(self.count > 0, found, np.nan)

    @cached_property
    def weighted(self) -> Floats:
        """The weighted mean ``Σ s·w / Σ w`` over the jurors that gave a score."""
        if not self._given.shape[1]:
            return np.full(len(self.count), np.nan)
        weights = np.where(np.isnan(self._weights), 1.0, self._weights)
        weights = np.where(self._given, weights, 0.0)
        heaviest = weights.max(axis=1, keepdims=True)
        # Weights are relative to the heaviest, as in the average of a single panel.
        shares = np.divide(weights, heaviest, out=np.zeros_like(weights), where=heaviest > 0)
        return _ratio(exact_sums((self._scores * shares).T), exact_sums(shares.T))

    def trimmed(self, fraction: Floats, rounding: Small) -> Floats:
        """Return the mean of the scores that a trim keeps; fraction and rounding are ``[n]``."""
        cut = self._cut(fraction, rounding)
        key = cut.tobytes()
        if key not in self._trims:
            self._trims[key] = self._mean_without(cut)
        return self._trims[key]

    def left_out(self, fraction: Floats, rounding: Small) -> Bools:
        """Return the seats, ``[n, s]``, that a trim leaves out at both ends, by (score, seat)."""
        cut = self._cut(fraction, rounding)[:, None]
        order = np.argsort(np.where(self._given, self._scores, np.inf), axis=1, kind="stable")
        place = np.argsort(order, axis=1, kind="stable")
        found: Bools = self._given & ((place < cut) | (place >= self.count[:, None] - cut))
        return found

    def _cut(self, fraction: Floats, rounding: Small) -> Ints:
        """Return how many scores go at each end, each distinct case once, with ``trim_count``."""
        fractions, at = np.unique(fraction, return_inverse=True)
        cases = np.stack([at, rounding.astype(np.int64), self.count])
        cases_, places = different(cases)
        counts = [
            trim_count(count, float(fractions[at]), Rounding.DOWN if way < 0 else ROUNDINGS[way])
            for at, way, count in cases_
        ]
        return np.array(counts, np.int64)[places]

    def _mean_without(self, cut: Ints) -> Floats:
        if not cut.any():
            return self.mean
        ranks = np.arange(len(self._ranked))[:, None]
        kept = (ranks >= cut) & (ranks < self.count - cut)
        return _ratio(exact_sums(np.where(kept, self._ranked, 0.0)), self.count - 2 * cut)


def exact_sums(terms: Floats) -> Floats:
    """Sum over the first axis as ``math.fsum`` does: exactly, and rounded once.

    A sum and its rounding error are carried along; where the error itself is rounded, ``fsum``
    computes the sum. Source of the error-free step: Knuth 1969, the two-sum.
    """
    high, low = np.zeros(terms.shape[1]), np.zeros(terms.shape[1])
    rounded = np.zeros(terms.shape[1], np.bool_)
    for term in terms:
        high, error = _two_sum(high, term)
        low, lost = _two_sum(low, error)
        rounded |= lost != 0
    total: Floats = high + low
    for i in np.flatnonzero(rounded):
        total[i] = math.fsum(terms[:, i])
    return total


def _two_sum(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """Return ``a + b`` rounded, and the exact error of the rounding."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def count_marked(marks: Bools) -> Ints:
    """Count the marked seats of each panel, seat by seat, because panels have few seats."""
    found = np.zeros(len(marks), np.int64)
    for seat in marks.T:
        found += seat
    return found


def _ratio(total: Floats, of: Floats | Ints) -> Floats:
    found: Floats = np.divide(total, of, out=np.full(len(total), np.nan), where=of > 0)
    return found


def different(cases: Ints) -> tuple[list[tuple[int, ...]], Ints]:
    """Return the distinct columns of a matrix of small integers, and which one each column is."""
    codes, size = np.zeros(cases.shape[1], np.int64), 1
    for row in cases:
        low = int(row.min(initial=0))
        room = int(row.max(initial=0)) - low + 1
        codes, size = codes * room + (row - low), size * room
    if size > _MOST_CODES:
        _, first, places = np.unique(codes, return_index=True, return_inverse=True)
        return [tuple(map(int, column)) for column in cases[:, first].T], places
    # A table of all codes is faster than sorting them, and these are few enough.
    first = np.full(size, NOTHING)
    first[codes] = np.arange(len(codes))
    there = first != NOTHING
    columns_ = cases[:, first[there]].T
    return [tuple(map(int, column)) for column in columns_], (np.cumsum(there) - 1)[codes]
