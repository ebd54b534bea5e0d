"""The current state of the labels, stored beside the log from which it can be replayed.

``current_events`` names the newest standing label, deferral, mark, tags and note of each item and
person, and the newest adjudication of each item. The newest is the one with the highest counter: an
event carries one more than the highest that its desk had seen, so that neither clocks nor the order
in which desks are merged decide. The counters of older events are their places in their desk's log,
which one event of the kind ``counted`` holds, and which ``event_places`` gives by key.

``label_marks`` holds one byte for each verdict, so that the labels of a run are read at once; see
``domain.labels.rows``.
``tag_uses`` counts the items that carry each person's tags. All are brought up to date in the
transaction that appends an event, and only for the items that it touches.
"""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from reviewdesk.domain.labels.chain import COUNTED, DESK, STANDING, Covered, covered
from reviewdesk.domain.labels.sampling import AUDIT, COPY, FIRST_REST, FLAGGED, TENTATIVE, UNSEEN
from reviewdesk.store.connect import ExplainedConnection, first_column, in_pages, lookup

WINDOW = 4096
"""How many verdicts, by consecutive keys, share one row of ``label_marks``."""

LAYOUT = (
    """CREATE TABLE current_events (
            item BLOB NOT NULL, slot TEXT NOT NULL, author TEXT NOT NULL, key INTEGER NOT NULL,
            label TEXT, tentative INTEGER NOT NULL, seen INTEGER NOT NULL,
            PRIMARY KEY (item, slot, author)) WITHOUT ROWID""",
    # Labels are left out: nearly all rows are labels, and each would cost one more page.
    """CREATE INDEX current_events_by_slot ON current_events (slot, author)
            WHERE label IS NULL""",
    f"""CREATE TABLE label_marks (
            window INTEGER PRIMARY KEY,
            marks BLOB NOT NULL CHECK (typeof(marks) = 'blob' AND length(marks) = {WINDOW}))""",
    """CREATE TABLE tag_uses (
            author TEXT NOT NULL, tag TEXT NOT NULL, items INTEGER NOT NULL,
            PRIMARY KEY (author, tag)) WITHOUT ROWID""",
)
"""The statements that make the tables of the current state."""
_COLUMNS = "item, slot, author, key, label, tentative, seen"
_TAGS = "SELECT DISTINCT item, author, tag FROM item_tags WHERE tag IS NOT NULL"
_BYTES = f"""SELECT v.key, {TENTATIVE} * t.tentative | {UNSEEN} * (NOT t.seen)
       | {FLAGGED} * (v.stratum < {FIRST_REST}) | {AUDIT} * (v.audit & 1) | {COPY} * (v.audit > 1)
       | CASE t.truth WHEN 'pass' THEN 1 WHEN 'fail' THEN 2 WHEN 'unsure' THEN 3 ELSE 4 END
       FROM truths t CROSS JOIN verdicts v ON v.item = t.item"""


COUNTER = """coalesce(json_extract(e.detail, '$.counter'),
                 (SELECT p.counter FROM event_places p WHERE p.key = e.key), 0)"""
"""The counter of an event ``e``."""
PLACES = """CREATE TABLE event_places (
            key INTEGER PRIMARY KEY REFERENCES label_events(key), counter INTEGER NOT NULL)"""

ENDS = f"""WITH RECURSIVE desks(desk) AS (
              SELECT min(desk) FROM label_events UNION ALL
              SELECT (SELECT min(desk) FROM label_events WHERE desk > d.desk)
              FROM desks d WHERE d.desk IS NOT NULL),
            chains(desk, reviewer) AS (
              SELECT desk, (SELECT min(reviewer) FROM label_events WHERE desk = d.desk)
              FROM desks d WHERE desk IS NOT NULL UNION ALL
              SELECT c.desk, (SELECT min(reviewer) FROM label_events
                              WHERE desk = c.desk AND reviewer > c.reviewer)
              FROM chains c WHERE c.reviewer IS NOT NULL)
            SELECT max({COUNTER}) FROM chains c CROSS JOIN label_events e
            ON e.desk = c.desk AND e.reviewer = c.reviewer
               AND e.seq = (SELECT max(seq) FROM label_events
                            WHERE desk = c.desk AND reviewer = c.reviewer)"""
"""The highest counter: that of the last event of a chain. It jumps from chain to chain by index."""
_FIRST = "iif(json_extract(e.detail, '$.imported'), 0, 1)"
"""A person's own events rank above events that a file imports for that person: an import only
fills gaps, and its author's own events on any desk replace it."""
# The ids of desks have one length and a desk gives each counter once, so these texts compare like
# the counter, then the desk, then the reviewer.
_RANK = f"printf('%019d', {COUNTER}) || e.desk || e.reviewer"
_PLACED = f"""max({_FIRST} || {_RANK}) AS place"""


def _slot(name: str, where: str, values: str = "NULL AS label, 0 AS tentative, 1 AS seen") -> str:
    return f"""SELECT item, '{name}' AS slot, author, key, {values}, {_PLACED}
            FROM standing_events e WHERE {where} GROUP BY item, author"""


_SEEN = "label, tentative, ifnull(json_extract(detail, '$.seen'), 1) AS seen"
_DEFERRED = """kind = 'defer' AND NOT EXISTS (
                SELECT 1 FROM standing_events l
                WHERE l.item = e.item AND l.kind = 'label' AND l.author = e.author)"""
_TAGGED = "kind IN ('tags', 'label') AND json_type(detail, '$.tags') = 'array'"
_ORDERED = "CREATE VIEW replayed_events AS " + " UNION ALL ".join(
    (
        _slot("label", "kind = 'label'", _SEEN),
        _slot("mark", "kind = 'mark'"),
        _slot("defer", _DEFERRED),
        _slot("tags", _TAGGED),
        _slot("note", "json_type(detail, '$.note') = 'text'"),
        f"""SELECT item, 'adjudication' AS slot, '' AS author, key, label, 0 AS tentative,
                   1 AS seen, max({_RANK}) AS place
            FROM standing_events e WHERE kind = 'adjudicate' GROUP BY item""",
    )
)


_KINDS = ", ".join(f"'{kind}'" for kind in STANDING)
VIEWS = (
    f"""CREATE VIEW standing_events AS
            SELECT e.* FROM label_events e
            WHERE e.kind IN ({_KINDS})
              AND ifnull((SELECT u.kind FROM label_events u
                          WHERE u.target = e.action AND u.desk = e.desk
                            AND u.reviewer = e.reviewer
                          ORDER BY u.seq DESC LIMIT 1), 'redo') = 'redo'""",
    _ORDERED,
    """CREATE VIEW truths AS
            SELECT item,
                   coalesce(max(iif(slot = 'adjudication', label, NULL)),
                            iif(min(label) = max(label), min(label), 'disputed')) AS truth,
                   iif(max(slot = 'adjudication'), 0, max(tentative)) AS tentative,
                   max(seen) AS seen
            FROM current_events WHERE slot IN ('label', 'adjudication') GROUP BY item
            HAVING max(slot = 'label')""",
    # Labels files imported by earlier versions left their tags unnormalized in the log.
    """CREATE VIEW item_tags AS
            SELECT c.item AS item, c.author AS author,
                   lower(replace(trim(t.value), ' ', '-')) AS tag, t.key AS place
            FROM current_events c CROSS JOIN label_events e ON e.key = c.key
                 CROSS JOIN json_each(e.detail, '$.tags') t
            WHERE c.slot = 'tags' AND c.label IS NULL""",
    """CREATE VIEW item_marks AS
            SELECT c.item AS item, c.author AS reviewer
            FROM current_events c CROSS JOIN label_events e ON e.key = c.key
            WHERE c.slot = 'mark' AND c.label IS NULL AND json_extract(e.detail, '$.on')""",
)
"""The views over the log and the current state."""


def are_kept(conn: sqlite3.Connection) -> bool:
    """Return True unless an older version made the desk and a migration is still running."""
    if getattr(conn, "counted", False):
        return True
    query = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'event_places'"
    found = lookup(conn, query) is not None
    if isinstance(conn, ExplainedConnection):
        conn.counted = found
    return found


def coverage(conn: sqlite3.Connection, desk: str) -> Mapping[str, Covered]:
    """Return which events of a desk get their counters from its own event, by reviewer."""
    query = """SELECT detail FROM label_events WHERE desk = ? AND reviewer = ? AND kind = ?
               ORDER BY seq LIMIT 1"""
    found = lookup(conn, query, (desk, DESK, COUNTED))
    return covered(json.loads(found)) if found else {}


def _stated(conn: sqlite3.Connection) -> Iterator[tuple[int, int]]:
    """Yield key and counter of each event whose counter is stored in another event."""
    query = "SELECT desk FROM label_events WHERE reviewer = ? AND kind = ? GROUP BY desk"
    for desk in first_column(conn, query, (DESK, COUNTED)):
        for reviewer, one in coverage(conn, desk).items():
            rows = """SELECT key, ? + seq - ? FROM label_events
                      WHERE desk = ? AND reviewer = ? AND seq >= ? AND seq < ?"""
            starts = (*one.places, (one.seq + 1, 0))
            for (start, counter), (end, _) in pairwise(starts):
                found = conn.execute(rows, (counter, start, desk, reviewer, start, end))
                yield from map(tuple, found)


def rebuild(conn: sqlite3.Connection) -> None:
    """Fill the tables of the current state and the counters from the log, replacing all rows."""
    conn.execute("DELETE FROM event_places")
    conn.executemany("INSERT INTO event_places VALUES (?, ?)", sorted(_stated(conn)))
    fill(conn)


def fill(conn: sqlite3.Connection) -> None:
    """Fill the tables of the current state from the log, replacing all rows."""
    for table in ("current_events", "label_marks", "tag_uses"):
        conn.execute(f"DELETE FROM {table}")
    conn.execute(f"INSERT INTO current_events SELECT {_COLUMNS} FROM replayed_events")
    _write_bytes(conn, dict(map(tuple, conn.execute(_BYTES))))
    _add_tags(conn, _tags(conn.execute(_TAGS)))


def follow(conn: sqlite3.Connection, items: Collection[bytes]) -> Mapping[int, int]:
    """Bring the state of some items up to date with the log, inside the caller's transaction.

    Return the bytes of the verdicts whose labels changed, by key.
    """
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


def place_verdicts(conn: sqlite3.Connection, first: int, count: int) -> None:
    """Mark new verdicts, given by their consecutive keys, whose items have labels already."""
    if lookup(conn, "SELECT 1 FROM current_events LIMIT 1"):
        query = "SELECT item FROM verdicts WHERE key >= ? AND key < ?"
        _write_bytes(conn, _bytes_of(conn, first_column(conn, query, (first, first + count))))


def displace_verdicts(conn: sqlite3.Connection, first: int, count: int) -> None:
    """Unmark deleted verdicts, given by their consecutive keys, which may be used again."""
    windows = (first // WINDOW, (first + count) // WINDOW)
    held = "SELECT 1 FROM label_marks WHERE window BETWEEN ? AND ?"
    if lookup(conn, held, windows) is None:
        return
    _write_bytes(conn, dict.fromkeys(range(first, first + count), 0))
    empty = f"window BETWEEN ? AND ? AND marks = zeroblob({WINDOW})"
    conn.execute(f"DELETE FROM label_marks WHERE {empty}", windows)


def _bytes_of(conn: sqlite3.Connection, items: Sequence[bytes]) -> dict[int, int]:
    """Return the bytes of the verdicts of labelled items among those given, by key."""
    return dict(map(tuple, in_pages(conn, f"{_BYTES} WHERE t.item IN (*)", items)))


def marks(conn: sqlite3.Connection, first: int, size: int) -> bytearray:
    """Return the bytes of verdicts with consecutive keys."""
    found = bytearray(size)
    query = "SELECT window, marks FROM label_marks WHERE window BETWEEN ? AND ?"
    for window, held in conn.execute(query, (first // WINDOW, (first + size) // WINDOW)):
        start = window * WINDOW - first
        low = max(start, 0)
        high = min(start + WINDOW, size)
        found[low:high] = held[low - start : high - start]
    return found


def _write_bytes(conn: sqlite3.Connection, changes: Mapping[int, int]) -> None:
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


def _tags(rows: Iterator[sqlite3.Row] | sqlite3.Cursor) -> Counter[tuple[str, str]]:
    """Count the items that carry each tag, by author and tag."""
    return Counter((author, tag) for _, author, tag in rows)


def _add_tags(conn: sqlite3.Connection, changes: Counter[tuple[str, str]]) -> None:
    conn.executemany(
        """INSERT INTO tag_uses VALUES (?, ?, ?)
           ON CONFLICT DO UPDATE SET items = items + excluded.items""",
        [(author, tag, more) for (author, tag), more in changes.items() if more],
    )


# The comparison that verify makes.


def problems(conn: sqlite3.Connection) -> Iterator[str]:
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
