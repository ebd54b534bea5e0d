"""Inks for prose with Markdown in it, and for diffs. Every character stays where it is."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterable, Iterator

from reviewdesk.app.texts.code import code_spans
from reviewdesk.app.texts.inked import InkedText, Span
from reviewdesk.app.texts.jsons import json_inked
from reviewdesk.app.texts.kinds import TextKind, fence_kind
from reviewdesk.app.theme.inks import Ink

_HANG = re.compile(r" *(?:(?:[-*+•]|\d{1,3}[.)]|>)(?: +|$))*")
_DIFF_HANG = re.compile(r"[-+]? *")

_FENCE = re.compile(r"^ {0,3}(?P<fence>`{3,}|~{3,}) *(?P<word>[^\s`{]*)[^\n`]*$", re.MULTILINE)
_PROSE = re.compile(
    r"(?P<strong>^ {0,3}#{1,6} [^\n]+|\*\*(?=[^\s*])[^*\n]+(?<=\S)\*\*)"
    r"|(?P<emphasis>(?<![\w*])\*(?=[^\s*])[^*\n]+(?<=\S)\*(?![\w*])"
    r"|(?<![\w_])_(?=[^\s_])[^_\n]+(?<=\S)_(?!\w))"
    r"|(?P<code>`[^`\n]+`)"
    r"|(?P<muted>^ *(?:[-*+•]|\d{1,3}[.)])(?= )|^ {0,3}(?:>+|[-*_]{3,}$))",
    re.MULTILINE,
)
_INKS = {"strong": Ink.STRONG, "emphasis": Ink.EMPHASIS, "code": Ink.CODE, "muted": Ink.MUTED}

_DIFF_START = re.compile(r"^(?:diff --git |Index: |--- \S)", re.MULTILINE)
_DIFF_LINE = re.compile(
    r"^(?:(?P<head>(?:diff|index|Index:|---|\+\+\+|new|deleted|rename|similarity) [^\n]*)"
    r"|(?P<hunk>@@[^\n]*)|(?P<added>\+[^\n]*)|(?P<gone>-[^\n]*)|(?P<note>\\ [^\n]*))$",
    re.MULTILINE,
)
_DIFF_INKS = {
    "head": Ink.STRONG,
    "hunk": Ink.KEYWORD,
    "added": Ink.PASS,
    "gone": Ink.FAIL,
    "note": Ink.MUTED,
}


_SET = ("|", "    ", "\t")
"""How lines begin whose columns have a meaning: those of tables and of indented code."""


def text_inked(shown: str, before: str = "") -> InkedText:
    """Ink prose or Markdown. A fence left open in the text ``before`` goes on."""
    return InkedText(shown, tuple(_text_spans(shown, before)), _HANG)


def diff_inked(shown: str, *, started: bool = False) -> InkedText:
    """Ink a unified diff, with prose before its first header unless it ``started`` earlier."""
    found = None if started else _DIFF_START.search(shown)
    start = found.start() if found else 0
    spans = [*_prose(shown, 0, start), *_diff(shown, start)]
    return InkedText(shown, tuple(spans), _DIFF_HANG, 1)


def _text_spans(text: str, before: str) -> Iterator[Span]:
    at, opened = 0, _open_fence(before)
    if opened:
        at = yield from _fence_spans(text, 0, *opened)
    while at < len(text):
        fence = _FENCE.search(text, at)
        yield from _prose(text, at, fence.start() if fence else len(text))
        if not fence:
            return
        yield fence.start(), fence.end(), Ink.MUTED
        at = yield from _fence_spans(text, fence.end(), fence["fence"], fence["word"])


def _fence_spans(text: str, start: int, mark: str, word: str) -> Generator[Span, None, int]:
    """Yield the inks of the block from ``start``, and return where the prose goes on."""
    shut = re.compile(rf"^ {{0,3}}{mark[0]}{{{len(mark)},}} *$", re.MULTILINE).search(text, start)
    end = shut.start() if shut else len(text)
    body = text[start:end]
    for first, last, ink in _block(body, fence_kind(word, body)):
        yield start + first, start + last, ink
    if shut:
        yield shut.start(), shut.end(), Ink.MUTED
    return shut.end() if shut else len(text)


def _block(body: str, kind: TextKind) -> Iterator[Span]:
    if kind is TextKind.JSON:
        yield from json_inked(body, lay=False).spans
    elif kind is TextKind.DIFF:
        yield from _diff(body, 0)
    elif kind is not TextKind.TEXT:
        yield from code_spans(body, kind)


def prose_rows(texts: Iterable[str], before: str = "") -> Iterator[bool]:
    """Yield for each line whether it is prose: not in or of a fence, no table, not indented."""
    opened = _open_fence(before)
    for text in texts:
        fence = _FENCE.match(text)
        if fence and opened is None:
            opened = fence["fence"], fence["word"]
            yield False
            continue
        yield opened is None and not text.startswith(_SET)
        if fence and opened and not fence["word"] and fence["fence"].startswith(opened[0]):
            opened = None


def _open_fence(before: str) -> tuple[str, str] | None:
    """Return mark and word of the fence that a text leaves open, or None."""
    opened: tuple[str, str] | None = None
    for fence in _FENCE.finditer(before):
        if opened is None:
            opened = fence["fence"], fence["word"]
        elif not fence["word"] and fence["fence"].startswith(opened[0]):
            opened = None
    return opened


def _prose(text: str, start: int, end: int) -> Iterator[Span]:
    for match in _PROSE.finditer(text, start, end):
        yield *match.span(), _INKS[match.lastgroup or "muted"]


def _diff(text: str, start: int) -> Iterator[Span]:
    for match in _DIFF_LINE.finditer(text, start):
        yield *match.span(), _DIFF_INKS[match.lastgroup or "note"]
