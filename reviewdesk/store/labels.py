"""Read current labels, notes and tags, and the labels of people that reports came with."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from reviewdesk.domain.labels.repeats import Withheld
from reviewdesk.domain.records import TagCount, Truth
from reviewdesk.store.rows import record, value
from reviewdesk.store.verdicts import first_key


def of_item(conn: sqlite3.Connection, item: bytes) -> list[dict[str, Any]]:
    """Return the labels of an item, each with its author's newest note and current tags.

    The newest adjudication comes first, if there is one.
    """
    # SQLite's json_extract ends a text at NUL, so SQL only selects the event.
    rows = conn.execute(
        """SELECT l.item, l.label, l.key, e.author, e.reviewer, e.at, e.run,
                  e.verdict, e.detail, l.slot = 'adjudication' AS adjudicated, n.detail AS noted
           FROM current_events l JOIN label_events e ON e.key = l.key
           LEFT JOIN current_events c
                  ON c.item = l.item AND c.slot = 'note' AND c.author = e.author
           LEFT JOIN label_events n ON n.key = c.key
           WHERE l.item = ? AND l.slot IN ('label', 'adjudication') ORDER BY l.slot, e.author""",
        (item,),
    )
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


def held(conn: sqlite3.Connection, item: bytes, author: str, slot: str = "label") -> Truth | None:
    """Return the label or adjudication that an author gave an item, or ``None``."""
    row = conn.execute(
        """SELECT c.label FROM current_events c JOIN label_events e ON e.key = c.key
           WHERE c.item = ? AND c.slot = ? AND e.author = ?""",
        (item, slot, author),
    ).fetchone()
    return Truth(row["label"]) if row else None


class HumanLabel(Struct, frozen=True):
    """A verdict whose body holds a person's label."""

    id: str
    item: bytes
    body: str


def human(conn: sqlite3.Connection, run: int, count: int) -> Iterator[list[HumanLabel]]:
    """Yield the verdicts with a person's label in the file, in file order, ``count`` at a time."""
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
        yield [record(HumanLabel, row) for row in rows]


def count_human_labelled(conn: sqlite3.Connection, run: int) -> int:
    """Count the verdicts with a person's label in the file whose item has a label in the desk."""
    query = """SELECT count(*) FROM verdicts v JOIN bodies b ON b.verdict = v.key
               WHERE v.run = ? AND v.item IN (SELECT item FROM truths)
                 AND json_type(b.body, '$.human') = 'object'"""
    return int(value(conn, query, (run,)))


def tags_of_item(conn: sqlite3.Connection, item: bytes) -> dict[str, tuple[str, ...]]:
    """Return the tags of an item by author, each author's in the order given."""
    found: dict[str, dict[str, None]] = {}
    rows = conn.execute(
        "SELECT author, tag FROM item_tags WHERE item = ? ORDER BY author, place", (item,)
    )
    for row in rows:
        found.setdefault(row["author"], {})[row["tag"]] = None
    return {author: tuple(tags) for author, tags in found.items()}


def told_tags(conn: sqlite3.Connection, withheld: Withheld) -> dict[str, set[bytes]]:
    """Return the items that carry each tag, without what others gave an item that is withheld."""
    found: dict[str, set[bytes]] = {}
    for row in conn.execute("SELECT item, author, tag FROM item_tags WHERE tag IS NOT NULL"):
        if withheld.shows(row["item"], row["author"]):
            found.setdefault(row["tag"], set()).add(row["item"])
    return found


def tag_counts(conn: sqlite3.Connection, run: int) -> list[TagCount]:
    """Count the items of a run that carry each tag, most used first."""
    rows = conn.execute(
        """SELECT t.tag, count(DISTINCT t.item) AS items FROM item_tags t
           WHERE EXISTS (SELECT 1 FROM verdicts v WHERE v.item = t.item AND v.run = ?)
           GROUP BY t.tag ORDER BY items DESC, t.tag""",
        (run,),
    )
    return [TagCount(row["tag"], row["items"]) for row in rows]


def used_tags(conn: sqlite3.Connection, author: str | None = None) -> list[str]:
    """Return the tags of one person or of all, the most used first."""
    rows = conn.execute(
        """SELECT tag FROM tag_uses WHERE items > 0 AND (:author IS NULL OR author = :author)
           GROUP BY tag ORDER BY sum(items) DESC, tag""",
        {"author": author},
    )
    return [row["tag"] for row in rows]


def tags(conn: sqlite3.Connection, run: int) -> list[str | None]:
    """Return the tags of a run's report and all tags that reviewers gave in the desk."""
    return [*case_tags(conn, run), *used_tags(conn)]


def case_tags(conn: sqlite3.Connection, run: int) -> list[str | None]:
    """Return the tags of a run's report."""
    rows = conn.execute("SELECT DISTINCT tag FROM case_tags WHERE run = ?", (run,))
    return [row["tag"] for row in rows]
