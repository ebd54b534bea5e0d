"""Recompute a verdict from its ballots, and set the result beside what the report states."""

from __future__ import annotations

import math
from collections.abc import Sequence

from msgspec.structs import replace

from reviewdesk.domain.assessment.pivot import pivotal_seats
from reviewdesk.domain.assessment.reasons import flag_notes, unscaled
from reviewdesk.domain.assessment.result import Assessment, Closeness
from reviewdesk.domain.assessment.seats import Seat, State
from reviewdesk.domain.assessment.seats import seats as seats_of
from reviewdesk.domain.audit import mismatches
from reviewdesk.domain.jury import family
from reviewdesk.domain.jury.agreement import (
    STOPPED_EARLY,
    AgreementPair,
    Spread,
    agreement_pair,
    closeness,
    own_spread,
    sample_variance,
    stopped_early,
    unit_alpha,
)
from reviewdesk.domain.jury.label_rules import (
    LabelVote,
    label_counts,
    recount,
    said_labels,
    turning_seats,
    undecided_word,
)
from reviewdesk.domain.jury.quorum import least_answered
from reviewdesk.domain.jury.rule import (
    Decisions,
    Rule,
    Values,
    decide,
    decision_by,
    rule_for,
    score_by,
    values_on,
)
from reviewdesk.domain.jury.stopping import cautioned, left_open
from reviewdesk.domain.jury.strategies import Sheet, Votes, tally
from reviewdesk.domain.jury.trim import Trim, trim
from reviewdesk.domain.verdict import (
    Ballot,
    Band,
    Decision,
    Rounding,
    Status,
    Strategy,
    Verdict,
    folded,
)

__all__ = ["Assessment", "Closeness", "Seat", "State", "assess"]

_WEIGHTED_STRATEGIES = frozenset({Strategy.WEIGHTED_AVERAGE, Strategy.WEIGHTED_VOTE})


def assess(verdict: Verdict, *, escalation_stated: bool = True) -> Assessment:
    """Recompute a verdict from its ballots; what the report states is kept.

    The recomputed escalation counts if the report states none at all (``escalation_stated``).
    """
    cut, votes, found, made = _count(verdict)
    rule = rule_for(verdict.policy, verdict.ballots, verdict.regime)
    counted, said = recount(verdict, rule.used), said_labels(verdict)
    words, absent = cautioned(verdict, rule.used, counted), _absent(verdict, votes)
    decision = verdict.decision or _decision(verdict, votes, made, rule, words)
    score = verdict.score
    if score is None and not votes.too_few(verdict.policy):
        score = words.score if words is not None and said else score_by(rule.used, found)
    close = _closeness(verdict, score)
    seats = seats_of(verdict, cut, decision, rule, words)
    pair = agreement_pair(verdict, close.spread)
    shared, warning = _kinship(verdict, family.defined_band(pair, close.spread))
    if counted is None or rule.used is None:
        pivotal = pivotal_seats(verdict, _counted_ballots(seats, rule), votes, cut, rule.used, made)
    else:
        pivotal = (
            ()
            if close.spread.reason == STOPPED_EARLY or words is not counted
            else turning_seats(verdict, rule.used, counted)
        )
    assessment = Assessment(
        seats=seats,
        votes=votes,
        values=found,
        decisions=made,
        trim=cut,
        agreement=close,
        rule=rule,
        decision=decision,
        score=score,
        pair=pair,
        same_family=shared,
        bias_warning=warning,
        pivotal=pivotal,
        degraded=_degraded_reasons(verdict, rule),
        absent=absent,
        escalation=_escalation_reasons(verdict, close.spread, votes, pivotal, rule, absent),
        breaches=mismatches.mismatches(verdict, votes, made),
        derived=_derived_fields(verdict, rule, decision, score, pair, shared, warning),
        label_vote=words,
        labels=label_counts(said),
        assumed_weights=_assumed_weights(verdict, rule),
    )
    notes = flag_notes(verdict, assessment, escalation_stated=escalation_stated)
    return replace(assessment, notes=notes)


def _count(verdict: Verdict) -> tuple[Trim, Votes, Values, Decisions]:
    scores = [ballot.score for ballot in verdict.ballots]
    weights = [ballot.weight for ballot in verdict.ballots]
    fraction = verdict.trim.fraction_under(verdict.policy)
    cut = trim(scores, fraction, verdict.trim.rounding or Rounding.DOWN)
    votes = tally(verdict.ballots)
    found = values_on(Sheet(scores, weights, votes, cut))
    return cut, votes, found, decide(votes, found, verdict.policy)


def _absent(verdict: Verdict, votes: Votes) -> str | None:
    """Return why answers that are not there leave no outcome, or one that they could change."""
    if votes.too_few(verdict.policy):
        least = least_answered(verdict.policy.min_answered, votes.seated)
        return f"{votes.returned} of {votes.seated} jurors answered, and the panel needs {least}"
    return left_open(verdict)


def _decision(
    verdict: Verdict, votes: Votes, made: Decisions, rule: Rule, words: LabelVote | None
) -> Decision | None:
    """Return the decision of the labels or the rule, or an error if no or too few jurors answered.

    Labels that the panel declares decide alone; others decide what the rule does not. A reported
    consensus label that is neither pass nor fail overrules both rule and labels.
    """
    if votes.too_few(verdict.policy):
        return Decision.ERROR
    found = decision_by(rule.used, made, votes, verdict.policy)
    declared = verdict.policy.counting is not None and bool(verdict.policy.counting.labels)
    if words is not None:
        found = words.decision if declared else found or words.decision
    if found and undecided_word(verdict) is None:
        return found
    asked = [ballot.status for ballot in verdict.ballots if ballot.status is not Status.NOT_ASKED]
    failed = bool(asked) and all(status.failed for status in asked)
    return Decision.ERROR if failed else None


def _kinship(verdict: Verdict, agreed: Band | None) -> tuple[bool | None, str | None]:
    """Return the stated same family and bias warning, or ours where none is stated."""
    shared = verdict.same_family
    if shared is None:
        shared = family.same_family(verdict.ballots, verdict.generator)
    return shared, verdict.bias_warning or family.bias_warning(
        verdict.ballots, verdict.generator, agreed, shared
    )


def _counted_ballots(seats: Sequence[Seat], rule: Rule) -> list[Ballot]:
    """Return the ballots that the rule reads; only the trim rule leaves out the trimmed ones."""
    trims = rule.used is Strategy.TRIMMED_MEAN
    return [seat.ballot for seat in seats if not (trims and seat.trimmed)]


def _closeness(verdict: Verdict, score: float | None) -> Closeness:
    scores = [ballot.score for ballot in verdict.ballots if ballot.score is not None]
    votes = [ballot.vote for ballot in verdict.ballots if ballot.vote is not None]
    said = [folded(ballot.label) for ballot in said_labels(verdict)]
    # Scores that not every juror gave beside its label say nothing of how far the panel differs.
    scores = [] if said else scores
    variance = sample_variance(scores)
    threshold, stopped = verdict.policy.threshold, stopped_early(verdict.ballots)
    return Closeness(
        spread=own_spread(verdict),
        alpha=None if stopped else unit_alpha(said or votes),
        closeness=None if stopped else closeness(scores),
        sd=None if variance is None else math.sqrt(variance),
        range=max(scores) - min(scores) if scores else None,
        margin=None if said or score is None or threshold is None else abs(score - threshold),
    )


def _assumed_weights(verdict: Verdict, rule: Rule) -> tuple[str, ...]:
    if rule.used not in _WEIGHTED_STRATEGIES:
        return ()
    return tuple(ballot.id for ballot in verdict.ballots if ballot.usable and ballot.weight is None)


def _degraded_reasons(verdict: Verdict, rule: Rule) -> tuple[str, ...]:
    returned = sum(ballot.usable for ballot in verdict.ballots)
    asked, waiting = len(verdict.ballots), sum(ballot.unscaled for ballot in verdict.ballots)
    asked -= sum(ballot.status is Status.NOT_ASKED for ballot in verdict.ballots)
    reasons = []
    if returned + waiting < asked:
        reasons.append(f"{returned + waiting} of {asked} jurors answered")
    if waiting:
        reasons.append(unscaled(waiting))
    few = rule.used is Strategy.TRIMMED_MEAN and returned + waiting < 5
    if few and not stopped_early(verdict.ballots):
        reasons.append(f"the trim rule wants five answers, this panel gave {returned}")
    if verdict.trim.degraded and not reasons:
        reasons.append("the report marks the panel as degraded")
    return tuple(reasons)


def _escalation_reasons(
    verdict: Verdict,
    spread: Spread,
    votes: Votes,
    pivotal: Sequence[int],
    rule: Rule,
    absent: str | None,
) -> tuple[str, ...]:
    reasons = [absent] if absent else []
    if spread.reason == STOPPED_EARLY:
        return tuple(reasons)
    if spread.band is Band.LOW:
        reasons.append("low agreement")
    said = said_labels(verdict)
    differ = len(label_counts(said)) > 1 if said else votes.split
    if differ and pivotal:
        reasons.append("a split that one vote would turn")
    if rule.used is Strategy.UNANIMOUS and differ:
        reasons.append("the rule asks for unanimity, and the jurors differ")
    return tuple(reasons)


def _derived_fields(
    verdict: Verdict,
    rule: Rule,
    decision: Decision | None,
    score: float | None,
    pair: AgreementPair,
    shared: bool | None,
    warning: str | None,
) -> tuple[str, ...]:
    """Return the names of the fields that we filled in because the report does not state them."""
    filled = {
        "decision": verdict.decision is None and decision is not None,
        "score": verdict.score is None and score is not None,
        "strategy": verdict.policy.strategy is None and rule.strategy is not None,
        "band": verdict.band is None and pair.band is not None,
        "same_family": verdict.same_family is None and shared is not None,
        "bias_warning": verdict.bias_warning is None and warning is not None,
    }
    jurors = verdict.body["jurors"]
    passes = [
        f"jurors[{ballot.seat}].pass"
        for ballot in verdict.ballots
        if ballot.vote is not None and "pass" not in jurors[ballot.seat]
    ]
    return (*(name for name, is_filled in filled.items() if is_filled), *passes)
