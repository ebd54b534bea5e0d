"""What ``assess`` gives of many verdicts at once, for those that columns can settle."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from reviewdesk.domain.assessment.flags import Flag
from reviewdesk.domain.assessment.pivot import JUST_UNDER
from reviewdesk.domain.audit.mismatches import Breach
from reviewdesk.domain.enums import Strategy
from reviewdesk.domain.jury.agreement import UNIFORM_NULL
from reviewdesk.domain.jury.band import HIGH_FROM, MEDIUM_FROM
from reviewdesk.domain.run.claims import HIGH, LOW, MEDIUM
from reviewdesk.domain.run.columns import Bools, Floats, Ints
from reviewdesk.domain.run.packing import DECISIONS, NOTHING
from reviewdesk.domain.run.panels import FAIL, PASS, PanelScores, or_nan, row_sums
from reviewdesk.domain.verdict import SLACK, Decision

INCONCLUSIVE, ERROR = (DECISIONS.index(one) for one in (Decision.INCONCLUSIVE, Decision.ERROR))
FEW = 5
"""The trim rule wants as many answers."""
_AMBIGUOUS = frozenset(
    {Strategy.TRIMMED_MEAN, Strategy.MAJORITY, Strategy.UNANIMOUS, Strategy.SUPERMAJORITY}
)
"""The strategies that a report may read in more than one way."""
_COMPARED = (Strategy.TRIMMED_MEAN, Strategy.MEDIAN, Strategy.MEAN)
"""Beside the quorum; if their decisions differ, the verdict depends on its regime."""


class Settled(PanelScores):
    """The assessments of n verdicts, as columns ``[n]``."""

    # Agreement, as in domain/jury/agreement

    @cached_property
    def variance(self) -> Floats:
        """``Σ (s - mean)² / (m - 1)``; NaN under two scores."""
        gaps = self.scores - self.mean[:, None]
        return np.where(self.scored < 2, np.nan, row_sums(gaps * gaps) / or_nan(self.scored - 1))

    @cached_property
    def agreement(self) -> Floats:
        """``1 - s² / V0``, or ``2P - 1`` of the votes where they alone can say."""
        fails, m = self.answered - self.passes, self.answered
        alike = self.passes * (self.passes - 1) // 2 + fails * (fails - 1) // 2
        pairs = 2 * (alike / or_nan(m * (m - 1) // 2)) - 1
        by_votes = (self.scored < 2) & (m >= 2)
        return np.where(by_votes, pairs, 1 - self.variance / UNIFORM_NULL)

    @cached_property
    def band(self) -> Ints:
        """The band of the agreement."""
        return bands(self.agreement)

    @cached_property
    def shown(self) -> tuple[Floats, Ints, Bools]:
        """The agreement and the band that are shown together, and whether they are reported."""
        said = self.claims
        own = np.where(said.lined, bands(said.value), NOTHING)
        band = np.where(said.band == NOTHING, own, said.band)
        reported = said.agreement | (said.band != NOTHING)
        value = np.where(reported, said.value, self.agreement)
        return value, np.where(reported, band, self.band), reported

    @cached_property
    def defined_low(self) -> Bools:
        """Whether the agreement shown is low and defined, be it only by the ballots."""
        value, band, _ = self.shown
        alone = ~self.claims.agreement & ~np.isnan(self.agreement)
        found: Bools = (band == LOW) & (alone | ~np.isnan(value))
        return found

    @cached_property
    def mass(self) -> Floats:
        """``m·s²``, as ``Measures`` computes it from the deviation."""
        deviation = np.sqrt(self.variance)
        found: Floats = self.scored * (deviation * deviation)
        return found

    @cached_property
    def range(self) -> Floats:
        """The highest score less the lowest."""
        return self.values(Strategy.HIGHEST, self.scores) - self.values(
            Strategy.LOWEST, self.scores
        )

    @cached_property
    def margin(self) -> Floats:
        """The distance of the score from the threshold."""
        return np.abs(self.score - self.threshold)

    # Flags and breaches, as in domain/assessment and domain/audit

    @cached_property
    def pivotal(self) -> Bools:
        """Whether a vote or a score, turned alone, would change the decision of the rule."""
        found: Bools = np.asarray(self.counted.pivotal) != 0
        for strategy in self.on_scores:
            found |= self.uses(strategy) & (self.ours != NOTHING) & self._turns(strategy)
        return found

    def _turns(self, strategy: Strategy) -> Bools:
        found = np.zeros(len(self.scores), np.bool_)
        for seat in range(self.scores.shape[1]):
            vote = self.votes[:, seat]
            counts = (vote != NOTHING) & self.given[:, seat]
            if strategy is Strategy.TRIMMED_MEAN:
                counts &= ~self.cut_off[:, seat]
            turned = self.scores.copy()
            other = np.where(vote == PASS, self.threshold - JUST_UNDER, self.threshold)
            turned[:, seat] = np.where(counts, other, turned[:, seat])
            decided = self.by_score(self.values(strategy, turned))
            found |= counts & (decided != NOTHING) & (decided != self.ours)
        return found

    @cached_property
    def breaches(self) -> Ints:
        """The breaches of each verdict as bits of ``Breach``."""
        stated, counted, policies = self.claims.decision, self.counted, self.policies
        unfilled = [not one.set_by_you & {"quorum", "threshold"} for one in policies]
        on_quorum = [one.policy.strategy in {None, Strategy.QUORUM} for one in policies]
        said, own = self.claims, bands(self.claims.value)
        banded = said.alpha & (own != NOTHING)
        given, quorum = stated != NOTHING, np.asarray(counted.quorum)
        by_quorum = self.of_policy(np.logical_and(unfilled, on_quorum).tolist(), np.bool_)
        kinds = {
            Breach.QUORUM: by_quorum & given & (quorum != NOTHING) & (stated != quorum)
            & (stated != counted.answered),
            Breach.DECISION: self._rule_is_stated & given & (self.ours != NOTHING)
            & (stated != self.ours),
            Breach.BAND: banded & (said.band != NOTHING) & (said.band != own),
            Breach.ESCALATION: banded & np.where(
                said.escalate == 1, (own != LOW) & ~said.excused & (stated != ERROR),
                (said.escalate == 0) & (own == LOW),
            ),
            Breach.PASS_SCORE: self._own_limit & self.contradicts,
            Breach.ROUNDING: np.asarray(counted.rounded) != 0,
        }  # fmt: skip
        return _bits({int(kind): where for kind, where in kinds.items()})

    @cached_property
    def _own_limit(self) -> Bools:
        """Whether the threshold is not one that the user filled in."""
        return self.of_policy(
            ["threshold" not in one.set_by_you for one in self.policies], np.bool_
        )

    @cached_property
    def _rule_is_stated(self) -> Bools:
        """Whether the file alone names the rule, and it is not a quorum."""
        return self.of_policy(
            [
                one.policy.strategy not in {None, Strategy.QUORUM} and not one.set_by_you
                for one in self.policies
            ],
            np.bool_,
        )

    @cached_property
    def unsettled(self) -> Bools:
        """Which verdicts ``assess`` must settle after all.

        A stated decision may be right under another reading of the rule, who did not vote must be
        asked why, and a panel may be too small for the answers that its rule wants.
        """
        stated = self.claims.decision
        ambiguous = self.of_policy(
            [one.policy.strategy in _AMBIGUOUS for one in self.policies], np.bool_
        )
        differs = (stated != NOTHING) & (stated != self.ours)
        found: Bools = (stated == INCONCLUSIVE) | (self._rule_is_stated & ambiguous & differs)
        found |= (self.decision == NOTHING) & (self.answered == 0)
        found |= self.too_few
        # A decision without a vote for it, and a score of 0 or 1 under a threshold of the user's.
        sided = np.where(stated == PASS, self.passes, self.answered - self.passes)
        found |= ((stated == PASS) | (stated == FAIL)) & (sided == 0) & (stated != self.ours)
        found |= self.contradicts & ~self._own_limit
        return found

    @cached_property
    def flags(self) -> Ints:
        """The flags that follow from the ballots, as bits of ``Flag``."""
        sides = [np.asarray(self.counted.quorum)]
        sides += [self.decided(one) for one in _COMPARED]
        passed = np.logical_or.reduce([one == PASS for one in sides])
        failed = np.logical_or.reduce([one == FAIL for one in sides])
        trims = self.uses(Strategy.TRIMMED_MEAN) | (self.used == NOTHING)
        losing = np.where(self.decision == PASS, FAIL, np.where(self.decision == FAIL, PASS, 9))
        dissents = self.cut_off & (self.votes == losing[:, None])
        mismatch = self.breaches & ~int(Breach.ROUNDING)
        return _bits(
            {
                Flag.NO_VERDICT: (self.decision != PASS) & (self.decision != FAIL),
                Flag.TRIMMED_DISSENT: trims & dissents.any(axis=1),
                Flag.REGIME_SENSITIVE: passed & failed,
                Flag.MISMATCH: mismatch != 0,
                Flag.DEGRADED: self.uses(Strategy.TRIMMED_MEAN) & (self.seated < FEW),
                Flag.PIVOTAL: self.pivotal,
                Flag.SPLIT: self.split,
                Flag.DERIVED_LOW: self.band == LOW,
                Flag.SINGLE_JUROR: self.seated == 1,
            }
        )

    @cached_property
    def escalated(self) -> Bools:
        """Whether recomputation finds a reason to escalate."""
        turns = self.split & (self.pivotal | self.uses(Strategy.UNANIMOUS))
        found: Bools = (self.band == LOW) | turns
        return found


def bands(values: Floats) -> Ints:
    """Return the codes of the bands of agreements; NaN has none."""
    found = np.where(values >= MEDIUM_FROM - SLACK, MEDIUM, LOW)
    found = np.where(values >= HIGH_FROM - SLACK, HIGH, found)
    return np.where(np.isnan(values), NOTHING, found)


def _bits(where: dict[Any, Bools]) -> Ints:
    parts = [np.where(mask, int(bit), 0) for bit, mask in where.items()]
    found: Ints = np.bitwise_or.reduce(parts)
    return found
