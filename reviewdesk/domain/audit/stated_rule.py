"""Check a report's decision, consensus label and family claim against its own rule."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from msgspec.structs import replace

from reviewdesk.domain.audit.stated_trim import trimmed_means
from reviewdesk.domain.canonical import CanonicalVerdict, number, own_facts
from reviewdesk.domain.jury import family
from reviewdesk.domain.jury.label_rules import label_decision, labelled, recount, said_labels
from reviewdesk.domain.jury.label_words import LabelRules
from reviewdesk.domain.jury.quorum import quorum_met
from reviewdesk.domain.jury.rule import Decisions, decision_by, rule_for
from reviewdesk.domain.jury.stopping import can_turn, cautioned
from reviewdesk.domain.jury.strategies import STRATEGIES, Votes
from reviewdesk.domain.safetext import show_line
from reviewdesk.domain.verdict import (
    SLACK,
    Ballot,
    Decision,
    Regime,
    Status,
    Strategy,
    Verdict,
    folded,
)

_SIDES = frozenset({Decision.PASS, Decision.FAIL})
_ON_LABELS = frozenset({Strategy.MAJORITY, Strategy.UNANIMOUS, Strategy.SUPERMAJORITY})


def quorum_mismatch(verdict: Verdict, made: Decisions, votes: Votes) -> str | None:
    """Return a text if neither all seats nor the jurors that answered give the quorum decision.

    Inconclusive is allowed if neither passes nor fails reach the quorum, or if the votes are even.
    """
    if verdict.policy.strategy not in {None, Strategy.QUORUM}:
        return None
    if verdict.policy.strategy is None and verdict.regime:
        return None  # the regime may have chosen another rule
    if verdict.decision is None or made.quorum is None:
        return None
    if {"quorum", "threshold"} & set(verdict.set_by_you):
        return None
    if verdict.decision in {made.quorum, made.quorum_answered} or _may_stay_open(verdict, votes):
        return None
    return (
        f"quorum: reported {verdict.decision}, but {votes.passes} of {votes.seated} against "
        f"{verdict.policy.quorum} gives {made.quorum}"
    )


def decision_mismatch(verdict: Verdict, made: Decisions, votes: Votes) -> str | None:
    """Return a text if the stated rule, or the median in its place, does not give the decision.

    A majority may be one of the jurors that answered, and a rule on votes may count their labels.
    """
    strategy = verdict.policy.strategy
    if strategy in {None, Strategy.QUORUM} or verdict.set_by_you:
        return None
    if verdict.decision is None:
        return None
    rule = rule_for(verdict.policy, verdict.ballots, verdict.regime)
    strategies = [rule.strategy, rule.used]
    if verdict.regime == Regime.IRREVERSIBLE:
        strategies.append(Strategy.MEDIAN)
    counting, words = verdict.policy.counting, recount(verdict, rule.used)
    careful = cautioned(verdict, rule.used, words)
    if careful is not None and careful.decision is verdict.decision is Decision.INCONCLUSIVE:
        return None
    if words is not None and counting is not None and counting.labels:
        allowed = {words.decision, *(counting.outcome(label) for label in words.tied)}
        if verdict.decision in allowed or (words.decision is None and not words.usable):
            return None
        return f"decision: reported {verdict.decision}, but {words.rule} gives {words.label}"
    own = [decision_by(found, made, votes, verdict.policy) for found in strategies]
    if strategy is Strategy.TRIMMED_MEAN:
        own += _trimmed_decisions(verdict)
    if strategy in _ON_LABELS:
        own += [STRATEGIES[strategy].published(votes.of_answered, None, verdict.policy)]
        own += _label_decisions(verdict)
    given = [decision for decision in own if decision is not None]
    if not given or verdict.decision in given or _may_stay_open(verdict, votes):
        return None
    return f"decision: reported {verdict.decision}, but {strategy} gives {given[0]}"


def _may_stay_open(verdict: Verdict, votes: Votes) -> bool:
    """Return True if the verdict is inconclusive, and its regime, labels or votes allow that."""
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
    """Return the trim rule's decision under every trim that the report's words allow."""
    threshold = verdict.policy.threshold
    if threshold is None:
        return []
    passed = [mean >= threshold - SLACK for mean in trimmed_means(verdict)]
    return [Decision.PASS if one else Decision.FAIL for one in passed]


def _label_decisions(verdict: Verdict) -> list[Decision]:
    """Return the decisions that jurors with the most frequent labels voted for.

    A plurality of labels need not be a plurality of votes.
    """
    counts = Counter(folded(ballot.label) for ballot in labelled(verdict.ballots))
    leading = {label for label, count in counts.items() if count == max(counts.values())}
    if verdict.policy.strategy is Strategy.UNANIMOUS and len(counts) > 1:
        return []
    votes = {ballot.vote for ballot in verdict.ballots if folded(ballot.label) in leading}
    return [Decision.PASS if vote else Decision.FAIL for vote in votes if vote is not None]


def label_mismatch(verdict: Verdict) -> str | None:
    """Return a text if the reported consensus label is not what the stated strategy gives.

    Any of the tied labels may have been picked, a panel that differs may have fallen back to a word
    of its producer, and a weighted vote may have ignored the confidences. Nothing is said if a
    weighted vote has an unknown weight.
    """
    stated, counted = verdict.text("label"), labelled(verdict.ballots)
    if not stated or "strategy" in verdict.set_by_you:
        return None
    weighs = verdict.policy.strategy is Strategy.WEIGHTED_VOTE
    if weighs and any(ballot.weight is None for ballot in counted):
        return None
    found = recount(verdict, verdict.policy.strategy)
    if found is None:
        return None
    counting = replace(verdict.policy.counting or LabelRules(), use_confidence=False)
    unsure = replace(verdict, policy=replace(verdict.policy, counting=counting))
    bare = recount(unsure, verdict.policy.strategy) or found
    allowed = {found.label, bare.label, *found.tied, *bare.tied}
    if folded(stated) in map(folded, allowed):
        return None
    given = {folded(ballot.label) for ballot in counted}
    if folded(found.label) not in given and folded(stated) not in given:
        return None
    return f"label: reported {stated}, but {found.rule} gives {found.label}"


def same_family_mismatch(verdict: Verdict) -> str | None:
    """Return a text if the models contradict the stated ``same_family``.

    A stated no is checked against the four families of the jury document, because a producer need
    not know more; a stated yes is checked only if every juror's family is known.
    """
    reported = verdict.same_family
    ours = family.same_family(verdict.ballots, verdict.generator)
    if reported is None or ours is None or reported is ours:
        return None
    families = [family.family(ballot.model, ballot.vendor) for ballot in verdict.ballots]
    sure = all(families) if reported else family.plain_kin(verdict.ballots, verdict.generator)
    if not sure:
        return None
    return f"same family: reported {_yes_or_no(reported)}, but the models say {_yes_or_no(ours)}"


def against_all(verdict: Verdict, made: Decisions, votes: Votes) -> str | None:
    """Return a text if a stated pass or fail has no vote, and no known rule gives it either.

    Votes that rest on a threshold of the user's say nothing of the report.
    """
    stated = verdict.decision
    if stated not in _SIDES or not votes.known or said_labels(verdict):
        return None
    mine = "threshold" in verdict.set_by_you
    if mine and any(one.vote is not None and one.stated_pass is None for one in verdict.ballots):
        return None
    used = rule_for(verdict.policy, verdict.ballots, verdict.regime).used
    ruled = decision_by(used, made, votes, verdict.policy)
    if ruled is stated or (ruled is not None and not verdict.set_by_you):
        return None
    if votes.passes if stated is Decision.PASS else votes.fails:
        return None
    row = (verdict.body.get("meta") or {}).get("row")
    line = number(row.get("threshold")) if isinstance(row, Mapping) else None
    known = "" if line is None else f"; the test's own threshold is {line:g}"
    return f"decision: reported {stated}, but 0 of {votes.answered} votes are for it{known}"


def contradictions(body: CanonicalVerdict) -> tuple[str, ...]:
    """Return what a reader says of places where its file contradicts itself, the first few."""
    stated = (body.get("meta") or {}).get("contradictions")
    listed = stated if isinstance(stated, list) else []
    return tuple(show_line(one, 200) for one in listed if isinstance(one, str))[:5]


def pass_mismatches(verdict: Verdict) -> tuple[str, ...]:
    """Return a text for each ballot whose pass contradicts its score.

    It does so at a threshold that the report states, and where it passes a score of 0 or fails a
    score of 1, whatever the threshold.
    """
    mine = "threshold" in verdict.set_by_you
    return tuple(
        f"{ballot.id}: stated {'pass' if ballot.stated_pass else 'fail'} with score "
        f"{ballot.score:.3g}{_against(ballot, verdict)}"
        for ballot in verdict.ballots
        if ballot.contradicts and (ballot.line is not None or not mine or ballot.score in {0, 1})
    )


def _against(ballot: Ballot, verdict: Verdict) -> str:
    line = verdict.policy.threshold if ballot.line is None else ballot.line
    return "" if line is None else f" against threshold {line:.3g}"


def _yes_or_no(value: bool) -> str:
    return "yes" if value else "no"


def stop_mismatch(verdict: Verdict) -> str | None:
    """Return a text if a panel stopped because it had decided, and the decision could turn yet."""
    if own_facts(verdict.body).get("stop_when_decided") is not True or not can_turn(verdict):
        return None
    count = sum(ballot.status is Status.NOT_ASKED for ballot in verdict.ballots)
    return f"stopped early: the jurors not asked ({count}) could have turned the decision"
