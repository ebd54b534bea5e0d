"""Which items are open with whom, so that two people on one desk do not label the same one.

Claims are no part of the log: they end by themselves, and losing one costs nothing.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

from reviewdesk.store.connect import writing


def add_claims(conn: sqlite3.Connection) -> None:
    """Add the table of which items are open with whom."""
    conn.execute(
        """CREATE TABLE IF NOT EXISTS claims (
            item BLOB PRIMARY KEY, reviewer TEXT NOT NULL, until TEXT NOT NULL) WITHOUT ROWID"""
    )


def claim(
    conn: sqlite3.Connection,
    path: Path,
    reviewer: str,
    items: Collection[bytes],
    *,
    at: str,
    until: str,
) -> frozenset[bytes]:
    """Claim items until a time, and give up all others; return those that the reviewer then holds.

    Each is claimed by one statement, so that of two reviewers one gets it.
    """
    with _quickly(conn, path):
        conn.execute("DELETE FROM claims WHERE until <= ?", (at,))
        gone = held(conn, reviewer).difference(items)
        conn.executemany("DELETE FROM claims WHERE item = ?", [(item,) for item in sorted(gone)])
        conn.executemany(
            """INSERT INTO claims VALUES (?, ?, ?)
               ON CONFLICT (item) DO UPDATE SET until = excluded.until
               WHERE reviewer = excluded.reviewer""",
            [(item, reviewer, until) for item in sorted(items)],
        )
        return held(conn, reviewer)


def held(conn: sqlite3.Connection, reviewer: str) -> frozenset[bytes]:
    """Return the items that a reviewer has claimed."""
    rows = conn.execute("SELECT item FROM claims WHERE reviewer = ?", (reviewer,))
    return frozenset(row["item"] for row in rows)


def release(conn: sqlite3.Connection, path: Path, reviewer: str) -> None:
    """Give up every claim of a reviewer."""
    if held(conn, reviewer):
        with _quickly(conn, path):
            conn.execute("DELETE FROM claims WHERE reviewer = ?", (reviewer,))


def others(conn: sqlite3.Connection, reviewer: str, run: int, at: str) -> dict[int, str]:
    """Return the verdicts of a run, by key, whose items others have open, and with whom."""
    rows = conn.execute(
        """SELECT v.key, c.reviewer FROM claims c CROSS JOIN verdicts v
           ON v.item = c.item AND v.run = ? WHERE c.reviewer <> ? AND c.until > ?""",
        (run, reviewer, at),
    )
    return {row["key"]: row["reviewer"] for row in rows}


@contextmanager
def _quickly(conn: sqlite3.Connection, path: Path) -> Iterator[None]:
    """Run a transaction that need not outlive the power, and so does not wait for the disk."""
    conn.execute("PRAGMA synchronous=NORMAL")
    try:
        with writing(conn, path):
            yield
    finally:
        conn.execute("PRAGMA synchronous=FULL")
