"""Inks for texts: prose with Markdown, diffs and JSON. In doubt, a text is prose."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import TypeAlias

from msgspec import Struct

from reviewdesk.app.theme.inks import Ink

_HEAD = 20_000
"""How many characters from the start of a text are searched for the signs of a diff."""
_LONGEST_JSON = 2_000_000
_DIFF_HUNK = re.compile(r"^@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@", re.MULTILINE)
_DIFF_HEAD = re.compile(r"^(?:diff --git |--- \S)", re.MULTILINE)


@lru_cache(maxsize=64)
def is_json(text: str) -> bool:
    """Return True if the text is one whole JSON array or object."""
    text = text.strip()
    if not (text[:1] in ("{", "[") and text[-1:] in ("}", "]") and len(text) <= _LONGEST_JSON):
        return False
    try:
        # Numbers are not needed, and int refuses long ones.
        json.loads(text, parse_int=len, parse_float=len)
    except (ValueError, RecursionError):
        return False
    return True


@lru_cache(maxsize=64)
def is_diff(text: str) -> bool:
    """Return True if the text has the header and a hunk of a unified diff."""
    head = text[:_HEAD].replace("\r\n", "\n")
    return bool(_DIFF_HUNK.search(head) and _DIFF_HEAD.search(head))


Span: TypeAlias = tuple[int, int, str]
"""Start and end of some characters, and their ink."""


class InkedText(Struct, frozen=True):
    """A sanitised text, its inks in order, and the indentation of its folded lines."""

    text: str
    spans: tuple[Span, ...] = ()
    hang: re.Pattern[str] | None = None
    """Its match at the start of a line is as long as the indentation of the continuation."""
    extra: int = 0
    """Additional cells of indentation of a continuation."""


class InkedLine(Struct, frozen=True):
    """One line of an inked text."""

    text: str
    spans: tuple[Span, ...]
    hang: int


def rows(inked: InkedText) -> Iterator[InkedLine]:
    """Yield the lines of a text, each with its inks, in one pass."""
    start = 0
    at = 0
    spans = inked.spans
    for text in inked.text.split("\n"):
        end = start + len(text)
        mine = []
        while at < len(spans) and spans[at][0] < end:
            first, last, ink = spans[at]
            if min(last, end) > max(first, start):
                mine.append((max(first, start) - start, min(last, end) - start, ink))
            if last > end:
                break
            at += 1
        found = inked.hang.match(text) if inked.hang else None
        hang = found.end() + inked.extra if found else 0
        yield InkedLine(text, tuple(mine), hang)
        start = end + 1


INDENT = re.compile(r" *")

_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\],:]|[^\s{}\[\],:"]+', re.DOTALL)
_JSON = re.compile(
    r'(?P<string>"[^"\\\n]*(?:\\.[^"\\\n]*)*"?)(?P<colon>\s*:)?|(?P<number>[^\s{}\[\],:"]+)'
)
_LONGEST_LAID = 200_000
"""The most characters of JSON that is indented: each of its tokens may take a line."""
_INLINE = 40
"""An array or object of at most this many characters stays on one line."""
_DEEPEST = 24
"""The deepest level that is indented further; deeper ones get the same indentation."""
_OPEN = ("{", "[")
_SHUT = ("}", "]")


def json_inked(shown: str) -> InkedText:
    """Ink a page of JSON. What a page that begins within a string shows of it may be amiss."""
    spans = []
    for match in _JSON.finditer(shown):
        kind = "string" if match["string"] else "number"
        ink = Ink.NUMBER if kind == "number" else Ink.NAME if match["colon"] else Ink.STRING
        spans.append((*match.span(kind), ink))
    return InkedText(shown, tuple(spans), INDENT, 2)


@lru_cache(maxsize=16)
def laid_out(text: str) -> str:
    """Return JSON on one line with white space of ours between its tokens, another text as is."""
    if len(text) > _LONGEST_LAID or "\n" in text.strip() or not is_json(text):
        return text
    tokens = _TOKEN.findall(text)
    inline = _one_line_ranges(tokens)
    laid: list[str] = []
    depth = 0
    until = -1
    for at, token in enumerate(tokens):
        if token in _SHUT and at > until:
            depth -= 1
            laid.append(_line_break(depth))
        laid.append(token)
        if token in _OPEN and at > until:
            until = inline.get(at, until)
            if at > until:
                depth += 1
                laid.append(_line_break(depth))
        elif token == "," and at > until:
            laid.append(_line_break(depth))
        elif token in {",", ":"}:
            laid.append(" ")
    return "".join(laid)


def _one_line_ranges(tokens: Sequence[str]) -> dict[int, int]:
    """Return the closing token's index for each short array or object, by its opening token's."""
    found: dict[int, int] = {}
    opened: list[tuple[int, int]] = []
    size = 0
    for at, token in enumerate(tokens):
        if token in _OPEN:
            opened.append((at, size))
        size += len(token) + (token in {",", ":"})
        if token in _SHUT and opened:
            start, before = opened.pop()
            if size - before <= _INLINE:
                found[start] = at
    return found


def _line_break(depth: int) -> str:
    return "\n" + "  " * min(depth, _DEEPEST)


_HANG = re.compile(r" *(?:(?:[-*+•]|\d{1,3}[.)]|>)(?: +|$))*")
_DIFF_HANG = re.compile(r"[-+]? *")

_FENCE = re.compile(r"^ {0,3}(?P<fence>`{3,}|~{3,})[^\n`]*$", re.MULTILINE)
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
    "hunk": Ink.NOTE,
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
    at = 0
    opened = _open_fence(before)
    while at < len(text):
        if opened is None:
            fence = _FENCE.search(text, at)
            yield from _prose(text, at, fence.start() if fence else len(text))
            if not fence:
                return
            yield *fence.span(), Ink.MUTED
            at = fence.end()
            opened = fence["fence"]
        shut = _shut(opened).search(text, at)
        end = shut.start() if shut else len(text)
        if end > at:
            yield at, end, Ink.CODE
        if shut:
            yield *shut.span(), Ink.MUTED
        at = shut.end() if shut else len(text)
        opened = None


def _shut(mark: str) -> re.Pattern[str]:
    """Return the pattern of the line that closes a fence."""
    return re.compile(rf"^ {{0,3}}{mark[0]}{{{len(mark)},}} *$", re.MULTILINE)


def prose_rows(texts: Iterable[str], before: str = "") -> Iterator[bool]:
    """Yield for each line whether it is prose: not in or of a fence, no table, not indented."""
    opened = _open_fence(before)
    for text in texts:
        fence = _FENCE.match(text)
        if fence and opened is None:
            opened = fence["fence"]
            yield False
            continue
        yield opened is None and not text.startswith(_SET)
        if opened and _shut(opened).match(text):
            opened = None


def _open_fence(before: str) -> str | None:
    """Return the mark of the fence that a text leaves open, or None."""
    opened: str | None = None
    for fence in _FENCE.finditer(before):
        if opened is None:
            opened = fence["fence"]
        elif _shut(opened).match(fence[0]):
            opened = None
    return opened


def _prose(text: str, start: int, end: int) -> Iterator[Span]:
    for match in _PROSE.finditer(text, start, end):
        yield *match.span(), _INKS[match.lastgroup or "muted"]


def _diff(text: str, start: int) -> Iterator[Span]:
    for match in _DIFF_LINE.finditer(text, start):
        yield *match.span(), _DIFF_INKS[match.lastgroup or "note"]
