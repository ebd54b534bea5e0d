"""Label votes: the consensus of ballots that carry free words, recounted and held to a report's."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from reviewdesk.domain.jury.label_rules import (
    DISAGREE,
    LABEL_RULES,
    Aggregate,
    LabelConsensus,
    LabelRules,
    label_decision,
)
from reviewdesk.domain.jury.strategies import STRATEGIES, Reads
from reviewdesk.domain.verdict import FAILED_LABELS, Ballot, Decision, Strategy, Verdict, folded
from reviewdesk.errors import UsageError

_PLAIN = LabelRules()


@dataclass(frozen=True, slots=True)
class LabelVote:
    """What the labels of a panel come to. Shares and confidence are ``None`` of no ballots."""

    rule: str
    """The strategy's name, or that of the callable."""
    label: str
    disagreement: bool | None
    """``None`` where no juror gave a label: there is nothing to differ in."""
    agreement_pct: float | None
    """Share of the usable ballots that equal the consensus, 0..1."""
    seated_share: float | None
    """The same of all seats."""
    avg_confidence: float | None
    """Mean of the confidences that the usable ballots give."""
    usable: int
    seated: int
    tie: str | None = None
    """What broke a tie, if there was one."""
    tied: tuple[str, ...] = ()
    """The labels that were level."""
    notes: tuple[str, ...] = ()
    reason: str | None = None
    """Why a supermajority is inconclusive, or why ``disagreement`` is ``None``."""

    @property
    def decision(self) -> Decision | None:
        """What the label map makes of the consensus; a supermajority that is missed is no word."""
        if self.rule == Strategy.SUPERMAJORITY and self.reason and self.usable:
            return Decision.INCONCLUSIVE
        return label_decision(self.label)


def labelled(ballots: Sequence[Ballot]) -> tuple[Ballot, ...]:
    """The ballots that a label vote counts: those that answered, with a word for an answer."""
    return tuple(ballot for ballot in ballots if ballot.usable and _is_word(ballot.label))


def _is_word(label: str | None) -> bool:
    word = folded(label)
    return bool(word) and word not in FAILED_LABELS


def label_vote(
    ballots: Sequence[Ballot],
    how: Strategy | str | Aggregate = Strategy.MAJORITY,
    rules: LabelRules = _PLAIN,
) -> LabelVote:
    """Count the labels of ballots that were already collected; nothing is called.

    ``majority`` is a plurality, ``unanimous`` gives the fallback on any difference,
    ``weighted_vote`` (or ``weighted``) sums weight times confidence, ``first_disagreement`` gives
    DISAGREE on any difference, ``supermajority`` the fallback where no label has the share, and a
    callable is handed the usable ballots. Labels are compared without case; a failed ballot (ERROR,
    PARSE_FAIL) is left out. Without a usable ballot the label is the fallback, and whether the
    panel disagrees is ``None``. Source: cross-judge.
    """
    counted = labelled(ballots)
    name, found = _own(how, counted, rules) if callable(how) else _by_name(how, counted, rules)
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
    )


def _nothing(rules: LabelRules) -> LabelConsensus:
    return LabelConsensus(rules.fallback, disagreement=None, reason="no juror gave a label")


def _by_name(name: str, counted: Sequence[Ballot], rules: LabelRules) -> tuple[str, LabelConsensus]:
    strategies = {strategy.value: strategy for strategy in LABEL_RULES}
    strategy = strategies.get("weighted_vote" if name == "weighted" else name)
    if strategy is None:
        raise UsageError(f"no label vote {name!r}", f"Known: {', '.join(strategies)}, a callable")
    found = LABEL_RULES[strategy](counted, rules) if counted else _nothing(rules)
    return strategy.value, found


def _own(
    aggregate: Aggregate, counted: Sequence[Ballot], rules: LabelRules
) -> tuple[str, LabelConsensus]:
    name = getattr(aggregate, "__name__", "custom")
    if not counted:
        return name, _nothing(rules)
    answered: object = aggregate(counted)
    match answered:
        case (str(label), bool(disagreement)):
            return name, LabelConsensus(label, disagreement)
    raise UsageError(f"the label rule {name} gave {answered!r}", "It must give (label, bool)")


def recount(
    verdict: Verdict, strategy: Strategy | None, rules: LabelRules = _PLAIN
) -> LabelVote | None:
    """The label vote of a verdict under a strategy; ``None`` where labels are not what decides.

    Majorities and unanimity count labels where no juror gave a score or a vote, and beside those
    where the report states a consensus label that its ballots could have given. The share of a
    supermajority is the policy's.
    """
    rules = replace(rules, share=verdict.policy.supermajority)
    if rules.aggregate is not None:
        return label_vote(verdict.ballots, rules.aggregate, rules)
    if strategy is None or strategy not in LABEL_RULES:
        return None
    counted = labelled(verdict.ballots)
    if not counted:
        return None
    if STRATEGIES[strategy].reads is not Reads.LABELS and _scored(verdict.ballots):
        stated = folded(verdict.text("label"))
        within = {folded(word) for word in (rules.fallback, DISAGREE)}
        if stated not in within | {folded(ballot.label) for ballot in counted}:
            return None
    return label_vote(verdict.ballots, strategy, rules)


def undecided_word(verdict: Verdict) -> str | None:
    """The consensus word of a report that states no decision, where it is neither pass nor fail."""
    stated = verdict.text("label")
    undecided = verdict.decision is None and folded(stated) and label_decision(stated) is None
    return stated if undecided else None


def _scored(ballots: Sequence[Ballot]) -> bool:
    return any(ballot.score is not None or ballot.vote is not None for ballot in ballots)


def label_mismatch(verdict: Verdict) -> str | None:
    """Where a reported consensus label is not what its own stated strategy makes of the ballots.

    Of labels that are level any may have been picked, a panel that differs may have fallen back to
    a word of its producer's own, and a weighted vote may have left the confidences out.
    """
    stated = verdict.text("label")
    if not stated or "strategy" in verdict.set_by_you:
        return None
    found = recount(verdict, verdict.policy.strategy)
    if found is None:
        return None
    bare = recount(verdict, verdict.policy.strategy, LabelRules(use_confidence=False)) or found
    allowed = {found.label, bare.label, *found.tied, *bare.tied}
    if folded(stated) in map(folded, allowed):
        return None
    given = {folded(ballot.label) for ballot in labelled(verdict.ballots)}
    if folded(found.label) not in given and folded(stated) not in given:
        return None
    return f"label: reported {stated}, but {found.rule} gives {found.label}"
