"""JSON for reading: indented token by token, so that nothing is lost or spelled anew."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from reviewdesk.app.texts.code import INDENT
from reviewdesk.app.texts.inked import InkedText, Span
from reviewdesk.app.theme.inks import Ink

_INSIDE = r'[^"\\]*(?:\\.[^"\\]*)*(?:(?P<shut>")|(?P<lone>\\)?)'
_TOKEN = re.compile(r'"' + _INSIDE + r'|[{}\[\],:]|[^\s{}\[\],:"]+|\s+', re.DOTALL)
"""A string that the page cuts off is a token too, with or without half of an escape."""
_REST = re.compile(_INSIDE, re.DOTALL)
_INLINE = 40
"""An array or object of at most so many characters stays on one line."""
_DEEPEST = 24
"""Levels that are indented; deeper ones stand below each other."""
_OPEN, _SHUT = ("{", "["), ("}", "]")


def json_inked(shown: str, before: str = "", *, lay: bool) -> InkedText:
    """A page of valid JSON, and the text ``before`` it; ``lay`` indents it anew."""
    depth, tokens = _tokens(shown, before)
    if lay:
        tokens = _laid(tokens, depth)
    return InkedText("".join(tokens), tuple(_spans(tokens)), INDENT, 2)


def is_minified(text: str) -> bool:
    """Whether nobody has laid the text out for reading."""
    return "\n" not in text.strip()


def _tokens(shown: str, before: str) -> tuple[int, list[str]]:
    """How deep the page starts, and its tokens; the first may be the rest of a string."""
    depth, last = 0, None
    for last in _TOKEN.finditer(before):
        depth += (last[0] in _OPEN) - (last[0] in _SHUT)
    tokens: list[str] = []
    if last and last[0].startswith('"') and not last["shut"]:
        escaped = 1 if last["lone"] else 0
        rest = _REST.match(shown, escaped)
        tokens.append(shown[: rest.end() if rest else escaped])
    start = len(tokens[0]) if tokens else 0
    tokens += [match[0] for match in _TOKEN.finditer(shown, start)]
    return max(0, depth), [token for token in tokens if token]


def _laid(tokens: Sequence[str], depth: int) -> list[str]:
    """The tokens with white space of our own between them."""
    tokens = [token for token in tokens if not token.isspace()]
    inline = _inline(tokens)
    laid: list[str] = []
    until = -1
    for at, token in enumerate(tokens):
        if token in _SHUT and at > until:
            depth = max(0, depth - 1)
            laid.append(_line(depth))
        laid.append(token)
        if token in _OPEN and at > until:
            until = inline.get(at, until)
            if at > until:
                depth += 1
                laid.append(_line(depth))
        elif token == "," and at > until:
            laid.append(_line(depth))
        elif token in {",", ":"}:
            laid.append(" ")
    return laid


def _inline(tokens: Sequence[str]) -> dict[int, int]:
    """Where short arrays and objects open, and where they close."""
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


def _line(depth: int) -> str:
    return "\n" + "  " * min(depth, _DEEPEST)


def _spans(tokens: Sequence[str]) -> list[Span]:
    """Keys, strings, and what is neither; a first token may be the rest of a string."""
    spans: list[Span] = []
    solid: list[tuple[int, str]] = []
    at = 0
    for token in tokens:
        if not token.isspace():
            solid.append((at, token))
        at += len(token)
    for (start, token), (_, after) in pairwise([*solid, (at, "")]):
        if '"' in token:
            ink = Ink.NAME if after == ":" else Ink.STRING
            spans.append((start, start + len(token), ink))
        elif token not in {*_OPEN, *_SHUT, ",", ":"}:
            spans.append((start, start + len(token), Ink.NUMBER))
    return spans
