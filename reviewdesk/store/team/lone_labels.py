"""Read which items have the label of one other person alone."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterable

from reviewdesk.domain.labels.chain import DESK
from reviewdesk.store.rows import in_pages


def others_work(conn: sqlite3.Connection, reviewer: str) -> bool:
    """Return True if anybody but a reviewer has a chain in the log; it reads one row of each."""
    row = conn.execute(
        """WITH RECURSIVE chain (desk, reviewer) AS (
             SELECT * FROM (SELECT desk, reviewer FROM label_events
                            ORDER BY desk, reviewer LIMIT 1)
             UNION ALL
             SELECT n.desk, n.reviewer FROM chain c JOIN label_events n ON n.key = (
               SELECT key FROM label_events WHERE (desk, reviewer) > (c.desk, c.reviewer)
               ORDER BY desk, reviewer LIMIT 1))
           SELECT 1 FROM chain WHERE reviewer NOT IN (?, ?) LIMIT 1""",
        (reviewer, DESK),
    ).fetchone()
    return row is not None


_LONE = """SELECT c.item, EXISTS (SELECT 1 FROM label_events r WHERE r.item = c.item
                                    AND r.kind = 'reveal' AND r.reviewer = ?) AS revealed
           FROM current_events c CROSS JOIN label_events e ON e.key = c.key AND e.reviewer <> ?
           WHERE c.slot = 'label' AND c.author <> ? AND NOT EXISTS (
             SELECT 1 FROM current_events o
             WHERE o.item = c.item AND o.slot IN ('label', 'adjudication')
               AND (o.slot <> 'label' OR o.author <> c.author))"""


def lone_labels(
    conn: sqlite3.Connection, reviewer: str, items: Collection[bytes] | None = None
) -> dict[bytes, bool]:
    """Return the items, among those given or of all, that one other person alone labelled.

    The value tells whether the reviewer has revealed the item. A label that the reviewer imported
    is not another's, and an adjudication ends what is withheld.
    """
    who = (reviewer,) * 3
    rows: Iterable[sqlite3.Row] = ()
    if items is not None:
        rows = in_pages(conn, f"{_LONE} AND c.item IN (*)", sorted(items), *who)
    elif others_work(conn, reviewer):
        rows = conn.execute(_LONE, who)
    return {row["item"]: bool(row["revealed"]) for row in rows}
