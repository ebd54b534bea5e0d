"""How texts are folded to a width, cut into pages, and laid out in lines."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator
from functools import lru_cache

from msgspec import Struct
from rich.cells import cell_len

SINGLE = re.compile(
    "[ -~\u00a1-\u00ac\u00ae-\u024f\u0370-\u0482\u048a-\u04ff\u2010-\u2027\u2030-\u205e"
    "\u2190-\u22ff\u2500-\u25fc\u26a0\u2713\u2717]*"
)
"""Texts that every terminal draws in one column per character, without joined characters."""


def single(text: str) -> bool:
    """Return True if every character takes one column by itself."""
    return text.isascii() or SINGLE.fullmatch(text) is not None


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


Cut = tuple[int, int]


def fitting(text: str, width: int, start: int = 0) -> int:
    """Return how many characters from ``start`` fit into ``width`` cells, in whole graphemes."""
    if single(text[start : start + width + 1]):
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
    if single(text):
        return min(width, len(text))
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
    if single(text):
        return [(0, len(text))] if len(text) <= first else _single_cuts(text, first, rest)
    if len(text) <= first and cell_len(text) <= first:
        return [(0, len(text))]
    return _any_cuts(text, first, rest)


def _any_cuts(text: str, first: int, rest: int) -> list[Cut]:
    start, end, after = next(_pieces(text, 0, first))
    if after == len(text):
        return [(start, end)]
    return [(start, end), *((a, b) for a, b, _ in _pieces(text, after, rest))]


def _skip_spaces(text: str, start: int) -> int:
    while start < len(text) and text[start] == " ":
        start += 1
    return start


def _single_cuts(text: str, first: int, rest: int) -> list[Cut]:
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
            if solid and before != " " and (_ideograph(before) or _ideograph(char)):
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


@lru_cache(maxsize=8192)
def _ideograph(char: str) -> bool:
    return char >= "\u2e80" and not "\uac00" <= char <= "\ud7a3" and cell_len(char) == 2


TITLE = "title"
TOOLS = "tools"
"""The calls and results of tools in a conversation, each of which folds by itself."""
FOLDS = frozenset({TITLE, "rubric", "input", "reference", TOOLS})
"""The sections of an item that fold where they are long."""


class ReadingOptions(Struct, frozen=True):
    """The reviewer's choices for drawing an item's texts. They never change the text itself."""

    page: int = 0
    """The page to show, counted from 0. A text with fewer pages shows its last."""
    open_sections: frozenset[str] = frozenset()
    """Names of what does not fold: long texts of the item, and reasons and figures of the jury."""
    find: tuple[str, ...] = ()
    """Words to highlight."""


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
    while len(text) - (start := starts[-1]) > PAGE:
        limit = start + PAGE
        # A page ends after a line, else a word, else a grapheme. A combining mark right after the
        # space or line break belongs to it.
        ends = (text.rfind(mark, limit - _NEAR, limit) + 1 for mark in ("\n", " "))
        at = next((end for end in ends if end and not joined(text, end)), limit)
        while at > start and joined(text, at):
            at -= 1
        # One grapheme as long as a page cannot be read anyway, so it may be cut.
        starts.append(at if at > start else limit)
    return tuple(starts)


RESPONSES = ("output", "alternative")
"""The parts that are judged: a label needs to have seen each of them. They never fold."""


class Place(Struct, frozen=True):
    """A passage of an item: a part, and a character of the page that is shown of it.

    Character -1 is the heading of the part.
    """

    part: str = ""
    char: int = -1


class TextPassage(Struct, frozen=True):
    """Characters ``first`` to ``end`` of one page of a part."""

    part: str
    page: int = 0
    first: int = 0
    end: int = 0


class ItemScroll(Struct, frozen=True):
    """The place from which an item is shown; ``turns`` grows with every demand to scroll there."""

    top: Place | TextPassage = Place()
    turns: int = 0


class PartLines(Struct, frozen=True):
    """The painted lines of one part: line ``first + i`` shows the characters from ``starts[i]`` on.

    The characters are those of the page as it is laid out, which does not depend on the width. In
    a part that is not text, they are line numbers.
    """

    name: str
    head: int
    first: int
    starts: tuple[int, ...]
    end: int
    page: int = 0
    pages: int = 1
    folded: str = ""
    """The name of the section that unfolds the part, empty if no line is folded."""

    @property
    def cuts(self) -> Iterator[Cut]:
        return zip(self.starts, (*self.starts[1:], self.end), strict=True)

    @property
    def below(self) -> int:
        return self.first + len(self.starts)

    def line(self, char: int) -> int:
        if char < 0 or not self.starts:
            return self.head
        return self.below if char >= self.end else self.first + bisect_right(self.starts, char) - 1

    def char(self, line: int) -> int:
        """Return the first character of a line: -1 above the text, the text's end below it."""
        at = line - self.first
        if at >= len(self.starts):
            return self.end
        return self.starts[at] if at >= 0 else -1


class ItemLayout(Struct, frozen=True):
    """The parts of an item from top to bottom; the first is the part above the texts.

    ``item`` names the texts of the item, as ``Item.read_as`` does.
    """

    item: str = ""
    parts: tuple[PartLines, ...] = ()

    def part(self, name: str) -> PartLines | None:
        return next((one for one in self.parts if one.name == name), None)

    @property
    def responses(self) -> list[PartLines]:
        return [one for one in self.parts if one.name in RESPONSES]

    @property
    def heads(self) -> list[int]:
        return sorted({one.head for one in self.parts})

    def place(self, line: int) -> Place:
        """Return the place that a line shows."""
        found: PartLines | None = None
        for one in self.parts:
            if one.head <= line and (found is None or one.head > found.head):
                found = one
        return Place() if found is None else Place(found.name, found.char(line))

    def line(self, place: Place) -> int:
        part = self.part(place.part)
        return 0 if part is None else part.line(place.char)

    def top_for(self, passage: TextPassage, height: int) -> int:
        """Return the line to scroll to, so that ``height`` lines show as much as they can of it.

        A part that fits is shown with its heading, a rest that fits at the bottom; else one line
        stands above the passage, unless it is the beginning of the part.
        """
        part = self.part(passage.part)
        if part is None:
            return 0
        first = part.line(passage.first)
        below = part.line(passage.end)
        if part.below - part.head <= height:
            return part.head
        if below - first < height:
            return max(0, below - height)
        return first - (first > part.first)


def covered(cut: Cut, seen: list[Cut]) -> bool:
    """Return True if one of the sorted, disjoint stretches in ``seen`` contains ``cut``."""
    at = bisect_right(seen, (cut[0], float("inf"))) - 1
    return at >= 0 and seen[at][1] >= cut[1]


def merged(cuts: list[Cut]) -> list[Cut]:
    """Return stretches of characters sorted, with those joined that touch or overlap."""
    found: list[Cut] = []
    for start, end in sorted(cuts):
        if found and start <= found[-1][1]:
            found[-1] = found[-1][0], max(end, found[-1][1])
        else:
            found.append((start, end))
    return found
