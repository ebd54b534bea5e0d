"""Read who labelled what in a run, and where people differ."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

from msgspec import Struct

from reviewdesk.store.events import desk_id
from reviewdesk.store.rows import value


class AuthorLabel(Struct, frozen=True):
    """The label that a person gave the item of a verdict."""

    verdict: int
    item: bytes
    author: str
    label: str


def author_labels(conn: sqlite3.Connection, run: int) -> Iterator[AuthorLabel]:
    """Yield every current label of a run, in the order of the draw."""
    rows = conn.execute(
        """SELECT v.key, v.item, c.author, c.label FROM current_events c
           CROSS JOIN verdicts v ON v.item = c.item AND v.run = ?
           WHERE c.slot = 'label' ORDER BY v.draw, c.author""",
        (run,),
    )
    yield from (AuthorLabel(*row) for row in rows)


def disputed(conn: sqlite3.Connection, run: int) -> list[int]:
    """Return the verdicts of a run on whose items people differ, settled or not, as drawn."""
    rows = conn.execute(
        """SELECT v.key FROM (SELECT item FROM current_events WHERE slot = 'label'
                              GROUP BY item HAVING min(label) <> max(label)) d
           CROSS JOIN verdicts v ON v.item = d.item AND v.run = ? ORDER BY v.draw""",
        (run,),
    )
    return [row[0] for row in rows]


def adjudicated(conn: sqlite3.Connection, run: int) -> int:
    """Count the verdicts of a run whose item has labels and an adjudication."""
    query = """SELECT count(*) FROM current_events a
               CROSS JOIN verdicts v ON v.item = a.item AND v.run = ?
               WHERE a.slot = 'adjudication' AND a.item IN (SELECT item FROM truths)"""
    return int(value(conn, query, (run,)))


def reviewers(conn: sqlite3.Connection, run_hash: str) -> list[str]:
    """Return who labelled a run on this desk by hand, by name."""
    rows = conn.execute(
        """SELECT DISTINCT reviewer FROM label_events
           WHERE desk = ? AND run = ? AND kind IN ('label', 'repeat') ORDER BY reviewer""",
        (desk_id(conn), run_hash),
    )
    return [row[0] for row in rows]
