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
from reviewdesk.domain.assessment.result import MEANINGS, SHORT, WORDS, Flag
from reviewdesk.domain.records import QueueRow
from reviewdesk.errors import ReviewDeskError
from reviewdesk.views import glossary, words
from reviewdesk.views.document import Document, Fact, Facts, Section, Tone
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
"""The least width of a line that shows the agreement, and its flags in words."""
_NAMES = 25
_ID = 6
_TITLE = 12
"""The cells of ids in one column, their least, and the least cells of the title of a test."""
_FLAGS = 44
"""The most cells of the flags."""
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


def flag_names(flags: Flag, room: int, *, spelled: bool) -> str:
    """Return the flags that fit, in words or in short, and how many more there are."""
    names = [word if spelled else SHORT[flag] for flag, word in WORDS.items() if flag in flags]
    left = 0
    while len(text := (", " if spelled else " ").join(names) + f" +{left}" * bool(left)) > room:
        names.pop()
        left += 1
    return text


@lru_cache(512)
def queue_line(
    row: QueueRow, width: int, *, current: bool, blind: bool, chosen: bool = False,
    common: str = "", longest: int = _NAMES,
) -> Content:  # fmt: skip
    """Return a verdict's line; a blind session shows only id, test and label.

    An id that is cut loses the start that it has in ``common`` with the others first; ``longest``
    is the width of the longest id.
    """
    # What others wrote may give away what they think of the item.
    noted = row.noted or (row.noted_by_others and not blind)
    mark, ink = label_mark(row)
    pieces: list[Piece] = [
        ("▸" if current else " ", Tone.KEY),
        (CHOSEN, Tone.KEY) if chosen else (MARKED if row.marked else " ", Tone.NOTE),
        (NOTED if noted else " ", Tone.NOTE),
        (pad(mark, 3), ink),
    ]
    room = width - 6
    name = inline(row.id)
    column = min(max(cells(name), min(_NAMES, room // 2)), room)
    facts: list[Piece] = []
    if not blind:
        word, ink, _ = DECISIONS[row.decision]
        pieces.append((pad(word, 6), ink))
        facts = _agreement(row, wide=width >= SPELLED)
        room -= 6 + sum(cells(text) for text, _ in facts)
        column = min(longest, max(_ID, room // 2))
        flags = min(_FLAGS, room - column - 1)
        shown = flag_names(_untold(row), max(4, flags), spelled=width >= SPELLED)
        facts.append((pad(shown, flags), Tone.WARN if row.flags & LOUD else Tone.MUTED))
        room -= flags
    if common and cells(name) > column and name.startswith(common):
        name = f"{ELLIPSIS}{name.removeprefix(common)}"
    pieces.append((pad(clip_middle(name, column), column + 1), Tone.STRONG if current else ""))
    title = room - column - 2
    if title >= _TITLE and bare(row.test) not in bare(row.id):
        facts.append((f" {clip(inline(row.test), title)}", Tone.MUTED))
    return cut(line(*pieces, *facts).rstrip(), width)


def _untold(row: QueueRow) -> Flag:
    """Return the flags that decision and band do not tell; two of them tell that votes differ."""
    said = Flag(0) if row.decision in {"pass", "fail"} else Flag.NO_VERDICT
    said |= Flag.DERIVED_LOW if row.agrees[1] == "low" else Flag(0)
    said |= Flag.SPLIT if row.flags & (Flag.TRIMMED_DISSENT | Flag.PIVOTAL) else Flag(0)
    return row.flags & ~said


def _agreement(row: QueueRow, *, wide: bool) -> list[Piece]:
    """Return the agreement and its band; a narrow line tells that it is low, and no more."""
    value, band = row.agrees
    if not wide:
        return [("low " if band == "low" else "    ", Tone.WARN)]
    figure = ("" if band else "-") if value is None else words.agreement(value)
    tone = Tone.MUTED if band is None else _BANDS[band]
    return [(f"{figure:>5}", Tone.TEXT), (f" {band or '':<7} ", tone)]


AGREEMENT = (
    ("0.41 low", Tone.WARN),
    "how close the jurors are, and its band: high, medium or low; no word if the measure has none",
)


def legend() -> Document:
    """Return all signs, grouped by the place where they appear."""
    signs: dict[str, Sequence[tuple[Piece, str]]] = {
        "Labels": (
            (LABELS[None], "no label"),
            *((LABELS[truth], text) for truth, text in TRUTHS.items()),
            (DEFERRED, "deferred"),
            (NOT_TOLD, "labelled by another, shown once you label or reveal it"),
            (OPEN_WITH, "open with another reviewer"),
        ),
        "Decision and agreement": (
            *(((word, ink), text) for word, ink, text in DECISIONS.values()),
            AGREEMENT,
        ),
        "Flags": [
            ((short, Tone.WARN if flag in LOUD else Tone.MUTED), f"{WORDS[flag]}: {MEANINGS[flag]}")
            for flag, short in SHORT.items()
        ],
        "Signs": [((sign, Tone.STRONG), text) for sign, text in glossary.SIGNS.items()],
    }
    return Document(
        tuple(
            Section(
                title,
                (Facts(tuple(Fact(name, text, Tone(ink)) for (name, ink), text in each), 10),),
            )
            for title, each in signs.items()
        )
    )


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
        """The start that the first ids share, and the width of the longest id so far."""

    def fill(
        self, keys: "array[int]", *, blind: bool, chosen: frozenset[int] = frozenset()
    ) -> None:
        if chosen != self._chosen:
            self._chosen = chosen
            self.refresh()
        if keys is self._keys and blind is self._blind:
            return
        self._keys = keys
        self._blind = blind
        self.virtual_size = Size(self.scrollable_content_region.width, len(keys))
        self.reload()

    def reload(self) -> None:
        """Fetch the rows on screen again."""
        self._pages.clear()
        self._failed = False
        self.refresh()

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
            if longest != self._longest:
                self._longest = longest
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
            common=self._common, longest=self._longest,
        )  # fmt: skip
        # More rows are fetched than are on screen; what was not drawn was not seen.
        self._drawn([row.key])
        return self.line_strip(content, width, under)
