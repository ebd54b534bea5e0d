"""The votes and the values of many panels at once, under the rule of each.

Each formula is that of ``jury/strategies`` and ``jury/trim`` over arrays: n verdicts of at most s
seats. Sums are exact (``math.fsum``), so that a value does not depend on the order of its terms.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from reviewdesk.domain.enums import Strategy
from reviewdesk.domain.jury.strategies import STRATEGIES, Reads, Votes
from reviewdesk.domain.jury.trim import trim_count
from reviewdesk.domain.run.ballots import Ballots
from reviewdesk.domain.run.claims import Claims
from reviewdesk.domain.run.columns import Bools, Floats, Ints
from reviewdesk.domain.run.packing import DECISIONS, NOTHING
from reviewdesk.domain.run.policies import BY_SCORE, Counted, PolicyFacts
from reviewdesk.domain.stats.dense import cases
from reviewdesk.domain.verdict import SLACK, Decision

FAIL, PASS = (DECISIONS.index(one) for one in (Decision.FAIL, Decision.PASS))


class PanelScores:
    """The votes, values and decisions of n panels, as columns ``[n]``."""

    def __init__(
        self,
        ballots: Ballots,
        policies: Sequence[PolicyFacts],
        places: Sequence[int],
        claims: Claims,
    ) -> None:
        """Count the votes and rank the scores."""
        self.policies, self._places, self.claims = policies, np.asarray(places), claims
        self.scores = ballots.place(ballots.scores, np.nan)
        self.votes = ballots.place(ballots.votes, NOTHING)
        self._weights = ballots.place(ballots.weights, np.nan)
        self.given = ~np.isnan(self.scores)
        self.seated = ballots.seated
        self.passes = ballots.count(ballots.votes == PASS)
        self.answered = ballots.count(ballots.votes != NOTHING)
        self.scored = self.given.sum(axis=1)
        self.contradicts = ballots.any(ballots.contradicts)
        unknown = ballots.count(
            ~np.isnan(ballots.scores) & (ballots.votes == NOTHING) & ~ballots.stated
        )
        self._known = (self.answered > 0) & (unknown == 0)
        counts = (self.passes, self.answered, self.seated, unknown)
        counted = np.empty((len(Counted._fields), len(places)), np.int64)
        for (place, *votes), rows in cases(self._places, *counts):
            counted[:, rows] = np.array(policies[place].counted(*votes))[:, None]
        self.counted = Counted(*counted)

    def of_policy(self, values: list[Any], kind: Any = np.float64) -> npt.NDArray[Any]:
        """Return a value of each policy as a column."""
        found: npt.NDArray[Any] = np.array(values, kind)[self._places]
        return found

    @cached_property
    def split(self) -> Bools:
        """Whether both pass and fail were voted for."""
        return (self.passes > 0) & (self.passes < self.answered)

    @cached_property
    def threshold(self) -> Floats:
        """The threshold of each verdict."""
        known = [one.policy.threshold for one in self.policies]
        found: Floats = self.of_policy([math.nan if one is None else one for one in known])
        return found

    @cached_property
    def used(self) -> Ints:
        """The rule of each verdict, as its index in ``Strategy``."""
        every = list(Strategy)
        rules = [one.rule.used for one in self.policies]
        return self.of_policy(
            [NOTHING if one is None else every.index(one) for one in rules], np.int64
        )

    def uses(self, *strategies: Strategy) -> Bools:
        """Return which verdicts one of the rules decides."""
        return self.of_policy([one.rule.used in strategies for one in self.policies], np.bool_)

    @cached_property
    def too_few(self) -> Bools:
        """Which panels, of which every juror answered, are smaller than their ``min_answered``."""
        found = np.zeros(len(self.seated), np.bool_)
        for (place, seated), rows in cases(self._places, self.seated):
            found[rows] = Votes(0, 0, seated).too_few(self.policies[place].policy)
        return found

    @cached_property
    def mean(self) -> Floats:
        """``Σ s / m``."""
        return row_sums(self.scores) / or_nan(self.scored)

    @cached_property
    def trims(self) -> tuple[Ints, Ints]:
        """The number of scores cut at each end, and the rank of each seat's score ``[n, s]``."""
        cut = np.empty(len(self.scores), np.int64)
        for (place, m), rows in cases(self._places, self.scored):
            cut[rows] = trim_count(m, self.policies[place].fraction)
        return cut, _ranks(self.scores)

    @cached_property
    def cut_off(self) -> Bools:
        """The seats that a trimmed mean leaves out, ``[n, s]``."""
        found: Bools = _ends(*self.trims, self.scored) & self.given
        return found

    def values(self, strategy: Strategy, scores: Floats) -> Floats:
        """Return the value of a rule on scores for scores ``[n, s]`` in the place of ours."""
        ours = scores is self.scores
        if strategy is Strategy.MEAN:
            return self.mean if ours else row_sums(scores) / or_nan(self.scored)
        if strategy is Strategy.TRIMMED_MEAN:
            count, ranks = self.trims
            ranks = ranks if ours else _ranks(scores)
            kept = np.where(_ends(count, ranks, self.scored), np.nan, scores)
            return row_sums(kept) / or_nan(self.scored - 2 * count)
        if strategy is Strategy.WEIGHTED_AVERAGE:
            return self._weighted(scores)
        ordered, rows = np.sort(scores, axis=1), np.arange(len(scores))
        if not ordered.shape[1]:
            return np.full(len(scores), np.nan)
        last = np.maximum(self.scored - 1, 0)
        if strategy is Strategy.MEDIAN:
            low: Floats = ordered[rows, last // 2]
            high: Floats = ordered[rows, (last + 1) // 2]
            return np.where(last % 2 == 1, (low + high) / 2, low)
        found: Floats = ordered[rows, last if strategy is Strategy.HIGHEST else 0]
        return found

    def _weighted(self, scores: Floats) -> Floats:
        heavy = np.where(self.given, np.where(np.isnan(self._weights), 1.0, self._weights), np.nan)
        most = np.fmax.reduce(heavy, axis=1, initial=0.0, keepdims=True)
        shares = heavy / or_nan(most)
        found: Floats = row_sums(scores * shares) / or_nan(row_sums(shares))
        return found

    def by_score(self, values: Floats) -> Ints:
        """Return the decision that values give at the thresholds."""
        passed = np.where(values >= self.threshold - SLACK, PASS, FAIL)
        return np.where(np.isnan(values) | np.isnan(self.threshold), NOTHING, passed)

    def decided(self, strategy: Strategy) -> Ints:
        """Return the decision of a rule on scores."""
        return self.by_score(self.values(strategy, self.scores))

    @cached_property
    def on_scores(self) -> list[Strategy]:
        """The rules on scores that a policy of these verdicts uses."""
        used = {one.rule.used for one in self.policies}
        return [one for one in Strategy if one in used and STRATEGIES[one].reads is Reads.SCORES]

    @cached_property
    def ours(self) -> Ints:
        """The decision of the rule."""
        found = np.asarray(self.counted.ours)
        for strategy in self.on_scores:
            mine = self.uses(strategy) & (found == BY_SCORE)
            found = np.where(mine, self.decided(strategy), found)
        return found

    @cached_property
    def decision(self) -> Ints:
        """The stated decision, else ours."""
        return np.where(self.claims.decision == NOTHING, self.ours, self.claims.decision)

    @cached_property
    def score(self) -> Floats:
        """The stated score, else that of the rule, else the mean."""
        found = self.mean
        for strategy in self.on_scores:
            found = np.where(self.uses(strategy), self.values(strategy, self.scores), found)
        agreed = self._known & ~self.split
        found = np.where(self.uses(Strategy.UNANIMOUS) & ~agreed, np.nan, found)
        side = np.asarray(self.counted.majority)
        share = np.where(side == PASS, 1.0, np.where(side == FAIL, 0.0, np.nan))
        found = np.where(self.uses(Strategy.MAJORITY), share, found)
        return np.where(np.isnan(self.claims.score), found, self.claims.score)


def row_sums(values: Floats) -> Floats:
    """Return the sum of each row, rounded once, without what is NaN."""
    rows = np.where(np.isnan(values), 0.0, values).tolist()
    return np.fromiter(map(math.fsum, rows), np.float64, len(rows))


def or_nan(counts: npt.NDArray[Any]) -> Floats:
    """Return counts to divide by, NaN in the place of 0."""
    return np.where(counts > 0, counts, np.nan)


def _ranks(scores: Floats) -> Ints:
    """Return each seat's rank in its row by (score, seat); what is NaN comes last."""
    order = np.argsort(scores, axis=1, kind="stable")
    found = np.empty_like(order)
    np.put_along_axis(found, order, np.arange(scores.shape[1])[None, :], axis=1)
    return found


def _ends(cut: Ints, ranks: Ints, scored: Ints) -> Bools:
    """Return which ranks are among the ``cut`` lowest or highest of the scores."""
    low, high = cut[:, None], (scored - cut)[:, None]
    found: Bools = (ranks < low) | ((ranks >= high) & (ranks < scored[:, None]))
    return found
