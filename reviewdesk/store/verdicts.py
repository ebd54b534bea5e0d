"""Find stored verdicts by key, id or content, their bodies, and the labels of their items."""

import json
from array import array
from collections.abc import Collection, Iterator
from itertools import groupby
from sqlite3 import Connection, Row
from typing import Any

from msgspec import Struct

from reviewdesk.domain.labels.sampling import FIRST_REST
from reviewdesk.domain.records import Run, Truth, Withheld
from reviewdesk.domain.verdict import Decision
from reviewdesk.errors import NotFoundError
from reviewdesk.store.connect import first_column, in_pages, lookup, record, value

_WINDOW = 200
_NEAR = 40
"""How many verdicts before and after a verdict are searched for its other criteria."""


def origin(conn: Connection, key: int) -> dict[str, str]:
    """Return the ids that the tool behind a report gave a verdict, by their kind."""
    query = "SELECT json_extract(body, '$.meta.origin') FROM bodies WHERE verdict = ?"
    found = json.loads(lookup(conn, query, (key,)) or "{}")
    return found if isinstance(found, dict) else {}


def by_key(conn: Connection, key: int, *, body: bool = False) -> dict[str, Any]:
    """Return the row of a verdict with facts of its run; raise NotFoundError without one."""
    query = f"""SELECT v.*, r.hash AS run_hash
                      {", b.body, r.header, r.options, r.escalation_stated" * body},
                      (SELECT count(*) FROM verdicts o WHERE o.item = v.item AND o.run = v.run)
                      AS same_content
               FROM verdicts v JOIN runs r ON r.key = v.run
                    {"JOIN bodies b ON b.verdict = v.key" * body} WHERE v.key = ?"""
    row = conn.execute(query, (key,)).fetchone()
    if row is None:
        raise NotFoundError("that verdict is not in the desk", "Open its report again.")
    return dict(row)


def find(conn: Connection, run: Run, verdict_id: str) -> int:
    """Return the key of the verdict with this id; raise NotFoundError if no verdict has it."""
    query = "SELECT key FROM verdicts WHERE run = ? AND id = ?"
    found: int | None = lookup(conn, query, (run.key, verdict_id))
    if found is None:
        hint = "List them: reviewdesk queue."
        raise NotFoundError(f"no verdict {verdict_id!r} in {run.name}", hint)
    return found


def loaded(
    conn: Connection, run: int | None, verdict_id: str | None, item: bytes | None = None
) -> Row | None:
    """Return id, item and run hash of a run's verdict, or of one on an ``item``, if loaded."""
    which = "v.run = ?1 AND v.id = ?2" if item is None else "v.item = ?3"
    found: Row | None = conn.execute(
        f"""SELECT v.id, v.item, r.hash FROM verdicts v JOIN runs r ON r.key = v.run
            WHERE r.removed_at IS NULL AND {which}
            ORDER BY v.run IS ?1 DESC, v.id = ?2 DESC LIMIT 1""",
        (run, verdict_id, item)[: 2 if item is None else 3],
    ).fetchone()
    return found


def ids_from(conn: Connection, run: int, start: str, most: int) -> list[str]:
    query = "SELECT id FROM verdicts WHERE run = ? AND id BETWEEN ? AND ? ORDER BY id LIMIT ?"
    return first_column(conn, query, (run, start, f"{start}\U0010ffff", most))


def in_other_runs(conn: Connection, key: int) -> list[tuple[int, int]]:
    query = """SELECT o.run, min(o.key) AS key FROM verdicts v
               JOIN verdicts o ON o.item = v.item AND o.run != v.run
               JOIN runs r ON r.key = o.run AND r.removed_at IS NULL
               WHERE v.key = ? GROUP BY o.run ORDER BY o.run DESC"""
    return list(map(tuple, conn.execute(query, (key,))))


def criteria(conn: Connection, run: int, key: int, start: str) -> list[tuple[str, int]]:
    """Return the criteria by which a verdict's response is judged in its run: names and keys."""
    # The sign keeps SQLite from reading the whole run by the index of ids.
    where = (
        "o.run = ? AND o.id BETWEEN ? AND ?" if start else "+o.run = ? AND o.key BETWEEN ? AND ?"
    )
    ends = (start, f"{start}\U0010ffff") if start else (key - _NEAR, key + _NEAR)
    texts = ("input", "output", "alternative", "reference")
    same = " AND ".join(
        f"json_extract(c.body, '$.{text}') IS json_extract(b.body, '$.{text}')" for text in texts
    )
    query = f"""SELECT json_extract(c.body, '$.case.dimension') AS name, o.key AS key
                FROM verdicts v JOIN bodies b ON b.verdict = v.key
                JOIN verdicts o ON o.test = v.test AND {where}
                JOIN bodies c ON c.verdict = o.key AND {same}
                WHERE v.key = ? ORDER BY o.key"""
    rows = conn.execute(query, (run, *ends, key))
    found: dict[str, int] = {}
    for name, other in rows:
        if name is not None and (other == key or name not in found):
            found[name] = other
    return list(found.items())


COUNTERPART = """coalesce(
    (SELECT p.key FROM verdicts p WHERE p.run = {run} AND p.id = v.id AND p.item = v.item),
    (SELECT min(p.key) FROM verdicts p WHERE p.run = {run} AND p.item = v.item))"""
"""SQL for the key of another run's verdict on the content of ``v``: the one with the same id if it
exists, else the first."""


class Counterpart(Struct, frozen=True):
    """A verdict, by key, that another run judged too: both decisions, and the content's label."""

    key: int
    item: bytes
    here: Decision | None
    there: Decision | None
    truth: Truth | None


def counterparts(conn: Connection, run: int, other: int) -> list[Counterpart]:
    query = f"""SELECT v.key, v.item, v.decision AS here, o.decision AS there, t.truth
                FROM verdicts v
                JOIN verdicts o ON o.key = {COUNTERPART.format(run=other)}
                LEFT JOIN truths t ON t.item = v.item WHERE v.run = ? ORDER BY v.key"""
    return [record(Counterpart, row) for row in conn.execute(query, (run,))]


def flips(conn: Connection, run: int, other: int) -> tuple[int, int]:
    """Count the contents that two runs share, and those on which their decisions differ."""
    query = """SELECT count(DISTINCT v.item),
                      count(DISTINCT iif(v.decision != o.decision, v.item, NULL))
               FROM verdicts v JOIN verdicts o ON o.item = v.item AND o.run = ? WHERE v.run = ?"""
    shared, flipped = conn.execute(query, (other, run)).fetchone()
    return shared, flipped


def first_key(conn: Connection, run: int) -> int:
    """Return the key of a run's first verdict; the keys of a run are consecutive in file order."""
    return lookup(conn, "SELECT key - pos FROM verdicts WHERE run = ? LIMIT 1", (run,)) or 0


def window(conn: Connection, run: int, start: int, count: int) -> list[Row]:
    """Return key and body of ``count`` verdicts of a run, from the ``start``-th on."""
    first = first_key(conn, run) + start
    query = """SELECT v.key, b.body FROM verdicts v JOIN bodies b ON b.verdict = v.key
               WHERE v.key >= ? AND v.key < ? AND +v.run = ? ORDER BY v.key"""
    return conn.execute(query, (first, first + count, run)).fetchall()


def seats(conn: Connection, run: int) -> "array[int]":
    query = "SELECT seated FROM verdicts WHERE run = ? ORDER BY key"
    return array("q", first_column(conn, query, (run,)))


def bodies(conn: Connection, run: Run) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the JSON of every verdict of a run in file order, and of its re-runs, oldest first."""
    for start in range(0, run.verdicts, _WINDOW):
        found = window(conn, run.key, start, _WINDOW)
        if not found:
            return
        query = """SELECT verdict, body FROM reruns WHERE verdict >= ? AND verdict <= ?
                   ORDER BY verdict, plan"""
        rows = conn.execute(query, (found[0]["key"], found[-1]["key"]))
        reruns = {
            key: tuple(row["body"] for row in same)
            for key, same in groupby(rows.fetchall(), key=lambda row: row["verdict"])
        }
        for row in found:
            yield row["body"], reruns.get(row["key"], ())


def first_keys(conn: Connection, run: Run, most: int) -> list[int]:
    """Return a run's first keys: of flagged verdicts, then labelled ones, then the rest."""
    query = """SELECT key FROM verdicts WHERE run = ?
               ORDER BY stratum >= ?, item NOT IN (SELECT item FROM truths), pos LIMIT ?"""
    return first_column(conn, query, (run.key, FIRST_REST, most))


def keys_of_item(conn: Connection, run: int, item: bytes) -> dict[str, int]:
    query = "SELECT id, key FROM verdicts WHERE item = ? AND run = ?"
    return dict(map(tuple, conn.execute(query, (item, run))))


def keys_of_items(conn: Connection, run: int, items: Collection[bytes]) -> dict[bytes, list[int]]:
    found: dict[bytes, list[int]] = {}
    query = "SELECT item, key FROM verdicts WHERE run = ? AND item IN (*)"
    for row in in_pages(conn, query, sorted(items), run):
        found.setdefault(row["item"], []).append(row["key"])
    return found


def of_item(conn: Connection, item: bytes) -> list[dict[str, Any]]:
    """Return the labels of an item, an adjudication first, with their authors' notes and tags."""
    # SQLite's json_extract cuts a text at NUL, so SQL only selects the event.
    query = """SELECT l.item, l.label, l.key, e.author, e.reviewer, e.at, e.run,
                      e.verdict, e.detail, l.slot = 'adjudication' AS adjudicated, n.detail AS noted
               FROM current_events l JOIN label_events e ON e.key = l.key
               LEFT JOIN current_events c
                      ON c.item = l.item AND c.slot = 'note' AND c.author = e.author
               LEFT JOIN label_events n ON n.key = c.key
               WHERE l.item = ? AND l.slot IN ('label', 'adjudication') ORDER BY l.slot, e.author"""
    rows = conn.execute(query, (item,))
    tagged = tags_of_item(conn, item)
    return [
        {
            **dict(row),
            "adjudicated": bool(row["adjudicated"]),
            "note": (json.loads(row["noted"])["note"] if row["noted"] else None) or None,
            "tags": list(tagged.get(row["author"], ())),
        }
        for row in rows
    ]


def held(conn: Connection, item: bytes, author: str, slot: str = "label") -> Truth | None:
    query = """SELECT c.label FROM current_events c JOIN label_events e ON e.key = c.key
               WHERE c.item = ? AND c.slot = ? AND e.author = ?"""
    found = lookup(conn, query, (item, slot, author))
    return Truth(found) if found else None


def human(conn: Connection, run: int, count: int) -> Iterator[list[Row]]:
    """Yield id, item and body of the verdicts that the file labels, ``count`` at a time."""
    pos = -1
    while True:
        rows = conn.execute(
            """SELECT v.pos, v.id, v.item, b.body FROM verdicts v JOIN bodies b ON b.verdict = v.key
               WHERE v.run = ? AND v.key > ? + ? AND json_type(b.body, '$.human') = 'object'
               ORDER BY v.key LIMIT ?""",
            (run, first_key(conn, run), pos, count),
        ).fetchall()
        if not rows:
            return
        pos = rows[-1]["pos"]
        yield rows


def count_human_labelled(conn: Connection, run: int) -> int:
    query = """SELECT count(*) FROM verdicts v JOIN bodies b ON b.verdict = v.key
               WHERE v.run = ? AND v.item IN (SELECT item FROM truths)
                 AND json_type(b.body, '$.human') = 'object'"""
    return int(value(conn, query, (run,)))


def tags_of_item(conn: Connection, item: bytes) -> dict[str, tuple[str, ...]]:
    found: dict[str, dict[str, None]] = {}
    query = "SELECT author, tag FROM item_tags WHERE item = ? ORDER BY author, place"
    for author, tag in conn.execute(query, (item,)):
        found.setdefault(author, {})[tag] = None
    return {author: tuple(tags) for author, tags in found.items()}


def told_tags(conn: Connection, withheld: Withheld) -> dict[str, set[bytes]]:
    """Return the items with each tag, without the tags of others on withheld items."""
    found: dict[str, set[bytes]] = {}
    query = "SELECT item, author, tag FROM item_tags WHERE tag IS NOT NULL"
    for item, author, tag in conn.execute(query):
        if withheld.shows(item, author):
            found.setdefault(tag, set()).add(item)
    return found


def used_tags(conn: Connection, author: str | None = None) -> list[str]:
    query = """SELECT tag FROM tag_uses WHERE items > 0 AND (?1 IS NULL OR author = ?1)
               GROUP BY tag ORDER BY sum(items) DESC, tag"""
    return first_column(conn, query, (author,))


def case_tags(conn: Connection, run: int) -> list[str | None]:
    return first_column(conn, "SELECT DISTINCT tag FROM case_tags WHERE run = ?", (run,))
