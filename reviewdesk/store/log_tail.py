"""Read what was added to the label log since the last read, by any process.

Events are appended under the write lock and never changed, so their keys are in the order of their
commits: everything that an earlier read missed has a larger key than the last one it saw.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass

from reviewdesk.store.events import desk_id


@dataclass(frozen=True, slots=True)
class Head:
    """The newest event of the log by key and hash; 0 and an empty hash if there is none."""

    key: int = 0
    hash: str = ""


def head(conn: sqlite3.Connection) -> Head:
    """Return the newest event of the log."""
    row = conn.execute("SELECT key, hash FROM label_events ORDER BY key DESC LIMIT 1").fetchone()
    return Head(row["key"], row["hash"]) if row else Head()


def holds(conn: sqlite3.Connection, seen: Head) -> bool:
    """Return True if this is the log in which ``seen`` was the newest event."""
    row = conn.execute("SELECT hash FROM label_events WHERE key = ?", (seen.key,)).fetchone()
    return row["hash"] == seen.hash if row else seen == Head()


def touched(conn: sqlite3.Connection, seen: Head, limit: int) -> set[bytes] | None:
    """Return the items whose labels may have changed since ``seen``.

    ``None`` if there are more than ``limit`` events or items.
    """
    found: set[bytes] = set()
    rows = conn.execute(
        """SELECT kind, desk, reviewer, item, target FROM label_events
           WHERE key > ? ORDER BY key LIMIT ?""",
        (seen.key, limit + 1),
    ).fetchall()
    for row in rows:
        if row["kind"] == "label":
            found.add(row["item"])
        elif row["target"] is not None:
            found |= _items_of_action(conn, row, limit)
        if len(found) > limit:
            return None
    return None if len(rows) > limit else found


def _items_of_action(conn: sqlite3.Connection, turn: sqlite3.Row, limit: int) -> set[bytes]:
    """Return the items of the action that an undo or redo refers to, at most ``limit + 1``.

    The events of an action follow each other in their chain, so reading starts at its first event.
    """
    rows = conn.execute(
        """SELECT action, item FROM label_events
           WHERE desk = ? AND reviewer = ? AND seq >= ? ORDER BY seq LIMIT ?""",
        (turn["desk"], turn["reviewer"], turn["target"], limit + 1),
    )
    found: set[bytes] = set()
    for row in rows:
        if row["action"] != turn["target"]:
            break
        if row["item"] is not None:
            found.add(row["item"])
    return found


@dataclass(frozen=True, slots=True)
class Done:
    """An event of one reviewer; ``target`` is the action that an undo or redo refers to."""

    seq: int
    at: str
    kind: str
    run: str | None
    action: int
    target: int | None
    untimed: bool
    """Whether the event came from a file or the shell, and so is not work on screen."""


def done(conn: sqlite3.Connection, reviewer: str, after: int) -> Iterator[Done]:
    """Yield a reviewer's events after a ``seq`` of the chain, oldest first."""
    rows = conn.execute(
        """SELECT seq, at, kind, run, action, target,
                  (json_extract(detail, '$.imported') IS NOT NULL OR (
                     kind = 'label' AND json_extract(detail, '$.blind') IS NULL)) AS untimed
           FROM label_events WHERE desk = ? AND reviewer = ? AND seq > ? ORDER BY seq""",
        (desk_id(conn), reviewer, after),
    )
    for row in rows:
        yield Done(**{**dict(row), "untimed": bool(row["untimed"])})
