"""Pages of texts that are too long to be shown at once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from reviewdesk.app.texts.graphemes import joined

PAGE = 20_000
"""The most characters on one page."""
_NEAR = 2_000
"""How far back from a full page a line break or a space is looked for."""


@dataclass(frozen=True, slots=True)
class TextPage:
    """One page of a text: the characters from ``start`` to ``end``, the ``number``-th of ``of``."""

    start: int
    end: int
    number: int
    of: int


def page_count(text: str) -> int:
    """How many pages a text has."""
    return len(_starts(text)) if len(text) > PAGE else 1


def part(text: str, page: int) -> TextPage:
    """The page counted from 0, or the last there is."""
    starts = _starts(text) if len(text) > PAGE else (0,)
    at = max(0, min(page, len(starts) - 1))
    end = starts[at + 1] if at + 1 < len(starts) else len(text)
    return TextPage(starts[at], end, at + 1, len(starts))


@lru_cache(maxsize=16)
def _starts(text: str) -> tuple[int, ...]:
    starts = [0]
    while len(text) - starts[-1] > PAGE:
        starts.append(_cut(text, starts[-1]))
    return tuple(starts)


def _cut(text: str, start: int) -> int:
    """Where the page from ``start`` ends: after a line, else a word, else a grapheme."""
    limit = start + PAGE
    for mark in ("\n", " "):
        # A mark on the character after the space or the line break belongs to it.
        found = text.rfind(mark, limit - _NEAR, limit) + 1
        if found and not joined(text, found):
            return found
    at = limit
    while at > start and joined(text, at):
        at -= 1
    # One grapheme of a whole page is no text to a reader.
    return at if at > start else limit
