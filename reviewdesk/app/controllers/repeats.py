"""Items that a blind session gives a second time, without a sign that they are not new."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from reviewdesk.app.controllers.state import Session
from reviewdesk.desk import Desk
from reviewdesk.desk.review import repeats
from reviewdesk.desk.review.repeats import RepeatedItem, WorkLog
from reviewdesk.domain.query.filter import parse_filter
from reviewdesk.domain.query.places import moved, places_of
from reviewdesk.domain.records import Event, Item, QueueRow
from reviewdesk.settings import Feedback

_NEUTRAL = frozenset({"text", "juror", "run"})
"""The conditions of a filter that depend on nothing a reviewer did or a panel answered."""


class Repeats:
    """The items that came back, as the log tells them, and how they look until they are told.

    A repeat of an earlier session is shown as what it is. ``share`` is the share of labels that
    come back; with 0, and in an open session, nothing does.
    """

    def __init__(self, desk: Desk, share: float) -> None:
        self._desk = desk
        self._share = share
        self._start = repeats.newest_event(desk)
        self._log: WorkLog | None = None
        self._came: dict[str, RepeatedItem] = {}
        self._active: dict[str, RepeatedItem] = {}
        self._by_key: dict[int, RepeatedItem] = {}
        self._placed: tuple[object, array[int], array[int]] | None = None
        """The queue that was asked for last, with and without the items that came back."""

    def read(self, session: Session) -> None:
        """Follow the log: which items of the session's run have come back."""
        self._active = {}
        if self._share and session.view.blind:
            if self._log is None or self._log.run.key != session.run.key:
                self._log = WorkLog(self._desk, session.run, self._share)
                self._came = {}
            for item in self._log.read():
                one = self._log.repeated(item)
                self._came.pop(item.hex(), None)
                if one is not None and (one.second is None or one.second.key > self._start):
                    self._came[item.hex()] = one
            self._active = self._came
        self._by_key = {key: one for one in self._active.values() for key in one.keys}

    # what comes back

    def facts(self, session: Session, item: Item) -> dict[str, object]:
        """Return what a label of ``item`` must say for later repeats.

        ``told`` is whether the panel's answer is told after it, ``again`` the content, in hex, that
        comes back after it.
        """
        if not session.view.blind:
            return {}
        told = session.feedback is Feedback.AFTER
        return {"told": told, "again": self._after(session, item)}

    def _after(self, session: Session, item: Item) -> str | None:
        """Return the content that comes back after a label of ``item``, if any does.

        It comes between two undecided items of a queue that does not tell what was labelled.
        """
        if not self._share or item.row.decided:
            return None
        if session.index is None or session.hidden_query or not _neutral(session.view.filter):
            return None
        if self._log is None or not session.whole:
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

    def placed(self, keys: array[int]) -> array[int]:
        """Return the queue with each item that came back behind the one it came after."""
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
        """Return an item with what is shown of it."""
        one = self._by_key.get(item.row.key)
        if one is None:
            return item
        mine = self._desk.reviewer
        history = [self.event(event) for event in item.history if event.key > one.since]
        own = [event for event in history if event.reviewer == mine and not event.undone]
        marked = bool(_newest(own, "on"))
        note = _newest(own, "note") or None
        row = replace(
            item.row,
            label=one.second.label if one.second else None,
            deferred=one.deferred and one.second is None,
            marked=marked,
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
            marked=marked,
        )

    def events(self, events: Sequence[Event]) -> list[Event]:
        """Return the reviewer's events without those before an item came back."""
        return [
            self.event(event)
            for event in events
            if not (one := self._active.get(event.item_hash or "")) or event.key > one.since
        ]

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

    def whole_note(self, key: int, text: str) -> str | None:
        earlier = self._earlier(key, "note")
        return None if earlier is None else "\n\n".join(part for part in (*earlier, text) if part)

    def whole_tags(self, key: int, tags: Sequence[str]) -> list[str] | None:
        """Return the tags given to an item that came back, with its earlier tags."""
        earlier = self._earlier(key, "tags")
        if earlier is None:
            return None
        return list(dict.fromkeys([*(tag for given in earlier for tag in given), *tags]))

    def _earlier(self, key: int, name: str) -> list[Any] | None:
        """Return the newest value of a detail before an item came back, as a list of one or none.

        ``None`` if the item did not come back.
        """
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


def _neutral(text: str) -> bool:
    return all(term.kind in _NEUTRAL for term in parse_filter(text).terms())
