"""The list of the queue, the painter of its lines, and the legend of all signs."""

import re
from array import array
from collections.abc import Callable, Sequence
from functools import lru_cache
from os.path import commonprefix
from typing import ClassVar

from textual import events
from textual.cache import LRUCache
from textual.content import Content
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.style import Style

from reviewdesk.app.paint.styled import (
    ELLIPSIS,
    Piece,
    cells,
    clip,
    clip_middle,
    cut,
    inline,
    line,
    pad,
)
from reviewdesk.app.widgets.lines import Drawn
from reviewdesk.domain.assessment.result import MEANINGS, SHORT, WORDS, Flag, in_words
from reviewdesk.domain.records import QueueRow
from reviewdesk.errors import ReviewDeskError
from reviewdesk.views import glossary, words
from reviewdesk.views.document import (
    Block,
    Document,
    Fact,
    Facts,
    Flow,
    Paragraph,
    Section,
    Text,
    Tone,
)
from reviewdesk.views.words import TRUTHS, bare

DECISIONS: dict[str | None, tuple[str, str, str]] = {
    "pass": ("pass", Tone.PASS, "the panel passes it"),
    "fail": ("fail", Tone.FAIL, "the panel fails it"),
    "inconclusive": ("none", Tone.WARN, "no decision"),
    "error": ("error", Tone.WARN, "the panel broke down"),
    None: ("-", Tone.MUTED, "none stated"),
}
_BANDS = {"high": Tone.MUTED, "medium": Tone.TEXT, "low": Tone.WARN}
LABELS: dict[str | None, tuple[str, str]] = {
    "pass": ("p", Tone.PASS),
    "fail": ("f", Tone.FAIL),
    "unsure": ("?", Tone.NOTE),
    "disputed": ("!", Tone.WARN),
    None: ("·", Tone.MUTED),
}
NOT_TOLD = ("✓", Tone.MUTED)
OPEN_WITH = ("@", Tone.NOTE)
MARKED = "*"
NOTED = "¶"
CHOSEN = "+"
DEFERRED = ("z", Tone.NOTE)
UNSAVED = "~"
"""The suffix of a label that waits to be saved."""
SPELLED = 56
"""The least width of a line that shows the agreement."""
_NAMES = 25
_ID = 6
_TITLE = 12
"""The cells of ids in one column, their least, and the least cells of the title of a test."""
_FLAG = 12
_FLAGS = 44
"""The least and the most cells of the flags."""
LOUD = Flag.ESCALATED | Flag.BIAS_WARNING | Flag.TRIMMED_DISSENT | Flag.DISPUTE | Flag.NO_VERDICT


def label_mark(row: QueueRow) -> Piece:
    """Return the label as up to three characters: ``·`` none, ``z`` deferred.

    ``✓`` is a hidden label of another, and ``@`` an unlabelled item that another has open.
    A ``~`` after it means that it waits to be saved.
    """
    mark, ink = LABELS[row.label]
    if row.label is None and (row.labelled_by_other or row.open_with or row.deferred):
        open_ = OPEN_WITH if row.open_with else DEFERRED
        mark, ink = NOT_TOLD if row.labelled_by_other else open_
    return f"{mark}{UNSAVED * row.saving}", ink


def flag_names(flags: Flag, room: int, *, spelled: bool = True) -> str:
    """Return flags in words if they all fit, else in short, with the number that has no room."""
    if spelled and len(text := in_words(flags)) <= room:
        return text
    names = [short for flag, short in SHORT.items() if flag in flags]
    left = 0
    while len(text := " ".join(names) + f" +{left}" * bool(left)) > room:
        names.pop()
        left += 1
    return text


@lru_cache(512)
def queue_line(
    row: QueueRow, width: int, *, current: bool, blind: bool, chosen: bool = False,
    common: str = "", longest: int = _NAMES, most: int = 2 * _FLAG,
) -> Content:  # fmt: skip
    """Return a verdict's line; a blind session shows only id, test and label.

    An id that is cut loses the start that it has in ``common`` with the others first; ``longest``
    and ``most`` are the widths of the longest id and of the most flags in short.
    """
    mark, ink = label_mark(row)
    # What others wrote may give away what they think of the item.
    noted = row.noted or (row.noted_by_others and not blind)
    pieces: list[Piece] = [
        ("▸" if current else " ", Tone.KEY),
        (CHOSEN, Tone.KEY) if chosen else (MARKED if row.marked else " ", Tone.NOTE),
        (NOTED if noted else " ", Tone.NOTE),
        (pad(mark, 3), ink),
    ]
    name = Tone.STRONG if current else Tone.TEXT
    more = _names(row, width - 6, name, common)
    if not blind:
        more = _facts(row, width, name, common, longest, most)
    return cut(line(*pieces, *more), width)


def _id(row: QueueRow, width: int, common: str) -> str:
    name = inline(row.id)
    if common and cells(name) > width and name.startswith(common):
        name = f"{ELLIPSIS}{name.removeprefix(common)}"
    return clip_middle(name, width)


def _untold(row: QueueRow) -> Flag:
    """Return the flags that decision and band do not tell; two of them tell that votes differ."""
    said = Flag(0) if row.decision in {"pass", "fail"} else Flag.NO_VERDICT
    said |= Flag.DERIVED_LOW if row.agrees[1] == "low" else Flag(0)
    said |= Flag.SPLIT if row.flags & (Flag.TRIMMED_DISSENT | Flag.PIVOTAL) else Flag(0)
    return row.flags & ~said


def _facts(
    row: QueueRow, width: int, name: str, common: str, longest: int, most: int
) -> list[Piece]:
    """Return decision, id, agreement, flags and test; a narrow line tells low agreement alone."""
    word, ink, _ = DECISIONS[row.decision]
    wide = width >= SPELLED
    room = width - 12
    value, band = row.agrees
    low = band == "low"
    agreement: list[Piece] = [("low " if low else "    ", Tone.WARN)]
    if wide:
        figure = "" if band else "-"
        figure = figure if value is None else words.agreement(value)
        tone = Tone.MUTED if band is None else _BANDS[band]
        agreement = [(f"{figure:>5}", Tone.TEXT), (f" {band or '':<7} ", tone)]
    room -= sum(cells(text) for text, _ in agreement) + 1
    if common and longest > room - (_FLAG if wide else most):
        longest += 1 - cells(common)
    names = room - min(_FLAG, most)
    if wide:
        # In words, flags take about twice the cells that they take in short.
        names = max(min(_NAMES, room - _FLAG), room - max(_FLAG, 2 * most))
    column = min(longest, max(_ID, room - _FLAGS, names))
    flags = max(4, min(_FLAGS, room - column))
    title = room - flags - column - 2
    shown = flag_names(_untold(row), flags, spelled=wide)
    loud = Tone.WARN if row.flags & LOUD else Tone.MUTED
    if longest > column and not (wide or low or shown):
        column = room
    found = [
        (pad(word, 6), ink),
        (pad(_id(row, column, common), column + 1), name),
        *agreement,
        (shown, loud),
    ]
    if title >= _TITLE and _says_more(row):
        found.append((f"{'':{flags + 2 - len(shown)}}{clip(inline(row.test), title)}", Tone.MUTED))
    return found


def _names(row: QueueRow, width: int, ink: str, common: str) -> list[Piece]:
    """Return the id, whole if it fits, and after it the test if that adds something."""
    name = inline(row.id)
    column = max(cells(name), min(_NAMES, width // 2))
    room = width - column - 2
    if not _says_more(row) or room < _TITLE:
        return [(_id(row, width, common), ink)]
    return [(pad(name, column), ink), (f"  {clip(inline(row.test), room)}", Tone.MUTED)]


def _says_more(row: QueueRow) -> bool:
    return bare(row.test) not in bare(row.id)


AGREEMENT = (
    ("0.41 low", Tone.WARN),
    "how close the jurors are, and its band: high, medium or low; no word if the measure has none",
)
_INKS = {
    "▸": Tone.KEY, "*": Tone.NOTE, "▹ ▿": Tone.KEY, "+": Tone.KEY, "¶": Tone.NOTE, "~": Tone.NOTE,
    "◆": Tone.WARN, "≠": Tone.WARN, "○": Tone.MUTED, "✓": Tone.PASS, "✗": Tone.FAIL,
    "–": Tone.MUTED, "⚠": Tone.WARN, "×": Tone.TEXT, "…": Tone.TEXT,
}  # fmt: skip
SIGNS: tuple[tuple[Piece, str], ...] = tuple(
    ((sign, _INKS.get(sign, Tone.STRONG)), text) for sign, text in glossary.SIGNS.items()
)
"""The signs of all panes."""


def legend() -> Document:
    """Return all signs, grouped by the place where they appear."""
    labels = [(LABELS[None], "no label")]
    labels += [(LABELS[truth], text) for truth, text in TRUTHS.items()]
    labels += [
        (DEFERRED, "deferred"),
        (NOT_TOLD, "labelled by another, shown once you label or reveal it"),
        (OPEN_WITH, "open with another reviewer"),
    ]
    made = [((word, ink), text) for word, ink, text in DECISIONS.values()]
    flags = [
        ((short, Tone.WARN if flag in LOUD else Tone.MUTED), f"{WORDS[flag]}: {MEANINGS[flag]}")
        for flag, short in SHORT.items()
    ]

    def small(signs: Sequence[tuple[Piece, str]]) -> Flow:
        return Flow(tuple((Text(sign, Tone(ink)), f" {text}") for (sign, ink), text in signs), 2)

    def each(signs: Sequence[tuple[Piece, str]]) -> Facts:
        return Facts(tuple(Fact(sign, text, Tone(ink)) for (sign, ink), text in signs), 10)

    rest = Paragraph("A line counts those without room at its end: +2.", Tone.MUTED)
    blocks: dict[str, tuple[Block, ...]] = {
        "Labels": (small(labels),),
        "Decision and agreement": (small(made), each([AGREEMENT])),
        "Flags": (each(flags), rest),
        "Signs": (each(SIGNS),),
    }
    return Document(tuple(Section(title, block) for title, block in blocks.items()))


_PARTS = re.compile(r"[/:. _-]+")
PAGE = 64
"""The number of rows that one query fetches: a little more than a tall screen."""


class QueueList(ScrollView, Drawn, can_focus=True, inherit_bindings=False):
    """All verdicts of a queue, one line each. Drawing a million costs no more than a hundred."""

    DEFAULT_CSS = """
    QueueList { scrollbar-gutter: stable; scrollbar-size-vertical: 1; overflow-x: hidden; }
    QueueList > .queue--cursor { background: $desk-cursor; text-style: $desk-cursor-style; }
    """
    COMPONENT_CLASSES: ClassVar[set[str]] = {"queue--cursor"}
    ALLOW_SELECT = False

    def __init__(
        self,
        fetch: Callable[[Sequence[int]], list[QueueRow]],
        drawn: Callable[[Sequence[int]], None],
        clicked: Callable[[int], object],
        failed: Callable[[ReviewDeskError], object],
        *,
        id: str | None = None,  # noqa: A002
    ) -> None:
        """Start empty. ``fetch`` returns the rows of keys; ``drawn`` gets the rows drawn.

        ``clicked`` gets the index of a row, ``failed`` the error because of which none are drawn.
        """
        super().__init__(id=id)
        self._fetch = fetch
        self._drawn = drawn
        self._clicked = clicked
        self._fail = failed
        self._keys: array[int] = array("q")
        self._cursor: int | None = None
        self._blind = False
        self._chosen: frozenset[int] = frozenset()
        self._pages: LRUCache[int, list[QueueRow]] = LRUCache(16)
        self._failed = False
        self._common = ""
        self._longest = 0
        self._most = 0
        """The start that the first ids share, and the widths of the longest id and flags so far."""

    def fill(self, keys: "array[int]", *, blind: bool) -> None:
        if keys is self._keys and blind is self._blind:
            return
        self._keys = keys
        self._blind = blind
        self.virtual_size = Size(self.scrollable_content_region.width, len(keys))
        self._pages.clear()
        self._failed = False
        self.refresh()

    def choose(self, chosen: frozenset[int]) -> None:
        if chosen != self._chosen:
            self._chosen = chosen
            self.refresh()

    def reload(self) -> None:
        """Fetch the rows on screen again, and draw those that have changed."""
        top = self.scroll_offset.y
        lines = range(top, min(top + self.size.height, len(self._keys)))
        before = [self._row(index) for index in lines]
        self._pages.clear()
        self._failed = False
        for index, row in zip(lines, before, strict=True):
            if row is None or self._row(index) != row:
                self.refresh_line(index)

    def point(self, cursor: int | None) -> None:
        """Put the cursor on a line and bring it into view; draw the lines that this changes."""
        before = self._cursor
        self._cursor = cursor
        self.reveal(cursor)
        for index in (before, cursor):
            if index is not None:
                self.refresh_line(index)

    def on_resize(self) -> None:
        self.virtual_size = Size(self.scrollable_content_region.width, len(self._keys))
        self.reveal(self._cursor)

    def on_click(self, event: events.Click) -> None:
        index = event.y + self.scroll_offset.y
        if 0 <= index < len(self._keys):
            self._clicked(index)

    def _row(self, index: int) -> QueueRow | None:
        number = index // PAGE
        page = self._pages.get(number)
        if page is None:
            if self._failed:
                return None
            try:
                page = self._fetch(self._keys[number * PAGE : (number + 1) * PAGE])
            except ReviewDeskError as error:
                # Drawing must not raise, and one message for a screenful of lines is enough.
                self._failed = True
                self.call_later(self._fail, error)
                return None
            if not self._pages:
                shared = commonprefix([inline(row.id) for row in page])  # noqa: RUF071  (no paths)
                self._common = shared[: len(shared) - len(_PARTS.split(shared)[-1])]
            self._pages[number] = page
            longest = max([self._longest, *(cells(inline(row.id)) for row in page)])
            flags = (flag_names(_untold(row), 99, spelled=False) for row in page)
            most = max([self._most, *map(len, flags)])
            if (longest, most) != (self._longest, self._most):
                self._longest = longest
                self._most = most
                self.refresh()
        place = index - number * PAGE
        return page[place] if place < len(page) else None

    def strip(self, at: int, width: int) -> Strip:
        current = at == self._cursor
        if at >= len(self._keys):
            return Strip.blank(width, self.visual_style.rich_style)
        row = self._row(at)
        if row is None:
            return self.line_strip(Content(""), width)
        room = self.scrollable_content_region.width
        under = self.visual_style
        if current:
            under = self.get_visual_style("queue--cursor")
            # The visual style of a component leaves out that it is reversed.
            if self.get_component_styles("queue--cursor").text_style.reverse:
                under += Style(reverse=True)
        content = queue_line(
            row, room, current=current, blind=self._blind, chosen=row.key in self._chosen,
            common=self._common, longest=self._longest, most=self._most,
        )  # fmt: skip
        # More rows are fetched than are on screen; what was not drawn was not seen.
        self._drawn([row.key])
        return self.line_strip(content, width, under)
