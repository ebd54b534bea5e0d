"""Painters for the item pane: the texts, checks, labels and note of one item."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from textual.content import Content

from reviewdesk.app.paint.long_text import (
    BESIDE,
    beside,
    column,
    section,
)
from reviewdesk.app.paint.rerun import RERUNS
from reviewdesk.app.paint.styled import (
    Lines,
    Piece,
    block,
    flow,
    fold,
    given,
    heading,
    inline,
    line,
    paragraph,
)
from reviewdesk.app.texts.find import highlight
from reviewdesk.app.texts.pages import page_count
from reviewdesk.app.texts.reading import ReadingOptions
from reviewdesk.app.theme.inks import Ink
from reviewdesk.domain.records import Event, Item
from reviewdesk.domain.safetext import hidden_count

_SECTIONS = (
    ("RUBRIC", "rubric"),
    ("INPUT", "input"),
    ("RESPONSE", "output"),
    ("RESPONSE B", "alternative"),
    ("REFERENCE", "reference"),
)
_TITLES = {key: title for title, key in _SECTIONS}
_USUAL = ReadingOptions()
_SIDE_NOTE = "pass = the rubric's claim holds for the first response"


def item_lines(item: Item, width: int, *, hidden: bool, reading: ReadingOptions = _USUAL) -> Lines:
    """Return the whole pane; ``hidden`` leaves out what a blind session must not show.

    No line is wider than the width, unless ``reading`` leaves long lines whole.
    """
    lines = [
        *_title(item, width, hidden=hidden),
        *_texts(item, width, reading),
        *_checks(item.verdict.body.get("checks") or (), width),
        *_label(item, width, hidden=hidden),
    ]
    return highlight(lines, reading.find)


def pages(item: Item) -> int:
    """Return how many pages the longest text of the item has."""
    return max(page_count(_text(item.verdict.body.get(key)) or "") for _, key in _SECTIONS)


def _texts(item: Item, width: int, reading: ReadingOptions) -> Lines:
    """Return every text under its title. Two responses stand side by side where they fit."""
    texts = {key: _text(item.verdict.body.get(key)) for _, key in _SECTIONS}
    pair = bool(texts["output"] and texts["alternative"])
    together = pair and reading.beside and reading.wrap and width >= BESIDE
    lines: Lines = []
    for title, key in _SECTIONS:
        text = texts[key]
        if key == "output" and together:
            lines += _pair(texts["output"] or "", texts["alternative"] or "", width, reading)
        elif text is not None and not (key == "alternative" and together):
            note = _SIDE_NOTE if key == "alternative" else ""
            lines += [Content(""), *section(title, text, width, reading, note)]
        elif key == "output":
            lines += [Content(""), *section(title, "", width, reading, "the report holds none")]
    return lines


def _pair(first: str, second: str, width: int, reading: ReadingOptions) -> Lines:
    room = column(width)
    left = section(_TITLES["output"], first, room, reading)
    right = section(_TITLES["alternative"], second, room, reading)
    return [Content(""), *paragraph(_SIDE_NOTE, width, Ink.MUTED), *beside(left, right, width)]


def _text(value: Any) -> str | None:
    """Return a field of the body as text, a list as one line per entry, or None if it is empty."""
    if value is None or value in ("", []):
        return None
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(part, str) for part in value):
        return "\n".join(f"- {part}" for part in value)
    return json.dumps(value, ensure_ascii=False)


def _title(item: Item, width: int, *, hidden: bool) -> Lines:
    verdict = item.verdict
    lines = paragraph(inline(verdict.test), width, Ink.STRONG)
    if verdict.id != verdict.test:
        lines += paragraph(inline(verdict.id), width, Ink.MUTED)
    case = verdict.body["case"]
    pieces: list[Piece] = [(f"#{inline(tag)}", Ink.NOTE) for tag in case.get("tags") or ()]
    if item.same_content > 1:
        pieces.append((f"same content ×{item.same_content}", Ink.TEXT))
    if found := sum(_hidden_count(_text(verdict.body.get(key)) or "") for _, key in _SECTIONS):
        word = "character" if found == 1 else "characters"
        pieces.append((f"⚠ {found} hidden {word}", Ink.WARN))
    pieces += _mark_and_tags(item, hidden=hidden)
    return lines + flow((line(piece) for piece in pieces), width, 2)


def _mark_and_tags(item: Item, *, hidden: bool) -> list[Piece]:
    """Return the item's mark and tags. A blind session shows no tags of other reviewers."""
    pieces: list[Piece] = [("* marked", Ink.NOTE)] if item.marked else []
    if item.tags:
        pieces.append((f"tags: {_tag_list(item.tags)}", Ink.NOTE))
    if item.other_tags and not hidden:
        pieces.append((f"tags of others: {_tag_list(item.other_tags)}", Ink.MUTED))
    return pieces


def _tag_list(tags: Iterable[object]) -> str:
    return ", ".join(inline(tag, 80) for tag in tags)


@lru_cache(maxsize=32)
def _hidden_count(text: str) -> int:
    return hidden_count(text)


def _checks(checks: Any, width: int) -> Lines:
    if not checks:
        return []
    lines = [Content(""), heading("CHECKS", width)]
    words = {True: ("✓ pass", Ink.PASS), False: ("✗ fail", Ink.FAIL), None: ("– none", Ink.MUTED)}
    for check in checks:
        word, ink = words[check.get("pass")]
        text = inline(check.get("name", ""))
        if reason := check.get("reason"):
            text += f": {inline(reason, 2000)}"
        lines += paragraph(text, width, first=[(f"{word}  ", ink)], indent=8)
    return lines


def _label(item: Item, width: int, *, hidden: bool) -> Lines:
    """Return the label found in the file, the history of the item and its note."""
    lines: Lines = []
    human: Mapping[str, Any] | None = item.verdict.body.get("human")
    if human and not hidden:
        text = f"in file: {human.get('label')} by {inline(human.get('by') or 'unknown')}"
        if human.get("note"):
            text += f": {inline(human['note'], 2000)}"
        lines += paragraph(text, width, Ink.NOTE)
    # Re-runs stand in the jury pane. Labels and tags may come from others, so blind hides them.
    past = [event for event in item.history if event.kind not in RERUNS]
    shown = [event for event in past if not (hidden and _shows_opinion(event))]
    for event in shown:
        lines += fold(_event(event), width)
    if item.note:
        lines += paragraph(block(item.note), width, first=[("note  ", Ink.NOTE)], indent=6)
    return [Content(""), heading("LABEL", width), *lines] if lines else []


def _shows_opinion(event: Event) -> bool:
    """Whether an event shows what somebody thinks of the item."""
    return event.label is not None or event.kind == "tags"


def _event(event: Event) -> Content:
    """Format an event as one line: when, what, and by whom."""
    what = inline(event.kind, 20)
    if event.label is not None:
        what += f" {event.label.value}{', imported' if event.detail.get('imported') else ''}"
    if event.kind == "tags":
        what += f" {_tag_list(event.detail.get('tags') or ()) or 'cleared'}"
    if event.kind == "mark" and not event.detail.get("on"):
        what = "unmark"
    if event.undone:
        what += " (undone)"
    ink = Ink.MUTED if event.undone else Ink.TEXT
    when, who = given(event)
    return line((f"{when}  ", Ink.MUTED), (what, ink), (f"  {who}", Ink.MUTED))
