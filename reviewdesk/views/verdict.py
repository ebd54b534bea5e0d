"""Describe one verdict in full: decision, jury, texts, labels and re-runs."""

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from functools import lru_cache

from msgspec.structs import replace

from reviewdesk.domain.panel.rerun import (
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
    halt,
)
from reviewdesk.domain.records import Item
from reviewdesk.domain.safetext import hidden_count
from reviewdesk.domain.verdict import Ballot, CanonicalBallot, Status, Verdict, people
from reviewdesk.views import jury as juries
from reviewdesk.views import words
from reviewdesk.views.document import (
    Block,
    Column,
    Document,
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
    spans,
    table,
)
from reviewdesk.views.jury import provenance
from reviewdesk.views.queue import RERUNS, event, given, tag_list
from reviewdesk.views.whatif import item_what_if
from reviewdesk.views.words import moment, number, plural

TEXTS = {
    "rubric": "Rubric",
    "input": "Input",
    "output": "Response",
    "alternative": "Response B",
    "reference": "Reference",
}
"""The texts of a verdict's body, with their titles."""
SIDE_NOTE = "pass = the rubric's claim holds for this response"
NO_RESPONSE = "no response in the report"
NOT_TOLD = "labelled by another reviewer: their label is shown once you label or reveal it"
REASONS = "Reasons"
WHAT_IF = "What if"
_FIGURES: Mapping[str, Callable[[Item], Section]] = {
    "Numbers": lambda item: juries.numbers(item.assessment, item.verdict.policy),
    WHAT_IF: item_what_if,
    "Provenance": provenance,
}
FIGURES = frozenset(_FIGURES)
"""The titles of the sections of figures, which fold."""
FOLDED = "▹"
UNFOLDED = "▿"
_CHECKS = {True: ("✓ pass", Tone.PASS), False: ("✗ fail", Tone.FAIL), None: ("– none", Tone.MUTED)}
_NOTHING = RerunHistory()
_NO_KEYS: Mapping[str, str] = {}


def verdict(item: Item, history: RerunHistory = _NOTHING) -> Document:
    name = outside(f"{item.run.name}:{item.verdict.id}", 500, Tone.STRONG)
    return Document(
        (Section("", (Paragraph(name), *summary(item))), *sections(item, history)),
    )


def headline(item: Item) -> tuple[Block, ...]:
    """Return the verdict on one line: decision, why it is escalated, and the strongest dissent."""
    short = juries.strongest_dissent(item, why=False)
    return (Flow(juries.headline(item), lines=2, short=short[0] if short else ""),)


def summary(item: Item) -> tuple[Block, ...]:
    """Return the key facts: test, decision, agreement, label and flags."""
    own = item.verdict.test != item.verdict.id
    found = item.row.label
    label: Words = Text(
        "labelled by another" if item.row.labelled_by_other else "no label", Tone.MUTED
    )
    if found is not None:
        label = "label ", words.label(found)
    return (
        *([Paragraph(outside(item.verdict.test))] if own else []),
        *juries.decision(item),
        Flow((label, *_marks(item, blind=False))),
        *juries.flags(item),
    )


def sections(item: Item, history: RerunHistory = _NOTHING) -> tuple[Section, ...]:
    """Return all sections below the key facts: the jury, the texts, the checks and the labels."""
    found = {"output": ""} | texts(item)
    said = SIDE_NOTE if "alternative" in found else ""
    notes = {"output": said if found["output"] else NO_RESPONSE}
    shown = (
        Section(title, (Quote(found[key]),) if found[key] else (), notes.get(key, ""))
        for key, title in TEXTS.items()
        if key in found
    )
    return (*_jury(item, history), *shown, *checks(item), *review(item, blind=False))


def jury(
    item: Item,
    history: RerunHistory = _NOTHING,
    keys: Mapping[str, str] = _NO_KEYS,
    opened: Container[str] | None = None,
    lines: Mapping[int, int] | None = None,
    flag_lines: Sequence[int] | None = None,
) -> Document:
    """Return the content of the jury's pane.

    ``keys`` are those that start a re-run and open what is folded, by the actions ``rerun``,
    ``what.if`` and ``jury.whole``. ``opened`` names the unfolded sections of ``FIGURES``; ``None``
    folds nothing. ``lines`` limits the lines of each seat's reason, ``flag_lines`` those of each
    flag that asks for a person; ``None`` cuts nothing.
    """
    flags = (*juries.flags(item, flag_lines), *offer(item, keys.get("rerun", "")))
    titled = bool(item.assessment.notes and flags)
    return Document(
        (
            Section("", juries.decision(item)),
            *running(history.running),
            Section("Flags" if titled else "", flags),
            *_jury(item, history, opened, lines, keys),
        )
    )


def _jury(
    item: Item,
    history: RerunHistory,
    opened: Container[str] | None = None,
    lines: Mapping[int, int] | None = None,
    keys: Mapping[str, str] = _NO_KEYS,
) -> tuple[Section, ...]:
    figures = []
    for title, section in _FIGURES.items():
        if opened is None:
            figures.append(section(item))
        elif title in opened:
            figures.append(replace(section(item), title=f"{UNFOLDED} {title}"))
        else:
            key = keys.get("what.if" if title == WHAT_IF else "jury.whole")
            figures.append(Section(f"{FOLDED} {title}", (), f"{key} opens" if key else ""))
    return juries.jurors(item, lines), *reruns(item, history, whole=lines is None), *figures


def texts(item: Item) -> dict[str, str]:
    """Return the texts of a verdict's body that are not empty; a list has a line per entry."""
    found = {key: item.verdict.body.get(key) for key in TEXTS}
    every = {
        key: "\n".join(f"- {part}" for part in value) if isinstance(value, list) else value
        for key, value in found.items()
    }
    return {key: text for key, text in every.items() if text and isinstance(text, str)}


def title(item: Item, *, blind: bool, named: bool = False) -> tuple[Block, ...]:
    """Return the names of test and verdict, unless its id is ``named`` above, and its signs."""
    found = item.verdict
    other = words.bare(found.id) != words.bare(found.test)
    test = [outside(found.test, tone=Tone.STRONG)] if other or not named else []
    name = [outside(found.id, tone=Tone.MUTED)] if other and not named else []
    return (Flow((*test, *name, *_marks(item, blind=blind)), gap=2),)


def _marks(item: Item, *, blind: bool) -> list[Words]:
    """Return the item's signs; a blind session shows no notes and tags of other reviewers."""
    case = item.verdict.body["case"]
    groups: list[Words] = [
        (Text("#", Tone.NOTE), outside(tag, 500, Tone.NOTE)) for tag in case.get("tags") or ()
    ]
    if item.same_content > 1:
        groups.append(f"same content ×{item.same_content}")
    if found := sum(_hidden_count(text) for text in texts(item).values()):
        groups.append(Text(f"⚠ {plural(found, 'hidden character')}", Tone.WARN))
    if item.row.marked:
        groups.append(Text("* marked", Tone.NOTE))
    if item.row.noted or (item.row.noted_by_others and not blind):
        groups.append(Text("¶ note" if item.row.noted else "¶ note of others", Tone.NOTE))
    if item.tags:
        groups.append((Text("tags: ", Tone.NOTE), *spans(tag_list(item.tags), Tone.NOTE)))
    if item.other_tags and not blind:
        others = spans(tag_list(item.other_tags), Tone.MUTED)
        groups.append((Text("tags of others: ", Tone.MUTED), *others))
    return groups


_hidden_count = lru_cache(maxsize=32)(hidden_count)


def checks(item: Item) -> tuple[Section, ...]:
    """Return how each deterministic check ended."""
    facts = []
    for check in item.verdict.body.get("checks") or ():
        name, tone = _CHECKS[check["pass"]]
        reason = check.get("reason")
        why = (": ", outside(reason, 2000)) if reason else ()
        facts.append(Fact(name, (outside(check["name"]), *why), tone))
    return (Section("Checks", (Facts(tuple(facts), column=8),)),) if facts else ()


def review(item: Item, *, blind: bool) -> tuple[Section, ...]:
    """Return the label found in the file, the history of the item and its note.

    A blind session shows neither labels nor tags, which may come from others.
    """
    blocks: list[Block] = []
    for human in () if blind else people(item.verdict.body):
        said: list[str | Text] = [f"in file: {human.label} by "]
        said.append(outside(human.by or "unknown", 200))
        said += [", ", outside(human.at, 40)] if human.at else []
        said += [": ", outside(human.note, 2000)] if human.note else []
        blocks.append(Paragraph(tuple(said), Tone.NOTE))
    shown = []
    told: set[str] = set()
    for one in item.history:
        # Re-runs have a section of their own, and an event that was undone says so itself. Labels
        # and tags are somebody's opinion.
        opinion = one.label is not None or one.kind == "tags"
        if one.kind in {*RERUNS, "undo", "redo"} or (blind and opinion):
            continue
        when, who = given(one)
        text = [*spans(event(one), Tone.MUTED if one.undone else Tone.TEXT)]
        told.update(piece.text for piece in text)
        author = Text(who.text, Tone.MUTED, outside=True)
        shown.append(Fact(when.text, (*text, "  ", author)))
    if item.row.labelled_by_other:
        blocks.append(Paragraph(NOT_TOLD, Tone.NOTE))
    if shown:
        blocks.append(Facts(tuple(shown), column=18))
    if item.note and item.note not in told:
        blocks.append(Quote(item.note, lead=Text("note  ", Tone.NOTE), indent=6))
    return (Section("Label", tuple(blocks)),) if blocks else ()


_SCOPES = {
    RerunScope.PANEL: "the whole panel",
    RerunScope.MISSING: "the missing jurors",
    RerunScope.JUROR: "one juror",
    None: "a panel",
}


def offer(item: Item, key: str) -> tuple[Block, ...]:
    """Return the offer to ask an incomplete panel again; ``key`` is the key to press."""
    if not key or not item.assessment.degraded:
        return ()
    gone = juries.in_short(item, ", ".join(item.verdict.missing))
    who: Words = "asks the panel again"
    if gone:
        who = ("asks the missing jurors again: ", outside(gone, 200))
    return (Paragraph(who, Tone.NOTE, Text(f"{key} ", Tone.KEY), len(key) + 1),)


def answer_text(ballot: CanonicalBallot) -> Words:
    """Return what a juror answered, or why it did not, on one line as its ballot arrives."""
    status = ballot.get("status") or Status.OK
    if error := ballot.get("error"):
        told = outside(error["message"], 300, Tone.WARN)
        return outside(status, 40, Tone.WARN), Text(": ", Tone.WARN), told
    if status == Status.ABSTAINED:
        return status
    score = ballot.get("score")
    return words.VOTES[ballot.get("pass")] + ("" if score is None else f" {score:.3f}")


def running(found: OpenRerun | None) -> tuple[Section, ...]:
    """Return each juror's answer in the running re-run, or a note that it is awaited."""
    if found is None:
        return ()
    if not found.alone:
        text = f"this item is among {found.verdict} that are asked about again"
        return (Section("Asking again", (Paragraph(text, Tone.NOTE),)),)
    came = list(found.came)
    short = words.short_names(found.asked)
    rows = []
    for name in found.asked:
        answer = next((one for one in came if one["id"] == name), None)
        shown: Words = Text("waiting", Tone.MUTED)
        if answer is not None:
            came.remove(answer)
            shown = answer_text(answer)
        rows.append(Row((outside(short[name], 200), shown), Text("  ")))
    stopping = ", stopping" if found.stopping else ""
    note = f"{len(found.came)} of {len(found.asked)} came back{stopping}"
    columns = Column("juror", most=24, right=False), Column("answer", right=False, folds=True)
    return (Section("Asking again", (Table(columns, tuple(rows), least=10),), note),)


def reruns(item: Item, found: RerunHistory, *, whole: bool = True) -> tuple[Section, ...]:
    """Return every re-run, the newest first, reasons cut unless ``whole``, and each flip rate."""
    if not found.reruns:
        return ()
    count = len(found.reruns)
    blocks: list[Block] = []
    for made in reversed(found.reruns):
        blocks += [*([Gap()] if blocks else []), *rerun(item, made, whole=whole)]
    if found.in_run:
        text = "flip rate: votes turned, of those given twice"
        here = {rate.juror: rate for rate in found.here}
        names = words.short_names(rate.juror for rate in found.in_run)
        rows = [
            (outside(names[rate.juror], 200), _rate(here.get(rate.juror)), _rate(rate))
            for rate in found.in_run
        ]
        rates = table(("juror", "this item", "this run"), rows, text)
        blocks += [Gap(), Paragraph(text, Tone.MUTED), rates]
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
    """Return the extent of a re-run, such as "the whole panel of local, about 40 verdicts"."""
    wish = found.wish
    who = f"{wish.juror} alone" if wish.juror else _SCOPES[wish.scope]
    about = ""
    if found.shown is not None:
        about = f", about {words.plural(found.verdicts, 'verdict')} of "
        about += f"the filter {found.shown}" if found.shown else "the whole run"
    elif found.verdicts > 1:
        about = f", about {found.verdicts:,} verdicts"
    left = "".join(f"; {count:,} left out: {why}" for why, count in found.left_out.items())
    return f"{who} of {found.panel}{about}{left}"


def unfinished_text(found: RerunExtent) -> str:
    """Describe a re-run that was cut off: who was asked, and how many verdicts are left."""
    left = f"{found.left:,} of {words.plural(found.verdicts, 'verdict')} left"
    return f"{left}, begun {moment(found.at).text}: {asked(found)}"


def result(item: Item, made: Rerun) -> Section:
    name = outside(f"{item.run.name}:{item.verdict.id}", 500, Tone.STRONG)
    return Section("", (Paragraph((name, "  asked again")), *rerun(item, made)))


def rerun(item: Item, made: Rerun, *, whole: bool = True) -> tuple[Block, ...]:
    """Compare one re-run with the first verdict: who asked whom, the result, and each juror."""
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
        *([_changes(found, made.verdict, whole=whole)] if found else []),
    )


def _outcome(item: Item, made: Rerun) -> Iterator[Words]:
    before = item.assessment
    after = made.assessment
    stop = halt(item.verdict, made)
    lead = Text(f"{stop}: ", Tone.WARN) if stop else Text("decision ", Tone.MUTED)
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
        stands = f"{rule.used.value.replace('_', ' ')} in the place of {asked}: "
        yield Fact("fallback", (stands, outside(rule.reason, 500)), Tone.WARN)
    if made.contract_before is not None:
        yield Fact("contract", contract_note(made.contract_before), Tone.NOTE)
    if made.panel_hash is None:
        return
    # Whether the panel that answered is the one that was committed.
    short = outside(made.panel_hash[:16])
    tone = Tone.MUTED
    text: Words = (short, ", as committed before the first request")
    if made.filed:
        text = (short, ", committed before, as the report says")
    elif made.kept_its_panel is None:
        text = (short, ", not committed beforehand")
    elif not made.kept_its_panel:
        committed = outside((made.committed or "")[:16])
        text = ("changed: ", short, " answered, ", committed, " was committed")
        tone = Tone.WARN
    yield Fact("panel hash", text, tone)


def _changes(found: Sequence[Change], made: Verdict, *, whole: bool) -> Table:
    """Return each juror before and after, with its new reason below if it was asked."""
    columns = (
        Column("juror", tail=True, right=False),
        Column("before"),
        Column("after"),
        Column("moved", rank=1),
    )
    names = words.short_names(one.juror for one in found)
    rows = []
    for change in found:
        quiet = Tone.TEXT if change.asked else Tone.MUTED
        below: tuple[Quote, ...] = ()
        if change.asked and change.after is not None:
            body = made.body["jurors"][change.after.seat]
            answers = words.answers(body, made.policy.threshold)
            below = juries.reasons(change.after, 0 if whole else 1, answers)
        moved = "" if change.moved is None or not change.asked else number(change.moved, sign="+")
        cells = (
            outside(names[change.juror], 200, quiet),
            Text(_ballot_text(change.before), Tone.MUTED),
            Text(_ballot_text(change.after) if change.asked else "not asked", quiet),
            Text(moved, quiet),
        )
        rows.append(Row(cells, Text("≠ " if change.flipped else "  ", quiet), below))
    return Table(columns, tuple(rows), least=24, caption="Each juror before and after")


def _ballot_text(cast: Ballot | None) -> str:
    if cast is None:
        return "not seated"
    if not cast.usable:
        return cast.status.words.removeprefix("failed: ")
    return f"{words.VOTES[cast.vote]} {number(cast.score)}"


def _rate(rate: FlipRate | None) -> str:
    if rate is None or rate.rate is None:
        return words.NONE
    return f"{rate.flipped} of {rate.asked}, {rate.rate:.0%}"
