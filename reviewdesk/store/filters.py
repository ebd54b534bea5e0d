"""A reviewer's saved filters, and the names that completion offers inside a filter."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

from reviewdesk.store.search import first_key, reach

_MOST = 200
"""The most names of one kind that are offered."""
_PANELS = 200
"""Panels sampled for juror names, spread over the run, as panels of one run are much alike."""


def saved(conn: sqlite3.Connection, reviewer: str) -> dict[str, str]:
    """Return the text of each saved filter of a reviewer, by name."""
    rows = conn.execute(
        "SELECT name, text FROM filters WHERE reviewer = ? ORDER BY name", (reviewer,)
    )
    return {row["name"]: row["text"] for row in rows}


def save(conn: sqlite3.Connection, reviewer: str, name: str, text: str) -> None:
    """Save a filter under a name, replacing an older one of that name."""
    conn.execute("INSERT OR REPLACE INTO filters VALUES (?, ?, ?)", (reviewer, name, text))


def forget(conn: sqlite3.Connection, reviewer: str, name: str) -> bool:
    """Delete a saved filter, and return whether it existed."""
    cursor = conn.execute("DELETE FROM filters WHERE reviewer = ? AND name = ?", (reviewer, name))
    return cursor.rowcount > 0


def tags(conn: sqlite3.Connection, run: int) -> tuple[str, ...]:
    """Return the tags of a run's report and all tags that reviewers gave in the desk."""
    rows = conn.execute(
        """SELECT DISTINCT tag FROM case_tags WHERE run = ?
           UNION SELECT tag FROM item_tags WHERE tag IS NOT NULL""",
        (run,),
    )
    return _names(row[0] for row in rows)


def jurors(conn: sqlite3.Connection, run: int) -> tuple[str, ...]:
    """Return the ids and models of jurors from a sample of a run's panels."""
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
    """Return the names of the loaded runs, newest first."""
    rows = conn.execute("SELECT name FROM runs WHERE removed_at IS NULL ORDER BY key DESC")
    return tuple(row["name"] for row in rows)


def _names(found: Iterable[object]) -> tuple[str, ...]:
    """Return up to ``_MOST`` texts, sorted, taking those that differ only in case as one."""
    folded = {name.casefold(): name for name in found if isinstance(name, str)}
    return tuple(sorted(folded.values(), key=str.casefold)[:_MOST])
