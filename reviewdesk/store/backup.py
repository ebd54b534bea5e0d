"""Copy a desk file and check the copy."""

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from sqlite3 import Connection
from time import sleep

from reviewdesk.errors import Cancelled, DeskError
from reviewdesk.file_output import whole_path
from reviewdesk.store.connect import explained, is_busy


def is_own_file(desk: Path, path: Path) -> bool:
    """Return True if the path names the desk file, or a file that SQLite keeps beside it."""
    for name in ("", "-wal", "-shm", "-journal"):
        own = desk.with_name(desk.name + name)
        try:
            if path.resolve() == own.resolve() or path.samefile(own):
                return True
        except OSError:
            continue
    return False


def back_up(
    conn: Connection,
    desk: Path,
    target: Path,
    *,
    replace: bool = False,
    go_on: Callable[[], bool] = lambda: True,
) -> None:
    """Copy the whole desk with its log to a file, which is checked before it gets its name.

    The owner, or a group that may write the desk, may read it. Raise Cancelled once ``go_on``
    returns False, and DeskError if the target exists, has no folder, or the copy is damaged.
    """
    if is_own_file(desk, target):
        raise DeskError(f"{target}: is the desk itself", "Name a new file.")
    if not replace and os.path.lexists(target):
        raise DeskError(f"{target}: already exists", "Name a new file.")
    if not target.parent.is_dir():
        raise DeskError(f"{target}: there is no such folder", "Name a file in an existing folder.")
    with explained(target), whole_path(target, replace=replace, of_desk=True) as part:
        copy = sqlite3.connect(part)
        try:
            _copy_pages(conn, copy, go_on)
            copy.set_progress_handler(lambda: not go_on(), _CHECK_STEPS)
            found = copy.execute("PRAGMA quick_check(1)").fetchone()[0]
        except sqlite3.OperationalError:
            if not go_on():
                raise Cancelled(_STOPPED) from None
            raise
        finally:
            copy.close()
        if found != "ok":
            raise DeskError(f"{target}: the copy is damaged: {found}", "Run desk verify.")
        if desk.stat().st_mode & 0o020:
            part.chmod(0o660)


_STOPPED = "the backup was stopped; nothing of it is left"
_STEP_PAGES = 64
_CHECK_STEPS = 100_000
"""Steps of SQLite's machine between two calls that ask whether a check continues."""


def _copy_pages(conn: Connection, copy: Connection, go_on: Callable[[], bool]) -> None:
    """Copy a megabyte at a time.

    With a write-ahead log the copy shows one state, and writers never wait for it. Without one, it
    starts again after each write, and writers wait for the length of a step.
    """

    def between(*_: int) -> None:
        if not go_on():
            raise Cancelled(_STOPPED)
        sleep(0.001)

    # The whole file is flushed to the disk before it gets its name.
    copy.execute("PRAGMA synchronous=OFF")
    logged = not conn.in_transaction and conn.execute("PRAGMA journal_mode").fetchone()[0] == "wal"
    if logged:
        conn.execute("BEGIN")
        conn.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone()
    try:
        conn.backup(copy, pages=_STEP_PAGES, progress=between)
    finally:
        if logged:
            conn.execute("ROLLBACK")


def copy_into(source: Connection, part: Path) -> None:
    with closing(sqlite3.connect(part)) as copy:
        source.backup(copy)


def is_in_use(path: Path) -> bool:
    """Return True if SQLite's locks on a desk show that another process has it open."""
    if not path.exists():
        return False
    with closing(sqlite3.connect(path, timeout=0, isolation_level=None)) as conn:
        try:
            # Every reader of a log shares a lock that this requests exclusively.
            conn.execute("PRAGMA locking_mode=EXCLUSIVE")
            conn.execute("BEGIN EXCLUSIVE")
            conn.execute("ROLLBACK")
        except sqlite3.Error as error:
            return is_busy(error)
    return False
