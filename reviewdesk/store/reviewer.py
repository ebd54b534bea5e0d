"""Keep what belongs to one reviewer: last view, saved filters, unfinished notes, contents seen."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from dataclasses import asdict

from reviewdesk.domain.records import View


def view(conn: sqlite3.Connection, run: int, reviewer: str) -> View | None:
    """Return what a reviewer last had on screen in a run, or ``None``."""
    row = conn.execute(
        "SELECT state FROM views WHERE run = ? AND reviewer = ?", (run, reviewer)
    ).fetchone()
    return View(**json.loads(row["state"])) if row else None


def save_view(conn: sqlite3.Connection, run: int, reviewer: str, state: View) -> None:
    """Save what a reviewer has on screen in a run."""
    conn.execute(
        "INSERT OR REPLACE INTO views VALUES (?, ?, ?)", (run, reviewer, json.dumps(asdict(state)))
    )


def saved_filters(conn: sqlite3.Connection, reviewer: str) -> dict[str, str]:
    """Return the text of each saved filter of a reviewer, by name."""
    rows = conn.execute(
        "SELECT name, text FROM filters WHERE reviewer = ? ORDER BY name", (reviewer,)
    )
    return {row["name"]: row["text"] for row in rows}


def save_filter(conn: sqlite3.Connection, reviewer: str, name: str, text: str) -> None:
    """Save a filter under a name, replacing an older one of that name."""
    conn.execute("INSERT OR REPLACE INTO filters VALUES (?, ?, ?)", (reviewer, name, text))


def forget_filter(conn: sqlite3.Connection, reviewer: str, name: str) -> bool:
    """Delete a saved filter, and return whether it existed."""
    cursor = conn.execute("DELETE FROM filters WHERE reviewer = ? AND name = ?", (reviewer, name))
    return cursor.rowcount > 0


def draft(conn: sqlite3.Connection, key: int, reviewer: str) -> str | None:
    """Return the reviewer's unfinished note on a verdict's content, or ``None``."""
    row = conn.execute(
        """SELECT d.text FROM drafts d JOIN verdicts v ON v.item = d.item
           WHERE v.key = ? AND d.reviewer = ?""",
        (key, reviewer),
    ).fetchone()
    return str(row["text"]) if row else None


def save_draft(conn: sqlite3.Connection, key: int, reviewer: str, text: str) -> None:
    """Store an unfinished note on a verdict's content; an empty text deletes it."""
    if text:
        conn.execute(
            "INSERT OR REPLACE INTO drafts SELECT item, ?, ? FROM verdicts WHERE key = ?",
            (reviewer, text, key),
        )
    else:
        conn.execute(
            """DELETE FROM drafts WHERE reviewer = ?
               AND item = (SELECT item FROM verdicts WHERE key = ?)""",
            (reviewer, key),
        )


def save_seen(conn: sqlite3.Connection, keys: Iterable[int], reviewer: str) -> None:
    """Record that a reviewer has seen the panel's answers on these verdicts' contents."""
    conn.executemany(
        "INSERT OR IGNORE INTO seen SELECT ?, item FROM verdicts WHERE key = ?",
        [(reviewer, key) for key in keys],
    )


def was_seen(conn: sqlite3.Connection, key: int, reviewer: str) -> bool:
    """Return True if a reviewer has seen a panel's answer on this verdict's content."""
    row = conn.execute(
        """SELECT 1 FROM seen s JOIN verdicts v ON v.item = s.item
           WHERE v.key = ? AND s.reviewer = ?""",
        (key, reviewer),
    ).fetchone()
    return row is not None
