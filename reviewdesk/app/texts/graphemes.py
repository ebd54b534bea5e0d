"""Graphemes: characters as a reader counts them, such as a base with its marks, or a flag."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from functools import lru_cache

from rich.cells import cell_len

_ZWNJ, _ZWJ = "\u200c", "\u200d"
_VIRAMA = 9
"""Unicode's combining class of a sign that joins the next consonant to the one before."""
_EXTENDS, _TIES, _REGIONAL = 1, 2, 4
"""Bits: a character extends the one before, joins the one after, or is half of a flag."""


def clusters(text: str, start: int = 0) -> Iterator[tuple[int, int, int]]:
    """Yield start, end and cells of every grapheme from ``start``; marks stay with their base."""
    if start >= len(text):
        return
    cells, nature = _traits(text[start])
    for at in range(start + 1, len(text)):
        char = text[at]
        more, following = _traits(char)
        if (following | nature) and _sticks(nature, char, following, alone=at == start + 1):
            cells += more
        else:
            yield start, at, cells
            start, cells = at, more
        nature = following
    yield start, len(text), cells


def joined(text: str, at: int) -> bool:
    """Return True if a cut at ``at`` would split a grapheme or a CR LF."""
    if not 0 < at < len(text):
        return False
    before, char = text[at - 1], text[at]
    if char == "\n":
        return before == "\r"
    if before == "\n":
        return False
    first = at - 1
    # Regional letters make flags in pairs, counted from where their run begins.
    while first and _traits(text[first])[1] & _traits(text[first - 1])[1] & _REGIONAL:
        first -= 1
    return _sticks(_traits(before)[1], char, _traits(char)[1], alone=(at - first) % 2 == 1)


def _sticks(before: int, char: str, nature: int, *, alone: bool) -> bool:
    """Whether a character belongs to the grapheme before it; ``alone`` if that is one character."""
    if nature & _EXTENDS or (before & _TIES and char >= "\u0300"):
        return True
    return alone and bool(before & nature & _REGIONAL)


@lru_cache(maxsize=8192)
def _traits(char: str) -> tuple[int, int]:
    """Return the cells of a character, and the bits that say how it joins its neighbours."""
    extends = (
        unicodedata.category(char)[0] == "M"
        or char in (_ZWNJ, _ZWJ, "\u0e33", "\u0eb3")
        or "\u1160" <= char <= "\u11ff"
        or "\ud7b0" <= char <= "\ud7ff"
        or "\U0001f3fb" <= char <= "\U0001f3ff"
        or "\U000e0020" <= char <= "\U000e007f"
    )
    ties = char == _ZWJ or unicodedata.combining(char) == _VIRAMA
    regional = "\U0001f1e6" <= char <= "\U0001f1ff"
    return cell_len(char), extends * _EXTENDS | ties * _TIES | regional * _REGIONAL
