"""A text with inks on some of its characters, and its lines."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

Span: TypeAlias = tuple[int, int, str]
"""The characters from the first number to the second, and their ink."""


@dataclass(frozen=True, slots=True)
class InkedText:
    """A text that has passed the gate, its inks in order, and where its folded lines go on."""

    text: str
    spans: tuple[Span, ...] = ()
    hang: re.Pattern[str] | None = None
    """Matches at the start of a line what the line's continuation is indented by."""
    extra: int = 0
    """Cells by which a continuation is indented further."""


@dataclass(frozen=True, slots=True)
class InkedLine:
    """One line of an inked text."""

    text: str
    spans: tuple[Span, ...]
    hang: int


def rows(inked: InkedText) -> Iterator[InkedLine]:
    """The lines of a text, each with its share of the inks, in one pass."""
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
