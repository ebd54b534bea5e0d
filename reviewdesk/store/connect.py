"""Opening a desk file safely, and saying in one sentence why it cannot be opened."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from reviewdesk.errors import DeskError

APPLICATION_ID = 0x52444B31
"""Marks a SQLite file as a desk: the bytes ``RDK1``."""

BUSY_SECONDS = 15
_PAGE_SIZE = 16384


class ExplainedConnection(sqlite3.Connection):
    """A connection whose statements fail with a sentence for people."""

    path = Path()

    def execute(self, *args: Any) -> sqlite3.Cursor:
        """Run one statement."""
        with explained(self.path):
            return super().execute(*args)

    def executemany(self, *args: Any) -> sqlite3.Cursor:
        """Run one statement over many rows."""
        with explained(self.path):
            return super().executemany(*args)


def connect(path: Path) -> sqlite3.Connection:
    """Open or create the file with the pragmas that durability rests on."""
    with explained(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists() and not path.is_file():
            raise DeskError(f"{path}: not a file", "Name a file with --desk.")
        conn = sqlite3.connect(
            path, timeout=BUSY_SECONDS, isolation_level=None, factory=ExplainedConnection
        )
        conn.path = path
        try:
            _prepare(conn, path)
        except BaseException:
            conn.close()
            raise
        return conn


def _prepare(conn: ExplainedConnection, path: Path) -> None:
    conn.row_factory = sqlite3.Row
    tables = conn.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    marked = conn.execute("PRAGMA application_id").fetchone()[0] == APPLICATION_ID
    if tables and not marked:
        raise DeskError(f"{path}: a SQLite file of something else", "Name another with --desk.")
    if not tables:
        conn.execute(f"PRAGMA page_size={_PAGE_SIZE}")
    # Where the file system cannot share the log (a network disk), SQLite stays with its rollback
    # journal, which is as durable and slower.
    conn.execute("PRAGMA journal_mode=WAL")
    conn.execute("PRAGMA synchronous=FULL")
    if sys.platform == "darwin":
        conn.execute("PRAGMA fullfsync=ON")
    conn.execute("PRAGMA foreign_keys=ON")
    # So that INSERT OR REPLACE meets the triggers that guard the label log.
    conn.execute("PRAGMA recursive_triggers=ON")


@contextmanager
def writing(conn: sqlite3.Connection, path: Path) -> Iterator[None]:
    """One transaction that takes the write lock at once: all of it or none.

    A transaction that reads first and then writes fails at once under a second writer.
    """
    with explained(path):
        conn.execute("BEGIN IMMEDIATE")
        try:
            yield
            conn.execute("COMMIT")
        except BaseException:
            if conn.in_transaction:
                conn.execute("ROLLBACK")
            raise


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turn what SQLite and the system say into one clear sentence; the desk is unharmed."""
    try:
        yield
    except sqlite3.Error as error:
        raise _explain(path, error) from error
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        raise DeskError(f"{path}: {reason}", "Name another desk with --desk.") from error


_SENTENCES = (
    ("locked", "another process is writing", "Try again, or close the other window."),
    ("readonly", "the desk is read-only", "Make file and folder writable, or use another --desk."),
    ("full", "the disk is full", "Nothing was written; free some space and try again."),
    ("unable to open", "the desk cannot be opened", "Check the folder, or use another --desk."),
    ("not a database", "not a desk file", "Name another with --desk."),
    ("malformed", "the desk is damaged", "Restore a backup; keep the file for recovery."),
    ("disk i/o", "the disk reports an error", "Check the disk; nothing was written."),
)


def _explain(path: Path, error: sqlite3.Error) -> DeskError:
    text = str(error).lower()
    for sign, sentence, hint in _SENTENCES:
        if sign in text:
            return DeskError(f"{path}: {sentence}", hint)
    return DeskError(f"{path}: {error}")
