"""How an item's texts are laid out: reading options, pages, and what each painted line shows."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from functools import lru_cache

from msgspec import Struct

from reviewdesk.app.texts.fold import Cut, joined

TITLE = "title"
FOLDS = frozenset({TITLE, "rubric", "input", "reference"})
"""The sections of an item that fold where they are long."""


class ReadingOptions(Struct, frozen=True):
    """The reviewer's choices for drawing an item's texts. They never change the text itself."""

    page: int = 0
    """The page to show, counted from 0. A text with fewer pages shows its last."""
    open_sections: frozenset[str] = frozenset()
    """What does not fold: long texts of the item, and reasons and figures of the jury, by name."""
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
    """Where an item is shown from; ``turns`` grows with every demand to scroll there."""

    top: Place | TextPassage = Place()
    turns: int = 0


class PartLines(Struct, frozen=True):
    """The painted lines of one part: line ``first + i`` shows the characters from ``starts[i]`` on.

    The characters are those of the page as it is laid out, which does not depend on the width. In
    a part that is no text, they are line numbers.
    """

    name: str
    head: int
    first: int
    starts: tuple[int, ...]
    end: int
    page: int = 0
    pages: int = 1
    folded: bool = False

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
        """Return the first character of a line: -1 above the text, and its end below."""
        at = line - self.first
        if at >= len(self.starts):
            return self.end
        return self.starts[at] if at >= 0 else -1


class ItemLayout(Struct, frozen=True):
    """The parts of an item from top to bottom; the first is what stands above the texts.

    ``item`` is the hash of the item's content.
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
        """Return what stands in a line."""
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
