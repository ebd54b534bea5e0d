"""The decisions of every rule on many panels at once, bit for bit those of one panel at a time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

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
)
from reviewdesk.domain.verdict import SLACK, Decision, Strategy
from reviewdesk.domain.whatif.bulk_scores import Scores, count_marked, different
from reviewdesk.domain.whatif.policies import Variant

_PASS, _FAIL, _SPLIT = (
    DECISIONS.index(word) for word in (Decision.PASS, Decision.FAIL, Decision.INCONCLUSIVE)
)


@dataclass(frozen=True, slots=True)
class BulkDecisions:
    """The value and the decision of n panels: NaN and -1 if there is none.

    Decisions are indices into ``columns.DECISIONS``. The value is the support for a pass; a rule
    without a value, such as the quorum, takes the mean of the scores.
    """

    value: Floats
    decision: Small


def ruled(columns: Columns, variant: Variant) -> Columns:
    """Return the columns with the settings of a variant's rule; the ballots stay."""
    n = len(columns)
    given: dict[str, Any] = {}
    if variant.supermajority is not None:
        given |= {"share": np.zeros(n, np.int64), "shares": (variant.supermajority,)}
    if variant.quorum is not None:
        given |= {"quorum": np.zeros(n, np.int64), "quorums": (variant.quorum,)}
    if variant.strategy is not None:
        given["strategy"] = np.full(n, STRATEGIES.index(variant.strategy), np.int8)
    if variant.fraction is not None:
        given["fraction"] = np.full(n, variant.fraction)
    if variant.rounding is not None:
        given["rounding"] = np.full(n, ROUNDINGS.index(variant.rounding), np.int8)
    if variant.threshold is not None:
        given["threshold"] = np.full(n, variant.threshold)
    return replace(columns, **given)


class Panels:
    """The ballots of n panels; each figure is computed at its first use and then kept."""

    def __init__(self, columns: Columns) -> None:
        """Keep the ballots; compute nothing yet."""
        self.columns = columns

    def under(self, variant: Variant) -> Panels:
        """Return the panels as a variant changes them: without a juror, or at another threshold."""
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
        """The scores, with the figures that rules on scores read."""
        return Scores(self.columns.scores, self.columns.weights)

    @cached_property
    def passes(self) -> Ints:
        """The number of votes for a pass, ``[n]``."""
        return count_marked(self.columns.votes == 1)

    @cached_property
    def answered(self) -> Ints:
        """The number of votes cast, ``[n]``."""
        return count_marked(self.columns.votes != NOTHING)

    @cached_property
    def known(self) -> Bools:
        """Whether a panel has votes and no score waits for a threshold to vote, ``[n]``."""
        columns = self.columns
        waiting = (columns.votes == NOTHING) & ~columns.stated & ~np.isnan(columns.scores)
        found: Bools = (self.answered > 0) & (count_marked(waiting) == 0)
        return found

    def decide(self, variant: Variant) -> BulkDecisions:
        """Decide every panel by a variant; call it on the panels that ``under`` returned for it."""
        choice = ruled(self.columns, variant)
        codes = [int(code) for code in np.unique(choice.strategy)]
        if len(codes) == 1:
            return self._decide_by(codes[0], choice)
        value = np.full(len(self.columns), np.nan)
        decision = np.full(len(self.columns), NOTHING, np.int8)
        for code in codes:
            made, here = self._decide_by(code, choice), choice.strategy == code
            value[here], decision[here] = made.value[here], made.decision[here]
        return BulkDecisions(value, decision)

    def _decide_by(self, code: int, choice: Columns) -> BulkDecisions:
        """Decide every panel by one strategy, or by the median where the median replaces it."""
        made = self._by_strategy(code, choice)
        stands_in = self._median_stands_in
        if code == NOTHING or STRATEGIES[code] is Strategy.EXTERNAL or not stands_in.any():
            return made
        other = self._on_scores(self.scores.median, choice)
        return BulkDecisions(
            np.where(stands_in, other.value, made.value),
            np.where(stands_in, other.decision, made.decision),
        )

    @cached_property
    def _median_stands_in(self) -> Bools:
        """Whether the median decides: a juror failed, the panel allows it, and there is a score."""
        found: Bools = self.columns.replaced.any(axis=1) & (self.scores.count > 0)
        return found

    def _on_scores(self, value: Floats, choice: Columns) -> BulkDecisions:
        """Compare values with the threshold; a panel without votes stays undecided."""
        decision = _threshold_decision(value, choice.threshold)
        return BulkDecisions(value, np.where(self.answered > 0, decision, NOTHING).astype(np.int8))

    def _by_strategy(self, code: int, choice: Columns) -> BulkDecisions:
        """Decide every panel by the strategy itself, even where the median will replace it."""
        strategy = None if code == NOTHING else STRATEGIES[code]
        if strategy in self._by_votes:
            decision = self._by_votes[strategy](choice)
            return BulkDecisions(self._vote_value(strategy, decision), decision)
        if strategy is not None and METHODS[strategy].reads is Reads.SCORES:
            return self._on_scores(self._value(strategy, choice), choice)
        nobody = np.full(len(self.columns), NOTHING, np.int8)
        return BulkDecisions(self.scores.mean, nobody)

    def _vote_value(self, strategy: Strategy | None, decision: Small) -> Floats:
        """Return the value of a rule on votes: 1 or 0 for a majority, else the mean of the scores.

        It is NaN for a majority or unanimity that decides neither way.
        """
        either = (decision == _PASS) | (decision == _FAIL)
        if strategy is Strategy.MAJORITY:
            return np.where(either, decision == _PASS, np.nan)
        if strategy is Strategy.UNANIMOUS:
            return np.where(either, self.scores.mean, np.nan)
        return self.scores.mean

    def _value(self, strategy: Strategy, choice: Columns) -> Floats:
        if strategy is Strategy.TRIMMED_MEAN:
            return self.scores.trimmed(choice.fraction, choice.rounding)
        if strategy is Strategy.WEIGHTED_AVERAGE:
            failed = self.columns.failed.any(axis=1)
            return np.where(failed, self.scores.median, self.scores.weighted)
        value: Floats = getattr(self.scores, strategy)
        return value

    # rules on votes

    @cached_property
    def _by_votes(self) -> dict[Strategy | None, Callable[[Columns], Small]]:
        return {
            Strategy.QUORUM: self._quorum,
            Strategy.MAJORITY: lambda _: self._majority,
            Strategy.UNANIMOUS: lambda _: self._unanimous,
            Strategy.SINGLE: lambda _: self._single,
            Strategy.SUPERMAJORITY: self._supermajority,
        }

    def _quorum(self, choice: Columns) -> Small:
        """Decide by quorum, each distinct case once, by the exact arithmetic of ``quorum_met``."""
        ready = self.known & (choice.quorum != NOTHING)
        cases = np.stack([self.passes, self.columns.seated, choice.quorum])[:, ready]
        cases_, places = different(cases)
        met = [
            _PASS if quorum_met(passes, seated, choice.quorums[quorum]) else _FAIL
            for passes, seated, quorum in cases_
        ]
        found = np.full(len(self.columns), NOTHING, np.int8)
        found[ready] = np.array(met, np.int8)[places]
        return found

    def _supermajority(self, choice: Columns) -> Small:
        """Decide by supermajority, each distinct case once, with ``vote_decision``."""
        cases = np.stack([self.passes, self.answered, choice.share])
        cases_, places = different(cases)
        made = [
            DECISIONS.index(vote_decision(passes, answered, choice.shares[share]))
            for passes, answered, share in cases_
        ]
        return self._where_known(np.array(made, np.int64)[places])

    @cached_property
    def _majority(self) -> Small:
        seated, fails = self.columns.seated, self.answered - self.passes
        found = np.where(2 * fails > seated, _FAIL, _SPLIT)
        return self._where_known(np.where(2 * self.passes > seated, _PASS, found))

    @cached_property
    def _unanimous(self) -> Small:
        found = np.where(self.passes == 0, _FAIL, _SPLIT)
        return self._where_known(np.where(self.passes == self.answered, _PASS, found))

    @cached_property
    def _single(self) -> Small:
        found = np.where(self.passes == 1, _PASS, _FAIL)
        return np.where(self.known & (self.answered == 1), found, NOTHING).astype(np.int8)

    def _where_known(self, found: Ints) -> Small:
        return np.where(self.known, found, NOTHING).astype(np.int8)


def without(columns: Columns, juror: str) -> Columns:
    """Return the columns with a juror removed from every panel: its seats are empty."""
    if juror not in columns.names:
        return columns
    gone: Bools = columns.juror == columns.names.index(juror)
    return replace(
        columns,
        scores=np.where(gone, np.nan, columns.scores),
        votes=np.where(gone, np.int8(NOTHING), columns.votes),
        stated=columns.stated & ~gone,
        failed=columns.failed & ~gone,
        replaced=columns.replaced & ~gone,
        weights=np.where(gone, np.nan, columns.weights),
        juror=np.where(gone, NOTHING, columns.juror),
        seated=columns.seated - count_marked(gone),
    )


def revoted(columns: Columns, threshold: float) -> Small:
    """Return the votes at another threshold: a score votes by it, unless its vote was withheld."""
    withheld = columns.stated & (columns.votes == NOTHING)
    votes = (columns.scores >= threshold - SLACK).astype(np.int8)
    return np.where(np.isnan(columns.scores) | withheld, columns.votes, votes)


def _threshold_decision(value: Floats, threshold: Floats) -> Small:
    known = ~(np.isnan(value) | np.isnan(threshold))
    decision = np.where(value >= threshold - SLACK, _PASS, _FAIL)
    return np.where(known, decision, NOTHING).astype(np.int8)
