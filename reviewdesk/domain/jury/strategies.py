"""The strategies: what each one reads, and the decision that a count of votes gives.

A juror that failed, abstained or was not understood could have answered anything. Three strategies
are chosen for safety (unanimous, lowest, supermajority) and decide beside such a juror only if no
answer of it could change the decision; else they are inconclusive.

Rules on votes are functions of a few whole numbers, which columns look up once for each count that
occurs (``panels``); rules on scores are formulas over columns (``scores``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from functools import lru_cache
from typing import TypeAlias

from msgspec import Struct

from reviewdesk.domain import arguments
from reviewdesk.domain.jury.quorum import least_answered, quorum_met, vote_decision
from reviewdesk.domain.verdict import BY_REGIME, Ballot, Decision, Policy, Regime, Strategy


class Votes(Struct, frozen=True):
    """The vote count of a panel: how many passed, how many were cast, how many seats there are."""

    passes: int
    answered: int
    seated: int
    unknown: int = 0
    """Jurors whose score needs an unknown threshold to vote; with any, no rule on votes decides."""
    withheld: int = 0
    """Jurors that answered without casting a vote; if nobody voted, their scores decide nothing."""
    missing: int = 0
    """Jurors that were asked and gave no answer: they failed, abstained or were not understood."""
    not_asked: int = 0

    @property
    def fails(self) -> int:
        """The number of votes to fail."""
        return self.answered - self.passes

    @property
    def split(self) -> bool:
        """Whether both pass and fail were voted for."""
        return 0 < self.passes < self.answered

    @property
    def known(self) -> bool:
        """Whether votes were cast, and every juror that answered cast or withheld its vote."""
        return self.answered > 0 and not self.unknown

    @property
    def returned(self) -> int:
        """The number of jurors that answered, with or without a vote."""
        return self.seated - self.missing - self.not_asked

    @property
    def of_answered(self) -> Votes:
        """The same votes of a panel of those who voted, as some producers count them."""
        return Votes(self.passes, self.answered, self.answered, self.unknown)

    def too_few(self, policy: Policy) -> bool:
        """Whether fewer jurors answered than ``min_answered`` asks for; never without a panel."""
        least = least_answered(policy.min_answered, self.seated)
        return self.seated > 0 and self.returned < least


class Reads(StrEnum):
    """The part of a ballot that a strategy reads."""

    SCORES = "scores"
    VOTES = "votes"
    LABELS = "labels"
    NOTHING = "nothing"


ByVotes: TypeAlias = Callable[[Votes, Policy], Decision | None]


def _no_decision(_votes: Votes, _policy: Policy) -> Decision | None:
    return None


class Method(Struct, frozen=True):
    """One strategy: what it reads, and its decision where that follows from the votes."""

    strategy: Strategy
    reads: Reads
    about: str
    published: ByVotes = _no_decision
    """Decides by the votes that came back, as the strategy's source does.

    It gives ``None`` if nobody voted, or if something that the strategy needs is missing.
    """
    cautious: bool = False
    """Whether a missing answer that could change the decision makes it inconclusive."""

    def decide(self, votes: Votes, policy: Policy) -> Decision | None:
        """Return the decision, an error if too few jurors answered, or ``None`` without one."""
        if policy.min_answered is not None and votes.too_few(policy):
            return Decision.ERROR
        found = self.published(votes, policy)
        if not self.cautious or found not in SIDES:
            return found
        absent = votes.missing + votes.withheld
        turns = absent > 0 and len(decisions_by_votes(self, votes, absent, policy)) > 1
        return Decision.INCONCLUSIVE if turns else found

    @property
    def title(self) -> str:
        return self.strategy.value.replace("_", " ")


SIDES = frozenset({Decision.PASS, Decision.FAIL})


def decisions_by_votes(
    method: Method, votes: Votes, absent: int, policy: Policy
) -> frozenset[Decision | None]:
    """Return what a rule on votes may decide if any of ``absent`` more jurors vote.

    Each of them may pass, fail or stay silent; the votes that are there stay. Whether enough
    answered is another matter.
    """
    # The keys are exactly what a rule on votes reads, so the many equal panels of a run share.
    read = Votes(votes.passes, votes.answered, votes.seated, votes.unknown)
    return _decisions_by_votes(method, read, absent, policy.quorum, policy.supermajority)


@lru_cache(maxsize=65_536)
def _decisions_by_votes(
    method: Method,
    votes: Votes,
    absent: int,
    quorum: float | str | None,
    supermajority: float | str | None,
) -> frozenset[Decision | None]:
    policy = Policy(quorum=quorum, supermajority=supermajority)
    found = set()
    for passes in range(absent + 1):
        for fails in range(absent + 1 - passes):
            cast = votes.answered + passes + fails
            more = Votes(votes.passes + passes, cast, votes.seated, votes.unknown)
            found.add(method.published(more, policy))
    return frozenset(found)


def turning_votes(
    method: Method, votes: Votes, base: Decision | None, policy: Policy
) -> tuple[bool, bool]:
    """Return whether a fail, and whether a pass, turned alone would change the decision."""
    turns = []
    for passes in (votes.passes + 1, votes.passes - 1):
        turned = Votes(
            passes, votes.answered, votes.seated, votes.unknown, votes.withheld, votes.missing,
            votes.not_asked,
        )  # fmt: skip
        possible = base is not None and 0 <= passes <= votes.answered
        turns.append(possible and method.decide(turned, policy) != base)
    return turns[0], turns[1]


def _quorum(votes: Votes, policy: Policy) -> Decision | None:
    if policy.quorum is None or not votes.known:
        return None
    met = quorum_met(votes.passes, votes.seated, policy.quorum)
    return Decision.PASS if met else Decision.FAIL


def _majority(votes: Votes, _policy: Policy) -> Decision | None:
    """Decide for the side with over half of all seats, the empty ones too; else inconclusive."""
    if not votes.known:
        return None
    if 2 * votes.passes > votes.seated:
        return Decision.PASS
    return Decision.FAIL if 2 * votes.fails > votes.seated else Decision.INCONCLUSIVE


def _unanimous(votes: Votes, _policy: Policy) -> Decision | None:
    if not votes.known:
        return None
    if votes.split:
        return Decision.INCONCLUSIVE
    return Decision.PASS if votes.passes else Decision.FAIL


def _supermajority(votes: Votes, policy: Policy) -> Decision | None:
    if not votes.known:
        return None
    return vote_decision(votes.passes, votes.answered, policy.supermajority)


def _single(votes: Votes, _policy: Policy) -> Decision | None:
    if votes.answered != 1 or votes.unknown:
        return None
    return Decision.PASS if votes.passes else Decision.FAIL


_METHODS = (
    Method(
        Strategy.QUORUM,
        Reads.VOTES,
        "passes when the share of seats that passed meets a quorum",
        _quorum,
    ),
    Method(Strategy.MAJORITY, Reads.VOTES, "1 or 0: more than half of the seats agree", _majority),
    Method(
        Strategy.UNANIMOUS,
        Reads.VOTES,
        "the mean where every vote agrees; a split decides nothing and goes to a person",
        _unanimous,
        cautious=True,
    ),
    Method(
        Strategy.WEIGHTED_AVERAGE,
        Reads.SCORES,
        "the mean by the weights of the jurors that answered",
    ),
    Method(Strategy.MEAN, Reads.SCORES, "the mean of the scores"),
    Method(
        Strategy.MEDIAN,
        Reads.SCORES,
        "the middle score, which near half of the panel cannot move",
    ),
    Method(Strategy.HIGHEST, Reads.SCORES, "the highest score: passes if one juror is content"),
    Method(
        Strategy.LOWEST,
        Reads.SCORES,
        "the lowest score: passes only if all jurors are content",
        cautious=True,
    ),
    Method(
        Strategy.TRIMMED_MEAN,
        Reads.SCORES,
        "the mean of what is left when both ends are cut",
    ),
    Method(Strategy.WEIGHTED_VOTE, Reads.LABELS, "the label with the most weight times confidence"),
    Method(
        Strategy.FIRST_DISAGREEMENT,
        Reads.LABELS,
        "the common label, or DISAGREE on any difference",
    ),
    Method(Strategy.SINGLE, Reads.VOTES, "the vote of the only juror that cast one", _single),
    Method(Strategy.EXTERNAL, Reads.NOTHING, "a rule that only the report's producer knows"),
    Method(
        Strategy.SUPERMAJORITY,
        Reads.VOTES,
        "passes or fails by two thirds, or another share, of the three or more that committed",
        _supermajority,
        cautious=True,
    ),
)

STRATEGIES: Mapping[Strategy, Method] = {method.strategy: method for method in _METHODS}
"""Every strategy by its name. Majorities and unanimity count labels if no juror voted."""

COMPARED = (Strategy.QUORUM, Strategy.TRIMMED_MEAN, Strategy.MEDIAN, Strategy.MEAN)
"""The rules whose decisions are compared; if they differ, the verdict depends on its regime."""


def strategy_named(word: str) -> Strategy:
    """Return the strategy of that name; raise UsageError, listing all names, if there is none."""
    return arguments.member(Strategy, word, "no strategy")


class Rule(Struct, frozen=True):
    """The strategy of a verdict: as set, as used, and why the two differ or are ``None``."""

    strategy: Strategy | None
    used: Strategy | None
    reason: str | None


def rule_for(policy: Policy, ballots: Sequence[Ballot], regime: str | None = None) -> Rule:
    """Return the rule that decides: the policy's strategy, else the regime's, else a known quorum.

    The policy of a verdict with a regime has no strategy from the file's defaults. A dispute
    without a strategy is decided by a person alone. If a juror failed, the median replaces
    ``weighted_average``; if the policy sets ``failed_jurors``, also ``mean`` and ``trimmed_mean``,
    and no other strategy. A juror that abstained, was not asked or was not understood did not fail.
    """
    if policy.strategy is None and regime == Regime.DISPUTE:
        return Rule(None, None, "regime dispute: a person decides")
    strategy = policy.strategy
    if strategy is None and regime is not None:
        strategy = BY_REGIME.get(regime)
    elif strategy is None and policy.quorum is not None:
        strategy = Strategy.QUORUM
    other = stand_in(policy, strategy)
    failed = [ballot.id for ballot in ballots if ballot.status.failed]
    if other is not None and failed:
        return Rule(strategy, other, f"failed: {', '.join(failed)}")
    return Rule(strategy, strategy, None)


def stand_in(policy: Policy, strategy: Strategy | None) -> Strategy | None:
    """Return the strategy that replaces an average if a juror failed, or ``None`` if none does."""
    if strategy is Strategy.WEIGHTED_AVERAGE:
        return policy.failed_jurors or Strategy.MEDIAN
    return policy.failed_jurors if strategy in {Strategy.MEAN, Strategy.TRIMMED_MEAN} else None
