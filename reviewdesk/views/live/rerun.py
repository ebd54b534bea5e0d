"""What is said of re-runs: each beside the first verdict, juror by juror."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from reviewdesk.domain.panel.rerun import (
    Arrival,
    Change,
    FlipRate,
    OpenRerun,
    Rerun,
    RerunExtent,
    RerunHistory,
    RerunScope,
    changes,
    contract_note,
    flipped,
    missing,
    outcome,
    stopped_after,
)
from reviewdesk.domain.records import Item
from reviewdesk.domain.verdict import Ballot, Status, Verdict
from reviewdesk.views import jury as juries
from reviewdesk.views import words
from reviewdesk.views.document import (
    Block,
    Column,
    Fact,
    Facts,
    Flow,
    Gap,
    Paragraph,
    Quote,
    Row,
    Section,
    Table,
    Text,
    Tone,
    Words,
    joined,
    outside,
    table,
)
from reviewdesk.views.words import moment, number

_SCOPES = {
    RerunScope.PANEL: "the whole panel",
    RerunScope.MISSING: "the missing jurors",
    RerunScope.JUROR: "one juror",
    None: "a panel",
}


def offer(item: Item, key: str) -> tuple[Block, ...]:
    """Return the offer to ask an incomplete panel again; ``key`` is the key that does it."""
    gone = missing(item.verdict)
    if not key or not (gone or item.assessment.degraded):
        return ()
    who: Words = "asks the panel again"
    if gone:
        who = ("asks the missing jurors again: ", outside(", ".join(gone), 200))
    return (Paragraph(who, Tone.NOTE, Text(f"{key} ", Tone.KEY), len(key) + 1),)


def running(found: OpenRerun | None) -> tuple[Section, ...]:
    """Return the answer of each juror of the running re-run, or that it is awaited."""
    if found is None:
        return ()
    if not found.alone:
        text = f"this item is among {found.verdict} that are asked about again"
        return (Section("Asking again", (Paragraph(text, Tone.NOTE),)),)
    came = list(found.came)
    short = words.short_names(found.asked)
    rows = []
    for name in found.asked:
        answer = next((one for one in came if one.juror == name), None)
        if answer is not None:
            came.remove(answer)
        rows.append(Row((outside(short[name], 200), _arrival(answer)), Text("  ")))
    stopping = ", stopping" if found.stopping else ""
    note = f"{len(found.came)} of {len(found.asked)} came back{stopping}"
    columns = Column("juror", most=24, right=False), Column("answer", right=False, folds=True)
    return (Section("Asking again", (Table(columns, tuple(rows), least=10),), note),)


def _arrival(found: Arrival | None) -> Words:
    if found is None:
        return Text("waiting", Tone.MUTED)
    if found.error:
        error = outside(found.error, 200, Tone.WARN)
        return outside(found.status, 40, Tone.WARN), Text(": ", Tone.WARN), error
    if found.status == Status.ABSTAINED:
        return found.status
    return words.VOTES[found.vote] + ("" if found.score is None else f" {found.score:.3f}")


def reruns(item: Item, found: RerunHistory, *, whole: bool = True) -> tuple[Section, ...]:
    """Return every re-run, the newest first, then how often each juror turned its vote.

    Unless ``whole``, the reasons of jurors are cut to their first line.
    """
    if not found.reruns:
        return ()
    count = len(found.reruns)
    blocks: list[Block] = []
    for made in reversed(found.reruns):
        blocks += [*([Gap()] if blocks else []), *rerun(item, made, whole=whole)]
    blocks += [Gap(), *_rates(found)] if found.in_run else []
    note = f"{count}, the newest first" if count > 1 else ""
    return (Section("Re-runs", tuple(blocks), note),)


def turned(item: Item, made: Rerun) -> str:
    """Return a line about a verdict that turned over, else ""."""
    before = item.assessment
    after = made.assessment
    if not (before.decision and after.decision and flipped(before.decision, after.decision)):
        return ""
    name = outside(item.verdict.id, 200).text
    scores = f"{number(before.score)} → {number(after.score)}"
    turned_over = " → ".join(words.decided(one.decision) for one in (before, after))
    return f"  {name}: {turned_over}, score {scores}"


def asked(found: RerunExtent) -> str:
    """Return who is asked about what, as in "the whole panel of local, about 40 verdicts"."""
    who = f"{found.juror} alone" if found.juror else _SCOPES[found.scope]
    about = ""
    if found.shown is not None:
        about = f", about {words.plural(found.verdicts, 'verdict')} of "
        about += f"the filter {found.shown}" if found.shown else "the whole run"
    elif found.verdicts > 1:
        about = f", about {found.verdicts:,} verdicts"
    left = "".join(f"; {count:,} left out: {why}" for why, count in found.left_out.items())
    return f"{who} of {found.panel}{about}{left}"


def unfinished_text(found: RerunExtent) -> str:
    """Return a re-run that was cut off: who was asked, and how many verdicts are left."""
    left = f"{found.left:,} of {words.plural(found.verdicts, 'verdict')} left"
    return f"{left}, begun {moment(found.at).text}: {asked(found)}"


def result(item: Item, made: Rerun) -> Section:
    """Return one re-run under the name of its verdict."""
    name = outside(f"{item.run.name}:{item.verdict.id}", 500, Tone.STRONG)
    return Section("", (Paragraph((name, "  asked again")), *rerun(item, made)))


def rerun(item: Item, made: Rerun, *, whole: bool = True) -> tuple[Block, ...]:
    """Return one re-run beside the first verdict: who asked whom, the result, and each juror."""
    who = _SCOPES[made.scope]
    facts: list[Words] = [
        *(["stopped"] if made.stopped else []),
        "of the report" if made.at is None else moment(made.at),
        *([("by ", outside(made.reviewer, 60))] if made.reviewer else []),
        (f"{who} of ", outside(made.panel, 80)) if made.panel else who,
    ]
    found = changes(item.verdict, made)
    remarks = tuple(_remarks(made))
    return (
        Paragraph(joined(facts, " · "), Tone.STRONG),
        Flow(tuple(_outcome(item, made))),
        *([Facts(remarks, column=12)] if remarks else []),
        *_changes(found, made.verdict, whole=whole),
    )


def _outcome(item: Item, made: Rerun) -> Iterator[Words]:
    before = item.assessment
    after = made.assessment
    came = outcome(item, made)
    lead = Text("decision ", Tone.MUTED)
    if made.stopped:
        lead = Text(f"{stopped_after(came.answered + came.failed, came.asked)}: ", Tone.WARN)
    turned = flipped(before.decision, after.decision)
    yield (
        lead, words.decision(before.decision), " → ", words.decision(after.decision),
        Text("  ≠ FLIPPED" if turned else "", Tone.WARN),
    )  # fmt: skip
    yield Text("score ", Tone.MUTED), f"{number(before.score)} → {number(after.score)}"
    if made.correct is not None:
        word = Text("correct", Tone.PASS) if made.correct else Text("wrong", Tone.FAIL)
        yield word, Text(" against the label", Tone.MUTED)


def _remarks(made: Rerun) -> Iterator[Fact]:
    rule = made.assessment.rule
    for reason in made.assessment.degraded:
        yield Fact("few jurors", outside(reason, 500), Tone.WARN)
    if rule.reason and rule.used is not None and rule.used is not rule.strategy:
        asked = "the strategy" if rule.strategy is None else rule.strategy.value.replace("_", " ")
        text = f"{rule.used.value.replace('_', ' ')} in the place of {asked}: "
        yield Fact("fallback", (text, outside(rule.reason, 500)), Tone.WARN)
    if made.contract_before is not None:
        yield Fact("contract", contract_note(made.contract_before), Tone.NOTE)
    if made.panel_hash is not None:
        yield _hash(made, outside(made.panel_hash[:16]))


def _hash(made: Rerun, short: Text) -> Fact:
    """Say whether the panel that answered is the one that was committed."""
    text: Words = (short, ", as committed before the first request")
    if made.filed:
        when = () if made.at is None else (", committed ", moment(made.at), ", as the report says")
        text = (short, *when)
    elif made.kept_its_panel is None:
        text = (short, ", not committed beforehand")
    elif not made.kept_its_panel:
        committed = outside((made.committed or "")[:16])
        text = ("changed: ", short, " answered, ", committed, " was committed")
        return Fact("panel hash", text, Tone.WARN)
    return Fact("panel hash", text)


def _changes(found: Sequence[Change], made: Verdict, *, whole: bool) -> tuple[Block, ...]:
    if not found:
        return ()
    heads = (
        Column("juror", tail=True, right=False), *map(Column, ("before", "after", "moved")),
        Column("", right=False),
    )  # fmt: skip
    names = words.short_names(one.juror for one in found)
    rows = tuple(_change(one, names[one.juror], made, whole=whole) for one in found)
    return (Table(heads, rows, caption="Each juror before and after"),)


def _change(change: Change, name: str, made: Verdict, *, whole: bool) -> Row:
    """Return a juror before and after, with its new reason below if it was asked."""
    quiet = Tone.TEXT if change.asked else Tone.MUTED
    mark = "≠ vote flipped" if change.flipped else "" if change.asked else "not asked"
    below: tuple[Quote, ...] = ()
    if change.asked and change.after is not None:
        body = made.body["jurors"][change.after.seat]
        answers = words.answers(body, made.policy.threshold)
        below = juries.reasons(change.after, 0 if whole else 1, answers)
    moved = ""
    if change.asked and change.moved is not None:
        moved = number(change.moved, sign="+")
    cells = (
        outside(name, 200, quiet),
        Text(_ballot_text(change.before), Tone.MUTED),
        Text(_ballot_text(change.after), quiet),
        Text(moved, quiet),
        Text(mark, Tone.WARN if change.flipped else Tone.MUTED),
    )
    return Row(cells, Text("≠ " if change.flipped else "  ", quiet), below)


def _ballot_text(cast: Ballot | None) -> str:
    if cast is None:
        return "not seated"
    if not cast.usable:
        return cast.status.value if cast.status.failed else cast.status.words
    return f"{words.VOTES[cast.vote]} {number(cast.score)}"


def _rates(found: RerunHistory) -> tuple[Block, ...]:
    here = {rate.juror: rate for rate in found.here}
    names = words.short_names(rate.juror for rate in found.in_run)
    rows = [
        (outside(names[rate.juror], 200), _rate(here.get(rate.juror)), _rate(rate))
        for rate in found.in_run
    ]
    text = "flip rate: votes turned, of those given twice"
    return Paragraph(text, Tone.MUTED), table(("juror", "this item", "this run"), rows, text)


def _rate(rate: FlipRate | None) -> str:
    if rate is None or rate.rate is None:
        return words.NONE
    return f"{rate.flipped} of {rate.asked}, {rate.rate:.0%}"
