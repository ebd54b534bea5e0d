"""How ballots become a decision: every rule's value and decision, and the rule that applies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import fields

from reviewdesk.domain.jury.quorum import quorum_met_strictly
from reviewdesk.domain.jury.strategies import STRATEGIES, Sheet, Votes
from reviewdesk.domain.verdict import BY_REGIME, Ballot, Decision, Policy, Regime, Strategy


class Values(Struct, frozen=True):
    """The panel score under each rule; ``None`` without a score or without what the rule reads."""

    mean: float | None
    trimmed_mean: float | None
    median: float | None
    weighted_average: float | None
    highest: float | None
    lowest: float | None
    majority: float | None = None
    """1.0 or 0.0; ``None`` on a tie."""
    unanimous: float | None = None
    """The mean if all votes agree, else ``None``."""


class Decisions(Struct, frozen=True):
    """The decision of each rule; ``None`` if nobody voted or a threshold or quorum is missing.

    All of them are an error if too few jurors answered.
    """

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
    supermajority: Decision | None


_VALUE_FUNCTIONS = tuple(STRATEGIES[Strategy(field.name)].value for field in fields(Values))


def values_on(sheet: Sheet) -> Values:
    """Return every rule's value, in one pass over the registry."""
    return Values(*[value(sheet) for value in _VALUE_FUNCTIONS])


_Reading: TypeAlias = Callable[[Votes, Values, Policy], Decision | None]


def _quorum_strict(votes: Votes, _found: Values, policy: Policy) -> Decision | None:
    if votes.too_few(policy):
        return Decision.ERROR
    if policy.quorum is None or not votes.known:
        return None
    met = quorum_met_strictly(votes.passes, votes.seated, policy.quorum)
    return Decision.PASS if met else Decision.FAIL


def _quorum_answered(votes: Votes, found: Values, policy: Policy) -> Decision | None:
    """Apply the quorum to the jurors that answered, as producers do that list no empty seats."""
    if votes.too_few(policy):
        return Decision.ERROR
    return STRATEGIES[Strategy.QUORUM].published(votes.of_answered, found.mean, policy)


_OTHER_READINGS: dict[str, _Reading] = {
    "quorum_strict": _quorum_strict,
    "quorum_answered": _quorum_answered,
}


def _reading(name: str) -> _Reading:
    if name in _OTHER_READINGS:
        return _OTHER_READINGS[name]
    decide_ = STRATEGIES[Strategy(name)].decide
    return lambda votes, found, policy: decide_(votes, getattr(found, name, None), policy)


_READINGS = tuple(_reading(field.name) for field in fields(Decisions))
_DECISION_NAMES = frozenset(field.name for field in fields(Decisions))


def decide(votes: Votes, found: Values, policy: Policy) -> Decisions:
    """Return every rule's decision."""
    return Decisions(*[reading(votes, found, policy) for reading in _READINGS])


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
    if other is None:
        return Rule(strategy, strategy, None)
    failed = [b.id for b in ballots if b.status.failed]
    if failed:
        return Rule(strategy, other, f"failed: {', '.join(failed)}")
    return Rule(strategy, strategy, None)


def stand_in(policy: Policy, strategy: Strategy | None) -> Strategy | None:
    """Return the strategy that replaces an average if a juror failed, or ``None`` if none does."""
    if strategy is Strategy.WEIGHTED_AVERAGE:
        return policy.failed_jurors or Strategy.MEDIAN
    return policy.failed_jurors if strategy in {Strategy.MEAN, Strategy.TRIMMED_MEAN} else None


def decision_by(
    strategy: Strategy | None, made: Decisions, votes: Votes, policy: Policy
) -> Decision | None:
    """Return the decision of one strategy; ``None`` if only its producer knows the rule."""
    if strategy is None:
        return None
    if strategy.value in _DECISION_NAMES:
        decision: Decision | None = getattr(made, strategy.value)
        return decision
    return STRATEGIES[strategy].decide(votes, None, policy)


def score_by(strategy: Strategy | None, found: Values) -> float | None:
    """Return the panel score under one strategy, or the mean if the strategy has no value."""
    value: float | None = getattr(found, strategy, found.mean) if strategy else found.mean
    return value
