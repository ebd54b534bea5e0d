"""Read the current tags: those on one item by author, and their counts in a run or the desk."""

from __future__ import annotations

import sqlite3

from reviewdesk.domain.records import TagCount


def of_item(conn: sqlite3.Connection, item: bytes) -> dict[str, tuple[str, ...]]:
    """Return the tags of an item by author, each author's in the order given."""
    found: dict[str, dict[str, None]] = {}
    rows = conn.execute(
        "SELECT author, tag FROM item_tags WHERE item = ? ORDER BY author, place", (item,)
    )
    for row in rows:
        found.setdefault(row["author"], {})[row["tag"]] = None
    return {author: tuple(tags) for author, tags in found.items()}


def counts(conn: sqlite3.Connection, run: int | None = None) -> list[TagCount]:
    """Count the items that carry each tag, in a run or the whole desk, most used first."""
    rows = conn.execute(
        """SELECT t.tag, count(DISTINCT t.item) AS items FROM item_tags t
           WHERE :run IS NULL
              OR EXISTS (SELECT 1 FROM verdicts v WHERE v.item = t.item AND v.run = :run)
           GROUP BY t.tag ORDER BY items DESC, t.tag""",
        {"run": run},
    )
    return [TagCount(row["tag"], row["items"]) for row in rows]
