"""The label log: each event is appended to its reviewer's chain, and no event is ever changed."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, takewhile
from typing import Any

from msgspec import Struct, field

from reviewdesk.domain.labels.chain import COUNTED, DESK, STANDING, ChainEvent, event_hash
from reviewdesk.domain.records import Applied, Event, Head, Truth
from reviewdesk.domain.verdict import canonical_json
from reviewdesk.store import label_state
from reviewdesk.store.connect import (
    ExplainedConnection,
    first_column,
    insert,
    lookup,
    record,
    value,
)

_KINDS = ", ".join(f"'{kind}'" for kind in STANDING)


class NewEvent(Struct, frozen=True):
    """An event that has no place in a chain yet.

    ``author`` is the person who made the judgement: the reviewer, unless a labels file names
    another.
    """

    kind: str
    at: str
    run: str | None = None
    verdict: str | None = None
    item: bytes | None = None
    label: Truth | None = None
    author: str | None = None
    detail: Mapping[str, Any] = field(default_factory=dict)
    target: int | None = None


def desk_id(conn: sqlite3.Connection) -> str:
    """Return the id of this desk, which is part of every chain's key."""
    return str(value(conn, "SELECT value FROM meta WHERE key = 'desk_id'"))


def append(conn: sqlite3.Connection, reviewer: str, entries: list[NewEvent]) -> Applied:
    """Append entries as one action, so that one undo takes all of them back.

    Must run inside a write transaction, because the next number and the previous hash are read and
    used under its lock.
    """
    # Events carry no counters while a migration is on its way to them.
    counters = f"ifnull(({label_state.ENDS}), 0)" if label_state.are_kept(conn) else "NULL"
    last = "FROM label_events WHERE desk = value AND reviewer = ?1 ORDER BY seq DESC LIMIT 1"
    desk, seq, previous, counter = conn.execute(
        f"""SELECT value, ifnull((SELECT seq {last}), 0), ifnull((SELECT hash {last}), ''),
                   {counters}
            FROM meta WHERE key = 'desk_id'""",
        (reviewer,),
    ).fetchone()
    action = seq + 1
    written = []
    for entry in entries:
        seq = seq + 1
        detail = dict(entry.detail)
        if counter is not None:
            counter = detail["counter"] = counter + 1
        row = {
            "desk": desk,
            "reviewer": reviewer,
            "seq": seq,
            "kind": entry.kind,
            "at": entry.at,
            "run": entry.run,
            "verdict": entry.verdict,
            "item": entry.item,
            "label": None if entry.label is None else entry.label.value,
            "author": entry.author or reviewer,
            "tentative": 0,  # from older versions; it is part of the hash
            "detail": canonical_json(detail).decode(),
            "action": action,
            "target": entry.target,
            "prev_hash": previous,
        }
        previous = row["hash"] = event_hash(row)
        written.append(to_event({**row, "key": insert(conn, "label_events", row)}))
    if isinstance(conn, ExplainedConnection) and reviewer != DESK:
        conn.appended += len(written)
    marks = label_state.follow(conn, changed_items(conn, desk, reviewer, entries))
    return Applied(tuple(written), Head(written[-1].key, previous), marks)


def changed_items(
    conn: sqlite3.Connection, desk: str, reviewer: str, entries: Sequence[NewEvent | ChainEvent]
) -> set[bytes]:
    """Return the items whose state some events of a reviewer change."""
    found = {e.item for e in entries if e.kind in STANDING and e.item is not None}
    for entry in entries:
        if entry.target is not None:
            found |= _items_of_action(conn, desk, reviewer, entry.target)
    return found


def to_event(row: Mapping[str, Any] | sqlite3.Row, *, undone: bool = False) -> Event:
    """Build an event record from a stored row, without its counter, which is not part of it."""
    detail = json.loads(row["detail"])
    detail.pop("counter", None)
    return record(
        Event,
        row,
        item_hash=row["item"].hex() if row["item"] is not None else None,
        detail=detail,
        undone=undone,
    )


def of_desk(conn: sqlite3.Connection, *kinds: str) -> Iterator[Event]:
    """Yield the events of these kinds that this desk itself recorded, oldest first."""
    marks = ", ".join("?" * len(kinds))
    rows = conn.execute(
        f"""SELECT * FROM label_events WHERE desk = ? AND reviewer = ? AND kind IN ({marks})
            ORDER BY seq""",
        (desk_id(conn), DESK, *kinds),
    )
    yield from map(to_event, rows)


def next_undo(conn: sqlite3.Connection, reviewer: str) -> int | None:
    """Return the reviewer's newest action that still stands, or ``None``."""
    query = """SELECT action FROM standing_events WHERE desk = ? AND reviewer = ? AND seq = action
               ORDER BY seq DESC LIMIT 1"""
    found: int | None = lookup(conn, query, (desk_id(conn), reviewer))
    return found


def next_redo(conn: sqlite3.Connection, reviewer: str) -> int | None:
    """Return the action that a redo brings back: the oldest one undone since the last new action.

    Undoing goes backwards, so the oldest was undone last. An action undone before a new one stays
    undone, so a new label clears redo without further work.
    """
    found: int | None = value(
        conn,
        f"""SELECT min(u.target) FROM label_events u
           WHERE u.desk = :desk AND u.reviewer = :reviewer AND u.kind = 'undo'
             AND u.seq > (SELECT max(seq) FROM label_events
                          WHERE desk = u.desk AND reviewer = u.reviewer
                            AND kind IN ({_KINDS}))
             AND u.seq = (SELECT max(seq) FROM label_events
                          WHERE target = u.target AND desk = u.desk AND reviewer = u.reviewer)""",
        {"desk": desk_id(conn), "reviewer": reviewer},
    )
    return found


_OWN = f"""FROM label_events
          WHERE desk = ? AND reviewer = ? AND kind IN ({_KINDS}, 'undo', 'redo')"""


def last_action(conn: sqlite3.Connection, reviewer: str) -> str:
    """Return the hash of a reviewer's last event, even an undo or redo; empty without events."""
    query = f"SELECT hash {_OWN} ORDER BY seq DESC LIMIT 1"
    return lookup(conn, query, (desk_id(conn), reviewer)) or ""


def actions_after(conn: sqlite3.Connection, reviewer: str, last: str) -> list[str | None] | None:
    """Return the ``once`` facts of a reviewer's actions since the event with the hash ``last``.

    The result is ``None`` if no event has this hash.
    """
    whose = desk_id(conn), reviewer
    seq = lookup(conn, f"SELECT seq {_OWN} AND hash = ?", (*whose, last))
    if seq is None and last:
        return None
    query = f"SELECT json_extract(detail, '$.once') {_OWN} AND seq > ? ORDER BY seq"
    return first_column(conn, query, (*whose, seq or 0))


def newest_key(conn: sqlite3.Connection) -> int:
    """Return the key of the newest event of all reviewers, or 0 if the log is empty."""
    query = "SELECT key FROM label_events WHERE reviewer <> ? ORDER BY key DESC LIMIT 1"
    return lookup(conn, query, (DESK,)) or 0


def count_after(conn: sqlite3.Connection, key: int) -> int:
    """Count the events of all reviewers after the event ``key``."""
    query = "SELECT count(*) FROM label_events WHERE key > ? AND reviewer <> ?"
    return int(value(conn, query, (key, DESK)))


def by_key(conn: sqlite3.Connection, key: int) -> Event:
    """Return the event with this key, which must exist."""
    return to_event(conn.execute("SELECT * FROM label_events WHERE key = ?", (key,)).fetchone())


def of_action(conn: sqlite3.Connection, reviewer: str, action: int) -> tuple[Event, int]:
    """Return the first event that was appended as one action, and the number of its events."""
    rows = _rows_of_action(conn, desk_id(conn), reviewer, action)
    return to_event(next(rows)), 1 + sum(1 for _ in rows)


def _rows_of_action(
    conn: sqlite3.Connection, desk: str, reviewer: str, action: int
) -> Iterator[sqlite3.Row]:
    """Yield the events of an action, which follow each other in their chain."""
    rows = conn.execute(
        "SELECT * FROM label_events WHERE desk = ? AND reviewer = ? AND seq >= ? ORDER BY seq",
        (desk, reviewer, action),
    )
    return takewhile(lambda row: bool(row["action"] == action), rows)


def import_of(conn: sqlite3.Connection, reviewer: str, action: int) -> str | None:
    """Return the fact that all batches of an action's import share; ``None`` without an import."""
    found: str | None = of_action(conn, reviewer, action)[0].detail.get("import")
    return found


def batches(conn: sqlite3.Connection, reviewer: str, action: int) -> list[int]:
    """Return the actions of the import that an action is part of."""
    query = """SELECT action FROM label_events WHERE desk = ? AND reviewer = ? AND seq = action
                 AND json_extract(detail, '$.import') = ? ORDER BY seq"""
    return first_column(conn, query, (desk_id(conn), reviewer, import_of(conn, reviewer, action)))


def is_undone(conn: sqlite3.Connection, reviewer: str, action: int) -> bool:
    """Return True if an action was taken back and not brought back since."""
    query = """SELECT kind FROM label_events WHERE target = ? AND desk = ? AND reviewer = ?
               ORDER BY seq DESC LIMIT 1"""
    return bool(lookup(conn, query, (action, desk_id(conn), reviewer)) == "undo")


_EVENTS = f"""SELECT e.*, e.kind IN ({_KINDS}) AND NOT EXISTS (
                    SELECT 1 FROM standing_events s WHERE s.key = e.key) AS undone
             FROM label_events e"""


def history(conn: sqlite3.Connection, item: bytes) -> list[Event]:
    """Return all events about an item, oldest first, each marked if it was undone.

    Events of several desks are in the order of their counters, which do not depend on clocks.
    """
    order = f"{label_state.COUNTER}, e.desk, e.reviewer, e.seq"
    return _to_events(conn.execute(f"{_EVENTS} WHERE e.item = ? ORDER BY {order}", (item,)))


def newest_label(conn: sqlite3.Connection, reviewer: str, run: str) -> Event | None:
    """Return the last label that a reviewer gave in a run, undone or not; imports do not count.

    The second label of an item counts, because it must look the same as a first one.
    """
    rows = conn.execute(
        f"""{_EVENTS} WHERE e.desk = ? AND e.reviewer = ? AND e.run = ?
              AND e.kind IN ('label', 'repeat')
              AND json_extract(e.detail, '$.imported') IS NULL ORDER BY e.seq DESC LIMIT 1""",
        (desk_id(conn), reviewer, run),
    )
    return next(iter(_to_events(rows)), None)


def _to_events(rows: sqlite3.Cursor) -> list[Event]:
    return [to_event(row, undone=bool(row["undone"])) for row in rows]


def head(conn: sqlite3.Connection) -> Head:
    """Return the newest event of the log."""
    row = conn.execute("SELECT key, hash FROM label_events ORDER BY key DESC LIMIT 1").fetchone()
    return Head(row["key"], row["hash"]) if row else Head()


def any_before(conn: sqlite3.Connection, key: int, day: str) -> bool:
    """Return True if a person did something after the event ``key``, before a day (YYYY-MM-DD)."""
    query = f"SELECT 1 FROM label_events WHERE key > ? AND at < ? AND kind IN ({_KINDS}) LIMIT 1"
    return lookup(conn, query, (key, day)) is not None


def holds(conn: sqlite3.Connection, seen: Head) -> bool:
    """Return True if ``seen`` was once the newest event of this log."""
    found = lookup(conn, "SELECT hash FROM label_events WHERE key = ?", (seen.key,))
    return bool(found == seen.hash) if found else seen == Head()


def touched(
    conn: sqlite3.Connection, seen: Head, limit: int, reviewer: str
) -> tuple[Head, set[bytes], set[bytes]] | None:
    """Return the newest event, and the items whose labels may have changed since ``seen``.

    The first set holds those that only ``reviewer`` has labelled or revealed since, the second all
    others. The result is ``None`` if ``seen`` was never the newest event of this log, or if more
    than ``limit`` events or items were added.
    """
    rows = conn.execute(
        """SELECT key, hash, kind, desk, reviewer, item, target FROM label_events
           WHERE key >= ? ORDER BY key LIMIT ?""",
        (seen.key, limit + 2),
    ).fetchall()
    if seen.key and (not rows or (rows[0]["key"], rows[0]["hash"]) != (seen.key, seen.hash)):
        return None
    added = rows[1:] if seen.key else rows
    own: set[bytes] = set()
    others: set[bytes] = set()
    for row in added:
        if row["kind"] in {"label", "adjudicate", "reveal"}:
            (own if row["reviewer"] == reviewer else others).add(row["item"])
        elif row["target"] is not None:
            place = (row["desk"], row["reviewer"], row["target"])
            others |= _items_of_action(conn, *place, limit + 1)
        if len(own | others) > limit:
            return None
    if len(added) > limit:
        return None
    newest = Head(rows[-1]["key"], rows[-1]["hash"]) if rows else Head()
    return newest, own - others, others


def add_counters(conn: sqlite3.Connection) -> None:
    """Number the events, so that the order of several desks' events does not depend on clocks.

    Existing events keep their hashes: their counters are their places in the log, which one new
    event holds.
    """
    conn.execute(label_state.PLACES)
    conn.execute("INSERT INTO event_places SELECT key, key FROM label_events")
    # Key and seq grow alike as long as one chain continues without a gap in the keys.
    desk = desk_id(conn)
    spans = conn.execute(
        """SELECT reviewer, min(seq), min(key) FROM label_events WHERE desk = ?
           GROUP BY reviewer, key - seq ORDER BY reviewer, min(seq)""",
        (desk,),
    )
    places: dict[str, dict[str, Any]] = {}
    for reviewer, seq, key in spans.fetchall():
        places.setdefault(reviewer, {"places": []})["places"].append([seq, key])
    last = "SELECT seq, hash FROM label_events WHERE desk = ? AND reviewer = ? ORDER BY seq DESC"
    for reviewer, found in places.items():
        found |= dict(conn.execute(f"{last} LIMIT 1", (desk, reviewer)).fetchone())
    if places:
        at = value(conn, "SELECT at FROM migrations WHERE name = 'add_counters'")
        append(conn, DESK, [NewEvent(COUNTED, at, detail={"chains": places})])


def _items_of_action(
    conn: sqlite3.Connection, desk: str, reviewer: str, action: int, limit: int | None = None
) -> set[bytes]:
    """Return the items of an action, of at most ``limit`` events."""
    rows = islice(_rows_of_action(conn, desk, reviewer, action), limit)
    return {row["item"] for row in rows if row["item"] is not None}
