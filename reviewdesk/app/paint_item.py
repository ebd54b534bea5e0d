"""The item pane: what was judged, as the reviewer reads it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from textual.content import Content

from reviewdesk.app.paint import Lines, Piece, block, cut, flow, heading, inline, line, paragraph
from reviewdesk.app.themes import Ink
from reviewdesk.domain.records import Event, Item
from reviewdesk.domain.safetext import hidden_count

_SECTIONS = (
    ("RUBRIC", "rubric"),
    ("INPUT", "input"),
    ("RESPONSE", "output"),
    ("RESPONSE B", "alternative"),
    ("REFERENCE", "reference"),
)
_SIDE_NOTE = "pass = the rubric's claim holds for the first response"


def item_lines(item: Item, width: int, *, hidden: bool) -> Lines:
    """The whole pane; ``hidden`` leaves out what a blind session must not tell."""
    body = item.verdict.body
    lines = _title(item, width)
    for title, key in _SECTIONS:
        text = _text(body.get(key))
        if text is not None:
            note = _SIDE_NOTE if key == "alternative" else ""
            lines += _section(title, text, width, note)
    if not item.verdict.text("output"):
        lines += _section("RESPONSE", "", width, "the report holds none")
    lines += _checks(body.get("checks") or (), width)
    lines += _label(item, width, hidden=hidden)
    return lines


def _text(value: Any) -> str | None:
    """A field of the body as text; a list of references becomes one line each."""
    if value is None or value in ("", []):
        return None
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(part, str) for part in value):
        return "\n".join(f"- {part}" for part in value)
    return json.dumps(value, ensure_ascii=False)


def _title(item: Item, width: int) -> Lines:
    verdict = item.verdict
    lines = paragraph(inline(verdict.test), width, Ink.STRONG)
    if verdict.id != verdict.test:
        lines += paragraph(inline(verdict.id), width, Ink.MUTED)
    case = verdict.body.get("case") or {}
    pieces: list[Piece] = [(f"#{inline(tag)}", Ink.NOTE) for tag in case.get("tags") or ()]
    if item.same_content > 1:
        pieces.append((f"same content ×{item.same_content}", Ink.TEXT))
    if found := sum(hidden_count(_text(verdict.body.get(key)) or "") for _, key in _SECTIONS):
        word = "character" if found == 1 else "characters"
        pieces.append((f"⚠ {found} hidden {word}", Ink.WARN))
    if pieces:
        lines += flow((line(piece) for piece in pieces), width, 2)
    return lines


def _section(title: str, text: str, width: int, note: str = "") -> Lines:
    lines = [Content(""), heading(title, width)]
    if note:
        lines += paragraph(note, width, Ink.MUTED)
    if text:
        lines += paragraph(block(text), width)
    return lines


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
    """The label found in the file, the log of this item and the note."""
    lines: Lines = []
    human: Mapping[str, Any] | None = item.verdict.body.get("human")
    if human and not hidden:
        text = f"in file: {human.get('label')} by {inline(human.get('by') or 'unknown')}"
        if human.get("note"):
            text += f": {inline(human['note'], 2000)}"
        lines += paragraph(text, width, Ink.NOTE)
    for event in item.history:
        lines += [cut(content, width) for content in _event(event)]
    if item.note:
        lines += paragraph(block(item.note), width, first=[("note  ", Ink.NOTE)], indent=6)
    return [Content(""), heading("LABEL", width), *lines] if lines else []


def _event(event: Event) -> Lines:
    """One line of the log: when, what, by whom."""
    what = inline(event.kind, 20)
    if event.label is not None:
        what += f" {event.label.value}"
    if event.undone:
        what += " (undone)"
    when = inline(event.at[:16].replace("T", " "))
    ink = Ink.MUTED if event.undone else Ink.TEXT
    return [line((f"{when}  ", Ink.MUTED), (what, ink), (f"  {inline(event.reviewer)}", Ink.MUTED))]
