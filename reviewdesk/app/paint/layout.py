"""How texts are folded to a width and laid out in lines."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from functools import lru_cache

from msgspec import Struct
from rich.cells import cell_len, split_graphemes

SINGLE = re.compile(
    "[ -~\u00a1-\u00ac\u00ae-\u024f\u0370-\u0482\u048a-\u04ff\u2010-\u2027\u2030-\u205e"
    "\u2190-\u22ff\u2500-\u25fc\u26a0\u2713\u2717]*"
)
"""Texts that every terminal draws in one column per character, without joined characters."""


def single(text: str) -> bool:
    """Return True if every character takes one column by itself."""
    return text.isascii() or SINGLE.fullmatch(text) is not None


Cut = tuple[int, int]


def fitting(text: str, width: int) -> int:
    """Return how many characters from the start fit into ``width`` cells, in whole graphemes."""
    if single(text[: width + 1]):
        return min(width, len(text))
    used = 0
    for start, _, size in split_graphemes(text)[0]:
        used += size
        if used > width:
            return start
    return len(text)


def fitting_end(text: str, width: int) -> int:
    """Return how many characters at the end of a short text fit into ``width`` cells."""
    if single(text):
        return min(width, len(text))
    used = 0
    for _, end, size in reversed(split_graphemes(text)[0]):
        used += size
        if used > width:
            return len(text) - end
    return len(text)


def cuts(text: str, first: int, rest: int) -> list[Cut]:
    """Cut one line into pieces: the first fits ``first`` cells and the others ``rest``.

    The spaces at a break are left out. A grapheme that is wider than the room stands alone.
    """
    if single(text):
        return [(0, len(text))] if len(text) <= first else _single_cuts(text, first, rest)
    if len(text) <= first and cell_len(text) <= first:
        return [(0, len(text))]
    return _any_cuts(text, first, rest)


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


def _any_cuts(text: str, first: int, rest: int) -> list[Cut]:
    """Cut a text in any script in one pass, which remembers the last place to break."""
    found: list[Cut] = []
    start = total = base = 0
    room = first
    before = ""
    place: tuple[int, int, int] | None = None
    """Where a piece may end, where the next one then begins, and the cells up to there."""
    solid = False
    for at, end, size in split_graphemes(text)[0]:
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
                found.append((start, stop))
                start = after
                base = cells
                room = rest
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
    if end > start or not found:
        found.append((start, end))
    return found


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

    open_sections: frozenset[str] = frozenset()
    """Names of what does not fold: long texts of the item, and reasons and figures of the jury."""
    find: tuple[str, ...] = ()
    """Words to highlight."""


RESPONSES = ("output", "alternative")
"""The parts that are judged: a label needs to have seen each of them. They never fold."""


class Place(Struct, frozen=True):
    """A passage of an item: a part, and a character of its text.

    Character -1 is the heading of the part.
    """

    part: str = ""
    char: int = -1


class TextPassage(Struct, frozen=True):
    """Characters ``first`` to ``end`` of a part."""

    part: str
    first: int = 0
    end: int = 0


class ItemScroll(Struct, frozen=True):
    """The place from which an item is shown; ``turns`` grows with every demand to scroll there."""

    top: Place | TextPassage = Place()
    turns: int = 0


class PartLines(Struct, frozen=True):
    """The painted lines of one part: line ``first + i`` shows the characters from ``starts[i]`` on.

    The characters are those of the text as it is laid out, which does not depend on the width. In
    a part that is not text, they are line numbers.
    """

    name: str
    head: int
    first: int
    starts: tuple[int, ...]
    end: int
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
