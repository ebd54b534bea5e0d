"""Fold lines to a width in terminal cells, between graphemes."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from functools import lru_cache

from rich.cells import cell_len

_ZWNJ = "\u200c"
_ZWJ = "\u200d"
_VIRAMA = 9
"""Unicode's combining class of a sign that joins the next consonant to the one before."""
_EXTENDS = 1
_TIES = 2
_REGIONAL = 4
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
            start = at
            cells = more
        nature = following
    yield start, len(text), cells


def joined(text: str, at: int) -> bool:
    """Return True if a cut at ``at`` would split a grapheme or a CR LF."""
    if not 0 < at < len(text):
        return False
    before = text[at - 1]
    char = text[at]
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


_NO_START = frozenset(
    "、。，．・：；？！ー々〻〕］｝〉》」』】）…‥ぁぃぅぇぉっゃゅょゎァィゥェォッャュョヮヵヶ"
    ")]},.:;?!%’”"
)
"""Closing marks and small kana, which do not begin a line."""
_NO_END = frozenset("（「『【〔［｛〈《([{‘“")
"""Opening marks, which do not end a line."""

Cut = tuple[int, int]


def fitting(text: str, width: int, start: int = 0) -> int:
    """Return how many characters from ``start`` fit into ``width`` cells, in whole graphemes."""
    if text[start : start + width + 1].isascii():
        return min(width, len(text) - start)
    used = 0
    end = start
    for _, stop, size in clusters(text, start):
        used += size
        if used > width:
            break
        end = stop
    return end - start


def fitting_end(text: str, width: int) -> int:
    """Return how many characters at the end of a short text fit into ``width`` cells."""
    used = 0
    kept = len(text)
    for start, _, size in reversed(list(clusters(text))):
        used += size
        if used > width:
            break
        kept = start
    return len(text) - kept


def cuts(text: str, first: int, rest: int) -> list[Cut]:
    """Cut one line into pieces: the first fits ``first`` cells and the others ``rest``.

    The spaces at a break are left out. A grapheme that is wider than the room stands alone.
    """
    if text.isascii():
        return [(0, len(text))] if len(text) <= first else _ascii_cuts(text, first, rest)
    if len(text) <= first and cell_len(text) <= first:
        return [(0, len(text))]
    return _any_cuts(text, first, rest)


def _skip_spaces(text: str, start: int) -> int:
    while start < len(text) and text[start] == " ":
        start += 1
    return start


def _ascii_cuts(text: str, first: int, rest: int) -> list[Cut]:
    found: list[Cut] = []
    start = 0
    room = first
    while len(text) - start > room:
        end = start + room
        lead = _skip_spaces(text, start)
        if lead >= end:
            start = lead
            continue
        stop = max(text.rfind(" ", lead, end + 1), 0) or end
        after = _skip_spaces(text, stop)
        while text[stop - 1] == " ":
            stop -= 1
        found.append((start, stop))
        start = after
        room = rest
    if start < len(text) or not found:
        found.append((start, len(text)))
    return found


def _any_cuts(text: str, first: int, rest: int) -> list[Cut]:
    start, end, after = next(_pieces(text, 0, first))
    if after == len(text):
        return [(start, end)]
    return [(start, end), *((a, b) for a, b, _ in _pieces(text, after, rest))]


def _pieces(text: str, start: int, room: int) -> Iterator[tuple[int, int, int]]:
    """Yield start and end of every piece of a text in any script, and where the next one begins.

    One pass over the graphemes remembers the last place to break.
    """
    first = start
    total = 0
    base = 0
    before = ""
    place: tuple[int, int, int] | None = None
    solid = False
    for at, end, size in clusters(text, start):
        char = text[at]
        if char == " ":
            if solid:
                # A piece ends before the first of several spaces, the next begins after the last.
                place = (place[0] if place and place[1] == at else at, end, total + 1)
        else:
            if solid and before != " " and _breaks(before, char):
                place = (at, at, total)
            while solid and total + size - base > room:
                stop, after, cells = place or (at, at, total)
                yield start, stop, after
                start = after
                base = cells
                place = None
                solid = after < at
            if not solid and total + size - base > room:
                start = at
                base = total
            solid = True
        total += size
        before = char
    end = len(text)
    if total - base > room and text.endswith(" "):
        end = place[0] if place else start
    if end > start or start == first:
        yield start, end, len(text)


def _breaks(before: str, char: str) -> bool:
    if not (_ideograph(before) or _ideograph(char)):
        return False
    return char not in _NO_START and before not in _NO_END


@lru_cache(maxsize=8192)
def _ideograph(char: str) -> bool:
    return char >= "\u2e80" and not "\uac00" <= char <= "\ud7a3" and cell_len(char) == 2
