"""Recompute a verdict from its ballots, and set the result beside what the report states."""

from __future__ import annotations

import math

import numpy as np
from msgspec.structs import replace

from reviewdesk.domain.assessment.reasons import flag_notes, unscaled
from reviewdesk.domain.assessment.result import Assessment, Closeness, Decisions, Values
from reviewdesk.domain.assessment.seats import Seat, State
from reviewdesk.domain.audit.mismatches import mismatches
from reviewdesk.domain.audit.stated_rule import AuditedVerdict
from reviewdesk.domain.enums import AgreementSource, Band
from reviewdesk.domain.jury import family
from reviewdesk.domain.jury.agreement import ADR_NULL, spread_of, unit_alpha
from reviewdesk.domain.jury.band import BANDS
from reviewdesk.domain.jury.label_rules import firsts, sums, vote_record
from reviewdesk.domain.jury.panels import votes_of
from reviewdesk.domain.jury.quorum import least_answered
from reviewdesk.domain.jury.records import R_WG, STOPPED_EARLY, AgreementPair, LabelVote, Spread
from reviewdesk.domain.jury.scores import only, trim_of
from reviewdesk.domain.jury.stopping import sentence
from reviewdesk.domain.jury.strategies import Rule, Votes, rule_for
from reviewdesk.domain.jury.trim import Trim
from reviewdesk.domain.jury.verdicts import FEW, Verdicts, verdicts_of
from reviewdesk.domain.run.columns import DECISIONS, NOTHING
from reviewdesk.domain.verdict import Decision, Rounding, Status, Strategy, Verdict, folded

_WEIGHTED_STRATEGIES = frozenset({Strategy.WEIGHTED_AVERAGE, Strategy.WEIGHTED_VOTE})


def assess(verdict: Verdict, *, escalation_stated: bool = True) -> Assessment:
    """Recompute a verdict from its ballots; what the report states is kept.

    The recomputed escalation counts if the report states none at all (``escalation_stated``).
    """
    found = verdicts_of([verdict])
    votes = votes_of(found.panels, 0)
    rule = rule_for(verdict.policy, verdict.ballots, verdict.regime)
    shared = None if found.shared[0] == NOTHING else bool(found.shared[0])
    absent = _absent(verdict, found, votes)
    fraction = verdict.trim.fraction_under(verdict.policy)
    cut = trim_of(found.panels.scores, fraction, verdict.trim.rounding or Rounding.DOWN)
    assessment = Assessment(
        seats=_seats(verdict, found, cut),
        votes=votes,
        values=Values(
            *[only(found.panels.valued_by(Strategy(name))) for name in Values.__struct_fields__]
        ),
        decisions=_decisions(found),
        trim=cut,
        agreement=_closeness(verdict, found),
        rule=rule,
        decision=decided(int(found.decision[0])),
        score=only(found.score),
        pair=pair_of(verdict, found),
        same_family=shared,
        bias_warning=verdict.bias_warning
        or family.bias_warning(
            verdict.ballots, verdict.generator, low=bool(found.defined_low[0]), shared=shared
        ),
        pivotal=tuple(np.flatnonzero(found.pivotal[:, 0]).tolist()),
        degraded=_degraded_reasons(verdict, rule),
        absent=absent,
        escalation=_escalation_reasons(found, rule, absent),
        breaches=mismatches(AuditedVerdict(verdict, found, 0)),
        derived=(),
        label_vote=_label_vote(verdict, found, rule),
        labels=_labels(verdict, found),
        assumed_weights=_assumed_weights(verdict, rule),
        no_votes=bool(found.no_votes[0]),
    )
    assessment = replace(assessment, derived=_derived_fields(verdict, assessment))
    notes = flag_notes(verdict, assessment, escalation_stated=escalation_stated)
    return replace(assessment, notes=notes)


def decided(code: int) -> Decision | None:
    """Return the decision of a code."""
    return None if code == NOTHING else DECISIONS[code]


def _decisions(found: Verdicts) -> Decisions:
    panels = found.panels
    made = {
        name: panels.by(Strategy(name))
        for name in Decisions.__struct_fields__
        if name in Strategy.__members__.values()
    }
    other = {"quorum_strict": panels.quorum_strictly, "quorum_answered": panels.quorum_answered}
    return Decisions(**{name: decided(int(one[0])) for name, one in (made | other).items()})


def _seats(verdict: Verdict, found: Verdicts, cut: Trim) -> tuple[Seat, ...]:
    low = found.out[0][:, 0]
    high = found.out[1][:, 0]
    spared = bool(found.spared[0])
    named = bool(found.sheet.claims.named[0])
    placed = []
    for seat, ballot in enumerate(verdict.ballots):
        state = State.COUNTED if ballot.usable else State.FAILED
        if low[seat] and not spared:
            state = State.TRIMMED_LOW
        elif high[seat] and not spared:
            state = State.TRIMMED_HIGH
        placed.append(
            Seat(
                ballot=ballot,
                family=family.family(ballot.model, ballot.vendor),
                state=state,
                dissent=bool(found.dissents[seat, 0]),
                tied=not spared and not named and seat in cut.tied,
                contradicts=bool(found.sheet.contradicts[seat, 0]),
                would_trim=spared and bool(low[seat] or high[seat]),
            )
        )
    return tuple(placed)


def _absent(verdict: Verdict, found: Verdicts, votes: Votes) -> str | None:
    """Return why answers that are not there leave no outcome, or one that they could change."""
    if votes.too_few(verdict.policy):
        least = least_answered(verdict.policy.min_answered, votes.seated)
        return f"{votes.returned} of {votes.seated} jurors answered, and the panel needs {least}"
    open_, silent, unasked = found.open
    return sentence(votes.seated, int(silent[0]), int(unasked[0])) if open_[0] else None


def pair_of(verdict: Verdict, found: Verdicts) -> AgreementPair:
    """Return the agreement and the band that are shown together, of a column of length one."""
    value, band, reported = found.shown
    source = AgreementSource.OURS
    metric: str | None = R_WG
    if reported[0]:
        source = AgreementSource.REPORTED
        metric = verdict.agreement.metric if verdict.agreement else None
    return AgreementPair(only(value), band_of(int(band[0])), source, metric)


def band_of(code: int) -> Band | None:
    """Return the band of a code."""
    return None if code == NOTHING else BANDS[code]


def spread_in(found: Verdicts) -> Spread:
    """Return our agreement of a verdict, which is a column of length one."""
    stopped = bool(found.stopped[0])
    scored = int(found.panels.scores.count[0])
    answered = int(found.panels.cast.answered[0])
    said = int(found.said[:, 0].sum())
    n = scored if scored >= 2 or answered < 2 else answered
    n = scored if stopped else said or n
    return spread_of(only(found.agreement), n, STOPPED_EARLY if stopped else "single_juror")


def _closeness(verdict: Verdict, found: Verdicts) -> Closeness:
    stopped = bool(found.stopped[0])
    said = [folded(verdict.ballots[seat].label) for seat in np.flatnonzero(found.said[:, 0])]
    votes = [ballot.vote for ballot in verdict.ballots if ballot.vote is not None]
    variance = only(found.variance)
    close = None if variance is None else max(0.0, 1 - min(variance / ADR_NULL, 1.0))
    return Closeness(
        spread=spread_in(found),
        alpha=None if stopped else unit_alpha(said or votes),
        closeness=None if stopped else close,
        sd=None if variance is None else math.sqrt(variance),
        range=only(found.range),
        margin=only(found.margin),
    )


def _label_vote(verdict: Verdict, found: Verdicts, rule: Rule) -> LabelVote | None:
    if not found.counts[0]:
        return None
    rules = found.sheet.facts[0].rules
    how = rules.aggregate or rule.used or Strategy.EXTERNAL
    made = vote_record(verdict.ballots, found.sheet.labels, found.words, 0, how, rules)
    return replace(made, decision=decided(int(found.cautioned[0])))


def _labels(verdict: Verdict, found: Verdicts) -> dict[str, int]:
    """Count the ballots of each label that was said, the most frequent first."""
    code = np.where(found.said, found.sheet.labels.code, NOTHING)
    totals = sums(code, np.ones(code.shape))[:, 0]
    seats = np.flatnonzero(firsts(code)[:, 0]).tolist()
    return {
        (verdict.ballots[seat].label or "").strip(): int(totals[seat])
        for seat in sorted(seats, key=lambda seat: -totals[seat])
    }


def _assumed_weights(verdict: Verdict, rule: Rule) -> tuple[str, ...]:
    if rule.used not in _WEIGHTED_STRATEGIES:
        return ()
    return tuple(ballot.id for ballot in verdict.ballots if ballot.usable and ballot.weight is None)


def _degraded_reasons(verdict: Verdict, rule: Rule) -> tuple[str, ...]:
    statuses = [ballot.status for ballot in verdict.ballots]
    waiting = sum(ballot.unscaled for ballot in verdict.ballots)
    answers = statuses.count(Status.OK) + waiting
    unasked = statuses.count(Status.NOT_ASKED)
    asked = len(statuses) - unasked
    reasons = [f"{answers} of {asked} jurors answered"] if answers < asked else []
    if waiting:
        reasons.append(unscaled(waiting))
    if rule.used is Strategy.TRIMMED_MEAN and answers < FEW and not unasked:
        reasons.append(f"the trim rule wants five answers, this panel gave {answers}")
    if verdict.trim.degraded and not reasons:
        reasons.append("the report marks the panel as degraded")
    return tuple(reasons)


def _escalation_reasons(found: Verdicts, rule: Rule, absent: str | None) -> tuple[str, ...]:
    differ = bool(found.split[0])
    reasons = {
        absent: absent is not None,
        "low agreement": band_of(int(found.band[0])) is Band.LOW,
        "a split that one vote would turn": differ and found.pivotal.any(),
        "the rule asks for unanimity, and the jurors differ": (
            differ and rule.used is Strategy.UNANIMOUS
        ),
    }
    stopped = bool(found.stopped[0])
    return tuple(
        text
        for text, holds in reasons.items()
        if text and holds and (text is absent or not stopped)
    )


def _derived_fields(verdict: Verdict, found: Assessment) -> tuple[str, ...]:
    """Return the names of the fields that we filled in because the report does not state them."""
    stated = {
        "decision": (verdict.decision, found.decision),
        "score": (verdict.score, found.score),
        "strategy": (verdict.policy.strategy, found.rule.strategy),
        "band": (verdict.band, found.pair.band),
        "same_family": (verdict.same_family, found.same_family),
        "bias_warning": (verdict.bias_warning, found.bias_warning),
    }
    filled = [
        name for name, (theirs, ours) in stated.items() if theirs is None and ours is not None
    ]
    jurors = verdict.body["jurors"]
    passes = [
        f"jurors[{ballot.seat}].pass"
        for ballot in verdict.ballots
        if ballot.vote is not None and "pass" not in jurors[ballot.seat]
    ]
    return (*filled, *passes)
