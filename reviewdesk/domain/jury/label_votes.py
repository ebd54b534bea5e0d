"""Label votes: count the labels of ballots and compare the consensus with the report's."""

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

    @property
    def decision(self) -> Decision | None:
        """The decision that the consensus means; inconclusive if a supermajority was missed."""
        if self.rule == Strategy.SUPERMAJORITY and self.reason and self.usable:
            return Decision.INCONCLUSIVE
        return label_decision(self.label)


def labelled(ballots: Sequence[Ballot]) -> tuple[Ballot, ...]:
    """Return the ballots that a label vote counts: those that answered with a label."""
    return tuple(ballot for ballot in ballots if ballot.usable and _is_word(ballot.label))


def _is_word(label: str | None) -> bool:
    word = folded(label)
    return bool(word) and word not in FAILED_LABELS


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
    name, found = _custom(how, counted, rules) if callable(how) else _by_name(how, counted, rules)
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


def _no_consensus(rules: LabelRules) -> LabelConsensus:
    return LabelConsensus(rules.fallback, disagreement=None, reason="no juror gave a label")


def _by_name(name: str, counted: Sequence[Ballot], rules: LabelRules) -> tuple[str, LabelConsensus]:
    strategies = {strategy.value: strategy for strategy in LABEL_RULES}
    strategy = strategies.get("weighted_vote" if name == "weighted" else name)
    if strategy is None:
        raise UsageError(f"no label vote {name!r}", f"Known: {', '.join(strategies)}, a callable")
    found = LABEL_RULES[strategy](counted, rules) if counted else _no_consensus(rules)
    return strategy.value, found


def _custom(
    aggregate: Aggregate, counted: Sequence[Ballot], rules: LabelRules
) -> tuple[str, LabelConsensus]:
    name = getattr(aggregate, "__name__", "custom")
    if not counted:
        return name, _no_consensus(rules)
    answer: object = aggregate(counted)
    match answer:
        case (str(label), bool(disagreement)):
            return name, LabelConsensus(label, disagreement)
    raise UsageError(f"the label rule {name} gave {answer!r}", "It must give (label, bool)")


def recount(
    verdict: Verdict, strategy: Strategy | None, rules: LabelRules = _PLAIN
) -> LabelVote | None:
    """Return the label vote of a verdict under a strategy, or ``None`` if labels do not decide it.

    Majorities and unanimity count labels if no juror gave a score or a vote. Beside scores or votes
    they count labels only if the report states a consensus label that its ballots could have given.
    The policy sets the share of a supermajority.
    """
    rules = replace(rules, share=verdict.policy.supermajority)
    if rules.aggregate is not None:
        return label_vote(verdict.ballots, rules.aggregate, rules)
    if strategy is None or strategy not in LABEL_RULES:
        return None
    counted = labelled(verdict.ballots)
    if not counted:
        return None
    if STRATEGIES[strategy].reads is not Reads.LABELS and _has_scores_or_votes(verdict.ballots):
        stated = folded(verdict.text("label"))
        within = {folded(word) for word in (rules.fallback, DISAGREE)}
        if stated not in within | {folded(ballot.label) for ballot in counted}:
            return None
    return label_vote(verdict.ballots, strategy, rules)


def undecided_word(verdict: Verdict) -> str | None:
    """Return the consensus label of a report without a decision, if it is neither pass nor fail."""
    stated = verdict.text("label")
    undecided = verdict.decision is None and folded(stated) and label_decision(stated) is None
    return stated if undecided else None


def _has_scores_or_votes(ballots: Sequence[Ballot]) -> bool:
    return any(ballot.score is not None or ballot.vote is not None for ballot in ballots)


def label_mismatch(verdict: Verdict) -> str | None:
    """Return a text if the reported consensus label is not what the stated strategy gives.

    Any of the tied labels may have been picked, a panel that differs may have fallen back to a word
    of its producer, and a weighted vote may have ignored the confidences.
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
