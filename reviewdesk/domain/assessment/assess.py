"""Recompute a verdict from its ballots, and compare the result with the report."""

import math
from collections import Counter

import numpy as np
from msgspec.structs import replace

from reviewdesk.domain.assessment.mismatches import mismatches
from reviewdesk.domain.assessment.result import (
    AgreementPair,
    Assessment,
    Closeness,
    Decisions,
    Flag,
    FlagNote,
    Seat,
    State,
    Values,
)
from reviewdesk.domain.jury import rules, scores
from reviewdesk.domain.jury.family import bias_warning, family, relatives
from reviewdesk.domain.jury.injection import passages
from reviewdesk.domain.jury.label_rules import vote_record
from reviewdesk.domain.jury.stopping import sentence
from reviewdesk.domain.jury.verdicts import FEW, Verdicts, verdicts_of
from reviewdesk.domain.panel.case import outside_texts
from reviewdesk.domain.panel.samples import position_flip
from reviewdesk.domain.run.packing import DECISION_OF, NOTHING
from reviewdesk.domain.safetext import show_line
from reviewdesk.domain.values import AgreementSource, LabelRules
from reviewdesk.domain.verdict import Decision, Rounding, Status, Strategy, Verdict, folded


def assess(verdict: Verdict, *, escalation_stated: bool = True) -> Assessment:
    """Recompute a verdict from its ballots; values that the report states are kept.

    The recomputed escalation counts only if the report states none (``escalation_stated=False``).
    """
    found = verdicts_of([verdict])
    panels = found.panels
    votes = panels.votes(0)
    rule = rules.rule_for(verdict.policy, verdict.ballots, verdict.regime)
    shared = None if found.shared[0] == NOTHING else bool(found.shared[0])
    absent = None
    open_, silent, unasked = found.open
    if votes.too_few(verdict.policy):
        least = rules.least_answered(verdict.policy.min_answered, votes.seated)
        absent = f"{votes.returned} of {votes.seated} jurors answered, and the panel needs {least}"
    elif open_[0]:
        absent = sentence(votes.seated, int(silent[0]), int(unasked[0]))
    codes = {"quorum_strict": panels.quorum_strictly, "quorum_answered": panels.quorum_answered}
    failed = any(one.status.failed for one in verdict.ballots)
    for name in {*Decisions.__struct_fields__} - codes.keys():
        other = rules.stand_in(verdict.policy, Strategy(name)) if failed else None
        codes[name] = panels.by(other or Strategy(name))
    label_vote = None
    if found.counts[0]:
        counting = found.sheet.facts[0].rules
        how = counting.aggregate or rule.used or Strategy.EXTERNAL
        label_vote = vote_record(verdict.ballots, found.labels, found.words, how, counting)
        label_vote = replace(label_vote, decision=DECISION_OF[found.cautioned[0]])
    weighs = rule.used in {Strategy.WEIGHTED_AVERAGE, Strategy.WEIGHTED_VOTE}
    fraction = verdict.trim.fraction_under(verdict.policy)
    cut = scores.trim_of(panels.scores, fraction, verdict.trim.rounding or Rounding.DOWN)
    seats = np.flatnonzero(found.said[:, 0])
    said = [(verdict.ballots[seat].label or "").strip() for seat in seats]
    spelled = {folded(label): label for label in reversed(said)}
    counts = Counter(map(folded, said))
    stopped = bool(found.stopped[0])
    cast = [one.vote for one in verdict.ballots if one.vote is not None]
    variance = scores.only(found.variance)
    decision = DECISION_OF[found.decision[0]]
    score = scores.only(found.score)
    pair = pair_of(verdict, found)
    low = bool(found.defined_low[0])
    warning = verdict.bias_warning or bias_warning(
        verdict.ballots, verdict.generator, low=low, shared=shared
    )
    filled = {
        "decision": verdict.decision is None and decision,
        "score": verdict.score is None and score is not None,
        "strategy": verdict.policy.strategy is None and rule.strategy,
        "band": verdict.band is None and pair.band,
        "same_family": verdict.same_family is None and shared is not None,
        "bias_warning": verdict.bias_warning is None and warning,
    } | {
        f"jurors[{one.seat}].pass": one.vote is not None and "pass" not in body
        for one, body in zip(verdict.ballots, verdict.body["jurors"], strict=True)
    }
    differ = found.split[0] and not stopped
    escalation = {
        absent or "": absent,
        "low agreement": not stopped and found.band[0] == scores.LOW,
        "one vote decides": differ and found.pivotal.any(),
        "the rule asks for unanimity, and the jurors differ": (
            differ and found.uses(Strategy.UNANIMOUS)[0]
        ),
    }
    assessment = Assessment(
        seats=_seats(verdict, found, cut),
        votes=votes,
        values=Values(
            *[scores.only(panels.valued_by(Strategy(name))) for name in Values.__struct_fields__]
        ),
        decisions=Decisions(**{name: DECISION_OF[code[0]] for name, code in codes.items()}),
        trim=cut,
        agreement=Closeness(
            spread=spread_in(found),
            alpha=None if stopped else scores.unit_alpha([*counts.elements()] or cast),
            closeness=None if stopped else scores.closeness_of(variance),
            sd=None if variance is None else math.sqrt(variance),
            range=scores.only(found.range),
            margin=scores.only(found.margin),
        ),
        rule=rule,
        decision=decision,
        score=score,
        pair=pair,
        same_family=shared,
        bias_warning=warning,
        pivotal=tuple(np.flatnonzero(found.pivotal[:, 0]).tolist()),
        degraded=tuple(_degraded(verdict, rule.used)[0]),
        absent=absent,
        escalation=tuple(text for text, holds in escalation.items() if holds),
        breaches=tuple(mismatches(verdict, found)),
        derived=tuple(name for name, holds in filled.items() if holds),
        label_vote=label_vote,
        labels={spelled[label]: count for label, count in counts.most_common()},
        assumed_weights=tuple(
            one.id for one in verdict.ballots if weighs and one.usable and one.weight is None
        ),
        no_votes=bool(found.no_votes[0]),
    )
    notes = _notes(verdict, assessment, Flag(int(found.flags[0])), stated=escalation_stated)
    return replace(assessment, notes=notes)


def _seats(verdict: Verdict, found: Verdicts, cut: rules.Trim) -> tuple[Seat, ...]:
    low, high = (end[:, 0].tolist() for end in found.out)
    spared = bool(found.spared[0])
    tied = () if spared or found.claims.named[0] else cut.tied
    placed = []
    for seat, ballot in enumerate(verdict.ballots):
        out = low[seat] or high[seat]
        state = State.COUNTED if ballot.usable else State.FAILED
        if out and not spared:
            state = State.TRIMMED_LOW if low[seat] else State.TRIMMED_HIGH
        placed.append(
            Seat(
                ballot=ballot,
                family=family(ballot.model, ballot.vendor),
                state=state,
                dissent=bool(found.dissents[seat, 0]),
                tied=seat in tied,
                contradicts=bool(found.sheet.contradicts[seat, 0]),
                would_trim=spared and out,
            )
        )
    return tuple(placed)


def pair_of(verdict: Verdict, found: Verdicts) -> AgreementPair:
    """Return the agreement and the band shown together, from columns of length one."""
    value, band, reported = found.shown
    source = AgreementSource.REPORTED if reported[0] else AgreementSource.OURS
    metric = verdict.agreement.metric if verdict.agreement else None
    shown = metric if reported[0] else rules.R_WG
    return AgreementPair(scores.only(value), scores.BAND_OF[band[0]], source, shown)


def spread_in(found: Verdicts) -> rules.Spread:
    """Return our agreement of a verdict, from columns of length one."""
    n = int(found.panels.scores.count[0])
    if found.stopped[0]:
        return scores.spread_of(None, n, rules.STOPPED_EARLY)
    answered = int(found.panels.cast.answered[0])
    by_votes = answered if n < 2 <= answered else n
    return scores.spread_of(scores.only(found.agreement), int(found.said.sum()) or by_votes)


def _degraded(verdict: Verdict, used: Strategy | None) -> tuple[list[str], str]:
    """Return the reasons why the panel is degraded, and a text that adds what to re-run."""
    waiting = sum(ballot.unscaled for ballot in verdict.ballots)
    answers = sum(ballot.usable for ballot in verdict.ballots) + waiting
    unasked = sum(ballot.status is Status.NOT_ASKED for ballot in verdict.ballots)
    asked = len(verdict.ballots) - unasked
    few = used is Strategy.TRIMMED_MEAN and answers < FEW
    reasons = [f"{answers} of {asked} jurors answered"] if answers < asked else []
    if waiting:
        reasons.append(unscaled(waiting))
    if few and not unasked:
        reasons.append(f"the trim rule needs five answers, this panel gave {answers}")
    if verdict.trim.degraded and not reasons:
        reasons.append("the report says that jurors are missing")
    advice = ["re-run the missing jurors"] if verdict.missing else []
    if few or not (advice or waiting):
        advice.append("re-run the panel")
    return reasons, ": ".join(filter(None, ("; ".join(reasons), " or ".join(advice))))


def unscaled(count: int) -> str:
    """Return a text saying how many scores need a scale, which the user has to give."""
    return f"{count} score{'s wait' if count > 1 else ' waits'} for --scale"


_BY_REASON = (
    Flag.ESCALATED | Flag.BIAS_WARNING | Flag.SUSPICIOUS_TEXT | Flag.POSITION_FLIP | Flag.MISMATCH
)
"""The flags that a verdict has if a reason is found for them; columns show the others."""


def _notes(
    verdict: Verdict, found: Assessment, flags: Flag, *, stated: bool
) -> tuple[FlagNote, ...]:
    """Return all flags of a verdict with their reasons, those that need a person first."""
    flips = [
        one["id"] for one in verdict.body["jurors"] if position_flip(one, verdict.policy.threshold)
    ]
    escalated = None
    if verdict.escalate:
        told = "; ".join(verdict.body.get("escalation_reasons") or ())
        escalated = told or "the report asks for review"
    elif found.escalation and not stated:
        escalated = f"by the ballots, as the report does not say: {'; '.join(found.escalation)}"
    suspicious = [
        f'the {show_line(name, 60)} {passage.kind}: "{show_line(passage.text, 80)}"'
        for name, text in outside_texts(verdict.body)
        for passage in passages(text)
    ]
    more = [f"and {len(suspicious) - 3} more"] if len(suspicious) > 3 else []
    sides: dict[Decision, list[str]] = {}
    for strategy in rules.COMPARED:
        decision: Decision | None = getattr(found.decisions, strategy)
        if decision is not None:
            sides.setdefault(decision, []).append(rules.STRATEGIES[strategy].title)
    if found.of_votes and found.decision:
        sides.setdefault(found.decision, []).insert(0, "quorum of the votes given")
    turning = ", ".join(found.seats[seat].ballot.id for seat in found.pivotal)
    split = f"{found.votes.passes} pass, {found.votes.fails} fail"
    if found.labels:
        labels = found.labels.items()
        split = ", ".join(f"{count} {show_line(label, 40)}" for label, count in labels)
    kin = ", ".join(juror.id for juror in relatives(verdict.ballots, verdict.generator))
    trimmed = ", ".join(seat.ballot.id for seat in found.seats if seat.trimmed and seat.dissent)
    source = "labels" if found.labels else "scores"
    reasons = {
        Flag.ESCALATED: escalated,
        Flag.BIAS_WARNING: found.bias_warning,
        Flag.DISPUTE: "regime dispute: the whole panel goes to a person",
        Flag.NO_VERDICT: _no_verdict(verdict, found),
        Flag.SUSPICIOUS_TEXT: "; ".join(suspicious[:3] + more),
        Flag.POSITION_FLIP: flips
        and f"votes the other way when the pair is shown in the other order: {', '.join(flips)}",
        Flag.TRIMMED_DISSENT: f"the trim left out a dissent: {trimmed}"
        if verdict.trim.low is not None or found.rule.used is not None
        else f"a trimmed mean would have left out a dissent: {trimmed} (the report states no trim)",
        Flag.REGIME_SENSITIVE: "; ".join(
            f"{', '.join(titles)}: {decision}" for decision, titles in sides.items()
        ),
        Flag.MISMATCH: "; ".join(found.mismatches),
        Flag.DEGRADED: _degraded(verdict, found.rule.used)[1],
        Flag.PIVOTAL: f"the decision turns if any one of {turning} turns"
        if len(found.pivotal) > 1
        else f"the vote of {turning} decides",
        Flag.SPLIT: split,
        Flag.DERIVED_LOW: f"{found.agreement.spread.clamped or 0:.2f} by the {source}",
        Flag.SAME_FAMILY: f"of the generator's family: {kin}"
        if kin
        else "reported by the producer",
        Flag.SINGLE_JUROR: "one ballot only, so there is no agreement",
    }
    return tuple(
        FlagNote(flag, str(reason))
        for flag, reason in reasons.items()
        if reason and flag in flags | _BY_REASON
    )


def _no_verdict(verdict: Verdict, found: Assessment) -> str | None:
    answered = any(one.usable for one in verdict.ballots)
    if found.decision is Decision.ERROR:
        if not answered:
            return "no juror answered"
        few = found.votes.too_few(verdict.policy)
        return found.absent if few else "the producer reports an error"
    if found.decision is Decision.INCONCLUSIVE:
        return found.absent or "the panel came to no decision"
    if found.no_votes:
        counts = Counter(
            "withheld the vote" if one.usable else one.status.words for one in verdict.ballots
        )
        return "no votes: " + ", ".join(f"{count} {words}" for words, count in counts.items())
    if not answered:
        waiting = sum(one.unscaled for one in verdict.ballots)
        return unscaled(waiting) if waiting else "no juror answered"
    stated = verdict.text("label")
    meant = (verdict.policy.counting or LabelRules()).decision(stated)
    if folded(stated) and meant is None:
        return f"the report's consensus is {stated}, which is neither pass nor fail"
    if found.label_vote:
        return f"the labels come to {found.label_vote.label}, which is neither pass nor fail"
    return "no decision reported, and no rule known to decide by (see --threshold and --quorum)"
