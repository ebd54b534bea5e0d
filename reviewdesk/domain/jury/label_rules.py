"""Label votes: the rules that turn many labels into one, and what that one decides."""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from reviewdesk.domain.jury.label_words import Aggregate, LabelRules
from reviewdesk.domain.jury.strategies import STRATEGIES, Reads
from reviewdesk.domain.jury.supermajority import DEFAULT_SHARE, supermajority
from reviewdesk.domain.verdict import (
    FAILED_LABELS,
    SLACK,
    Ballot,
    Decision,
    Strategy,
    Verdict,
    folded,
)
from reviewdesk.errors import UsageError

DISAGREE = "DISAGREE"
BY_ORDER = "tie broken by order"
BY_PRIORITY = "tie broken by priority"
_PLAIN = LabelRules()


class LabelConsensus(Struct, frozen=True):
    """The result of a label rule: the label, whether the ballots differ, and notes on the count."""

    label: str
    disagreement: bool | None
    tie: str | None = None
    tied: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    fell_back: bool = False
    """Whether the label is the fallback, and not one that the ballots gave."""
    reason: str | None = None
    """Why the rule found no label, or why ``disagreement`` is ``None``."""


def label_decision(label: str | None) -> Decision | None:
    """Return the decision that a label means, in any case, or ``None`` if it means none.

    Pass: PASS, KEEP, YES, TRUE, CORRECT, ACCEPT. Fail: FAIL, REJECT, NO, FALSE, INCORRECT.
    """
    return _PLAIN.decision(label)


def _label_weights(counted: Sequence[Ballot], weights: Sequence[float]) -> dict[str, float]:
    """Sum the weights per label, each spelled as first written, in the order of the seats."""
    sums: dict[str, float] = {}
    spelled: dict[str, str] = {}
    for ballot, weight in zip(counted, weights, strict=True):
        label = (ballot.label or "").strip()
        first = spelled.setdefault(folded(label), label)
        sums[first] = sums.get(first, 0.0) + weight
    return sums


def _leader(
    sums: Mapping[str, float], rules: LabelRules, notes: tuple[str, ...] = ()
) -> LabelConsensus:
    best = max(sums.values())
    level = {folded(label): label for label, total in sums.items() if total >= best - SLACK}
    tied = tuple(level.values())
    if len(tied) == 1:
        return LabelConsensus(tied[0], len(sums) > 1, notes=notes)
    for label in map(folded, rules.priority):
        if label in level:
            return LabelConsensus(
                level[label], disagreement=True, tie=BY_PRIORITY, tied=tied, notes=notes
            )
    return LabelConsensus(tied[0], disagreement=True, tie=BY_ORDER, tied=tied, notes=notes)


def _label_counts(counted: Sequence[Ballot]) -> dict[str, float]:
    return _label_weights(counted, [1.0] * len(counted))


def _unanimous(counted: Sequence[Ballot], rules: LabelRules) -> LabelConsensus:
    first, *others = _label_counts(counted)
    return LabelConsensus(rules.fallback if others else first, bool(others), fell_back=bool(others))


def _weighted(counted: Sequence[Ballot], rules: LabelRules) -> LabelConsensus:
    """Count weight times confidence; a ballot without a confidence counts 0 beside others.

    The source reads a missing confidence as 0. If no ballot gave one, the label seen first would
    win by order, so then the weights alone decide.
    """
    given = [1.0 if ballot.weight is None else ballot.weight for ballot in counted]
    # Weights are divided by the heaviest, so that no sum of finite weights overflows.
    weights = [weight / max(given) for weight in given]
    notes: tuple[str, ...] = ()
    silent = [ballot.id for ballot in counted if ballot.confidence is None]
    if rules.use_confidence and len(silent) == len(counted):
        notes = ("no confidence given: weights alone",)
    elif rules.use_confidence:
        weights = [
            weight * (ballot.confidence or 0.0)
            for weight, ballot in zip(weights, counted, strict=True)
        ]
        notes = (f"no confidence, so no weight: {', '.join(silent)}",) if silent else ()
    return _leader(_label_weights(counted, weights), rules, notes)


def _supermajority(counted: Sequence[Ballot], rules: LabelRules) -> LabelConsensus:
    share = DEFAULT_SHARE if rules.share is None else rules.share
    found = supermajority([ballot.label for ballot in counted], share)
    label = rules.fallback if found.label is None else found.label
    return LabelConsensus(
        label,
        len(_label_counts(counted)) > 1,
        fell_back=found.label is None,
        reason=found.reason,
    )


LabelRule: TypeAlias = Callable[[Sequence[Ballot], LabelRules], LabelConsensus]
LABEL_RULES: Mapping[Strategy, LabelRule] = {
    Strategy.MAJORITY: lambda counted, rules: _leader(_label_counts(counted), rules),
    Strategy.UNANIMOUS: _unanimous,
    Strategy.WEIGHTED_VOTE: _weighted,
    Strategy.FIRST_DISAGREEMENT: lambda counted, rules: _unanimous(
        counted, replace(rules, fallback=DISAGREE)
    ),
    Strategy.SUPERMAJORITY: _supermajority,
}
"""The strategies that can count labels; each needs at least one usable ballot."""


class LabelVote(Struct, frozen=True):
    """The result of a label vote. Shares and confidence are ``None`` without ballots to count."""

    rule: str
    """The name of the strategy or of the callable."""
    label: str
    disagreement: bool | None
    """Whether the labels differ; ``None`` if no juror gave a label."""
    agreement_pct: float | None
    """The share of the usable ballots whose label is the consensus, 0..1."""
    seated_share: float | None
    """The share of all seats whose label is the consensus, 0..1."""
    avg_confidence: float | None
    """The mean of the confidences that the usable ballots give."""
    usable: int
    seated: int
    tie: str | None = None
    """How a tie was broken; ``None`` if there was none."""
    tied: tuple[str, ...] = ()
    """The labels that were tied."""
    notes: tuple[str, ...] = ()
    reason: str | None = None
    """Why a supermajority is inconclusive, or why ``disagreement`` is ``None``."""
    decision: Decision | None = None
    """What the label decides; ``None`` if it is neither pass nor fail.

    A supermajority that was missed is inconclusive. So is the fallback label of a panel that
    declares its labels, unless jurors gave it as an answer that passes or fails.
    """

    @property
    def score(self) -> float | None:
        """How far the ballots support a pass, 0..1: the consensus' share, or 1 less that of a fail.

        ``None`` if the label is neither pass nor fail, or no juror gave it.
        """
        if self.decision is Decision.PASS:
            return self.agreement_pct or None
        return (
            1 - self.agreement_pct
            if self.decision is Decision.FAIL and self.agreement_pct
            else None
        )


def labelled(ballots: Sequence[Ballot]) -> tuple[Ballot, ...]:
    """Return the ballots that a label vote counts: those that answered with a label."""
    none = {"", *FAILED_LABELS}
    return tuple(one for one in ballots if one.usable and folded(one.label) not in none)


def label_vote(
    ballots: Sequence[Ballot],
    how: Strategy | str | Aggregate = Strategy.MAJORITY,
    rules: LabelRules = _PLAIN,
) -> LabelVote:
    """Count the labels of ballots that were already collected; no model is called.

    ``majority`` is a plurality, ``unanimous`` gives the fallback on any difference,
    ``weighted_vote`` (or ``weighted``) sums weight times confidence, ``first_disagreement`` gives
    DISAGREE on any difference, ``supermajority`` gives the fallback if no label has the share, and
    a callable receives the usable ballots. Labels are compared without case; a failed ballot
    (ERROR, PARSE_FAIL) is left out. Without a usable ballot the label is the fallback and
    ``disagreement`` is ``None``. Source: cross-judge.
    """
    counted = labelled(ballots)
    name, count = _counting(how)
    found = LabelConsensus(rules.fallback, None, reason="no juror gave a label")
    if counted:
        found = count(counted, rules)
    alike = sum(folded(ballot.label) == folded(found.label) for ballot in counted)
    sure = [ballot.confidence for ballot in counted if ballot.confidence is not None]
    return LabelVote(
        rule=name,
        label=found.label,
        disagreement=found.disagreement,
        agreement_pct=alike / len(counted) if counted else None,
        seated_share=alike / len(ballots) if ballots else None,
        avg_confidence=math.fsum(sure) / len(sure) if sure else None,
        usable=len(counted),
        seated=len(ballots),
        tie=found.tie,
        tied=found.tied,
        notes=found.notes,
        reason=found.reason,
        decision=_meaning(found, name, counted, rules),
    )


def _meaning(
    found: LabelConsensus, rule: str, counted: Sequence[Ballot], rules: LabelRules
) -> Decision | None:
    if not counted:
        return None
    missed = rule == Strategy.SUPERMAJORITY and found.reason is not None
    if missed or (rules.labels and found.fell_back):
        return Decision.INCONCLUSIVE
    return rules.outcome(found.label)


def _counting(how: Strategy | str | Aggregate) -> tuple[str, LabelRule]:
    """Return the name of a label rule and the rule; raise UsageError if there is none."""
    if not callable(how):
        strategies = {strategy.value: strategy for strategy in LABEL_RULES}
        strategy = strategies.get("weighted_vote" if how == "weighted" else how)
        if strategy is None:
            raise UsageError(
                f"no label vote {how!r}", f"Known: {', '.join(strategies)}, a callable"
            )
        return strategy.value, LABEL_RULES[strategy]
    name = getattr(how, "__name__", "custom")

    def custom(counted: Sequence[Ballot], _rules: LabelRules) -> LabelConsensus:
        answer: object = how(counted)
        match answer:
            case (str(label), bool(disagreement)):
                return LabelConsensus(label, disagreement)
        raise UsageError(f"the label rule {name} gave {answer!r}", "It must give (label, bool)")

    return name, custom


def recount(verdict: Verdict, strategy: Strategy | None) -> LabelVote | None:
    """Return the label vote of a verdict under a strategy, or ``None`` if labels do not decide it.

    Labels that the panel declares decide under every rule that can count them. Otherwise
    majorities and unanimity count labels if no juror gave a score or a vote; beside scores or votes
    they count labels only if the report states a consensus label that its ballots could have given.
    A panel that states how it counts labels gives its fallback if no juror answered.
    The policy sets the share of a supermajority.
    """
    policy, rules = verdict.policy, _rules_of(verdict)
    if rules.aggregate is not None:
        return label_vote(verdict.ballots, rules.aggregate, rules)
    if strategy is None or strategy not in LABEL_RULES:
        return None
    if rules.labels:
        return label_vote(verdict.ballots, strategy, rules)
    counted = labelled(verdict.ballots)
    if not counted:
        silent = policy.counting is not None and not any(one.usable for one in verdict.ballots)
        return label_vote(verdict.ballots, strategy, rules) if silent else None
    cast = any(one.score is not None or one.vote is not None for one in verdict.ballots)
    if cast and STRATEGIES[strategy].reads is not Reads.LABELS:
        stated = folded(verdict.text("label"))
        within = {folded(word) for word in (rules.fallback, DISAGREE)}
        if stated not in within | {folded(ballot.label) for ballot in counted}:
            return None
    return label_vote(verdict.ballots, strategy, rules)


def _rules_of(verdict: Verdict) -> LabelRules:
    return replace(verdict.policy.counting or _PLAIN, share=verdict.policy.supermajority)


def said_labels(verdict: Verdict) -> tuple[Ballot, ...]:
    """Return the ballots whose labels are what their jurors said, or none if votes or scores are.

    That is so if the panel declares its labels. It is also so if every usable ballot has a label
    and one of them has no vote of pass or fail: to compare the votes of the others alone would
    leave out what that juror said.
    """
    counting, counted = verdict.policy.counting, labelled(verdict.ballots)
    if counting is not None and counting.labels:
        return counted
    if len(counted) < sum(one.usable for one in verdict.ballots):
        return ()
    voteless = any(one.vote is None and not one.undetermined for one in counted)
    return counted if voteless else ()


def label_counts(ballots: Sequence[Ballot]) -> dict[str, int]:
    """Count the ballots of each label, spelled as first written, the most frequent first."""
    spelled: dict[str, str] = {}
    for one in ballots:
        spelled.setdefault(folded(one.label), (one.label or "").strip())
    counts = Counter(folded(one.label) for one in ballots)
    return {spelled[key]: count for key, count in counts.most_common()}


def turning_seats(verdict: Verdict, strategy: Strategy, found: LabelVote) -> tuple[int, ...]:
    """Return the seats whose label, turned alone into another one, would change the decision.

    The other labels are those that the panel declares and those that its jurors gave.
    """
    rules, counted = _rules_of(verdict), labelled(verdict.ballots)
    others = {folded(label): label for label in (*rules.labels, *label_counts(counted))}

    def turns(turned: Ballot) -> bool:
        for label in others.values():
            if folded(label) == folded(turned.label):
                continue
            ballots = [
                dataclasses.replace(one, label=label) if one is turned else one for one in counted
            ]
            if label_vote(ballots, rules.aggregate or strategy, rules).decision != found.decision:
                return True
        return False

    return tuple(one.seat for one in counted if turns(one))


def undecided_word(verdict: Verdict) -> str | None:
    """Return the consensus label of a report without a decision, if it is neither pass nor fail."""
    stated = verdict.text("label")
    meant = (verdict.policy.counting or _PLAIN).decision(stated)
    undecided = verdict.decision is None and folded(stated) and meant is None
    return stated if undecided else None
