"""The decisions of every rule on many panels at once, bit for bit those of one panel at a time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from reviewdesk.domain.jury.quorum import quorum_met
from reviewdesk.domain.jury.strategies import STRATEGIES as METHODS
from reviewdesk.domain.jury.strategies import Reads
from reviewdesk.domain.jury.supermajority import vote_decision
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
from reviewdesk.domain.stats.dense import cases, counted, every, parts
from reviewdesk.domain.verdict import SLACK, Decision, Strategy
from reviewdesk.domain.whatif.bulk_scores import Scores
from reviewdesk.domain.whatif.policies import Variant

_PASS, _FAIL, _SPLIT = (
    DECISIONS.index(word) for word in (Decision.PASS, Decision.FAIL, Decision.INCONCLUSIVE)
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

    @cached_property
    def known(self) -> Bools:
        """Whether a panel has votes and no score waits for a threshold to vote, ``[n]``."""
        columns, found = self.columns, self.answered > 0
        # Usually every seat has voted, which is known before any score is read.
        if len(found) and self.answered.min() < len(columns.votes):
            waiting = (columns.votes == NOTHING) & ~columns.stated & ~np.isnan(columns.scores)
            found &= ~waiting.any(axis=0)
        return found

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
        for (code,), rows in cases(choice.strategy):
            made = figure(None if code == NOTHING else STRATEGIES[code], choice)
            if isinstance(rows, slice):
                return made
            found[rows] = made[rows]
        return found

    def _decide_by(self, strategy: Strategy | None, choice: Columns) -> Small:
        """Decide every panel by one strategy, or by the median where the median replaces it."""
        rules = self._rules_on_votes()
        if strategy in rules:
            found = rules[strategy](choice)
        elif strategy is not None and METHODS[strategy].reads is Reads.SCORES:
            found = self.on_scores(strategy, choice)
        else:
            found = np.full(len(choice), NOTHING, np.int8)
        instead = self._median_instead(strategy)
        if instead.any():
            found = np.where(instead, self.on_scores(Strategy.MEDIAN, choice), found)
        return found

    def _value_by(self, strategy: Strategy | None, choice: Columns) -> Floats:
        """Return every panel's value by one strategy, or the median where that replaces it."""
        value = self._value(strategy, choice)
        instead = self._median_instead(strategy)
        return np.where(instead, self.scores.median, value) if instead.any() else value

    def _median_instead(self, strategy: Strategy | None) -> Bools:
        """Whether the median decides: a juror failed, the panel allows it, and there is a score."""
        if strategy in {None, Strategy.EXTERNAL} or not self.columns.replaced.any():
            return np.broadcast_to(np.False_, len(self.columns))
        found: Bools = self.columns.replaced.any(axis=0) & (self.scores.count > 0)
        return found

    def on_scores(self, strategy: Strategy, choice: Columns) -> Small:
        """Compare values with the threshold; a panel without votes stays undecided."""
        value = self._value(strategy, choice)
        found, near = _compared(value, choice.threshold, self.scores.doubt)
        found[self.answered == 0] = NOTHING
        if len(near) and not self._exact:
            found[near] = self.at(near).on_scores(strategy, choice.at(near))
        return found

    def _value(self, strategy: Strategy | None, choice: Columns) -> Floats:
        """Return every panel's value by the strategy itself."""
        if strategy is Strategy.MAJORITY:
            majority = self._majority
            return np.where((majority == _PASS) | (majority == _FAIL), majority == _PASS, np.nan)
        if strategy is Strategy.UNANIMOUS:
            either = (self._unanimous == _PASS) | (self._unanimous == _FAIL)
            return np.where(either, self.scores.mean, np.nan)
        if strategy is Strategy.TRIMMED_MEAN:
            return self.scores.trimmed(choice.fraction, choice.rounding)
        if strategy is Strategy.WEIGHTED_AVERAGE:
            failed = self.columns.failed.any(axis=0)
            return np.where(failed, self.scores.median, self.scores.weighted)
        if strategy in {Strategy.MEDIAN, Strategy.HIGHEST, Strategy.LOWEST}:
            value: Floats = getattr(self.scores, strategy)
            return value
        return self.scores.mean

    # rules on votes

    def _rules_on_votes(self) -> dict[Strategy | None, Callable[[Columns], Small]]:
        # Kept, it would refer back to the panels and hold their columns until a collection.
        return {
            Strategy.QUORUM: self._quorum,
            Strategy.MAJORITY: lambda _: self._majority,
            Strategy.UNANIMOUS: lambda _: self._unanimous,
            Strategy.SINGLE: lambda _: self._single,
            Strategy.SUPERMAJORITY: self._supermajority,
        }

    def _quorum(self, choice: Columns) -> Small:
        """Decide by quorum, by the fewest passes that meet it in the arithmetic of a panel."""
        found = np.full(len(choice), NOTHING, np.int8)
        for (seated, quorum), rows in cases(choice.seated, choice.quorum):
            if seated and quorum != NOTHING:
                bar = choice.quorums[quorum]
                least = sum(not quorum_met(n, seated, bar) for n in range(seated + 1))
                found[rows] = self.passes[rows] >= np.min_scalar_type(seated + 1).type(least)
        return self._where_known(found)

    def _supermajority(self, choice: Columns) -> Small:
        """Decide by supermajority, with ``vote_decision`` for each number of passes."""
        found = np.full(len(choice), NOTHING, np.int8)
        for (answered, share), rows in cases(self.answered, choice.share):
            made = [
                DECISIONS.index(vote_decision(passes, answered, choice.shares[share]))
                for passes in range(answered + 1)
            ]
            found[rows] = np.array(made, np.int8)[self.passes[rows]]
        return self._where_known(found)

    @cached_property
    def _majority(self) -> Small:
        seated, passes = self.columns.seated, self.passes.astype(np.int32)
        found = np.where(2 * (self.answered - passes) > seated, _FAIL, _SPLIT)
        return self._where_known(np.where(2 * passes > seated, _PASS, found).astype(np.int8))

    @cached_property
    def _unanimous(self) -> Small:
        found = np.where(self.passes == 0, _FAIL, _SPLIT)
        found = np.where(self.passes == self.answered, _PASS, found)
        return self._where_known(found.astype(np.int8))

    @cached_property
    def _single(self) -> Small:
        found = np.where(self.answered == 1, self.passes, NOTHING)
        return self._where_known(found.astype(np.int8))

    def _where_known(self, found: Small) -> Small:
        return found if self.known.all() else np.where(self.known, found, np.int8(NOTHING))


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
