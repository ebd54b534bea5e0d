"""How ballots become a decision: votes against a quorum, and scores against a threshold."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

from reviewdesk.domain.trim import trimmed_mean
from reviewdesk.domain.verdict import SLACK, Ballot, Decision, Policy, Rounding, Status, Strategy


@dataclass(frozen=True, slots=True)
class Votes:
    """Votes of a panel: how many passed, how many were cast, how many jurors sat."""

    passes: int
    answered: int
    seated: int

    @property
    def fails(self) -> int:
        """Votes cast against."""
        return self.answered - self.passes

    @property
    def split(self) -> bool:
        """Whether both votes are present."""
        return 0 < self.passes < self.answered


@dataclass(frozen=True, slots=True)
class Values:
    """What each rule makes of the scores; ``None`` without a score."""

    mean: float | None
    trimmed_mean: float | None
    median: float | None
    weighted_average: float | None
    highest: float | None
    lowest: float | None


@dataclass(frozen=True, slots=True)
class Decisions:
    """What each rule decides; ``None`` where a threshold, a quorum or every ballot is missing."""

    quorum: Decision | None
    quorum_strict: Decision | None
    quorum_answered: Decision | None
    trimmed_mean: Decision | None
    median: Decision | None
    mean: Decision | None
    majority: Decision | None
    unanimous: Decision | None
    weighted_average: Decision | None
    highest: Decision | None
    lowest: Decision | None


def tally(ballots: Sequence[Ballot]) -> Votes:
    """Count the votes; a juror that failed or withheld its vote stays seated."""
    cast = [ballot.vote for ballot in ballots if ballot.vote is not None]
    return Votes(sum(cast), len(cast), len(ballots))


@lru_cache(maxsize=4096)
def quorum_met(passes: int, n: int, quorum: float | str) -> bool:
    """Whether ``passes`` of ``n`` reach the quorum, the share rounded half up.

    The share is rounded to as many decimals as the quorum is written with, at least two: two of
    three meet 0.67. ``"k/n"`` is an exact fraction, and 1.0 needs every juror.
    """
    if isinstance(quorum, str):
        return Fraction(passes, n) >= Fraction(quorum)
    written = Decimal(repr(float(quorum))).normalize()
    if written == 1:
        return passes == n
    decimals = max(2, -int(written.as_tuple().exponent))
    scale = 10**decimals
    rounded = Fraction(math.floor(Fraction(passes, n) * scale + Fraction(1, 2)), scale)
    return rounded >= Fraction(written)


def quorum_met_strictly(passes: int, n: int, quorum: float | str) -> bool:
    """The bare ``passes / n >= quorum`` with 1e-9 slack: what the rounded rule is compared with."""
    if isinstance(quorum, str):
        return Fraction(passes, n) >= Fraction(quorum)
    return passes / n >= quorum - SLACK


def weighted_average(
    scores: Sequence[float | None], weights: Sequence[float | None]
) -> float | None:
    """``Σ s·w / Σ w`` over the jurors that answered; a missing weight is 1.0."""
    pairs = [
        (score, 1.0 if weight is None else weight)
        for score, weight in zip(scores, weights, strict=True)
        if score is not None
    ]
    if not pairs:
        return None
    # Taken relative to the heaviest, so that no sum of finite weights overflows.
    heaviest = max(weight for _, weight in pairs)
    total = math.fsum(weight / heaviest for _, weight in pairs)
    return math.fsum(score * (weight / heaviest) for score, weight in pairs) / total


def values(
    scores: Sequence[float | None],
    weights: Sequence[float | None],
    fraction: float,
    rounding: Rounding = Rounding.DOWN,
) -> Values:
    """Every score rule side by side, over the jurors that returned a score."""
    given = [score for score in scores if score is not None]
    if not given:
        return Values(None, None, None, None, None, None)
    return Values(
        mean=math.fsum(given) / len(given),
        trimmed_mean=trimmed_mean(scores, fraction, rounding),
        median=statistics.median(given),
        weighted_average=weighted_average(scores, weights),
        highest=max(given),
        lowest=min(given),
    )


def decide(votes: Votes, found: Values, policy: Policy) -> Decisions:
    """Every rule's decision side by side."""

    def by_score(value: float | None) -> Decision | None:
        if value is None or policy.threshold is None:
            return None
        return Decision.PASS if value >= policy.threshold - SLACK else Decision.FAIL

    def by_quorum(met: Callable[[int, int, float | str], bool], of: int) -> Decision | None:
        if policy.quorum is None or votes.answered == 0:
            return None
        return Decision.PASS if met(votes.passes, of, policy.quorum) else Decision.FAIL

    return Decisions(
        quorum=by_quorum(quorum_met, votes.seated),
        quorum_strict=by_quorum(quorum_met_strictly, votes.seated),
        quorum_answered=by_quorum(quorum_met, votes.answered),
        trimmed_mean=by_score(found.trimmed_mean),
        median=by_score(found.median),
        mean=by_score(found.mean),
        majority=_majority(votes),
        unanimous=_unanimous(votes),
        weighted_average=by_score(found.weighted_average),
        highest=by_score(found.highest),
        lowest=by_score(found.lowest),
    )


def _majority(votes: Votes) -> Decision | None:
    """A side wins with more than half of the seats; a tie, or seats left empty, decides nothing."""
    if votes.answered == 0:
        return None
    if 2 * votes.passes > votes.seated:
        return Decision.PASS
    return Decision.FAIL if 2 * votes.fails > votes.seated else Decision.INCONCLUSIVE


def _unanimous(votes: Votes) -> Decision | None:
    if votes.answered == 0:
        return None
    if votes.split:
        return Decision.INCONCLUSIVE
    return Decision.PASS if votes.passes else Decision.FAIL


@dataclass(frozen=True, slots=True)
class Rule:
    """The strategy a verdict is held to: asked for, used, and why they differ."""

    strategy: Strategy | None
    used: Strategy | None
    reason: str | None


def rule_for(policy: Policy, ballots: Sequence[Ballot]) -> Rule:
    """The rule that decides: the policy's strategy, else the quorum where one is known.

    The median takes the place of ``weighted_average`` when a juror failed, not when one abstained.
    """
    strategy = policy.strategy or (Strategy.QUORUM if policy.quorum is not None else None)
    failed = [b.id for b in ballots if b.status not in {Status.OK, Status.ABSTAINED}]
    if strategy is Strategy.WEIGHTED_AVERAGE and failed:
        return Rule(strategy, Strategy.MEDIAN, f"failed: {', '.join(failed)}")
    return Rule(strategy, strategy, None)


def decision_by(strategy: Strategy | None, made: Decisions, votes: Votes) -> Decision | None:
    """What one strategy decides; ``None`` for a rule whose outcome only its producer knows."""
    if strategy is Strategy.SINGLE:
        if votes.answered != 1:
            return None
        return Decision.PASS if votes.passes else Decision.FAIL
    decision: Decision | None = getattr(made, strategy, None) if strategy else None
    return decision


def score_by(strategy: Strategy | None, found: Values) -> float | None:
    """The panel score under one strategy; rules that count votes take the mean of the scores."""
    value: float | None = getattr(found, strategy, found.mean) if strategy else found.mean
    return value
