"""Statistics of a whole archive, stored with a run of its flagged and audited verdicts."""

from __future__ import annotations

import json
import sqlite3
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reviewdesk.domain.run.details import DecisionCounts
    from reviewdesk.domain.run.stats import Stats


def keep_archives(conn: sqlite3.Connection) -> None:
    """Add the statistics of a whole archive, whose run holds only some of its verdicts."""
    conn.execute("ALTER TABLE runs ADD COLUMN archive TEXT")


def text(conn: sqlite3.Connection, run: int) -> str | None:
    """Return the statistics of an archive as JSON; ``None`` for any other run."""
    row = dict(conn.execute("SELECT * FROM runs WHERE key = ?", (run,)).fetchone())
    # A desk of an older layout, which a migration reads, holds no archives.
    return row.get("archive")


def stats(conn: sqlite3.Connection, run: int) -> Stats | None:
    """Return the statistics of an archive; ``None`` for any other run."""
    found = text(conn, run)
    return None if found is None else _read(found)


def whole(row: sqlite3.Row) -> int:
    """Return the number of verdicts that the figures of a run cover, given its row."""
    found = row["archive"] if "archive" in row.keys() else None  # noqa: SIM118 - else its values
    return int(row["verdicts"] if found is None else json.loads(found)["counts"]["verdicts"])


def tallies(conn: sqlite3.Connection, run: int | None) -> dict[int, DecisionCounts]:
    """Count the verdicts of all archives, or of the run if it is one, by run key."""
    query = "SELECT key, archive FROM runs WHERE archive IS NOT NULL AND key = ifnull(?, key)"
    rows = conn.execute(query, (run,)).fetchall()
    return {key: _read(found).decision_counts() for key, found in rows}


def _read(found: str) -> Stats:
    # Imported here because it loads numpy, which commands that only read do not need.
    from reviewdesk.domain.run.stats import Stats

    return Stats.from_json(found)
