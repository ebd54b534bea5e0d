"""What every rule makes of many panels at once, equal to the last bit to one panel at a time."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from reviewdesk.domain.columns import (
    DECISIONS,
    NOTHING,
    ROUNDINGS,
    STRATEGIES,
    Bools,
    Columns,
    Floats,
    Ints,
    Small,
)
from reviewdesk.domain.panel import quorum_met
from reviewdesk.domain.policies import Variant
from reviewdesk.domain.strategies import STRATEGIES as METHODS
from reviewdesk.domain.strategies import Reads
from reviewdesk.domain.trim import trim_count
from reviewdesk.domain.verdict import SLACK, Decision, Rounding, Strategy

_PASS, _FAIL, _SPLIT = (
    DECISIONS.index(word) for word in (Decision.PASS, Decision.FAIL, Decision.INCONCLUSIVE)
)

_FEW = 1 << 16


@dataclass(frozen=True, slots=True)
class Decided:
    """The value and the decision of n panels: NaN and -1 where there is none.

    Decisions are indices into ``columns.DECISIONS``. The value is what speaks for a pass: a rule
    that has none of its own, as the quorum, takes the mean of the scores.
    """

    value: Floats
    decision: Small


@dataclass(frozen=True, slots=True)
class Choice:
    """What a rule reads of each panel beside its ballots, all ``[n]``."""

    strategy: Small
    fraction: Floats
    rounding: Small
    threshold: Floats
    quorum: Ints
    quorums: tuple[float | str, ...]


def chosen(columns: Columns, variant: Variant) -> Choice:
    """The rule that each verdict is held to under a variant."""
    n = len(columns)
    strategy, quorum, quorums = columns.strategy, columns.quorum, columns.quorums
    if variant.quorum is not None:
        quorum, quorums = np.zeros(n, np.int64), (variant.quorum,)
    if variant.strategy is not None:
        strategy = np.full(n, STRATEGIES.index(variant.strategy), np.int8)
    fraction, rounding, threshold = columns.fraction, columns.rounding, columns.threshold
    if variant.fraction is not None:
        fraction = np.full(n, variant.fraction)
    if variant.rounding is not None:
        rounding = np.full(n, ROUNDINGS.index(variant.rounding), np.int8)
    if variant.threshold is not None:
        threshold = np.full(n, variant.threshold)
    return Choice(strategy, fraction, rounding, threshold, quorum, quorums)


class Panels:
    """The ballots of n panels, with every figure worked out when it is first asked for."""

    def __init__(self, columns: Columns) -> None:
        """Take the ballots as they are."""
        self.columns = columns

    def under(self, variant: Variant) -> Panels:
        """The panels whose ballots a variant changes: by a juror left out, or by its threshold."""
        columns = self.columns
        if variant.dropped is not None:
            columns = without(columns, variant.dropped)
        if variant.threshold is not None:
            columns = replace(columns, votes=revoted(columns, variant.threshold))
        if columns is self.columns:
            return self
        changed = Panels(columns)
        if variant.dropped is None:
            changed.scores = self.scores
        return changed

    @cached_property
    def scores(self) -> Scores:
        """What the score rules read."""
        return Scores(self.columns.scores, self.columns.weights)

    @cached_property
    def passes(self) -> Ints:
        """Votes for, ``[n]``."""
        return _count(self.columns.votes == 1)

    @cached_property
    def answered(self) -> Ints:
        """Votes cast, ``[n]``."""
        return _count(self.columns.votes != NOTHING)

    @cached_property
    def known(self) -> Bools:
        """Whether there are votes and none of them waits for a threshold, ``[n]``."""
        columns = self.columns
        waiting = (columns.votes == NOTHING) & ~columns.stated & ~np.isnan(columns.scores)
        found: Bools = (self.answered > 0) & (_count(waiting) == 0)
        return found

    def decide(self, variant: Variant) -> Decided:
        """Hold every panel to a variant; the panels are those ``under`` it."""
        choice = chosen(self.columns, variant)
        codes = [int(code) for code in np.unique(choice.strategy)]
        if len(codes) == 1:
            return self._by(codes[0], choice)
        value = np.full(len(self.columns), np.nan)
        decision = np.full(len(self.columns), NOTHING, np.int8)
        for code in codes:
            made, here = self._by(code, choice), choice.strategy == code
            value[here], decision[here] = made.value[here], made.decision[here]
        return Decided(value, decision)

    def _by(self, code: int, choice: Choice) -> Decided:
        """Hold every panel to one strategy."""
        strategy = None if code == NOTHING else STRATEGIES[code]
        if strategy in self._by_votes:
            decision = self._by_votes[strategy](choice)
            return Decided(self._worth(strategy, decision), decision)
        if strategy is not None and METHODS[strategy].reads is Reads.SCORES:
            value = self._value(strategy, choice)
            return Decided(value, _against(value, choice.threshold))
        nobody = np.full(len(self.columns), NOTHING, np.int8)
        return Decided(self.scores.mean, nobody)

    def _worth(self, strategy: Strategy | None, decision: Small) -> Floats:
        """The value of a rule on votes: 1 or 0 of a majority, nothing of those who differ."""
        either = (decision == _PASS) | (decision == _FAIL)
        if strategy is Strategy.MAJORITY:
            return np.where(either, decision == _PASS, np.nan)
        if strategy is Strategy.UNANIMOUS:
            return np.where(either, self.scores.mean, np.nan)
        return self.scores.mean

    def _value(self, strategy: Strategy, choice: Choice) -> Floats:
        if strategy is Strategy.TRIMMED_MEAN:
            return self.scores.trimmed(choice.fraction, choice.rounding)
        if strategy is Strategy.WEIGHTED_AVERAGE:
            failed = self.columns.failed.any(axis=1)
            return np.where(failed, self.scores.median, self.scores.weighted)
        value: Floats = getattr(self.scores, strategy)
        return value

    # rules on votes

    @cached_property
    def _by_votes(self) -> dict[Strategy | None, Callable[[Choice], Small]]:
        return {
            Strategy.QUORUM: self._quorum,
            Strategy.MAJORITY: lambda _: self._majority,
            Strategy.UNANIMOUS: lambda _: self._unanimous,
            Strategy.SINGLE: lambda _: self._single,
        }

    def _quorum(self, choice: Choice) -> Small:
        """Each different case once, by the exact arithmetic of ``panel.quorum_met``."""
        ready = self.known & (choice.quorum != NOTHING)
        cases = np.stack([self.passes, self.columns.seated, choice.quorum])[:, ready]
        different, places = _different(cases)
        met = [
            _PASS if quorum_met(passes, seated, choice.quorums[quorum]) else _FAIL
            for passes, seated, quorum in different
        ]
        found = np.full(len(self.columns), NOTHING, np.int8)
        found[ready] = np.array(met, np.int8)[places]
        return found

    @cached_property
    def _majority(self) -> Small:
        seated, fails = self.columns.seated, self.answered - self.passes
        found = np.where(2 * fails > seated, _FAIL, _SPLIT)
        return self._voted(np.where(2 * self.passes > seated, _PASS, found))

    @cached_property
    def _unanimous(self) -> Small:
        found = np.where(self.passes == 0, _FAIL, _SPLIT)
        return self._voted(np.where(self.passes == self.answered, _PASS, found))

    @cached_property
    def _single(self) -> Small:
        found = np.where(self.passes == 1, _PASS, _FAIL)
        return np.where(self.known & (self.answered == 1), found, NOTHING).astype(np.int8)

    def _voted(self, found: Ints) -> Small:
        return np.where(self.known, found, NOTHING).astype(np.int8)


class Scores:
    """The scores of n panels, ``[n, s]`` with NaN for none; every value is ``[n]``, NaN for none.

    Means are sums rounded once, as ``math.fsum`` gives them, over the number of scores.
    """

    def __init__(self, scores: Floats, weights: Floats) -> None:
        """Take scores and weights; a missing weight is 1."""
        self._given = ~np.isnan(scores)
        self._scores, self._weights = np.where(self._given, scores, 0.0), weights
        self.count = _count(self._given)
        ranked = np.sort(np.where(self._given, scores, np.inf), axis=1)
        # Seat after seat in one piece, which is how the sums read them.
        self._ranked = np.ascontiguousarray(ranked.T)
        self._trims: dict[bytes, Floats] = {}

    @cached_property
    def mean(self) -> Floats:
        """Mean of the scores."""
        return _ratio(exact_sums(self._scores.T), self.count)

    @cached_property
    def median(self) -> Floats:
        """Median: of an even number, the mean of the two in the middle."""
        return (self._rank((self.count - 1) // 2) + self._rank(self.count // 2)) / 2

    @cached_property
    def lowest(self) -> Floats:
        """Lowest score."""
        return self._rank(np.zeros_like(self.count))

    @cached_property
    def highest(self) -> Floats:
        """Highest score."""
        return self._rank(self.count - 1)

    def _rank(self, rank: Ints) -> Floats:
        """The score of one rank in each panel."""
        if not len(self._ranked):
            return np.full(len(self.count), np.nan)
        found = self._ranked[np.maximum(rank, 0), np.arange(len(rank))]
        return np.where(self.count > 0, found, np.nan)

    @cached_property
    def weighted(self) -> Floats:
        """``Σ s·w / Σ w`` over the jurors that gave a score."""
        if not self._given.shape[1]:
            return np.full(len(self.count), np.nan)
        weights = np.where(np.isnan(self._weights), 1.0, self._weights)
        weights = np.where(self._given, weights, 0.0)
        heaviest = weights.max(axis=1, keepdims=True)
        # Relative to the heaviest, as one panel's average is.
        shares = np.divide(weights, heaviest, out=np.zeros_like(weights), where=heaviest > 0)
        return _ratio(exact_sums((self._scores * shares).T), exact_sums(shares.T))

    def trimmed(self, fraction: Floats, rounding: Small) -> Floats:
        """Mean of the scores that a trim keeps, its fraction and rounding given ``[n]``."""
        cut = self._cut(fraction, rounding)
        key = cut.tobytes()
        if key not in self._trims:
            self._trims[key] = self._without(cut)
        return self._trims[key]

    def left_out(self, fraction: Floats, rounding: Small) -> Bools:
        """The seats ``[n, s]`` that a trim leaves out, lowest and highest by (score, seat)."""
        cut = self._cut(fraction, rounding)[:, None]
        order = np.argsort(np.where(self._given, self._scores, np.inf), axis=1, kind="stable")
        place = np.argsort(order, axis=1, kind="stable")
        found: Bools = self._given & ((place < cut) | (place >= self.count[:, None] - cut))
        return found

    def _cut(self, fraction: Floats, rounding: Small) -> Ints:
        """How many go at each end: each different case once, by ``trim.trim_count``."""
        fractions, at = np.unique(fraction, return_inverse=True)
        cases = np.stack([at, rounding.astype(np.int64), self.count])
        different, places = _different(cases)
        counts = [
            trim_count(count, float(fractions[at]), Rounding.DOWN if way < 0 else ROUNDINGS[way])
            for at, way, count in different
        ]
        return np.array(counts, np.int64)[places]

    def _without(self, cut: Ints) -> Floats:
        if not cut.any():
            return self.mean
        ranks = np.arange(len(self._ranked))[:, None]
        kept = (ranks >= cut) & (ranks < self.count - cut)
        return _ratio(exact_sums(np.where(kept, self._ranked, 0.0)), self.count - 2 * cut)


def without(columns: Columns, juror: str) -> Columns:
    """The columns with a juror taken out of every panel: its seats are empty."""
    if juror not in columns.names:
        return columns
    gone: Bools = columns.juror == columns.names.index(juror)
    return replace(
        columns,
        scores=np.where(gone, np.nan, columns.scores),
        votes=np.where(gone, np.int8(NOTHING), columns.votes),
        stated=columns.stated & ~gone,
        failed=columns.failed & ~gone,
        weights=np.where(gone, np.nan, columns.weights),
        juror=np.where(gone, NOTHING, columns.juror),
        seated=columns.seated - _count(gone),
    )


def revoted(columns: Columns, threshold: float) -> Small:
    """The votes under another threshold: scores vote by it, unless the vote was withheld."""
    withheld = columns.stated & (columns.votes == NOTHING)
    votes = (columns.scores >= threshold - SLACK).astype(np.int8)
    return np.where(np.isnan(columns.scores) | withheld, columns.votes, votes)


def exact_sums(terms: Floats) -> Floats:
    """Sums over the first axis as ``math.fsum`` gives them: exact, and rounded once.

    A sum and what its roundings lost are carried along; where even that is rounded, ``fsum`` takes
    over. Source of the error-free step: Knuth 1969, the two-sum.
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
    """``a + b`` rounded, and exactly what the rounding lost."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def _count(marks: Bools) -> Ints:
    """How many seats of each panel are marked; seat after seat, for panels have few of them."""
    found = np.zeros(len(marks), np.int64)
    for seat in marks.T:
        found += seat
    return found


def _ratio(total: Floats, of: Floats | Ints) -> Floats:
    found: Floats = np.divide(total, of, out=np.full(len(total), np.nan), where=of > 0)
    return found


def _against(value: Floats, threshold: Floats) -> Small:
    known = ~(np.isnan(value) | np.isnan(threshold))
    decision = np.where(value >= threshold - SLACK, _PASS, _FAIL)
    return np.where(known, decision, NOTHING).astype(np.int8)


def _different(cases: Ints) -> tuple[list[tuple[int, ...]], Ints]:
    """The different columns of small numbers, and which of them each column is."""
    codes, size = np.zeros(cases.shape[1], np.int64), 1
    for row in cases:
        low = int(row.min(initial=0))
        room = int(row.max(initial=0)) - low + 1
        codes, size = codes * room + (row - low), size * room
    if size > _FEW:
        _, first, places = np.unique(codes, return_index=True, return_inverse=True)
        return [tuple(map(int, column)) for column in cases[:, first].T], places
    # Sorting is for codes that are too far apart to be counted off.
    first = np.full(size, NOTHING)
    first[codes] = np.arange(len(codes))
    there = first != NOTHING
    columns_ = cases[:, first[there]].T
    return [tuple(map(int, column)) for column in columns_], (np.cumsum(there) - 1)[codes]
