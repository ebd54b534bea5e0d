"""What was on screen before a label, when a key counts, and which items came back."""

import math
from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from reviewdesk.app.controllers.state import RESPONSES, Place, Session
from reviewdesk.desk.core import Desk
from reviewdesk.desk.review import repeats
from reviewdesk.desk.review.repeats import RepeatedItem, WorkLog
from reviewdesk.domain.query.filter import parse_filter
from reviewdesk.domain.query.places import moved, places_of
from reviewdesk.domain.records import Event, Item, QueueRow
from reviewdesk.settings import Feedback

INTERVAL = 0.150
"""Seconds that an item must be on screen before a label, and between two presses of one key."""

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

    def hide(self) -> None:
        """Record that what comes next is not on screen yet: no key counts until ``shown``."""
        self._shown_at = None

    def shown(self) -> None:
        """Record that the item is on screen, unless it was before."""
        if self._shown_at is None:
            self._shown_at = self._clock()

    def stray(self) -> None:
        self._stray = self._clock()

    def bar(self, keys: Iterable[str], seconds: float) -> None:
        """Ignore keys for so long: keys typed after a refused label are not meant as labels."""
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
        return shown and now - last >= wait


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
    def chars(self) -> list[range]:
        """The characters of each line."""
        return list(map(range, self.starts, (*self.starts[1:], self.end)))

    @property
    def below(self) -> int:
        return self.first + len(self.starts)

    def line(self, char: int) -> int:
        if char < 0 or not self.starts:
            return self.head
        return self.below if char >= self.end else self.first + bisect_right(self.starts, char) - 1


class ItemLayout(Struct, frozen=True):
    """The parts of an item from top to bottom; the first is the part above the texts.

    ``item`` names the texts of the item, as ``Item.read_as`` does.
    """

    item: str = ""
    parts: tuple[PartLines, ...] = ()

    @property
    def responses(self) -> list[PartLines]:
        return [one for one in self.parts if one.name in RESPONSES]

    def part(self, name: str) -> PartLines | None:
        return next((one for one in self.parts if one.name == name), None)

    def place(self, line: int) -> Place:
        """Return what a line shows."""
        part = next((one for one in reversed(self.parts) if one.head <= line), None)
        if part is None:
            return Place()
        at = line - part.first
        if at >= len(part.starts):
            return Place(part.name, part.end)
        return Place(part.name, part.starts[at] if at >= 0 else -1)

    def line(self, place: Place, height: int = 0) -> int:
        """Return the line to scroll to, so that ``height`` lines begin with a place.

        Of one with an end, they show as much as they can: a part that fits with its heading, a
        rest that fits at the bottom; else one line stands above it, unless the part begins there.
        """
        part = self.part(place.part)
        if part is None:
            return 0
        first = part.line(place.char)
        below = part.line(place.end)
        if not place.end:
            return first
        if part.below - part.head <= height:
            return part.head
        if below - first < height:
            return max(0, below - height)
        return first - (first > part.first)


class _SeenItem(Struct):
    """How an item was drawn last, and what was seen of each of its responses."""

    layout: ItemLayout
    top: Place = Place()
    seen: dict[str, set[int]] = {}
    """The characters that were on screen."""
    since: dict[str, float] = {}
    """The time from which they suffice."""

    def missing(self, part: PartLines) -> list[range]:
        return [chars for chars in part.chars if not self.seen[part.name].issuperset(chars)]


class SeenItems:
    """Remembers what was on screen of each item's responses, and where the item was left.

    Items are known by their texts, so that the criteria of one response are seen together. What is
    enough once stays enough, whatever the width and height of the pane become.
    """

    def __init__(self, clock: Callable[[], float] = lambda: 0.0) -> None:
        self._clock = clock
        self._items: dict[str, _SeenItem] = {}
        self._asked: set[str] = set()
        """The items whose input, or the start of its fold, was on screen."""
        self._came_back: dict[str, int] = {}
        self.top = Place()
        self.turns = 0
        """The place from which an item is shown, and how many demands to scroll there came."""

    def saw(self, layout: ItemLayout, lines: range, top: int, height: int) -> None:
        """Take in ``lines`` that were drawn; the pane shows ``height`` lines from ``top`` on."""
        item = self._items.setdefault(layout.item, _SeenItem(layout))
        item.layout = layout
        item.top = layout.place(top)
        asked = layout.part("input")
        if asked is not None and asked.head in lines:
            self._asked.add(layout.item)
        for part in layout.responses:
            if part.name not in item.since:
                seen = item.seen.setdefault(part.name, set())
                for at, chars in enumerate(part.chars, part.first):
                    if at in lines:
                        seen.update(chars)
                # All of the text, or as many of its lines as the pane has, are enough.
                missing = len(item.missing(part))
                if not missing or len(part.starts) - missing >= height:
                    item.since[part.name] = self._clock()

    def opened(self, item: Item | None, since: int = 0) -> None:
        """Scroll to where an item was left, or to the start of a new one.

        An item that came back after the event ``since`` is new when it is opened first: nothing
        may reveal that it was shown before.
        """
        name = "" if item is None else item.read_as
        if item is not None and since > self._came_back.get(name, 0):
            self._came_back[name] = since
            self._items.pop(name, None)
        found = self._items.get(name)
        self.turn_to(Place() if found is None else found.top)

    def turn_to(self, top: Place) -> None:
        self.top = top
        self.turns += 1

    def unseen(self, item: Item, at: float = math.inf) -> Place | None:
        """Return the passage that must be on screen before a label of the item, or ``None``.

        For a folded input this is its start. A response must have been on screen before ``at``, the
        time at which the label's key was pressed.
        """
        found = self._items.get(item.read_as)
        if found is None:
            return Place(RESPONSES[0], 0, 1)
        for part in found.layout.responses:
            since = found.since.get(part.name)
            if since is None:
                missing = found.missing(part)
                return Place(part.name, missing[0].start, missing[-1].stop)
            if since >= at:
                return Place(part.name, part.starts[-1] if part.starts else 0, part.end)
        asked = found.layout.part("input")
        if asked is not None and asked.folded and item.read_as not in self._asked:
            return Place("input", 0, 1)
        return None

    def folded(self, item: Item) -> frozenset[str]:
        found = self._items.get(item.read_as)
        parts = () if found is None else found.layout.parts
        return frozenset(one.folded for one in parts if one.folded)


class Exposure:
    """Remembers which items and which queue rows were on screen with the panel's answer shown."""

    def __init__(self) -> None:
        self._opened: set[str] = set()
        self._listed: set[int] = set()
        self._stored: set[int] = set()

    def seen(self, keys: Iterable[int]) -> int:
        return len(self._listed.intersection(keys))

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


_NEUTRAL = frozenset({"text", "juror", "run"})
"""The filter conditions that depend on neither a reviewer's actions nor a panel's answers."""


class Repeats:
    """The items that came back, by the log, and how they look until that is revealed.

    A repeat of an earlier session is shown as a repeat. ``share`` is the share of labels that
    come back; with 0, and in an open session, no item comes back.
    """

    def __init__(self, desk: Desk, share: float) -> None:
        self._desk = desk
        self._share = share
        self._start = repeats.newest_event(desk)
        self._log: WorkLog | None = None
        self._active: dict[str, RepeatedItem] = {}
        self._by_key: dict[int, RepeatedItem] = {}
        self._placed: tuple[object, array[int], array[int]] | None = None
        """The queue that was asked for last, with and without the items that came back."""

    def read(self, session: Session) -> None:
        """Read from the log which items of the session's run have come back."""
        wanted = bool(self._share) and session.view.blind
        if not wanted or self._log is None or self._log.run.key != session.run.key:
            self._log = WorkLog(self._desk, session.run, self._share) if wanted else None
            self._active = {}
        if (log := self._log) is not None:
            for item in log.read():
                one = log.repeated(item)
                self._active.pop(item.hex(), None)
                if one is not None and (one.second is None or one.second.key > self._start):
                    self._active[item.hex()] = one
        self._by_key = {key: one for one in self._active.values() for key in one.keys}

    # what comes back

    def facts(self, session: Session, item: Item) -> dict[str, object]:
        """Return the facts that a label of ``item`` must record for later repeats.

        ``told`` says whether the panel's answer follows it, ``again`` is the content, in hex, that
        comes back after it.
        """
        if not session.view.blind:
            return {}
        told = session.feedback is Feedback.AFTER
        return {"told": told, "again": self._after(session, item)}

    def _after(self, session: Session, item: Item) -> str | None:
        """Return the content that comes back after a label of ``item``, or ``None``.

        It comes between two undecided items, in a queue that does not reveal what was labelled.
        """
        if not self._share or item.row.decided:
            return None
        if session.index is None or session.hidden_query:
            return None
        if any(term.kind not in _NEUTRAL for term in parse_filter(session.view.filter).terms()):
            return None
        if self._log is None:
            return None
        due = self._log.due(item.item_hash)
        if session.view.filter:
            waiting = list(due)
            keys = session.keys
            there = {keys[at] for at in places_of(keys, array("q", (key for _, key in waiting)))}
            due = (one for one in waiting if one[1] in there)
        found = next(due, None)
        if found is None:
            return None
        following = self._desk.next_undecided(session.run, session.keys, session.index)
        return None if following in {None, session.index} else found[0]

    def is_blind(self, session: Session, item: Item) -> bool:
        told = item.revealed_at is not None or item.labelled_before or session.hidden_query
        return session.view.blind and not told

    def of(self, key: int) -> RepeatedItem | None:
        """Return the repeat that a label of this verdict would be, or ``None``."""
        return self._by_key.get(key)

    def since(self, item: Item | None) -> int:
        found = None if item is None else self.of(item.row.key)
        return 0 if found is None else found.since

    def placed(self, keys: "array[int]") -> "array[int]":
        """Return the queue with each item that came back placed after the item it followed."""
        moves = [
            (one.key, one.after)
            for one in sorted(self._active.values(), key=lambda one: one.since)
            if one.after is not None
        ]
        if not moves:
            return keys
        held = self._placed
        if held is None or held[0] != moves or held[1] is not keys:
            held = self._placed = moves, keys, moved(keys, moves)
        return held[2]

    @property
    def waiting(self) -> Mapping[int, bool]:
        active = self._active.values()
        return {one.key: one.deferred for one in active if one.second is None}

    # what is shown

    def rows(self, rows: Iterable[QueueRow]) -> list[QueueRow]:
        desk = self._desk
        hidden = self._by_key
        return [self.item(desk.item(row.key)).row if row.key in hidden else row for row in rows]

    def item(self, item: Item) -> Item:
        one = self._by_key.get(item.row.key)
        if one is None:
            return item
        mine = self._desk.reviewer
        history = [self.event(event) for event in item.history if event.key > one.since]
        own = [event for event in history if event.reviewer == mine and not event.undone]
        note = _newest(own, "note") or None
        row = replace(
            item.row,
            label=one.second.label if one.second else None,
            deferred=one.deferred and one.second is None,
            marked=bool(_newest(own, "on")),
            noted=note is not None,
        )
        return replace(
            item,
            row=row,
            note=note,
            revealed_at=next((event.at for event in own if event.kind == "reveal"), None),
            labelled_before=one.second is not None,
            history=tuple(history),
            tags=tuple(_newest(own, "tags") or ()),
        )

    def event(self, event: Event) -> Event:
        """Return an event as it is shown: a repeat that is hidden reads as a label."""
        if event.item_hash not in self._active:
            return event
        detail = dict(event.detail)
        if str(detail.get("was", "")).startswith("repeat "):
            detail["was"] = str(detail["was"]).replace("repeat", "label", 1)
        if "added" in detail:
            detail["note" if event.kind == "note" else "tags"] = detail["added"]
        kind = "label" if event.kind == "repeat" else event.kind
        return replace(event, kind=kind, detail=detail)

    # what is written meanwhile

    def earlier(self, key: int, name: str) -> list[Any] | None:
        """Return the newest value before an item came back, in a list, ``None`` if it did not."""
        one = self._by_key.get(key)
        if one is None:
            return None
        past = [
            event
            for event in self._desk.item(key).history
            if event.key <= one.since and not event.undone
            if event.reviewer == self._desk.reviewer
        ]
        found = _newest(past, name)
        return [] if found is None else [found]


def _newest(events: Sequence[Event], name: str) -> Any:
    return next((one.detail[name] for one in reversed(events) if name in one.detail), None)
