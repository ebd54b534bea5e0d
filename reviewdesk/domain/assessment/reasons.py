"""The reason behind each flag, in words a reviewer can act on."""

from __future__ import annotations

from reviewdesk.domain.assessment.flags import Flag, FlagNote
from reviewdesk.domain.assessment.result import Assessment
from reviewdesk.domain.jury.family import relatives
from reviewdesk.domain.jury.injection import passages
from reviewdesk.domain.jury.label_words import LabelRules
from reviewdesk.domain.jury.strategies import COMPARED, STRATEGIES
from reviewdesk.domain.panel.case import outside_texts
from reviewdesk.domain.panel.samples import position_flip
from reviewdesk.domain.safetext import show_line
from reviewdesk.domain.verdict import Band, Decision, Strategy, Verdict, folded


def flag_notes(
    verdict: Verdict, found: Assessment, *, escalation_stated: bool
) -> tuple[FlagNote, ...]:
    """Return all flags of a verdict with their reasons; those that need a person come first.

    A panel that stopped early has no flag that compares ballots which not every juror gave.
    """
    whole = not found.stopped_early
    reasons = {
        Flag.ESCALATED: _escalated(verdict, found, escalation_stated=escalation_stated),
        Flag.BIAS_WARNING: found.bias_warning,
        Flag.DISPUTE: "regime dispute: the whole panel goes to a person"
        if verdict.regime == "dispute"
        else None,
        Flag.NO_VERDICT: _no_verdict(verdict, found),
        Flag.SUSPICIOUS_TEXT: _suspicious_text(verdict),
        Flag.POSITION_FLIP: _position_flips(verdict),
        Flag.TRIMMED_DISSENT: _trimmed_dissent(verdict, found) if whole else None,
        Flag.REGIME_SENSITIVE: _regimes(found) if whole and not found.labels else None,
        Flag.MISMATCH: "; ".join(found.mismatches) or None,
        Flag.DEGRADED: _degraded(found),
        Flag.PIVOTAL: _pivotal(found),
        Flag.SPLIT: _split(found) if found.split else None,
        Flag.DERIVED_LOW: _derived_low(found),
        Flag.SAME_FAMILY: _same_family(verdict) if found.same_family else None,
        Flag.SINGLE_JUROR: "one ballot only: there is no agreement to speak of"
        if whole and _answer_count(found) == 1
        else None,
    }
    return tuple(FlagNote(flag, reason) for flag, reason in reasons.items() if reason)


def unscaled(count: int) -> str:
    """Return a text saying how many scores wait for a scale, which the user has to give."""
    return f"{count} score{'s wait' if count > 1 else ' waits'} for --scale"


def _answer_count(found: Assessment) -> int:
    return sum(seat.ballot.usable for seat in found.seats)


def _escalated(verdict: Verdict, found: Assessment, *, escalation_stated: bool) -> str | None:
    if verdict.escalate:
        stated = "; ".join(verdict.body.get("escalation_reasons") or ())
        return stated or "the report asks for review"
    if escalation_stated or not found.escalation:
        return None
    return f"recomputed (the report never says): {'; '.join(found.escalation)}"


def _no_verdict(verdict: Verdict, found: Assessment) -> str | None:
    if found.decision in {Decision.PASS, Decision.FAIL}:
        return None
    if found.decision is Decision.ERROR:
        if not _answer_count(found):
            return "no juror answered"
        few = found.votes.too_few(verdict.policy)
        return found.absent if few else "the producer reports an error"
    if found.decision is Decision.INCONCLUSIVE:
        return found.absent or "the panel came to no decision"
    if found.no_votes:
        return _no_votes(found)
    if not any(seat.ballot.usable for seat in found.seats):
        waiting = sum(seat.ballot.unscaled for seat in found.seats)
        return unscaled(waiting) if waiting else "no juror answered"
    if (word := _undecided_word(verdict)) is not None:
        return f"the report's consensus is {word}, which is neither pass nor fail"
    if found.label_vote:
        return f"the labels come to {found.label_vote.label}, which is neither pass nor fail"
    return "no decision reported, and no rule known to decide by (see --threshold and --quorum)"


def _undecided_word(verdict: Verdict) -> str | None:
    """Return the consensus label of a report without a decision, if it is neither pass nor fail."""
    stated = verdict.text("label")
    meant = (verdict.policy.counting or LabelRules()).decision(stated)
    return stated if folded(stated) and meant is None else None


def _no_votes(found: Assessment) -> str:
    """Return why nobody voted: how many jurors did what instead."""
    counts: dict[str, int] = {}
    for seat in found.seats:
        words = "withheld the vote" if seat.ballot.usable else seat.ballot.status.words
        counts[words] = counts.get(words, 0) + 1
    return "no votes: " + ", ".join(f"{count} {words}" for words, count in counts.items())


def _suspicious_text(verdict: Verdict) -> str | None:
    """Quote the first three suspicious passages; the jurors may have ignored them."""
    found = [
        f'the {show_line(name, 60)} {passage.kind}: "{show_line(passage.text, 80)}"'
        for name, text in outside_texts(verdict.body)
        for passage in passages(text)
    ]
    more = [f"{len(found) - 3} more such passages"] if len(found) > 3 else []
    return "; ".join(found[:3] + more) or None


def _position_flips(verdict: Verdict) -> str | None:
    threshold = verdict.policy.threshold
    found = [one["id"] for one in verdict.body["jurors"] if position_flip(one, threshold)]
    if not found:
        return None
    return f"votes the other way when the pair is shown in the other order: {', '.join(found)}"


def _trimmed_dissent(verdict: Verdict, found: Assessment) -> str | None:
    lost = [seat for seat in found.seats if seat.trimmed and seat.dissent]
    if not lost:
        return None
    names = ", ".join(seat.ballot.id for seat in lost)
    if verdict.trim.low is not None or found.rule.used is not None:
        return f"the trim left out a dissent: {names}"
    return f"a trimmed mean would have left out a dissent: {names} (the report states no trim)"


def _regimes(found: Assessment) -> str | None:
    sides: dict[Decision, list[str]] = {}
    for strategy in COMPARED:
        decision: Decision | None = getattr(found.decisions, strategy)
        if decision is not None:
            sides.setdefault(decision, []).append(STRATEGIES[strategy].title)
    if len(sides) < 2:
        return None
    by_decision = "; ".join(f"{', '.join(rules)}: {decision}" for decision, rules in sides.items())
    return f"the rules disagree. {by_decision}"


def _degraded(found: Assessment) -> str | None:
    """Return why the panel is degraded, and what to re-run: the missing jurors or the panel."""
    if not found.degraded:
        return None
    waiting = sum(seat.ballot.unscaled for seat in found.seats)
    few = found.rule.used is Strategy.TRIMMED_MEAN and _answer_count(found) + waiting < 5
    lacking = any(seat.ballot.status.missing for seat in found.seats)
    advice = ["re-run the missing jurors"] if lacking else []
    if few or not (advice or waiting):
        advice.append("re-run the panel")
    return ": ".join(filter(None, ("; ".join(found.degraded), " or ".join(advice))))


def _pivotal(found: Assessment) -> str | None:
    if not found.pivotal:
        return None
    names = [found.seats[seat].ballot.id for seat in found.pivotal]
    if len(names) == 1:
        return f"the decision hangs on {names[0]}"
    return f"the decision turns if any one of {', '.join(names)} turns"


def _split(found: Assessment) -> str:
    if not found.labels:
        return f"{found.votes.passes} pass, {found.votes.fails} fail"
    return ", ".join(f"{count} {show_line(label, 40)}" for label, count in found.labels.items())


def _derived_low(found: Assessment) -> str | None:
    spread = found.agreement.spread
    if spread.band is not Band.LOW or spread.raw is None:
        return None
    source, measure = ("labels", "2P-1 of pairs") if found.labels else ("ballots", "r_WG")
    return f"agreement recomputed from the {source} is low ({measure} {spread.raw:.2f})"


def _same_family(verdict: Verdict) -> str:
    names = ", ".join(juror.id for juror in relatives(verdict.ballots, verdict.generator))
    return f"of the generator's family: {names}" if names else "reported by the producer"
