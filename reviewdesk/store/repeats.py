"""Read a reviewer's labels and repeats of a run from the log."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

from reviewdesk.domain.records import Truth
from reviewdesk.store.events import desk_id


@dataclass(frozen=True, slots=True)
class WorkEvent:
    """A standing label, repeat or defer of one reviewer.

    ``blind`` is ``None`` if the event does not say; ``told`` if the panel's answer was told after
    it; ``again`` is the content, in hex, that came back after it.
    """

    key: int
    kind: str
    verdict: str
    item: bytes
    label: Truth | None
    tentative: bool
    blind: bool | None
    told: bool | None
    again: str | None


def work(conn: sqlite3.Connection, reviewer: str, run: str) -> list[WorkEvent]:
    """Return what the reviewer labelled, repeated and deferred on screen in a run, oldest first."""
    rows = conn.execute(
        """SELECT key, kind, verdict, item, label, tentative,
                  json_extract(detail, '$.blind') AS blind,
                  json_extract(detail, '$.told') AS told,
                  json_extract(detail, '$.again') AS again
           FROM standing_events
           WHERE desk = ? AND reviewer = ? AND author = reviewer AND run = ?
             AND kind IN ('label', 'repeat', 'defer')
             AND json_extract(detail, '$.imported') IS NULL
             AND (kind = 'defer' OR json_extract(detail, '$.blind') IS NOT NULL)
           ORDER BY seq""",
        (desk_id(conn), reviewer, run),
    )
    return [
        WorkEvent(
            **{
                **dict(row),
                "label": Truth(row["label"]) if row["label"] else None,
                "tentative": bool(row["tentative"]),
                "blind": None if row["blind"] is None else bool(row["blind"]),
                "told": None if row["told"] is None else bool(row["told"]),
            }
        )
        for row in rows
    ]


def keys_of_item(conn: sqlite3.Connection, run: int, item: bytes) -> dict[str, int]:
    """Return the verdicts of a run with this content: their keys by id."""
    rows = conn.execute("SELECT id, key FROM verdicts WHERE item = ? AND run = ?", (item, run))
    return {row["id"]: row["key"] for row in rows}
