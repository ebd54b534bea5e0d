"""A text with inks on some of its characters, and its lines."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TypeAlias

from msgspec import Struct

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
    start, at, spans = 0, 0, inked.spans
    for text in inked.text.split("\n"):
        end = start + len(text)
        mine = []
        while at < len(spans) and spans[at][0] < end:
            first, last, ink = spans[at]
            if last > start:
                mine.append((max(first, start) - start, min(last, end) - start, ink))
            if last > end:
                break
            at += 1
        found = inked.hang.match(text) if inked.hang else None
        hang = found.end() + inked.extra if found else 0
        yield InkedLine(text, tuple(mine), hang)
        start = end + 1
