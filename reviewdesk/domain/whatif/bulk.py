"""The decisions of every rule on many panels at once, bit for bit those of one panel at a time."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from msgspec.structs import replace

from reviewdesk.domain.jury.strategies import STRATEGIES as METHODS
from reviewdesk.domain.jury.strategies import Reads, Votes
from reviewdesk.domain.run.columns import (
    DECISIONS,
    NOTHING,
    ROUNDINGS,
    STRATEGIES,
    Bools,
    Columns,
    Floats,
    Ints,
    Small,
    lean,
)
from reviewdesk.domain.run.policies import code
from reviewdesk.domain.stats.dense import cases, counted, every, looked_up, parts
from reviewdesk.domain.verdict import SLACK, Decision, Policy, Strategy
from reviewdesk.domain.whatif.bulk_scores import Scores
from reviewdesk.domain.whatif.policies import Variant

_PASS, _FAIL, _SPLIT, _ERROR = map(
    DECISIONS.index, (Decision.PASS, Decision.FAIL, Decision.INCONCLUSIVE, Decision.ERROR)
)
Value = TypeVar("Value", np.int8, np.float64)


def ruled(columns: Columns, variant: Variant) -> Columns:
    """Return the columns with the settings of a variant's rule; the ballots stay."""
    given: dict[str, Any] = {}
    if variant.supermajority is not None:
        given |= {"share": np.int32(0), "shares": (variant.supermajority,)}
    if variant.quorum is not None:
        given |= {"quorum": np.int32(0), "quorums": (variant.quorum,)}
    if variant.strategy is not None:
        given["strategy"] = np.int8(STRATEGIES.index(variant.strategy))
    if variant.fraction is not None:
        given["fraction"] = np.float64(variant.fraction)
    if variant.rounding is not None:
        given["rounding"] = np.int8(ROUNDINGS.index(variant.rounding))
    if variant.threshold is not None:
        given["threshold"] = np.float64(variant.threshold)
    n = len(columns)
    # One setting for all verdicts takes no memory per verdict.
    every: dict[str, Any] = {
        name: np.broadcast_to(value, n) if isinstance(value, np.generic) else value
        for name, value in given.items()
    }
    return replace(columns, **every)


class Panels:
    """The ballots of n panels; each figure is computed at its first use and then kept.

    If ``exact``, values are those of single panels to the last bit; else a value may be off by a
    rounding error, and only decisions, which are never off, should be used.
    """

    def __init__(self, columns: Columns, *, exact: bool = False) -> None:
        """Keep the ballots; compute nothing yet."""
        self.columns, self._exact = columns, exact

    def under(self, variant: Variant) -> Panels:
        """Return the panels as a variant changes them: without a juror, or at another threshold."""
        columns = self.columns
        if variant.dropped is not None:
            columns = without(columns, variant.dropped)
        if variant.threshold is not None:
            columns = replace(columns, votes=revoted(columns, variant.threshold))
        if columns is self.columns:
            return self
        changed = Panels(columns, exact=self._exact)
        if variant.dropped is None:
            changed.scores = self.scores
        return changed

    def at(self, rows: Ints) -> Panels:
        """Return some of the panels, with exact values."""
        return Panels(self.columns.at(rows), exact=True)

    @cached_property
    def scores(self) -> Scores:
        """The scores, with the figures that rules on scores read."""
        columns = self.columns
        return Scores(columns.scores, columns.weights, most=columns.most, exact=self._exact)

    @cached_property
    def passes(self) -> Ints:
        """The number of votes for a pass, ``[n]``."""
        votes = self.columns.votes
        return counted(votes.view(np.bool_) if _all_cast(votes) else votes == 1)

    @cached_property
    def answered(self) -> Ints:
        """The number of votes cast, ``[n]``."""
        votes = self.columns.votes
        return every(*votes.shape) if _all_cast(votes) else counted(votes != NOTHING)

    def decide(self, variant: Variant) -> Small:
        """Decide every panel by a variant, as indices into ``columns.DECISIONS``, -1 for none.

        Call it on the panels that ``under`` returned for the variant; likewise the two below.
        """
        return self._by_strategy(self._decide_by, variant, np.int8(NOTHING))

    def values(self, variant: Variant) -> Floats:
        """Return each panel's support for a pass, NaN if there is none.

        A rule without a value, such as the quorum, takes the mean of the scores.
        """
        return self._by_strategy(self._value_by, variant, np.float64("nan"))

    def valued(self, variant: Variant) -> Bools:
        """Return whether a panel has a value, if the variant decides it: ``[n]``."""
        strategy = ruled(self.columns, variant).strategy
        found: Bools = (self.scores.count > 0) | (strategy == STRATEGIES.index(Strategy.MAJORITY))
        return found

    def _by_strategy(
        self,
        figure: Callable[[Strategy | None, Columns], npt.NDArray[Value]],
        variant: Variant,
        empty: Value,
    ) -> npt.NDArray[Value]:
        """Compute a figure of every panel by the strategy that the variant gives it."""
        choice = ruled(self.columns, variant)
        found = np.full(len(choice), empty)
        for (place,), rows in cases(choice.strategy):
            made = figure(None if place == NOTHING else STRATEGIES[place], choice)
            if isinstance(rows, slice):
                return made
            found[rows] = made[rows]
        return found

    def _decide_by(self, strategy: Strategy | None, choice: Columns) -> Small:
        """Decide every panel by one strategy, or by the median where the median replaces it."""
        if strategy is None:
            return np.full(len(choice), NOTHING, np.int8)
        if METHODS[strategy].reads is not Reads.SCORES:
            return self._on_votes(strategy, choice)
        found = self.on_scores(strategy, choice)
        instead = self._median_instead(strategy)
        if instead.any():
            found = np.where(instead, self.on_scores(Strategy.MEDIAN, choice), found)
        if choice.minima != (None,) * len(choice.minima):
            few = self._by_votes(choice, lambda votes, policy: votes.too_few(policy))
            found = np.where(few == 1, np.int8(_ERROR), found)
        return found

    def _on_votes(self, strategy: Strategy, choice: Columns) -> Small:
        """Decide by the method of the strategy, once for each count of votes that occurs."""
        method = METHODS[strategy]
        return self._by_votes(
            choice, lambda votes, policy: code(method.decide(votes, None, policy))
        )

    def _by_votes(self, choice: Columns, figure: Callable[[Votes, Policy], int]) -> Small:
        """Return a figure of each panel that follows from its votes and its policy, ``[n]``."""

        def one(*counts: int) -> int:
            *votes, quorum, share, minimum = counts
            policy = Policy(
                quorum=None if quorum == NOTHING else choice.quorums[quorum],
                supermajority=choice.shares[share],
                min_answered=choice.minima[minimum],
            )
            return figure(Votes(*votes), policy)

        columns = (self.passes, self.answered, choice.seated, *self._silent)
        return looked_up(one, *columns, choice.quorum, choice.share, choice.minimum)

    @cached_property
    def _silent(self) -> tuple[Ints, Ints, Ints, Ints]:
        """How many seats wait for a threshold, withhold a vote, are missing, and were not asked."""
        columns, none = self.columns, np.broadcast_to(np.int8(0), len(self.columns))
        # Usually every seat has voted, which is known before any score is read.
        if not len(self.answered) or self.answered.min() == len(columns.votes):
            return none, none, none, none
        silent = columns.votes == NOTHING
        withheld = silent & columns.stated & (columns.juror != NOTHING)
        withheld &= ~columns.missing & ~columns.not_asked
        waiting = silent & ~columns.stated & ~np.isnan(columns.scores)
        every = (waiting, withheld, columns.missing, columns.not_asked)
        waits, withholds, missing, unasked = (lean(counted(one)) for one in every)
        return waits, withholds, missing, unasked

    def _value_by(self, strategy: Strategy | None, choice: Columns) -> Floats:
        """Return every panel's value by one strategy, or the median where that replaces it."""
        value = self._value(strategy, choice)
        instead = self._median_instead(strategy)
        return np.where(instead, self.scores.median, value) if instead.any() else value

    def _median_instead(self, strategy: Strategy | None) -> Bools:
        """Whether the median decides: a juror failed, and it replaces the strategy then."""
        columns = self.columns
        found: Bools = np.broadcast_to(np.False_, len(columns))
        if strategy is Strategy.WEIGHTED_AVERAGE:
            found = counted(columns.failed) > 0
        elif strategy in {Strategy.MEAN, Strategy.TRIMMED_MEAN}:
            found = counted(columns.replaced) > 0
        return found

    def on_scores(self, strategy: Strategy, choice: Columns) -> Small:
        """Compare values with the threshold; a panel without votes stays undecided.

        A cautious rule is inconclusive beside a missing score that could fall under the threshold.
        """
        value = self._value(strategy, choice)
        found, near = _compared(value, choice.threshold, self.scores.doubt)
        found[self.answered == 0] = NOTHING
        if METHODS[strategy].cautious:
            open_ = (self._silent[2] > 0) & (choice.threshold > SLACK)
            found[open_ & (found == _PASS)] = _SPLIT
        if len(near) and not self._exact:
            found[near] = self.at(near).on_scores(strategy, choice.at(near))
        return found

    def _value(self, strategy: Strategy | None, choice: Columns) -> Floats:
        """Return every panel's value by the strategy itself."""
        if strategy in {Strategy.MAJORITY, Strategy.UNANIMOUS}:
            # Their values read no quorum, share or minimum.
            made = self._on_votes(strategy, replace(choice, minima=(None,) * len(choice.minima)))
            either = (made == _PASS) | (made == _FAIL)
            value = self.scores.mean if strategy is Strategy.UNANIMOUS else made.astype(np.float64)
            return np.where(either, value, np.nan)
        if strategy is Strategy.TRIMMED_MEAN:
            return self.scores.trimmed(choice.fraction, choice.rounding)
        if strategy is Strategy.WEIGHTED_AVERAGE:
            return self.scores.weighted
        if strategy in {Strategy.MEDIAN, Strategy.HIGHEST, Strategy.LOWEST}:
            found: Floats = getattr(self.scores, strategy)
            return found
        return self.scores.mean


def without(columns: Columns, juror: str) -> Columns:
    """Return the columns with a juror removed from every panel: its seats are empty."""
    if juror not in columns.names:
        return columns
    gone: Bools = columns.juror == columns.names.index(juror)
    return replace(
        columns,
        scores=np.where(gone, np.nan, columns.scores),
        votes=np.where(gone, np.int8(NOTHING), columns.votes),
        stated=lean(columns.stated & ~gone),
        failed=lean(columns.failed & ~gone),
        missing=lean(columns.missing & ~gone),
        not_asked=lean(columns.not_asked & ~gone),
        replaced=lean(columns.replaced & ~gone),
        weights=lean(np.where(gone, np.nan, columns.weights)),
        juror=lean(np.where(gone, np.int32(NOTHING), columns.juror)),
        seated=lean(columns.seated - counted(gone)),
    )


def revoted(columns: Columns, threshold: float) -> Small:
    """Return the votes at another threshold: a score votes by it, unless its vote was withheld."""
    withheld = columns.stated & (columns.votes == NOTHING)
    votes = (columns.scores >= threshold - SLACK).astype(np.int8)
    return np.where(np.isnan(columns.scores) | withheld, columns.votes, votes)


def _all_cast(votes: Small) -> bool:
    """Whether every seat has voted, so that each vote is 0 or 1."""
    return bool(votes.size and np.minimum.reduce(votes, axis=None) != NOTHING)


def _compared(value: Floats, threshold: Floats, doubt: float) -> tuple[Small, Ints]:
    """Compare values with thresholds, and return which are closer to theirs than ``doubt``."""
    passed, near = np.empty(len(value), np.bool_), [np.empty(0, np.intp)]
    # A fail is stored as 0 and a pass as 1.
    found = passed.view(np.int8)
    for here in parts(len(value)):
        apart = value[here] - (threshold[here] - SLACK)
        np.greater_equal(apart, 0, out=passed[here])
        distance = np.abs(apart)
        # The least is NaN if any is, and most blocks have neither a NaN nor a near one.
        if not np.minimum.reduce(distance) > doubt:
            near.append(here.start + np.flatnonzero(distance <= doubt))
            found[here][np.isnan(apart)] = NOTHING
    return found, np.concatenate(near)
