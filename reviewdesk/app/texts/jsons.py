"""JSON for reading, indented token by token, so that no token is lost or changed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from reviewdesk.app.texts.code import INDENT
from reviewdesk.app.texts.inked import InkedText, Span
from reviewdesk.app.theme.inks import Ink

_INSIDE = r'[^"\\]*(?:\\.[^"\\]*)*(?:(?P<shut>")|(?P<lone>\\)?)'
_TOKEN = re.compile(r'"' + _INSIDE + r'|[{}\[\],:]|[^\s{}\[\],:"]+|\s+', re.DOTALL)
"""JSON tokens. A string that the page cuts off is one too, even within an escape."""
_REST = re.compile(_INSIDE, re.DOTALL)
_INLINE = 40
"""An array or object of at most this many characters stays on one line."""
_DEEPEST = 24
"""The deepest level that is indented further; deeper ones get the same indentation."""
_OPEN, _SHUT = ("{", "["), ("}", "]")


def json_inked(shown: str, before: str = "", *, lay: bool) -> InkedText:
    """Ink a page of valid JSON that follows the text ``before``; ``lay`` indents it anew."""
    depth, tokens = _tokens(shown, before)
    if lay:
        tokens = _indented_tokens(tokens, depth)
    return InkedText("".join(tokens), tuple(_spans(tokens)), INDENT, 2)


def is_minified(text: str) -> bool:
    """Return True if the text has no line break, so that it needs indenting for reading."""
    return "\n" not in text.strip()


def _tokens(shown: str, before: str) -> tuple[int, list[str]]:
    """Return the depth where the page starts, and its tokens; the first may end a string."""
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


def _indented_tokens(tokens: Sequence[str], depth: int) -> list[str]:
    """Return the tokens with our own white space between them."""
    tokens = [token for token in tokens if not token.isspace()]
    inline = _one_line_ranges(tokens)
    laid: list[str] = []
    until = -1
    for at, token in enumerate(tokens):
        if token in _SHUT and at > until:
            depth = max(0, depth - 1)
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
    return laid


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


def _spans(tokens: Sequence[str]) -> list[Span]:
    """Return the inks of keys, strings and other values. The first token may end a string."""
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
