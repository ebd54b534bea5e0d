"""Read one verdict with everything known about it, and prepare events about it."""

from __future__ import annotations

import json
from array import array
from collections.abc import Mapping, Sequence
from itertools import accumulate, chain
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from reviewdesk.desk.open_file import OpenFile
from reviewdesk.desk.team.second_opinions import withheld
from reviewdesk.domain.assessment.result import Assessment
from reviewdesk.domain.canonical import stored_body
from reviewdesk.domain.records import Event, Item, Run
from reviewdesk.domain.tags import normal_tags
from reviewdesk.domain.verdict import Verdict, verdict_reader
from reviewdesk.store import events, labels, queue, runs, verdicts
from reviewdesk.store.events import NewEvent

_MOST_IDS = 200
"""The most ids that a completion offers."""


def item(desk: OpenFile, key: int, run: Run | None = None) -> Item:
    """Read a verdict, recompute it, and add the labels, notes and tags on its content.

    ``run`` is its run, if it is known already.
    """
    # Imported here because it loads numpy.
    from reviewdesk.domain.assessment.assess import assess

    row = verdicts.by_key(desk.conn, key, body=True)
    run = run or runs.by_key(desk.conn, row["run"])
    verdict = _verdict(row, run)
    past = events.history(desk.conn, row["item"])
    # Labels, notes, tags and marks are events: without any there is nothing more to read.
    known = [row["item"]] if past else []
    apart = withheld(desk, known)
    line, note = queue.row_and_note(desk.conn, row, known, desk.reviewer, apart)
    mine = [event for event in past if event.reviewer == desk.reviewer]
    if desk.double is not None and line.label is None:
        past = [one for one in past if _is_told(one, desk.reviewer, hidden=bool(apart))]
    by_author = labels.tags_of_item(desk.conn, row["item"]) if known else {}
    own = by_author.pop(desk.reviewer, ())
    others = {} if apart else by_author
    return Item(
        run=run,
        row=line,
        item_hash=row["item"].hex(),
        verdict=verdict,
        assessment=assess(verdict, escalation_stated=run.escalation_stated),
        same_content=row["same_content"],
        note=note,
        revealed_at=next((event.at for event in mine if event.kind == "reveal"), None),
        labelled_before=any(event.kind == "label" for event in mine),
        history=tuple(past),
        tags=own,
        other_tags=tuple(dict.fromkeys(chain.from_iterable(others.values()))),
        marked=line.marked,
    )


def _is_told(event: Event, reviewer: str, *, hidden: bool) -> bool:
    """Return True if an event may be shown to a reviewer who has not labelled its item.

    Labels of others are never told, not even those that were undone; where what they gave is
    ``hidden``, notes, tags and marks are not either.
    """
    if event.reviewer == reviewer or event.kind.startswith("rerun"):
        return True
    return not hidden and event.kind in {"note", "tags", "mark", "defer"}


def criteria(desk: OpenFile, item: Item) -> list[tuple[str, int]]:
    """Return the names and keys of the criteria by which an item's response is judged.

    They are in file order; empty for an item without a dimension. No label of another criterion
    serves an item: each is an item of its own.
    """
    name = item.dimension
    if name is None or not item.verdict.has_response:
        return []
    base, behind, _ = item.verdict.id.rpartition(f" / {name}")
    return verdicts.criteria(desk.conn, item.run.key, item.row.key, f"{base} / " if behind else "")


def verdict_of(desk: OpenFile, key: int) -> Verdict:
    """Read one verdict as its report states it."""
    row = verdicts.by_key(desk.conn, key, body=True)
    return _verdict(row, runs.by_key(desk.conn, row["run"]))


def _verdict(row: Mapping[str, Any], run: Run) -> Verdict:
    read = verdict_reader(run.header, json.loads(row["options"]))
    return read(stored_body(row["body"]))


def ballot_ends(desk: OpenFile, run: Run) -> array[int]:
    """Return how many ballots there are up to each verdict of the file, itself included."""
    return array("q", accumulate(verdicts.seats(desk.conn, run.key)))


def assessed(desk: OpenFile, run: Run, place: int) -> tuple[Verdict, Assessment]:
    """Read the verdict at a place of the file, from 0, and recompute it."""
    from reviewdesk.domain.assessment.assess import assess

    (row,) = verdicts.window(desk.conn, run.key, place, 1)
    read = verdict_reader(run.header, runs.options(desk.conn, run.key))
    found = read(stored_body(row["body"]))
    return found, assess(found, escalation_stated=run.escalation_stated)


def ids_from(desk: OpenFile, run: Run | None, start: str) -> list[str]:
    """List the first ids that begin with ``start``, of one run or of all runs."""
    found: set[str] = set()
    for one in [run] if run else runs.all_runs(desk.conn):
        found.update(verdicts.ids_from(desk.conn, one.key, start, _MOST_IDS))
    return sorted(found)[:_MOST_IDS]


def about(
    desk: OpenFile, key: int, entry: NewEvent, more_tags: Sequence[str] = ()
) -> tuple[int, NewEvent]:
    """Return the run's key, and the entry with run, verdict and content filled in.

    The entry's tags are the reviewer's tags on the item with ``more_tags`` added.

    Raises:
        NotFoundError: the desk has no verdict with this key.
        UsageError: one of ``more_tags`` is not a valid tag.
    """
    row = verdicts.by_key(desk.conn, key)
    placed = replace(entry, run=row["run_hash"], verdict=row["id"], item=row["item"])
    if more_tags:
        every = dict.fromkeys((*own_tags(desk, placed), *normal_tags(more_tags)))
        placed = replace(placed, detail={**placed.detail, "tags": list(every)})
    return row["run"], placed


def own_tags(desk: OpenFile, entry: NewEvent) -> tuple[str, ...]:
    """Return the reviewer's tags on the item of an entry."""
    return labels.tags_of_item(desk.conn, entry.item or b"").get(desk.reviewer, ())


def undo_event(desk: OpenFile, kind: str, action: int) -> NewEvent:
    """Build the event that undoes or redoes an action, with a description of that action."""
    first, count = events.of_action(desk.conn, desk.reviewer, action)
    many = f"import of {count} labels" if first.detail.get("imported") else f"{count} labels"
    was = many if count > 1 else _event_words(first)
    return NewEvent(
        kind,
        desk.at(),
        run=first.run,
        verdict=first.verdict,
        item=bytes.fromhex(first.item_hash) if first.item_hash else None,
        detail={"was": was, "count": count},
        target=action,
    )


def _event_words(event: Event) -> str:
    """Describe in a few words what an event did."""
    if event.kind == "mark":
        return "mark" if event.detail["on"] else "unmark"
    if event.kind == "tags":
        return f"tags {', '.join(event.detail['tags']) or 'cleared'}"
    return f"{event.kind} {event.label}" if event.label else event.kind


class OtherRunVerdict(Struct, frozen=True):
    """A verdict of another run on the same content."""

    run: Run
    key: int


class Flips(Struct, frozen=True):
    """Counts of the items that two runs share, and of those on which their decisions differ."""

    shared: int
    flipped: int


def other_runs(desk: OpenFile, key: int) -> list[OtherRunVerdict]:
    """Return the verdicts of other loaded runs on the same content, the newest run first."""
    found = verdicts.in_other_runs(desk.conn, key)
    return [OtherRunVerdict(runs.by_key(desk.conn, run), other) for run, other in found]


def flips(desk: OpenFile, run: Run, other: Run) -> Flips:
    """Count the contents that both runs judged, and those on which their decisions differ."""
    return Flips(*verdicts.flips(desk.conn, run.key, other.key))
