"""Characters as a reader counts them: a base with its marks, a flag, a syllable is one."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from functools import lru_cache

from rich.cells import cell_len

_ZWNJ, _ZWJ = "\u200c", "\u200d"
_VIRAMA = 9
"""Unicode's combining class of the sign that ties the next consonant to the one before."""
_EXTENDS, _TIES, _REGIONAL = 1, 2, 4
"""Belongs to the one before it; ties the one after it; is half of a flag."""


def clusters(text: str, start: int = 0) -> Iterator[tuple[int, int, int]]:
    """Start, end and cells of every grapheme from ``start``; marks stay with their base."""
    if start >= len(text):
        return
    cells, nature = _known(text[start])
    for at in range(start + 1, len(text)):
        char = text[at]
        more, following = _known(char)
        if (following | nature) and _sticks(nature, char, following, alone=at == start + 1):
            cells += more
        else:
            yield start, at, cells
            start, cells = at, more
        nature = following
    yield start, len(text), cells


def joined(text: str, at: int) -> bool:
    """Whether a cut at ``at`` would part what is one character to the reader, or a CR LF."""
    if not 0 < at < len(text):
        return False
    before, char = text[at - 1], text[at]
    if char == "\n":
        return before == "\r"
    if before == "\n":
        return False
    first = at - 1
    # Regional letters make flags in pairs, counted from where their run begins.
    while first and _known(text[first])[1] & _known(text[first - 1])[1] & _REGIONAL:
        first -= 1
    return _sticks(_known(before)[1], char, _known(char)[1], alone=(at - first) % 2 == 1)


def _sticks(before: int, char: str, nature: int, *, alone: bool) -> bool:
    """Whether a character belongs to the grapheme before it; ``alone``: that is one character."""
    if nature & _EXTENDS or (before & _TIES and char >= "\u0300"):
        return True
    return alone and bool(before & nature & _REGIONAL)


@lru_cache(maxsize=8192)
def _known(char: str) -> tuple[int, int]:
    """The cells of a character, and how it goes with its neighbours."""
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
