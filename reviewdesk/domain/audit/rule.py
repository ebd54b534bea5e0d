"""What a report's decision, label and kinship may be held to: the rule it says it decided by."""

from __future__ import annotations

from collections import Counter

from reviewdesk.domain.audit.trim import trimmed_means
from reviewdesk.domain.jury import family, label_votes
from reviewdesk.domain.jury.label_rules import label_decision
from reviewdesk.domain.jury.label_votes import labelled
from reviewdesk.domain.jury.rule import (
    Decisions,
    Votes,
    decision_by,
    quorum_met,
    rule_for,
)
from reviewdesk.domain.jury.strategies import STRATEGIES
from reviewdesk.domain.verdict import SLACK, Decision, Regime, Strategy, Verdict, folded

_SIDES = frozenset({Decision.PASS, Decision.FAIL})
_ON_LABELS = frozenset({Strategy.MAJORITY, Strategy.UNANIMOUS, Strategy.SUPERMAJORITY})


def quorum_mismatch(verdict: Verdict, made: Decisions, votes: Votes) -> str | None:
    """A quorum decision that neither the seated nor the answering panel gives.

    It is open where neither the passes nor the fails reach the quorum, or where the votes are even.
    """
    if verdict.policy.strategy not in {None, Strategy.QUORUM}:
        return None
    if verdict.policy.strategy is None and verdict.regime:
        return None  # the regime may have chosen another rule
    if verdict.decision is None or made.quorum is None:
        return None
    if {"quorum", "threshold"} & set(verdict.set_by_you):
        return None
    if verdict.decision in {made.quorum, made.quorum_answered} or _left_open(verdict, votes):
        return None
    return (
        f"quorum: reported {verdict.decision}, but {votes.passes} of {votes.seated} against "
        f"{verdict.policy.quorum} gives {made.quorum}"
    )


def decision_mismatch(verdict: Verdict, made: Decisions, votes: Votes) -> str | None:
    """A decision that the stated rule, or the median that stands in for it, does not give.

    A majority may be one of the jurors that answered, and a rule on votes may count their labels.
    """
    strategy = verdict.policy.strategy
    if strategy in {None, Strategy.QUORUM} or verdict.set_by_you:
        return None
    if verdict.decision is None:
        return None
    rule = rule_for(verdict.policy, verdict.ballots, verdict.regime)
    asked = [rule.strategy, rule.used]
    if verdict.regime == Regime.IRREVERSIBLE:
        asked.append(Strategy.MEDIAN)
    own = [decision_by(found, made, votes) for found in asked]
    if strategy is Strategy.TRIMMED_MEAN:
        own += _trimmed_decisions(verdict)
    if strategy in _ON_LABELS:
        answered = Votes(votes.passes, votes.answered, votes.answered, votes.unknown)
        own += [STRATEGIES[strategy].decide(answered, None, verdict.policy)]
        own += _label_decisions(verdict)
    given = [decision for decision in own if decision is not None]
    if not given or verdict.decision in given or _left_open(verdict, votes):
        return None
    return f"decision: reported {verdict.decision}, but {strategy} gives {given[0]}"


def _left_open(verdict: Verdict, votes: Votes) -> bool:
    """Inconclusive, and a person decides, or the words or votes of the panel may leave it so."""
    if verdict.decision is not Decision.INCONCLUSIVE:
        return False
    labels = {folded(ballot.label) for ballot in labelled(verdict.ballots)}
    stated = verdict.text("label")
    undecided = bool(stated) and label_decision(stated) not in _SIDES
    if verdict.regime == Regime.DISPUTE or len(labels) > 1 or undecided:
        return True
    strategy, quorum = verdict.policy.strategy, verdict.policy.quorum
    if strategy is Strategy.UNANIMOUS:
        return votes.answered < votes.seated
    if strategy not in {None, Strategy.QUORUM} or quorum is None or not votes.known:
        return False
    counts = {votes.seated, votes.answered}
    sides = (votes.passes, votes.fails)
    reached = all(any(quorum_met(side, n, quorum) for side in sides) for n in counts)
    return not reached or votes.passes == votes.fails


def _trimmed_decisions(verdict: Verdict) -> list[Decision]:
    """The trim rule's decision under every trim that the report's words allow."""
    threshold = verdict.policy.threshold
    if threshold is None:
        return []
    passed = [mean >= threshold - SLACK for mean in trimmed_means(verdict)]
    return [Decision.PASS if one else Decision.FAIL for one in passed]


def _label_decisions(verdict: Verdict) -> list[Decision]:
    """What the most frequent labels stand for: a plurality of labels need not be one of votes."""
    counts = Counter(folded(ballot.label) for ballot in labelled(verdict.ballots))
    leading = {label for label, count in counts.items() if count == max(counts.values())}
    if verdict.policy.strategy is Strategy.UNANIMOUS and len(counts) > 1:
        return []
    votes = {ballot.vote for ballot in verdict.ballots if folded(ballot.label) in leading}
    return [Decision.PASS if vote else Decision.FAIL for vote in votes if vote is not None]


def label_mismatch(verdict: Verdict) -> str | None:
    """A consensus label that its strategy does not give, where every weight is known."""
    if verdict.policy.strategy is Strategy.WEIGHTED_VOTE:
        weights = [ballot.weight for ballot in labelled(verdict.ballots)]
        if None in weights:
            return None
    return label_votes.label_mismatch(verdict)


def same_family_mismatch(verdict: Verdict) -> str | None:
    """A kinship that the models deny.

    Only the four families of the jury document count, and a stated kinship is denied only where
    every juror's family is known: a producer need not know more families than its rule names.
    """
    reported = verdict.same_family
    ours = family.same_family(verdict.ballots, verdict.generator)
    if reported is None or ours is None or reported is ours:
        return None
    families = [family.family(ballot.model, ballot.vendor) for ballot in verdict.ballots]
    sure = all(families) if reported else family.plain_kin(verdict.ballots, verdict.generator)
    if not sure:
        return None
    return f"same family: reported {_yes(reported)}, but the models say {_yes(ours)}"


def pass_mismatches(verdict: Verdict) -> tuple[str, ...]:
    """Ballots whose stated pass their own score denies, under a threshold that the file states."""
    if "threshold" in verdict.set_by_you:
        return ()
    return tuple(
        f"{ballot.id}: stated {'pass' if ballot.stated_pass else 'fail'} with score "
        f"{ballot.score:.3g} against threshold {verdict.policy.threshold:.3g}"
        for ballot in verdict.ballots
        if ballot.contradicts
    )


def _yes(value: bool) -> str:
    return "yes" if value else "no"
