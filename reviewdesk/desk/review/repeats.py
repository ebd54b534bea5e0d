"""Items that a blind session gives a second time: what comes back, and the second labels.

A label after which an item comes back names its content, so that the log alone shows what is due.
"""

import hashlib
import math
from bisect import bisect_left, insort
from collections.abc import Callable, Iterator, Sequence
from operator import attrgetter
from typing import TypeVar

from msgspec import Struct

from reviewdesk.desk.core import Desk
from reviewdesk.desk.review.edits import Edit
from reviewdesk.domain.labels.team import LabelPair, repeats_due
from reviewdesk.domain.records import Event, Run, Truth, View
from reviewdesk.store import verdicts
from reviewdesk.store.events import desk_id, newest_key, of_reviewer

T = TypeVar("T")
_key = attrgetter("key")


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
        self._newest: dict[bytes, int] = {}
        """The key of each item's newest label."""
        self._offered: set[bytes] = set()
        """The items that may come back."""
        self._actions: dict[int, list[Event]] = {}
        self._of_item: dict[bytes, list[Event]] = {}
        """The events that stand, oldest first, by item."""
        self._labels: list[int] = []
        self._after: list[int] = []
        """The keys of all labels that stand, and of those that an item came back after."""
        self._came: dict[bytes, list[Event]] = {}
        """The labels that each item came back after."""
        self._verdicts: dict[bytes, dict[str, int]] = {}

    def read(self) -> set[bytes]:
        """Read the new events; return the items whose repeats they may concern."""
        touched: set[bytes] = set()
        for event in of_reviewer(self._desk.conn, self._desk.reviewer, self._seq):
            self._seq = event.seq
            is_shown = event.detail.get("blind") is not None and "imported" not in event.detail
            is_given = event.kind == "defer" or (event.kind in {"label", "repeat"} and is_shown)
            if is_given and event.run == self.run.hash and event.author == event.reviewer:
                self._actions.setdefault(event.action, []).append(event)
                self._turn(event, touched, stands=True)
            for one in self._actions.get(event.target or 0, ()):
                self._turn(one, touched, stands=event.kind == "redo")
        return touched

    def _turn(self, event: Event, touched: set[bytes], *, stands: bool) -> None:
        own = _item(event)
        log = self._of_item.setdefault(own, [])
        if stands is (event in log):
            return
        _put(log, event, by=_key, stands=stands)
        if event.kind == "label":
            _put(self._labels, event.key, by=int, stands=stands)
            self._newest.pop(own, None)
            if newest := _newest(log, "label"):
                self._newest[own] = newest.key
        if again := event.detail.get("again"):
            item = bytes.fromhex(again)
            _put(self._after, event.key, by=int, stands=stands)
            _put(self._came.setdefault(item, []), event, by=_key, stands=stands)
            touched.add(item)
            self._offer(item)
        touched.add(own)
        self._offer(own)

    def _offer(self, item: bytes) -> None:
        newest = _newest(self._of_item.get(item, []), "label")
        offered = newest and newest.detail.get("blind") and not self._came.get(item)
        (self._offered.add if offered else self._offered.discard)(item)

    def due(self, label_of: str) -> Iterator[tuple[str, int]]:
        """Yield hash and key of items that may come back, the one that waits longest first."""
        count = len(self._labels)
        last = self._after[-1:]
        rest = count - bisect_left(self._labels, last[0]) if last else count + 1
        for item in repeats_due(self._newest, self._offered, rest, self._seed, self._share):
            first = _newest(self._of_item[item], "label")
            key = None if first is None else self._keys(item).get(first.verdict or "")
            if key is not None and item.hex() != label_of:
                yield item.hex(), key

    def repeated(self, item: bytes) -> RepeatedItem | None:
        """Return an item that came back; ``None`` if it did not come back."""
        if not (all_ := self._came.get(item)):
            return None
        came = all_[-1]
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

    def pairs(self) -> list[LabelPair]:
        logs = self._of_item.values()
        seconds = [second for log in logs if (second := _newest(log, "repeat"))]
        found = []
        for second in sorted(seconds, key=_key):
            first = _newest(self._of_item[_item(second)], "label", second.key)
            if first is not None and first.label and second.label:
                found.append(
                    LabelPair(first.label, second.label, bool(second.detail.get("unseen")))
                )
        return found


def _put(log: list[T], one: T, *, by: Callable[[T], int], stands: bool) -> None:
    if stands:
        insort(log, one, key=by)
    else:
        del log[bisect_left(log, by(one), key=by)]


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
