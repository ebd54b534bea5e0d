"""Everything that is said of one verdict: its decision, jury, provenance, texts and labels."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from functools import lru_cache

from msgspec.structs import replace

from reviewdesk.domain.canonical import CanonicalCheck, Free
from reviewdesk.domain.panel.rerun import RerunHistory
from reviewdesk.domain.records import Event, Item
from reviewdesk.domain.safetext import hidden_count
from reviewdesk.views import jury as juries
from reviewdesk.views.document import (
    Block,
    Document,
    Fact,
    Facts,
    Flow,
    Paragraph,
    Quote,
    Section,
    Text,
    Tone,
    Words,
    outside,
)
from reviewdesk.views.events import RERUNS, event, given, tag_list
from reviewdesk.views.live import rerun
from reviewdesk.views.provenance import provenance
from reviewdesk.views.whatif import item_what_if
from reviewdesk.views.words import VOTES, plural

TEXTS = {
    "rubric": "Rubric",
    "input": "Input",
    "output": "Response",
    "alternative": "Response B",
    "reference": "Reference",
}
"""The texts of a verdict's body, with their titles."""
SIDE_NOTE = "pass = the rubric's claim holds for the first response"
NO_RESPONSE = "no response: the report holds none"
NOT_TOLD = "labelled by another reviewer: what they gave is shown once you label or reveal it"
REASONS = "Reasons"
FIGURES = frozenset({"Numbers", "What if", "Provenance"})
"""What of the jury folds: the jurors' reasons, and the sections of figures below them."""
FOLDED = "▹"
UNFOLDED = "▿"
_LABELS = {"pass": Tone.PASS, "fail": Tone.FAIL}
_CHECKS = {True: ("✓ ", Tone.PASS), False: ("✗ ", Tone.FAIL), None: ("– ", Tone.MUTED)}
_NOTHING = RerunHistory()


def verdict(item: Item, history: RerunHistory = _NOTHING) -> Document:
    """Return all about a verdict."""
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
    return (
        *([Paragraph(outside(item.verdict.test))] if own else []),
        *juries.decision(item),
        Flow((_label(item), *_marks(item, blind=False))),
        *juries.flags(item.assessment.notes),
    )


def sections(item: Item, history: RerunHistory = _NOTHING) -> tuple[Section, ...]:
    """Return all sections below the key facts: the jury, the texts, the checks and the labels."""
    return (*_jury(item, history), *_texts(item), *checks(item), *review(item, blind=False))


def jury(
    item: Item,
    history: RerunHistory = _NOTHING,
    key: str = "",
    opened: Container[str] | None = None,
    lines: Mapping[int, int] | None = None,
    flag_lines: Sequence[int] | None = None,
) -> Document:
    """Return what the jury's pane shows; ``key`` starts a re-run, to name it in an offer.

    ``opened`` names what is not folded of ``FIGURES``, ``None`` folds nothing; ``lines`` are those
    that the reason of each seat is cut to, and ``flag_lines`` that of each flag that asks for a
    person; ``None`` cuts nothing.
    """
    notes = item.assessment.notes
    flags = (*juries.flags(notes, flag_lines), *rerun.offer(item, key))
    return Document(
        (
            Section("", juries.decision(item)),
            *rerun.running(history.running),
            Section("Flags" if notes else "", flags),
            *_jury(item, history, opened, lines),
        )
    )


def _jury(
    item: Item,
    history: RerunHistory,
    opened: Container[str] | None = None,
    lines: Mapping[int, int] | None = None,
) -> tuple[Section, ...]:
    numbers = juries.numbers(item.assessment, item.verdict.policy)
    figures = (numbers, item_what_if(item), provenance(item))
    return (
        juries.jurors(item, lines),
        *rerun.reruns(item, history, whole=lines is None),
        *(_foldable(one, opened) for one in figures),
    )


def _foldable(one: Section, opened: Container[str] | None) -> Section:
    """Return a section, or its heading with what it says in short if it is folded."""
    if opened is None:
        return one
    if one.title in opened:
        return replace(one, title=f"{UNFOLDED} {one.title}")
    return Section(f"{FOLDED} {one.title}", (), one.short)


def _texts(item: Item) -> list[Section]:
    found = {"output": ""} | texts(item)
    said = SIDE_NOTE if "alternative" in found else ""
    notes = {"output": said if found["output"] else NO_RESPONSE}
    return [
        Section(title, (Quote(found[key]),) if found[key] else (), notes.get(key, ""))
        for key, title in TEXTS.items()
        if key in found
    ]


def texts(item: Item) -> dict[str, str]:
    """Return the texts of a verdict's body that are not empty, by their keys."""
    found = {key: _text(item.verdict.body.get(key)) for key in TEXTS}
    return {key: text for key, text in found.items() if text}


def _text(value: object) -> str:
    """Return a field of the body as text, a list as one line per entry; empty if there is none."""
    if isinstance(value, list):
        return "\n".join(f"- {part}" for part in value)
    return value if isinstance(value, str) else ""


def title(item: Item, *, blind: bool) -> tuple[Block, ...]:
    """Return the name of the test and of the verdict, and the signs that it carries."""
    found = item.verdict
    names: list[Words] = [outside(found.test, tone=Tone.STRONG)]
    if found.id != found.test:
        names.append(outside(found.id, tone=Tone.MUTED))
    return (Flow((*names, *_marks(item, blind=blind)), gap=2),)


def _marks(item: Item, *, blind: bool) -> list[Words]:
    """Return the item's signs: tags of the case, twins, hidden characters, the mark, and tags.

    A blind session shows no tags of other reviewers.
    """
    case = item.verdict.body["case"]
    groups: list[Words] = [
        (Text("#", Tone.NOTE), outside(tag, 500, Tone.NOTE)) for tag in case.get("tags") or ()
    ]
    if item.same_content > 1:
        groups.append(f"same content ×{item.same_content}")
    if found := sum(_hidden_count(text) for text in texts(item).values()):
        groups.append(Text(f"⚠ {plural(found, 'hidden character')}", Tone.WARN))
    if item.marked:
        groups.append(Text("* marked", Tone.NOTE))
    if item.row.noted or (item.row.noted_by_others and not blind):
        groups.append(Text("¶ note" if item.row.noted else "¶ note of others", Tone.NOTE))
    if item.tags:
        groups.append((Text("tags: ", Tone.NOTE), *_in_tone(tag_list(item.tags), Tone.NOTE)))
    if item.other_tags and not blind:
        others = _in_tone(tag_list(item.other_tags), Tone.MUTED)
        groups.append((Text("tags of others: ", Tone.MUTED), *others))
    return groups


@lru_cache(maxsize=32)
def _hidden_count(text: str) -> int:
    return hidden_count(text)


def _label(item: Item) -> Words:
    label = item.row.label
    if label is None and item.row.labelled_by_other:
        return Text("labelled by another", Tone.MUTED)
    if label is None:
        return Text("no label", Tone.MUTED)
    return "label ", Text(label, _LABELS.get(label, Tone.NOTE))


def checks(item: Item) -> tuple[Section, ...]:
    """Return how each deterministic check ended."""
    found = item.verdict.body.get("checks") or ()
    return (Section("Checks", (Facts(tuple(map(_check, found)), column=8),)),) if found else ()


def _check(check: CanonicalCheck) -> Fact:
    sign, tone = _CHECKS[check["pass"]]
    word = "none" if check["pass"] is None else VOTES[check["pass"]]
    text: tuple[str | Text, ...] = (outside(check["name"]),)
    if reason := check.get("reason"):
        text += (": ", outside(reason, 2000))
    return Fact(f"{sign}{word}", text, tone)


def review(item: Item, *, blind: bool) -> tuple[Section, ...]:
    """Return the label found in the file, the history of the item and its note.

    A blind session shows neither labels nor tags, which may come from others.
    """
    blocks: list[Block] = []
    human = item.verdict.body.get("human")
    if human and not blind:
        blocks.append(Paragraph(_file_label(human), Tone.NOTE))
    # Re-runs have a section of their own.
    past = [one for one in item.history if one.kind not in RERUNS]
    if item.row.labelled_by_other:
        blocks.append(Paragraph(NOT_TOLD, Tone.NOTE))
    if shown := [_event(one) for one in past if not (blind and _shows_opinion(one))]:
        blocks.append(Facts(tuple(shown), column=18))
    if item.note:
        blocks.append(Quote(item.note, lead=Text("note  ", Tone.NOTE), indent=6))
    return (Section("Label", tuple(blocks)),) if blocks else ()


def _file_label(human: Free) -> Words:
    text: tuple[str | Text, ...] = (
        f"in file: {human['label']} by ", outside(human.get("by") or "unknown", 200)
    )  # fmt: skip
    text += (", ", outside(human["at"], 40)) if human.get("at") else ()
    return text + ((": ", outside(human["note"], 2000)) if human.get("note") else ())


def _shows_opinion(one: Event) -> bool:
    """Whether an event shows what somebody thinks of the item."""
    return one.label is not None or one.kind == "tags"


def _event(one: Event) -> Fact:
    when, who = given(one)
    tone = Tone.MUTED if one.undone else Tone.TEXT
    return Fact(
        when.text, (*_in_tone(event(one), tone), "  ", Text(who.text, Tone.MUTED, outside=True))
    )


def _in_tone(words: tuple[str | Text, ...], tone: Tone) -> list[Text]:
    """Return the pieces of a text, all in one tone."""
    return [
        Text(one, tone) if isinstance(one, str) else Text(one.text, tone, one.outside)
        for one in words
    ]
