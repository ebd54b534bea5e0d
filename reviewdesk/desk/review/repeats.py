"""Items that a blind session gives a second time: what comes back, and the second labels.

A label that an item comes back after names its content, so that the log alone tells what is due.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from reviewdesk.desk.review import items
from reviewdesk.domain.labels.repeats import LabelPair, next_repeat
from reviewdesk.domain.records import Event, Run, Truth, View
from reviewdesk.store import reviewer, verdicts
from reviewdesk.store.connect import writing
from reviewdesk.store.events import NewEvent, WorkEvent, append, desk_id, newest_key, work

if TYPE_CHECKING:
    from reviewdesk.desk.core import Desk


@dataclass(frozen=True, slots=True)
class RepeatedItem:
    """One item that came back after the label with the key ``since``, of the verdict ``after``.

    ``keys`` are all verdicts of its content, ``key`` the one that was labelled. ``second`` is its
    newest repeat, ``None`` until it has one. ``blind`` is False if the panel's answer was seen or
    told with the first label.
    """

    item: str
    key: int
    keys: frozenset[int]
    since: int
    after: int | None
    blind: bool
    deferred: bool
    second: WorkEvent | None


def repeated_items(desk: Desk, run: Run, since: int = 0) -> list[RepeatedItem]:
    """Return the items of a run that came back to the desk's reviewer, in that order.

    Those whose second label was given by the event ``since`` or before are left out.
    """
    log = work(desk.conn, desk.reviewer, run.hash)
    of_items = _by_item(log)
    found = []
    for came in log:
        if came.again:
            one = _repeated_item(desk, run, of_items.get(bytes.fromhex(came.again), []), came)
            if one is not None and (one.second is None or one.second.key > since):
                found.append(one)
    return found


def _by_item(log: Sequence[WorkEvent]) -> dict[bytes, list[WorkEvent]]:
    found: dict[bytes, list[WorkEvent]] = {}
    for event in log:
        found.setdefault(event.item, []).append(event)
    return found


def _repeated_item(
    desk: Desk, run: Run, of_item: Sequence[WorkEvent], came: WorkEvent
) -> RepeatedItem | None:
    first = _first_label(of_item, came.key)
    keys = {} if first is None else verdicts.keys_of_item(desk.conn, run.key, first.item)
    if first is None or first.verdict not in keys:
        return None
    later = [event for event in of_item if event.key > came.key]
    return RepeatedItem(
        item=first.item.hex(),
        key=keys[first.verdict],
        keys=frozenset(keys.values()),
        since=came.key,
        after=verdicts.keys_of_item(desk.conn, run.key, came.item).get(came.verdict),
        blind=first.blind is True and first.told is False,
        deferred=any(event.kind == "defer" for event in later),
        second=next((event for event in reversed(later) if event.kind == "repeat"), None),
    )


def _first_label(of_item: Sequence[WorkEvent], before: int) -> WorkEvent | None:
    """Return the newest label of an item before an event."""
    past = [event for event in of_item if event.kind == "label" and event.key < before]
    return past[-1] if past else None


def due(desk: Desk, run: Run, label_of: int, share: float) -> list[tuple[str, int]]:
    """Return the items that may come back after a label of the verdict ``label_of``.

    Each is its content's hash and its verdict's key; the one that waits longest comes first.
    """
    log = work(desk.conn, desk.reviewer, run.hash)
    labels = [event for event in log if event.kind == "label"]
    newest = {event.item: event for event in labels}
    order = sorted(newest.values(), key=lambda event: event.key)
    drawn = [place for place, event in enumerate(labels) if event.again]
    rest = len(labels) - drawn[-1] if drawn else len(labels) + 1
    used = {bytes.fromhex(event.again) for event in log if event.again}
    found = []
    # The label that is being given counts as one more, at the end.
    contents = [*(event.item for event in order), b""]
    for item in next_repeat(contents, used, rest, _seed(desk, run), share):
        first = newest[item]
        here = verdicts.keys_of_item(desk.conn, run.key, item)
        if first.blind and first.verdict in here and label_of not in here.values():
            found.append((item.hex(), here[first.verdict]))
    return found


def _seed(desk: Desk, run: Run) -> str:
    """Return the key of the draw, of which the desk's id is on no screen."""
    text = "\n".join(("repeat", desk_id(desk.conn), run.seed, desk.reviewer))
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()


@dataclass(frozen=True, slots=True)
class SecondLabel:
    """A second label of an item; ``blind`` if the panel's answer was hidden since it came back.

    ``unseen`` says that it was never seen at all, not even after the first label.
    """

    truth: Truth
    tentative: bool
    blind: bool
    unseen: bool


def repeat(desk: Desk, key: int, given: SecondLabel, view: View) -> Event:
    """Record a second label of an item, which is no label: it only measures the reviewer."""
    # Items come back on screen only, where a label key waits for the response to be seen.
    facts = {"blind": given.blind, "unseen": given.unseen, "seen": True}
    entry = NewEvent(
        "repeat", desk.at(), label=given.truth, tentative=given.tentative, detail=facts
    )
    with writing(desk.conn, desk.path):
        run, about = items.about(desk, key, entry)
        reviewer.save_view(desk.conn, run, desk.reviewer, view)
        return append(desk.conn, desk.reviewer, [about])[0]


def note(desk: Desk, key: int, whole: str, added: str) -> Event:
    """Write a note on an item that came back; ``added`` is the part written since then."""
    entry = NewEvent("note", desk.at(), detail={"note": whole, "added": added})
    with writing(desk.conn, desk.path):
        return append(desk.conn, desk.reviewer, [items.about(desk, key, entry)[1]])[0]


def newest_event(desk: Desk) -> int:
    """Return the key of the newest event of all reviewers, or 0 if there is none."""
    return newest_key(desk.conn)


def newest_labels(desk: Desk, run: Run) -> list[bytes]:
    """Return the contents that the reviewer labelled on screen, by their newest labels."""
    log = work(desk.conn, desk.reviewer, run.hash)
    newest = {event.item: event.key for event in log if event.kind == "label"}
    return sorted(newest, key=newest.__getitem__)


def label_pairs(desk: Desk, run: Run) -> list[LabelPair]:
    """Return both labels of every item that has a repeat, in the order of the repeats."""
    log = work(desk.conn, desk.reviewer, run.hash)
    newest = {event.item: event for event in log if event.kind == "repeat"}
    of_items = _by_item(log)
    pairs = []
    for second in sorted(newest.values(), key=lambda event: event.key):
        first = _first_label(of_items[second.item], second.key)
        if first is not None and first.label and second.label:
            pairs.append(LabelPair(first.label, second.label, second.unseen))
    return pairs
