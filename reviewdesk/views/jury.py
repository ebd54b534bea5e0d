"""Describe a jury: its decision, flags, jurors, numbers, reasons and provenance."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence

from msgspec.structs import replace

from reviewdesk.domain.assessment.result import (
    WORDS,
    Assessment,
    Flag,
    FlagNote,
    Seat,
    State,
    silent_words,
)
from reviewdesk.domain.assessment.trail import Trail, remarks, trail
from reviewdesk.domain.jury.family import Family
from reviewdesk.domain.jury.rules import DEFAULT_SHARE, own_share, stand_in
from reviewdesk.domain.records import Item
from reviewdesk.domain.verdict import SLACK, Ballot, Band, Decision, Policy, Strategy
from reviewdesk.views import words
from reviewdesk.views.document import (
    Block,
    Column,
    Fact,
    Facts,
    Flow,
    Paragraph,
    Quote,
    Row,
    ScorePlot,
    Section,
    Table,
    Text,
    Tone,
    Words,
    joined,
    outside,
    plain,
)
from reviewdesk.views.words import number, plural

_BIG = {Decision.PASS: Tone.BIG_PASS, Decision.FAIL: Tone.BIG_FAIL}
_ASIDE = re.compile(r"\s*\([^()]*\)")
_BLANK = re.compile(r"\n\s*\n")
_LOUD = (Flag.ESCALATED, Flag.BIAS_WARNING, Flag.TRIMMED_DISSENT)
_TOLD = (*_LOUD, Flag.REGIME_SENSITIVE)
"""The flags that ask for a person, and those whose reason is told in any case."""
_BY_SCORES = (
    Strategy.MEAN, Strategy.TRIMMED_MEAN, Strategy.MEDIAN, Strategy.WEIGHTED_AVERAGE,
    Strategy.HIGHEST, Strategy.LOWEST,
)  # fmt: skip
"""The rules on scores, in the order of their table."""
_UNKNOWN = Family("?")
_LOST = Text("◆ ", Tone.WARN)
_DIFFERS = Text("≠ ", Tone.WARN)


def decision(item: Item) -> tuple[Block, ...]:
    """Return the decision with its score and votes, and how far the jurors agree."""
    found = item.assessment
    policy = item.verdict.policy
    word = words.decided(found.decision).upper()
    # The panel's answer has no colour until a person has given an answer.
    loud = _BIG.get(found.decision or Decision.ERROR, Tone.BIG_WARN)
    first: list[Words] = [Text(word, loud if item.row.decided else Tone.STRONG)]
    score = [] if found.score is None else [Text(number(found.score), Tone.STRONG)]
    if policy.threshold is not None:
        mine = ", set by you" if "threshold" in item.verdict.set_by_you else ""
        score.append(Text(f"needs {policy.threshold:.2f}{mine}", Tone.MUTED))
    used = found.rule.used
    rule = [Text(found.rule.reason or "by a rule not stated", Tone.MUTED)]
    if used is not None:
        given = " of the votes given" * found.of_votes
        rule = [Text(f"by {used.value.replace('_', ' ')}{given}", Tone.MUTED)]
    if used in {None, *_BY_SCORES}:
        first += [joined((*score, *rule), " "), vote_words(found)]
    else:
        # A rule that counts votes may decide otherwise than the score would.
        first.append(joined((vote_words(found), *rule)))
        first += [joined((Text("score", Tone.MUTED), *score), " ")] if score else []
    if silent := silent_words(found.seats):
        first.append(Text(silent, Tone.WARN))
    return Flow(tuple(first)), Flow(tuple(_agreement(found)))


def vote_words(found: Assessment) -> Words:
    """Return how the jurors voted, by their labels if they have some."""
    votes = found.votes
    jurors = plural(votes.seated, "juror")
    if found.labels:
        counts = (f"{count} {label}" for label, count in found.labels.items())
        return outside(", ".join(counts), 400), f" of {jurors}"
    if not votes.answered:
        return f"no votes of {jurors}"
    of = f", of {jurors}" if votes.seated != votes.answered else ""
    passed = "passes" if votes.answered == 1 else "pass"
    return f"{votes.passes} of {plural(votes.answered, 'vote')} {passed}{of}"


def _agreement(found: Assessment) -> list[Words]:
    """Return the agreement and its band; ours too if the bands differ, alone if only it has one."""
    spread = found.agreement.spread
    pair = found.pair
    ours = _agreement_words(spread.band, spread.raw)
    if pair.band is None and spread.band is not None:
        return [(Text("agreement ", Tone.MUTED), *ours)]
    stated = _agreement_words(pair.band, pair.value)
    groups: list[Words] = [(Text("agreement ", Tone.MUTED), *stated)]
    if spread.band not in {pair.band, None}:
        by = "labels" if found.labels else "scores"
        groups.append((Text(f"by the {by} it is ", Tone.MUTED), *ours))
    return groups


def _agreement_words(band: Band | None, value: float | None) -> list[str | Text]:
    figure = "" if value is None else words.agreement(value)
    if band is None:
        return [figure or words.NONE]
    word = Text(band.value, Tone.WARN if band is Band.LOW else Tone.TEXT)
    return [word, f" ({figure})"] if figure else [word]


def headline(item: Item) -> tuple[Words, ...]:
    """Return the decision, the reasons to look at it, and the strongest dissent, each in short."""
    found = item.assessment
    threshold = item.verdict.policy.threshold
    decided: list[str | Text] = [_quiet(words.decided(found.decision))]
    answered = found.votes.answered
    votes = f"{found.votes.passes} of {answered} pass" if answered else "no votes"
    if found.score is not None:
        line = "" if threshold is None else f", needs {threshold:.2f}"
        score = f"{number(found.score)}{line}"
        above = threshold is not None and found.score >= threshold - SLACK
        # A rule that counts votes may decide otherwise than the score would.
        alike = found.decision is (Decision.PASS if above else Decision.FAIL)
        apart = threshold is not None and not alike
        decided.append(_quiet(f" {votes} ({score})" if apart else f" {score}"))
    elif answered:
        decided.append(_quiet(f" {votes}"))
    label = None
    if found.decision not in {Decision.PASS, Decision.FAIL}:
        label = item.verdict.text("label") or (found.label_vote and found.label_vote.label)
    if label:
        decided += [_quiet(", label "), outside(label, 40, Tone.MUTED)]
    return tuple(decided), *_alarms(item, named=bool(label)), *strongest_dissent(item)


def _quiet(text: str) -> Text:
    return Text(text, Tone.MUTED)


def _alarms(item: Item, *, named: bool) -> list[Words]:
    """Return the reasons for escalation, then the flags, the most important first.

    A flag that is part of a reason is not repeated. Unless the outcome is already ``named``, they
    include the reason for a missing decision.
    """
    found = item.assessment
    reasons = {note.flag: in_short(item, note.reason) for note in found.notes}
    low = found.band is Band.LOW
    apart = Flag.ESCALATED | Flag.NO_VERDICT
    if dissents(item):
        # The first stands on the line by its name, and tells that votes split and one was trimmed.
        apart |= Flag.SPLIT | Flag.TRIMMED_DISSENT
    names = [word for flag, word in WORDS.items() if flag in reasons and flag not in apart]
    if low and Flag.DERIVED_LOW not in reasons:
        names.append("agreement low")
    # The reasons that the report gives, else those recomputed, without their remarks in brackets.
    given = item.verdict.body.get("escalation_reasons") if item.verdict.escalate else None
    given = given or (() if item.verdict.escalate else found.escalation)
    why = [_ASIDE.sub("", reason) for reason in given if Flag.ESCALATED in reasons]
    told = re.sub("agreement is low|low agreement", "agreement low", " ".join(why))
    shown: list[Text] = [outside(reason, 80, Tone.MUTED) for reason in why]
    shown += [_quiet(name) for name in names if name.removeprefix("votes ") not in told]
    named = named or found.decision is Decision.INCONCLUSIVE
    if Flag.NO_VERDICT in reasons and not named:
        shown.append(outside(_ASIDE.sub("", reasons[Flag.NO_VERDICT]), 80, Tone.MUTED))
    if Flag.ESCALATED not in reasons:
        return [*shown] or [_quiet("not escalated")]
    first, *others = shown or [outside(reasons[Flag.ESCALATED], 80, Tone.MUTED)]
    # If the report gives no reason, flags are listed next to the escalation, not as its reason.
    return [(_quiet("escalated: " if why else "escalated, "), first), *others]


def strongest_dissent(item: Item, *, why: bool = True) -> list[Words]:
    """Return the dissent to read first with the first line of its reason; nothing without one."""
    against = dissents(item)
    if not against:
        found = item.assessment
        every = found.unanimous_votes and found.votes.answered == found.votes.seated
        return [_quiet("no dissent")] if every else []
    ballot = against[0].ballot
    text = first_line(ballot.reason)
    said = (_quiet(": "), outside(text, 400, Tone.MUTED)) if why and text else ()
    lead = _quiet(f"{'trimmed ' * against[0].trimmed}dissent ")
    return [(lead, outside(short_names(item)[ballot.id], 80, Tone.MUTED), *said)]


def first_line(text: str | None) -> str:
    """Return the first line of a reason that is not blank, or an empty text."""
    return next((line.strip() for line in (text or "").splitlines() if line.strip()), "")


def short_names(item: Item) -> dict[str, str]:
    return words.short_names(ballot.id for ballot in item.verdict.ballots)


def in_short(item: Item, text: str) -> str:
    """Return a text with the names of a verdict's jurors in short, as the jury's table has them."""
    names = {whole: short for whole, short in short_names(item).items() if whole != short}
    longest = sorted(map(re.escape, names), key=len, reverse=True)
    found = rf"(?<![\w/])(?:{'|'.join(longest)})(?![\w/])"
    return re.sub(found, lambda name: names[name[0]], text) if names else text


def dissents(item: Item) -> list[Seat]:
    """Return the jurors against the decision: trimmed ones first, then the farthest from it."""
    seats = item.assessment.seats
    passed = item.assessment.decision is Decision.PASS
    against = [seat for seat in seats if seat.dissent]

    def nearness(seat: Seat) -> tuple[bool, float]:
        score = seat.ballot.score
        return not seat.trimmed, math.inf if score is None else score if passed else -score

    return sorted(against, key=nearness)


def flags(item: Item, lines: Sequence[int] | None = None) -> tuple[Block, ...]:
    """Return each flag with its full reason. Flags that ask for a person come first.

    ``lines`` limits the lines of each reason; the other flags are then named on one line. A low
    agreement of the ballots is no line of its own, as ``decision`` says it.
    """
    found = item.assessment.notes
    notes = [note for note in found if note.flag is not Flag.DERIVED_LOW]
    if not notes:
        return () if found else (Paragraph("no flags", Tone.MUTED),)
    loud = loud_flags(item)
    quiet = [note for note in notes if note.flag not in _TOLD]
    if lines is None:
        told = (_flag(item, note, Tone.STRONG, Text("  ")) for note in quiet)
        return (Facts((*(fact for one in loud for fact in one.rows), *told), column=19),)
    # What the escalation gives as its reason is not said again.
    why = " ".join(note.reason for note in notes if note.flag is Flag.ESCALATED)
    names = [
        outside(in_short(item, note.reason), 200, Tone.MUTED)
        if note.flag is Flag.SAME_FAMILY
        else _quiet(WORDS[note.flag])
        for note in quiet
        if WORDS[note.flag] not in why
    ]
    return (
        *(replace(one, lines=most) for one, most in zip(loud, lines, strict=True)),
        *([Paragraph(joined(names, " · "), lead="  ", indent=2)] if names else []),
    )


def loud_flags(item: Item) -> list[Facts]:
    """Return the flags whose reasons are always told, those that ask for a person marked."""
    notes = [note for note in item.assessment.notes if note.flag in _TOLD]
    looks = dict.fromkeys(_LOUD, (Tone.WARN, _LOST))
    usual = Tone.STRONG, Text("  ")
    return [Facts((_flag(item, one, *looks.get(one.flag, usual)),), column=19) for one in notes]


def _flag(item: Item, note: FlagNote, tone: Tone, mark: Text) -> Fact:
    return Fact(WORDS[note.flag], outside(in_short(item, note.reason), 20_000), tone, mark)


def ranked(item: Item) -> list[Seat]:
    """Return the jurors in reading order: dissents, then counted, trimmed and failed."""
    first = dissents(item)
    others = [seat for seat in item.assessment.seats if seat not in first]
    failed = State.FAILED
    others.sort(key=lambda seat: (seat.state is failed, seat.trimmed, seat.ballot.seat))
    return first + others


def jurors(item: Item, lines: Mapping[int, int] | None = None) -> Section:
    """Return the table of jurors in reading order, with reasons or errors of at most ``lines``."""
    seats = ranked(item)
    names = short_names(item)
    if not seats:
        return Section("Jurors", (Paragraph("no jurors", Tone.MUTED),))
    weights = any(seat.ballot.weight is not None for seat in seats)
    families = any(seat.family for seat in seats)
    models = any(seat.ballot.model not in {None, "", seat.ballot.id} for seat in seats)
    columns = (
        Column("juror", tail=True, right=False, folds=lines is None),
        *([Column("model", rank=1, right=False)] if models else []),
        *([Column("family", rank=2, right=False)] if families else []),
        Column("score"),
        Column("vote", most=10, right=False),
        *([Column("weight", right=False)] if weights else []),
        Column("state", right=False, folds=True),
    )
    rows = []
    for seat in seats:
        ballot = seat.ballot
        family = seat.family or _UNKNOWN
        lost = seat.trimmed and seat.dissent
        quiet = Tone.TEXT if seat.state is State.COUNTED else Tone.MUTED
        model = "" if ballot.model in {None, ballot.id} else outside(ballot.model, 200, Tone.MUTED)
        raw = ballot.score is None and ballot.raw_score is not None
        weight = words.NONE if ballot.weight is None else f"{ballot.weight:g}"
        tone = quiet if ballot.vote is None else Tone.PASS if ballot.vote else Tone.FAIL
        # A label is shown for the vote if the juror gave no vote, or if labels decide.
        vote = outside(ballot.label, 60, tone)
        if not (ballot.usable and ballot.label and (item.assessment.labels or ballot.vote is None)):
            none = Text(words.NONE, Tone.MUTED)
            vote = none if ballot.vote is None else Text(words.VOTES[ballot.vote], tone)
        cells = (
            outside(names[ballot.id], 200, Tone.WARN if lost else quiet),
            *([model] if models else []),
            *([Text(family.name + "*" * family.extended, Tone.MUTED)] if families else []),
            Text(f"raw {ballot.raw_score:g}" if raw else number(ballot.score), quiet),
            vote,
            *([Text(weight, quiet)] if weights else []),
            state(seat, whole=lines is None),
        )
        most = 0 if lines is None else lines[ballot.seat]
        answers = words.answers(
            item.verdict.body["jurors"][ballot.seat], item.verdict.policy.threshold
        )
        rows.append(Row(cells, _LOST if lost else Text("  "), reasons(ballot, most, answers)))
    made = Table(columns, tuple(rows), least=24, caption="The jury", stops=True)
    return Section("Jurors", (made,))


def reasons(ballot: Ballot, lines: int, answers: str) -> tuple[Quote, ...]:
    """Return a juror's error, reason and several answers, each cut to ``lines`` lines unless 0.

    Where they are cut, blank lines are left out.
    """
    texts = (ballot.error, Tone.WARN), (ballot.reason, Tone.TEXT), (answers, Tone.MUTED)
    return tuple(
        Quote(_BLANK.sub("\n", text.strip()) if lines else text, tone, indent=4, lines=lines)
        for text, tone in texts
        if text
    )


def state(seat: Seat, *, whole: bool = True) -> Words:
    """Return the state in words, without colour; ``whole`` adds the effect of a trimmed mean."""
    text = seat.words
    tone = Tone.TEXT if seat.state is State.COUNTED else Tone.MUTED
    if seat.dissent:
        text = "DISSENT" if seat.state is State.COUNTED else f"DISSENT · {text}"
        tone = Tone.WARN
    if seat.contradicts:
        text = f"{text} · ≠ score"
        tone = Tone.WARN
    return Text(text, tone), Text(seat.aside if whole else "", Tone.MUTED)


def numbers(found: Assessment, policy: Policy) -> Section:
    """Return each rule's value and decision, the plot of the scores, and their spread."""
    columns = Column("rule", right=False), Column("value"), Column("decides", width=12, right=False)
    rows = []
    for name, value, made in rules(found, policy):
        differs = made is not None and found.decision is not None and made != found.decision
        word = Text(words.NONE, Tone.MUTED) if made is None else words.decision(made)
        rows.append(Row((Text(name, Tone.MUTED), value, word), _DIFFERS if differs else Text("  ")))
    close = found.agreement
    spread = {
        "closeness": close.closeness, "SD": close.sd, "range": close.range,
        "margin": close.margin, "unit alpha": close.alpha,
    }  # fmt: skip
    facts = tuple((Text(f"{name} ", Tone.MUTED), number(value)) for name, value in spread.items())
    table = Table(columns, tuple(rows), caption="What each rule gives")
    note = "≠ differs from the verdict"
    if found.labels:
        note += "; these rules read scores and votes, and leave out labels that are neither"
    return Section("Numbers", (table, ScorePlot(found.seats, policy.threshold), Flow(facts)), note)


def rules(found: Assessment, policy: Policy) -> list[tuple[str, str, Decision | None]]:
    """Return the name of each rule, its value, and what it decides.

    If a juror failed, the rule that decides in the place of an average is named behind it.
    """
    made = found.decisions
    votes = found.votes
    rows = []
    failed = any(seat.ballot.status.failed for seat in found.seats)
    for rule in _BY_SCORES:
        other = stand_in(policy, rule) if failed else None
        name = rule.value.replace("_", " ")
        name += f" −{found.trim.per_side}" if rule is Strategy.TRIMMED_MEAN else ""
        name += f" ({other.value})" if other else ""
        value = getattr(found.values, (other or rule).value)
        rows.append((name, number(value), getattr(made, rule.value)))
    seated, answered = (f"{votes.passes} of {n}" for n in (votes.seated, votes.answered))
    share = own_share(policy.supermajority) or DEFAULT_SHARE
    quorum = words.NONE if policy.quorum is None else outside(policy.quorum, 12).text
    strict = made.quorum_strict, made.quorum_answered
    return [
        *rows,
        (f"quorum {quorum}", seated, made.quorum),
        *([("quorum, strict", seated, strict[0])] if strict[0] != made.quorum else []),
        *([("quorum, answered", answered, strict[1])] if strict[1] != made.quorum else []),
        ("majority", seated, made.majority),
        ("unanimous", answered, made.unanimous),
        (f"supermajority {share}", answered, made.supermajority),
    ]


def provenance(item: Item) -> Section:
    """Return the steps from the ballots to the decision that the report states."""
    found = item.assessment
    facts = [Fact(name, text) for name, text in _steps(item) if plain(text)]
    said = [("note", text, Tone.MUTED) for text in remarks(item.verdict, found)]
    said += [("≠ differs", breach.text, Tone.WARN) for breach in found.breaches]
    facts += [Fact(name, outside(in_short(item, text), 2000), tone) for name, text, tone in said]
    return Section("Provenance", (Facts(tuple(facts), column=12),))


def _steps(item: Item) -> Iterator[tuple[str, Words]]:
    verdict = item.verdict
    history = trail(verdict, item.assessment)
    asked = item.assessment.rule.strategy
    used = item.assessment.rule.used
    why = outside(item.assessment.rule.reason or "unknown")
    rule: Text | str = why if asked is None else asked.value
    yield "rule", rule if used in {None, asked} else (rule, f", used {used} (", why, ")")
    yield "trim", _trim(item, history)
    scores = " ".join(map(number, history.pre_trim))
    scored = any(score is not None for score in history.pre_trim)
    yield "scores", f"{scores}; after the trim {number(history.post_trim)}" if scored else ""
    again = (
        history.agreement_reason and f"{history.agreement_reason} from the ballots of one verdict"
    )
    if history.agreement is not None:
        again = f"recomputed {words.agreement(history.agreement, 3)}"
    if (stated := verdict.agreement) is not None and again:
        yield "agreement", (outside(stated.metric, 80), f" {number(stated.value)}, {again}")
    if label := verdict.text("label"):
        yield "consensus", ("reported ", outside(label, 60))
    if history.panel_hash:
        yield "panel hash", (outside(history.panel_hash), f" ({history.panel_hash_status})")
    yield "committed", outside(history.committed_at or "")
    times = dict.fromkeys(outside(text) for text in history.span or ())
    yield "ballots", joined([*times], " to ")
    for ballot in verdict.body["jurors"]:
        if ignored := ballot.get("not_applied"):
            fields = outside(", ".join(ignored), 200)
            yield "not applied", (fields, " of ", outside(ballot["id"], 80))
    writer = verdict.generator.model, verdict.generator.vendor
    yield "written by", joined([outside(name) for name in writer if name])
    yield "regime", outside(verdict.regime or "")
    yield "set by you", ", ".join(verdict.set_by_you)
    yield "derived", outside(", ".join(item.assessment.derived), 2000)


def _trim(item: Item, history: Trail) -> Words:
    """Return the trim that the report states, next to the recomputed trim."""
    stated = item.verdict.trim
    ours = item.assessment.trim
    text = f"computed {ours.fraction:g} {ours.rounding.value}, {ours.per_side} per side"
    if stated.method is None and stated.low is None:
        return f"{text}; the report states none"
    words: list[str | Text] = ["stated ", outside(stated.method or "unnamed")]
    words += [] if stated.fraction is None else [f" {stated.fraction:g}"]
    words += [] if stated.rounding is None else [f" {stated.rounding.value}"]
    words += [", version ", outside(history.rule_version, 80)] if history.rule_version else []
    if stated.low is not None:
        out = (*stated.low, *(stated.high or ()))
        gone = joined([outside(in_short(item, name), 80) for name in out])
        words += [", left out ", *(gone or ("nobody",))]
    return (*words, f"; {text}")
