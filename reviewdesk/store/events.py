"""The label log: each event is appended to its reviewer's chain, and no event is ever changed.

The current state of the labels is kept beside the log, from which it can be replayed.
``current_events`` names the newest standing label, deferral, mark, tags and note of each item and
person, and the newest adjudication of each item. The newest is the one with the highest counter: an
event carries one more than the highest that its desk had seen, so that neither clocks nor the order
in which desks are merged decide. The counters of older events are their places in their desk's log,
which one event of the kind ``counted`` holds, and which ``event_places`` gives by key.

``label_marks`` holds one byte for each verdict, so that the labels of a run are read at once; see
``domain.labels.sampling``.
``tag_uses`` counts the items that carry each person's tags. All are brought up to date in the
transaction that appends an event, and only for the items that it touches.
"""

import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import pairwise, takewhile
from sqlite3 import Connection, Cursor, Row
from typing import Any

from msgspec import Struct, field
from msgspec.structs import asdict

from reviewdesk.domain.labels.chain import COUNTED, DESK, STANDING, Covered, covered
from reviewdesk.domain.labels.sampling import AUDIT, COPY, FIRST_REST, FLAGGED, TENTATIVE, UNSEEN
from reviewdesk.domain.records import Applied, ChainEvent, Event, Head, Truth, event_hash
from reviewdesk.domain.verdict import canonical_json
from reviewdesk.store.connect import first_column, in_pages, insert, lookup, record, value

KINDS = ", ".join(f"'{kind}'" for kind in STANDING)
_OF_CHAIN = "WHERE desk = ?1 AND reviewer = ?2"
_OWN = f"FROM label_events {_OF_CHAIN} AND kind IN ({KINDS}, 'undo', 'redo')"


class NewEvent(Struct, frozen=True):
    """An event without a place in a chain; ``author`` is by default the reviewer."""

    kind: str
    at: str
    run: str | None = None
    verdict: str | None = None
    item: bytes | None = None
    label: Truth | None = None
    author: str | None = None
    detail: Mapping[str, Any] = field(default_factory=dict)
    target: int | None = None


def desk_id(conn: Connection) -> str:
    return str(value(conn, "SELECT value FROM meta WHERE key = 'desk_id'"))


def append(conn: Connection, reviewer: str, entries: list[NewEvent]) -> Applied:
    """Append entries as one action, which one undo takes back, inside a write transaction."""
    last = "FROM label_events WHERE desk = value AND reviewer = ?1 ORDER BY seq DESC LIMIT 1"
    query = f"""SELECT value, ifnull((SELECT seq {last}), 0), ifnull((SELECT hash {last}), ''),
                       ifnull(({ENDS}), 0)
                FROM meta WHERE key = 'desk_id'"""
    desk, seq, previous, counter = conn.execute(query, (reviewer,)).fetchone()
    action = seq + 1
    written = []
    for entry in entries:
        seq = seq + 1
        detail = dict(entry.detail)
        counter = detail["counter"] = counter + 1
        row = asdict(entry) | {
            "desk": desk,
            "reviewer": reviewer,
            "seq": seq,
            "label": None if entry.label is None else entry.label.value,
            "author": entry.author or reviewer,
            "tentative": 0,  # from older versions; it is part of the hash
            "detail": canonical_json(detail).decode(),
            "action": action,
            "prev_hash": previous,
        }
        previous = row["hash"] = event_hash(row)
        written.append(to_event({**row, "key": insert(conn, "label_events", row)}))
    marks = follow(conn, changed_items(conn, desk, reviewer, entries))
    return Applied(tuple(written), Head(written[-1].key, previous), marks)


def changed_items(
    conn: Connection, desk: str, reviewer: str, entries: Sequence[NewEvent | ChainEvent]
) -> set[bytes]:
    found = {e.item for e in entries if e.kind in STANDING and e.item is not None}
    for entry in entries:
        if entry.target is not None:
            found |= _items_of_action(conn, desk, reviewer, entry.target)
    return found


def to_event(row: Mapping[str, Any] | Row) -> Event:
    """Build an event record from a stored row, without its counter, which is not part of it."""
    detail = json.loads(row["detail"])
    detail.pop("counter", None)
    item_hash = None if row["item"] is None else row["item"].hex()
    return record(Event, row, item_hash=item_hash, detail=detail)


def of_desk(conn: Connection, *kinds: str) -> Iterator[Event]:
    """Yield the events of these kinds that this desk itself recorded, oldest first."""
    query = f"SELECT * FROM label_events {_OF_CHAIN} AND kind IN (*) ORDER BY seq"
    yield from map(to_event, in_pages(conn, query, kinds, desk_id(conn), DESK))


def of_reviewer(conn: Connection, reviewer: str, after: int) -> Iterator[Event]:
    """Yield a reviewer's events on this desk after a ``seq`` of the chain, oldest first."""
    query = f"SELECT * FROM label_events {_OF_CHAIN} AND seq > ?3 ORDER BY seq"
    yield from map(to_event, conn.execute(query, (desk_id(conn), reviewer, after)))


def next_undo(conn: Connection, reviewer: str) -> int | None:
    """Return the reviewer's newest action that still stands, or ``None``."""
    query = f"""SELECT action FROM standing_events {_OF_CHAIN} AND seq = action
                ORDER BY seq DESC LIMIT 1"""
    found: int | None = lookup(conn, query, (desk_id(conn), reviewer))
    return found


def next_redo(conn: Connection, reviewer: str) -> int | None:
    """Return the action that a redo brings back: the oldest undone since the last new action."""
    found: int | None = value(
        conn,
        f"""SELECT min(u.target) FROM label_events u
           WHERE u.desk = :desk AND u.reviewer = :reviewer AND u.kind = 'undo'
             AND u.seq > (SELECT max(seq) FROM label_events
                          WHERE desk = u.desk AND reviewer = u.reviewer
                            AND kind IN ({KINDS}))
             AND u.seq = (SELECT max(seq) FROM label_events
                          WHERE target = u.target AND desk = u.desk AND reviewer = u.reviewer)""",
        {"desk": desk_id(conn), "reviewer": reviewer},
    )
    return found


def last_action(conn: Connection, reviewer: str) -> str:
    """Return the hash of a reviewer's last event, even an undo or redo; empty without events."""
    query = f"SELECT hash {_OWN} ORDER BY seq DESC LIMIT 1"
    return lookup(conn, query, (desk_id(conn), reviewer)) or ""


def actions_after(conn: Connection, reviewer: str, last: str) -> list[str | None] | None:
    """Return the ``once`` facts of actions after the event of hash ``last``; ``None`` if none."""
    whose = desk_id(conn), reviewer
    seq = lookup(conn, f"SELECT seq {_OWN} AND hash = ?3", (*whose, last))
    if seq is None and last:
        return None
    query = f"SELECT json_extract(detail, '$.once') {_OWN} AND seq > ?3 ORDER BY seq"
    return first_column(conn, query, (*whose, seq or 0))


def newest_key(conn: Connection) -> int:
    query = "SELECT key FROM label_events WHERE reviewer <> ? ORDER BY key DESC LIMIT 1"
    return lookup(conn, query, (DESK,)) or 0


def by_key(conn: Connection, key: int) -> Event:
    return to_event(conn.execute("SELECT * FROM label_events WHERE key = ?", (key,)).fetchone())


def of_action(conn: Connection, reviewer: str, action: int) -> tuple[Event, int]:
    """Return the first event that was appended as one action, and the number of its events."""
    rows = _rows_of_action(conn, desk_id(conn), reviewer, action)
    return to_event(next(rows)), 1 + sum(1 for _ in rows)


def _rows_of_action(conn: Connection, desk: str, reviewer: str, action: int) -> Iterator[Row]:
    query = f"SELECT * FROM label_events {_OF_CHAIN} AND seq >= ?3 ORDER BY seq"
    rows = conn.execute(query, (desk, reviewer, action))
    return takewhile(lambda row: bool(row["action"] == action), rows)


def import_of(conn: Connection, reviewer: str, action: int) -> str | None:
    """Return the fact that all batches of an action's import share; ``None`` without an import."""
    found: str | None = of_action(conn, reviewer, action)[0].detail.get("import")
    return found


def batches(conn: Connection, reviewer: str, action: int) -> list[int]:
    query = f"""SELECT action FROM label_events {_OF_CHAIN} AND seq = action
                 AND json_extract(detail, '$.import') = ?3 ORDER BY seq"""
    return first_column(conn, query, (desk_id(conn), reviewer, import_of(conn, reviewer, action)))


def is_undone(conn: Connection, reviewer: str, action: int) -> bool:
    query = f"""SELECT kind FROM label_events {_OF_CHAIN} AND target = ?3
               ORDER BY seq DESC LIMIT 1"""
    return bool(lookup(conn, query, (desk_id(conn), reviewer, action)) == "undo")


_EVENTS = f"""SELECT e.*, e.kind IN ({KINDS}) AND NOT EXISTS (
                    SELECT 1 FROM standing_events s WHERE s.key = e.key) AS undone
             FROM label_events e"""


def history(conn: Connection, item: bytes) -> list[Event]:
    """Return all events about an item in the order of their counters, marked if undone."""
    rows = conn.execute(f"{_EVENTS} WHERE e.item = ? ORDER BY {IN_ORDER}", (item,))
    return list(map(to_event, rows))


def newest_label(conn: Connection, reviewer: str, run: str) -> Event | None:
    """Return a reviewer's last label or repeat in a run, even if undone; imports do not count."""
    query = f"""{_EVENTS} {_OF_CHAIN} AND run = ?3 AND kind IN ('label', 'repeat')
                  AND json_extract(detail, '$.imported') IS NULL ORDER BY seq DESC LIMIT 1"""
    row = conn.execute(query, (desk_id(conn), reviewer, run)).fetchone()
    return None if row is None else to_event(row)


def head(conn: Connection) -> Head:
    row = conn.execute("SELECT key, hash FROM label_events ORDER BY key DESC LIMIT 1").fetchone()
    return Head(row["key"], row["hash"]) if row else Head()


def any_before(conn: Connection, key: int, day: str) -> bool:
    """Return True if a person did something after the event ``key``, before a day (YYYY-MM-DD)."""
    query = f"SELECT 1 FROM label_events WHERE key > ? AND at < ? AND kind IN ({KINDS}) LIMIT 1"
    return lookup(conn, query, (key, day)) is not None


def holds(conn: Connection, seen: Head) -> bool:
    found = lookup(conn, "SELECT hash FROM label_events WHERE key = ?", (seen.key,))
    return bool(found == seen.hash) if found else seen == Head()


def touched(conn: Connection, seen: Head) -> tuple[Head, set[bytes]] | None:
    """Return the newest event, and the items whose labels may have changed since ``seen``.

    ``None`` if ``seen`` was never the newest event.
    """
    query = """SELECT key, hash, kind, desk, reviewer, item, target FROM label_events
               WHERE key >= ? ORDER BY key"""
    rows = conn.execute(query, (seen.key,)).fetchall()
    if seen.key and (not rows or (rows[0]["key"], rows[0]["hash"]) != (seen.key, seen.hash)):
        return None
    added = rows[1:] if seen.key else rows
    found: set[bytes] = set()
    for row in added:
        if row["kind"] in {"label", "adjudicate", "reveal"}:
            found.add(row["item"])
        elif row["target"] is not None:
            found |= _items_of_action(conn, row["desk"], row["reviewer"], row["target"])
    return Head(rows[-1]["key"], rows[-1]["hash"]) if rows else Head(), found


def _items_of_action(conn: Connection, desk: str, reviewer: str, action: int) -> set[bytes]:
    rows = _rows_of_action(conn, desk, reviewer, action)
    return {row["item"] for row in rows if row["item"] is not None}


WINDOW = 4096
"""How many verdicts, by consecutive keys, share one row of ``label_marks``."""

_COLUMNS = "item, slot, author, key, label, tentative, seen"
_TAGS = "SELECT DISTINCT item, author, tag FROM item_tags WHERE tag IS NOT NULL"
_BYTES = f"""SELECT v.key, {TENTATIVE} * t.tentative | {UNSEEN} * (NOT t.seen)
       | {FLAGGED} * (v.stratum < {FIRST_REST}) | {AUDIT} * (v.audit & 1) | {COPY} * (v.audit > 1)
       | CASE t.truth WHEN 'pass' THEN 1 WHEN 'fail' THEN 2 WHEN 'unsure' THEN 3 ELSE 4 END
       FROM truths t CROSS JOIN verdicts v ON v.item = t.item"""


COUNTER = """coalesce(json_extract(e.detail, '$.counter'),
                 (SELECT p.counter FROM event_places p WHERE p.key = e.key), 0)"""
IN_ORDER = f"{COUNTER}, e.desk, e.reviewer, e.seq"
"""The order of events ``e`` that is the same on all desks; two desks may give one counter."""

CHAINS = """WITH RECURSIVE desks(desk) AS (
              SELECT min(desk) FROM label_events UNION ALL
              SELECT (SELECT min(desk) FROM label_events WHERE desk > d.desk)
              FROM desks d WHERE d.desk IS NOT NULL),
            chains(desk, reviewer) AS (
              SELECT desk, (SELECT min(reviewer) FROM label_events WHERE desk = d.desk)
              FROM desks d WHERE desk IS NOT NULL UNION ALL
              SELECT c.desk, (SELECT min(reviewer) FROM label_events
                              WHERE desk = c.desk AND reviewer > c.reviewer)
              FROM chains c WHERE c.reviewer IS NOT NULL)"""
"""The chains of the log; it jumps from one to the next by index."""
ENDS = f"""{CHAINS} SELECT max({COUNTER}) FROM chains c CROSS JOIN label_events e
            ON e.desk = c.desk AND e.reviewer = c.reviewer
               AND e.seq = (SELECT max(seq) FROM label_events
                            WHERE desk = c.desk AND reviewer = c.reviewer)"""
"""The highest counter: that of the last event of a chain."""


def coverage(conn: Connection, desk: str) -> Mapping[str, Covered]:
    """Return which events of a desk get their counters from its own event, by reviewer."""
    query = f"SELECT detail FROM label_events {_OF_CHAIN} AND kind = ?3 ORDER BY seq LIMIT 1"
    found = lookup(conn, query, (desk, DESK, COUNTED))
    return covered(json.loads(found)) if found else {}


def _stated(conn: Connection) -> Iterator[tuple[int, int]]:
    """Yield key and counter of each event whose counter is stored in another event."""
    query = "SELECT desk FROM label_events WHERE reviewer = ? AND kind = ? GROUP BY desk"
    for desk in first_column(conn, query, (DESK, COUNTED)):
        for reviewer, one in coverage(conn, desk).items():
            rows = f"""SELECT key, ?3 + seq - ?4 FROM label_events {_OF_CHAIN}
                       AND seq >= ?4 AND seq < ?5"""
            for (start, counter), (end, _) in pairwise((*one.places, (one.seq + 1, 0))):
                yield from map(tuple, conn.execute(rows, (desk, reviewer, counter, start, end)))


def rebuild(conn: Connection) -> None:
    """Fill the counters and the tables of the current state from the log, replacing all rows."""
    conn.execute("DELETE FROM event_places")
    conn.executemany("INSERT INTO event_places VALUES (?, ?)", sorted(_stated(conn)))
    fill(conn)


def fill(conn: Connection) -> None:
    """Fill the tables of the current state from the log, replacing all rows."""
    for table in ("current_events", "label_marks", "tag_uses"):
        conn.execute(f"DELETE FROM {table}")
    conn.execute(f"INSERT INTO current_events SELECT {_COLUMNS} FROM replayed_events")
    _write_bytes(conn, dict(map(tuple, conn.execute(_BYTES))))
    _add_tags(conn, _tags(conn.execute(_TAGS)))


def follow(conn: Connection, items: Collection[bytes]) -> Mapping[int, int]:
    """Bring the state of some items up to date with the log; return the changed bytes by key."""
    held = set[tuple[Any, ...]]()
    found = set[tuple[Any, ...]]()
    query = f"""SELECT 1, {_COLUMNS} FROM current_events WHERE item IN (*) UNION ALL
                SELECT 0, {_COLUMNS} FROM replayed_events WHERE item IN (*)"""
    # In the order of the indexes, so that many items do not read each page many times.
    for old, *row in in_pages(conn, query, sorted(items)):
        (held if old else found).add(tuple(row))
    tagged = sorted({row[0] for row in held ^ found if row[1] == "tags"})
    query = f"{_TAGS} AND item IN (*)"
    before = _tags(in_pages(conn, query, tagged))
    if gone := {row[:3] for row in held} - {row[:3] for row in found}:
        place = "item = ? AND slot = ? AND author = ?"
        conn.executemany(f"DELETE FROM current_events WHERE {place}", sorted(gone))
    if new := found - held:
        put = f"INSERT OR REPLACE INTO current_events ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)"
        conn.executemany(put, sorted(new))
    after = _tags(in_pages(conn, query, tagged))
    after.subtract(before)
    _add_tags(conn, after)
    labelled = sorted({row[0] for row in held ^ found if row[1] in {"label", "adjudication"}})
    bare = sorted({*labelled} - {row[0] for row in found if row[1] == "label"})
    keys = in_pages(conn, "SELECT key FROM verdicts WHERE item IN (*)", bare)
    changed = dict.fromkeys((row[0] for row in keys), 0) | _bytes_of(conn, labelled)
    _write_bytes(conn, changed)
    return changed


def place_verdicts(conn: Connection, first: int, count: int) -> None:
    """Mark new verdicts, given by their consecutive keys, whose items have labels already."""
    if lookup(conn, "SELECT 1 FROM current_events LIMIT 1"):
        query = "SELECT item FROM verdicts WHERE key >= ? AND key < ?"
        _write_bytes(conn, _bytes_of(conn, first_column(conn, query, (first, first + count))))


def displace_verdicts(conn: Connection, first: int, count: int) -> None:
    """Unmark deleted verdicts, given by their consecutive keys, which may be used again."""
    windows = (first // WINDOW, (first + count) // WINDOW)
    if lookup(conn, "SELECT 1 FROM label_marks WHERE window BETWEEN ? AND ?", windows):
        _write_bytes(conn, dict.fromkeys(range(first, first + count), 0))
        empty = f"window BETWEEN ? AND ? AND marks = zeroblob({WINDOW})"
        conn.execute(f"DELETE FROM label_marks WHERE {empty}", windows)


def _bytes_of(conn: Connection, items: Sequence[bytes]) -> dict[int, int]:
    return dict(map(tuple, in_pages(conn, f"{_BYTES} WHERE t.item IN (*)", items)))


def marks(conn: Connection, first: int, size: int) -> bytearray:
    found = bytearray(size)
    query = "SELECT window, marks FROM label_marks WHERE window BETWEEN ? AND ?"
    for window, held in conn.execute(query, (first // WINDOW, (first + size) // WINDOW)):
        # A window may begin or end in another run.
        start = window * WINDOW - first
        low = max(start, 0)
        high = min(start + WINDOW, size)
        found[low:high] = held[low - start : high - start]
    return found


def _write_bytes(conn: Connection, changes: Mapping[int, int]) -> None:
    query = "SELECT window, marks FROM label_marks WHERE window IN (*)"
    rows = in_pages(conn, query, list({key // WINDOW for key in changes}))
    held = {row["window"]: row["marks"] for row in rows}
    for window, marks in _windows(changes, held).items():
        if marks != held.get(window, bytes(WINDOW)):
            conn.execute("INSERT OR REPLACE INTO label_marks VALUES (?, ?)", (window, marks))


def _windows(changes: Mapping[int, int], held: Mapping[int, bytes]) -> dict[int, bytearray]:
    """Return the windows of some verdicts, given by key, with their bytes changed."""
    made: dict[int, bytearray] = {}
    for key, byte in changes.items():
        window, place = divmod(key, WINDOW)
        if window not in made:
            made[window] = bytearray(held.get(window, WINDOW))
        made[window][place] = byte
    return made


def _tags(rows: Iterator[Row] | Cursor) -> Counter[tuple[str, str]]:
    return Counter((author, tag) for _, author, tag in rows)


def _add_tags(conn: Connection, changes: Counter[tuple[str, str]]) -> None:
    query = """INSERT INTO tag_uses VALUES (?, ?, ?)
               ON CONFLICT DO UPDATE SET items = items + excluded.items"""
    if rows := [(author, tag, more) for (author, tag), more in changes.items() if more]:
        conn.executemany(query, rows)


def state_problems(conn: Connection) -> Iterator[str]:
    """Report where the current state differs from a replay of the log."""
    places = set(map(tuple, conn.execute("SELECT key, counter FROM event_places")))
    for key, _ in sorted(places ^ set(_stated(conn)))[:5]:
        yield f"event_places: the counter of event {key} is not the one in the log"
    both = f"SELECT {_COLUMNS} FROM current_events", f"SELECT {_COLUMNS} FROM replayed_events"
    for one, other, what in ((*both, "is not in the log"), (*both[::-1], "is missing")):
        for row in conn.execute(f"{one} EXCEPT {other} LIMIT 5"):
            place = f"{row['slot']} of {row['author']} on item {row['item'].hex()[:12]}"
            yield f"current_events: the {place} {what}"
    held = dict(map(tuple, conn.execute("SELECT window, marks FROM label_marks")))
    found = _windows(dict(map(tuple, conn.execute(_BYTES))), {})
    for window in sorted(held.keys() | found.keys()):
        if held.get(window, bytes(WINDOW)) != found.get(window, bytes(WINDOW)):
            first = window * WINDOW
            yield f"label_marks: the labels of verdicts {first} to {first + WINDOW - 1} differ"
    counted = {(row[0], row[1]): row[2] for row in conn.execute("SELECT * FROM tag_uses")}
    uses = _tags(conn.execute(_TAGS))
    for author, tag in sorted(counted.keys() | uses.keys()):
        if counted.get((author, tag), 0) != uses[author, tag]:
            yield f"tag_uses: {tag} of {author} is on {uses[author, tag]} items"
