"""Pages of texts that are too long to be shown at once."""

from __future__ import annotations

from functools import lru_cache

from msgspec import Struct

from reviewdesk.app.texts.graphemes import joined

PAGE = 20_000
"""The most characters on one page."""
_NEAR = 2_000
"""How many characters at the end of a full page are searched for a line break or a space."""


class TextPage(Struct, frozen=True):
    """One page of a text: characters ``start`` to ``end``, page ``number`` of ``of``."""

    start: int
    end: int
    number: int
    of: int


def page_count(text: str) -> int:
    """Return how many pages a text has."""
    return len(_starts(text)) if len(text) > PAGE else 1


def part(text: str, page: int) -> TextPage:
    """Return the page with this number, counted from 0, or the last page if there are fewer."""
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
    """Return where the page from ``start`` ends: after a line, else a word, else a grapheme."""
    limit = start + PAGE
    for mark in ("\n", " "):
        # A combining mark right after the space or line break belongs to it: no cut there.
        found = text.rfind(mark, limit - _NEAR, limit) + 1
        if found and not joined(text, found):
            return found
    at = limit
    while at > start and joined(text, at):
        at -= 1
    # One grapheme as long as a page cannot be read anyway, so it may be cut.
    return at if at > start else limit
