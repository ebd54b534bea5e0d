"""What makes a label count: the press of its key, and what was on screen before it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec import Struct

from reviewdesk.app.controllers.state import Session
from reviewdesk.app.texts.layout import (
    RESPONSES,
    Cut,
    ItemLayout,
    ItemScroll,
    PartLines,
    Place,
    TextPassage,
    covered,
    merged,
)
from reviewdesk.domain.records import Item

INTERVAL = 0.150
"""Seconds that an item must be on screen before a label, and between two presses of one key."""

REACTION = 0.080
"""Seconds for saving a label and drawing the next item that do not lengthen the reviewer's wait:
five keys a second must all count, also on a busy machine."""

_SLACK = 1e-6
"""Tolerance in seconds for rounding errors: 0.4 - 0.25 must count as 0.15."""


class LabelGuard:
    """Decides whether a label key counts; ``clock`` returns monotonic seconds.

    A key counts when the item has been shown for ``interval`` and the same key did not arrive
    within the last ``interval``. An ignored press restarts that second wait, so that a held key
    stays ignored until it is released.
    """

    def __init__(self, clock: Callable[[], float], interval: float = INTERVAL) -> None:
        """Start with nothing on screen: no key counts before ``shown`` is called."""
        self._clock = clock
        self.interval = interval
        self._shown_at: float | None = None
        self._pressed: dict[str, float] = {}
        self._stray = float("-inf")
        self._counted = float("-inf")
        self.early = False
        """Whether the last press was ignored for the item alone, which had only just come up."""

    def hide(self) -> None:
        """Record that what comes next is not on screen yet: no key counts until ``shown``."""
        self._shown_at = None

    def interrupt(self) -> None:
        self.hide()
        self._counted = float("-inf")

    def shown(self) -> None:
        now = self._clock()
        answers = now - self._counted <= 2 * self.interval
        self._shown_at = max(self._counted, now - REACTION) if answers else now

    def shown_once(self) -> None:
        if self._shown_at is None:
            self.shown()

    def stray(self) -> None:
        self._stray = self._clock()

    def bar(self, keys: Iterable[str], seconds: float) -> None:
        """Ignore keys for so long: what is typed behind a refused label is not meant for them."""
        self._pressed |= dict.fromkeys(keys, self._clock() + seconds)

    def press(self, key: str, late: float = 0.0) -> bool:
        """Record a press of ``key`` and return True if it counts.

        ``late`` is how many seconds the key waited to be handled. The time of the press decides,
        so that a busy machine neither drops keys nor brings them too close together.
        """
        now = self._clock() - late
        last = max(self._pressed.get(key, float("-inf")), self._stray)
        self._pressed[key] = now
        wait = self.interval - _SLACK
        shown = self._shown_at is not None and now - self._shown_at >= wait
        apart = now - last >= wait
        counts = shown and apart
        self.early = apart and not shown
        if counts:
            self._counted = now
        return counts


class DrawnItem(Struct, frozen=True):
    """What a front end has drawn of an item, as it reports it after each frame that differs.

    ``shown`` holds the characters of each response that are on screen, ``top`` is what stands in
    the first line of the pane, and ``height`` counts the pane's lines.
    """

    layout: ItemLayout
    shown: Mapping[str, tuple[Cut, ...]]
    top: Place
    height: int


class Unseen(Struct, frozen=True):
    """The passage of a response that has to come on screen before a label.

    ``lines`` counts its first and last line from 1, if others of the response were on screen.
    """

    passage: TextPassage
    lines: tuple[int, int] | None = None


class _SeenText(Struct):
    """One response: which characters of its pages were on screen, and since when that is enough."""

    since: float = math.inf
    seen: dict[int, list[Cut]] = {}
    counts: dict[int, int] = {}
    """How many lines were on screen, by page, as the page was wrapped when it was drawn last."""

    def add(self, part: PartLines, shown: tuple[Cut, ...], height: int, now: float) -> None:
        """Add what one frame shows: all of the text, or ``height`` of its lines, are enough."""
        seen = self.seen[part.page] = merged([*self.seen.get(part.page, []), *shown])
        self.counts[part.page] = len(part.starts) - len(self.missing(part))
        whole = part.pages == 1 and covered((0, part.end), seen)
        if whole or sum(self.counts.values()) >= height:
            self.since = now

    def missing(self, part: PartLines) -> list[int]:
        """Return the lines of the shown page that were not on screen."""
        seen = self.seen.get(part.page, [])
        return [at for at, cut in enumerate(part.cuts) if not covered(cut, seen)]

    def unseen(self, part: PartLines) -> Unseen:
        """Return what has to come on screen, on the shown page or else on another."""
        missing = self.missing(part)
        cuts = [*part.cuts]
        if missing:
            first = missing[0]
            last = missing[-1]
            passage = TextPassage(part.name, part.page, cuts[first][0], cuts[last][1])
            some = len(missing) < len(cuts)
            return Unseen(passage, (first + 1, last + 1) if some else None)
        others = (page for page in range(part.pages) if page not in self.counts)
        return Unseen(TextPassage(part.name, next(others, part.page), end=1))


class _SeenItem(Struct):
    drawn: DrawnItem
    texts: dict[str, _SeenText] = {}


class SeenItems:
    """Remembers what was on screen of each item's responses, and where the item was left.

    Items are known by their texts, so that the criteria of one response are seen together. What is
    enough once stays enough: neither another width nor another height of the pane takes it back.
    """

    def __init__(self, clock: Callable[[], float] = lambda: 0.0) -> None:
        """Start with nothing seen; ``clock`` returns seconds."""
        self._clock = clock
        self._items: dict[str, _SeenItem] = {}
        self._asked: set[str] = set()
        """The items whose input, or the start of its fold, was on screen."""
        self._came_back: dict[str, int] = {}
        self.scroll = ItemScroll()

    def saw(self, drawn: DrawnItem) -> None:
        """Take in what a frame shows."""
        item = self._items.setdefault(drawn.layout.item, _SeenItem(drawn))
        item.drawn = drawn
        asked = drawn.layout.part("input")
        top = drawn.layout.line(drawn.top)
        if asked is not None and top <= asked.head < top + drawn.height:
            self._asked.add(drawn.layout.item)
        for part in drawn.layout.responses:
            text = item.texts.setdefault(part.name, _SeenText())
            if text.since == math.inf:
                text.add(part, drawn.shown.get(part.name, ()), drawn.height, self._clock())

    def opened(self, item: Item | None, since: int = 0) -> int:
        """Scroll to where an item was left, or to the start of a new one; return its page.

        An item that came back after the event ``since`` is new when it is opened first: nothing
        may tell that it was there before.
        """
        name = "" if item is None else item.read_as
        if item is not None and since > self._came_back.get(name, 0):
            self._came_back[name] = since
            self._items.pop(name, None)
        found = self._items.get(name)
        drawn = None if found is None else found.drawn
        self.turn_to(Place() if drawn is None else drawn.top)
        return 0 if drawn is None else max((one.page for one in drawn.layout.parts), default=0)

    def turn_to(self, top: Place | TextPassage) -> None:
        self.scroll = ItemScroll(top, self.scroll.turns + 1)

    def unseen(self, item: Item, at: float = math.inf) -> Unseen | None:
        """Return what has to come on screen before a label of the item, ``None`` if nothing.

        Of a folded input that is its start. A response must have been on screen before ``at``, the
        time at which the label's key was pressed.
        """
        found = self._items.get(item.read_as)
        if found is None:
            return Unseen(TextPassage(RESPONSES[0], end=1))
        for part in found.drawn.layout.responses:
            text = found.texts[part.name]
            if text.since == math.inf:
                return text.unseen(part)
            if text.since >= at:
                last = part.starts[-1] if part.starts else 0
                return Unseen(TextPassage(part.name, part.page, last, part.end))
        asked = found.drawn.layout.part("input")
        if asked is not None and asked.folded and item.read_as not in self._asked:
            return Unseen(TextPassage("input", asked.page, end=1))
        return None

    def folded(self, item: Item) -> frozenset[str]:
        found = self._items.get(item.read_as)
        parts = () if found is None else found.drawn.layout.parts
        return frozenset(one.folded for one in parts if one.folded)

    def paged(self, item: Item) -> Place:
        """Return the heading of a text that has several pages, of a response if one has."""
        found = self._items.get(item.read_as)
        parts = () if found is None else found.drawn.layout.parts
        paged = [one.name for one in parts if one.pages > 1]
        return Place(next((name for name in (*RESPONSES, *paged) if name in paged), ""))


class Exposure:
    """Remembers which items and which queue rows were on screen with the panel's answer shown."""

    def __init__(self) -> None:
        self._opened: set[str] = set()
        self._listed: set[int] = set()
        self._stored: set[int] = set()

    @property
    def seen(self) -> int:
        return len(self._listed)

    def unkept(self) -> set[int]:
        found = self._listed - self._stored
        self._stored |= found
        return found

    def listed(self, session: Session, keys: Sequence[int]) -> None:
        if not session.view.blind or session.hidden_query:
            self._listed.update(keys)

    def opened(self, session: Session) -> None:
        if session.item is not None and not session.hidden:
            self._opened.add(session.item.item_hash)
            self._listed.add(session.item.row.key)

    def labelled(self, item: Item) -> None:
        self._opened.add(item.item_hash)

    def is_blind(self, session: Session, item: Item) -> bool:
        """Return True if a label given now is blind: its panel's answer has not been seen."""
        return (
            session.view.blind
            and item.revealed_at is None
            and not item.labelled_before
            and item.item_hash not in self._opened
            and item.row.key not in self._listed
            and not session.hidden_query
        )
