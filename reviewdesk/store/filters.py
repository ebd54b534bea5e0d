"""Saved filters of a reviewer, and the names that a filter may use."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

from reviewdesk.store.search import first_key, reach

_MOST = 200
"""Names of a kind that are worth offering."""
_PANELS = 200
"""Panels looked at for jurors, spread over the run: panels of one run are much alike."""


def saved(conn: sqlite3.Connection, reviewer: str) -> dict[str, str]:
    """The saved filters of a reviewer by name."""
    rows = conn.execute(
        "SELECT name, text FROM filters WHERE reviewer = ? ORDER BY name", (reviewer,)
    )
    return {row["name"]: row["text"] for row in rows}


def save(conn: sqlite3.Connection, reviewer: str, name: str, text: str) -> None:
    """Keep a filter under a name, in the place of an older one of that name."""
    conn.execute("INSERT OR REPLACE INTO filters VALUES (?, ?, ?)", (reviewer, name, text))


def forget(conn: sqlite3.Connection, reviewer: str, name: str) -> bool:
    """Drop a saved filter; whether there was one."""
    cursor = conn.execute("DELETE FROM filters WHERE reviewer = ? AND name = ?", (reviewer, name))
    return cursor.rowcount > 0


def tags(conn: sqlite3.Connection, run: int) -> tuple[str, ...]:
    """The tags of a run's report and those that reviewers gave in the desk."""
    rows = conn.execute(
        """SELECT DISTINCT tag FROM case_tags WHERE run = ?
           UNION SELECT tag FROM item_tags WHERE tag IS NOT NULL""",
        (run,),
    )
    return _names(row[0] for row in rows)


def jurors(conn: sqlite3.Connection, run: int) -> tuple[str, ...]:
    """The ids and models on a sample of a run's panels."""
    first, count = first_key(conn, run), reach(conn, run)[1]
    step = max(1, count // _PANELS)
    rows = conn.execute(
        """WITH RECURSIVE sample(key) AS
               (SELECT ? UNION ALL SELECT key + ? FROM sample WHERE key + ? < ?)
           SELECT DISTINCT j.id, j.model FROM sample s JOIN ballots j ON j.verdict = s.key""",
        (first, step, step, first + count),
    )
    return _names(name for row in rows for name in row)


def run_names(conn: sqlite3.Connection) -> tuple[str, ...]:
    """The loaded runs, the newest first."""
    rows = conn.execute("SELECT name FROM runs WHERE removed_at IS NULL ORDER BY key DESC")
    return tuple(row["name"] for row in rows)


def _names(found: Iterable[object]) -> tuple[str, ...]:
    """Texts without repeats, those that differ in case alone taken as one."""
    folded = {name.casefold(): name for name in found if isinstance(name, str)}
    return tuple(sorted(folded.values(), key=str.casefold)[:_MOST])
