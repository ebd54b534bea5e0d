"""Items that a blind session gives a second time: what comes back, and the second labels.

A label after which an item comes back names its content, so that the log alone shows what is due.
"""

import hashlib
import math
from bisect import bisect_left
from collections.abc import Iterator, Sequence

from msgspec import Struct

from reviewdesk.desk.core import Desk
from reviewdesk.desk.review.edits import Edit
from reviewdesk.domain.labels.team import repeats_due
from reviewdesk.domain.records import Event, Run, Truth, View
from reviewdesk.store import verdicts
from reviewdesk.store.events import desk_id, newest_key, of_reviewer


class RepeatedItem(Struct, frozen=True):
    """One item that came back after the label with the key ``since``, of the verdict ``after``.

    ``key`` was labelled first, ``second`` is its newest repeat. It is not ``blind`` if the panel's
    answer was seen or told with the first label.
    """

    item: str
    key: int
    keys: frozenset[int]
    since: int
    after: int | None
    blind: bool
    deferred: bool
    second: Event | None


class WorkLog:
    """What a reviewer labelled, repeated and deferred in a run; a ``share`` of it comes back."""

    def __init__(self, desk: Desk, run: Run, share: float = 0) -> None:
        self.run = run
        self._desk = desk
        self._seq = 0
        text = "\n".join(("repeat", desk_id(desk.conn), run.seed, desk.reviewer))
        self._seed = hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()
        self._share = share
        self._given: list[Event] = []
        self._undone: set[int] = set()
        self._of_item: dict[bytes, list[Event]] = {}
        """The events that stand, oldest first, by item."""
        self._newest: dict[bytes, Event] = {}
        self._labels: list[int] = []
        """Each item's newest label, and the keys of all labels that stand."""
        self._came: dict[bytes, Event] = {}
        """The newest label that each item came back after."""
        self._verdicts: dict[bytes, dict[str, int]] = {}

    def read(self) -> set[bytes]:
        """Read the new events; return the items whose repeats they may concern."""
        added: list[Event] = []
        touched: set[bytes] = set()
        turned = False
        for event in of_reviewer(self._desk.conn, self._desk.reviewer, self._seq):
            self._seq = event.seq
            is_shown = event.detail.get("blind") is not None and "imported" not in event.detail
            is_given = event.kind == "defer" or (event.kind in {"label", "repeat"} and is_shown)
            if is_given and event.run == self.run.hash and event.author == event.reviewer:
                added.append(event)
            if event.target is not None:
                turn = self._undone.add if event.kind == "undo" else self._undone.discard
                turn(event.target)
                turned = True
        self._given += added
        if turned:
            touched |= self._of_item.keys() | self._came.keys()
            for held in (self._of_item, self._newest, self._labels, self._came):
                held.clear()
            added = self._given
        for event in added:
            if event.action not in self._undone:
                touched |= self._add(event)
        return touched

    def _add(self, event: Event) -> set[bytes]:
        item = _item(event)
        self._of_item.setdefault(item, []).append(event)
        if event.kind == "label":
            self._newest[item] = event
            self._labels.append(event.key)
        if not (again := event.detail.get("again")):
            return {item}
        self._came[bytes.fromhex(again)] = event
        return {item, bytes.fromhex(again)}

    def due(self, label_of: str) -> Iterator[tuple[str, int]]:
        """Yield hash and key of items that may come back, the one that waits longest first."""
        newest = self._newest
        places = {item: one.key for item, one in newest.items()}
        offered = {
            item for item, one in newest.items() if one.detail["blind"] and item not in self._came
        }
        # All labels count if no item came back yet.
        last = max((one.key for one in self._came.values()), default=0)
        rest = len(self._labels) - bisect_left(self._labels, last) + (not last)
        for item in repeats_due(places, offered, rest, self._seed, self._share):
            key = self._keys(item).get(newest[item].verdict or "")
            if key is not None and item.hex() != label_of:
                yield item.hex(), key

    def repeated(self, item: bytes) -> RepeatedItem | None:
        """Return an item that came back; ``None`` if it did not, or its first label is gone."""
        if (came := self._came.get(item)) is None:
            return None
        log = self._of_item.get(item, [])
        first = _newest(log, "label", came.key)
        keys = self._keys(item)
        if first is None or first.verdict not in keys:
            return None
        later = [event for event in log if event.key > came.key]
        return RepeatedItem(
            item=item.hex(),
            key=keys[first.verdict],
            keys=frozenset(keys.values()),
            since=came.key,
            after=self._keys(_item(came)).get(came.verdict or ""),
            blind=first.detail.get("blind") is True and first.detail.get("told") is False,
            deferred=any(event.kind == "defer" for event in later),
            second=_newest(later, "repeat"),
        )

    def _keys(self, item: bytes) -> dict[str, int]:
        if item not in self._verdicts:
            self._verdicts[item] = verdicts.keys_of_item(self._desk.conn, self.run.key, item)
        return self._verdicts[item]

    def pairs(self) -> list[tuple[Truth, Truth]]:
        """Return the first label and the newest repeat of each item, in the order of the latter."""
        logs = self._of_item.values()
        seconds = [second for log in logs if (second := _newest(log, "repeat"))]
        found = []
        for second in sorted(seconds, key=lambda one: one.key):
            first = _newest(self._of_item[_item(second)], "label", second.key)
            if first is not None and first.label and second.label:
                found.append((first.label, second.label))
        return found


def _item(event: Event) -> bytes:
    return bytes.fromhex(event.item_hash or "")


def _newest(log: Sequence[Event], kind: str, before: float = math.inf) -> Event | None:
    found = (one for one in reversed(log) if one.kind == kind and one.key < before)
    return next(found, None)


def second_label(key: int, truth: Truth, view: View | None, *, blind: bool, unseen: bool) -> Edit:
    """Return a second label of an item, which only measures the reviewer."""
    # Items come back on screen only, where a label key waits for the response to be seen.
    facts = {"blind": blind, "unseen": unseen, "seen": True}
    return Edit("repeat", key, facts, truth, view=view)


def newest_event(desk: Desk) -> int:
    return newest_key(desk.conn)
