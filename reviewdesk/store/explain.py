"""Explain errors of SQLite and of the operating system in one sentence."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

from reviewdesk.errors import BusyError, DeskError, Ended, UsageError
from reviewdesk.system.signals import asked_to_end

BUSIEST = 60.0
"""Seconds for which one statement may keep SQLite busy."""


@contextmanager
def explained(path: Path, ran_long: Callable[[], bool] = lambda: True) -> Iterator[None]:
    """Turn errors of SQLite and the system into a DeskError or UsageError with a clear sentence.

    A statement that was stopped for another reason than ``ran_long`` raises KeyboardInterrupt.
    """
    try:
        yield
    except sqlite3.Error as error:
        if was_stopped(error) and not ran_long():
            raise interruption() from error
        text = str(error).lower()
        # The low byte is the error code; the bytes above it give the kind of busy error.
        if getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY:
            raise busy(path) from error
        for sign, sentence, hint in _SENTENCES:
            if sign in text:
                raise DeskError(f"{path}: {sentence}", hint) from error
        if isinstance(error, sqlite3.IntegrityError):
            raise DeskError(f"{path}: {error}") from error
        raise damaged(path, _NO_TEXT if "could not decode" in text else str(error)) from error
    except UnicodeDecodeError as error:
        # SQLite repeats the bytes of a damaged schema in its errors.
        raise damaged(path, _NO_TEXT) from error
    except UnicodeEncodeError as error:
        raise UsageError(
            "a name or text holds bytes that are not UTF-8, and nothing was written",
            "Give it in UTF-8.",
        ) from error
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        raise DeskError(f"{path}: {reason}", "Name another desk with --desk.") from error


_BUSY = "another process is writing", "Try again, or close the other window."
_SENTENCES = (
    (
        "interrupted",
        f"a statement ran for over {BUSIEST:.0f} seconds and was stopped",
        "Ask desk verify whether the desk was changed.",
    ),
    ("too big", "a text in the desk is too long to read", "Restore a backup."),
    ("locked", *_BUSY),
    ("readonly", "the desk is read-only", "Make file and folder writable, or use another --desk."),
    ("full", "the disk is full", "Nothing was written; free some space and try again."),
    ("unable to open", "the desk cannot be opened", "Check the folder, or use another --desk."),
    ("not a database", "not a desk file", "Name another with --desk."),
    ("disk i/o", "the disk reports an error", "Check the disk; nothing was written."),
)


_NO_TEXT = "bytes that are not UTF-8 stand where a text should"


def was_stopped(error: sqlite3.Error) -> bool:
    """Return True if a statement was stopped while it ran."""
    return getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_INTERRUPT


def interruption() -> KeyboardInterrupt:
    """Return the error of a signal handler that ran inside SQLite, which cannot pass it on."""
    number = asked_to_end()
    return KeyboardInterrupt() if number is None else Ended(number)


def busy(path: Path) -> BusyError:
    """Return the error of a write that found the lock taken."""
    return BusyError(f"{path}: {_BUSY[0]}", _BUSY[1])


def damaged(path: Path, problem: str) -> DeskError:
    """Return the error of a desk that cannot be read as it is."""
    return DeskError(
        f"{path}: the desk is damaged: {problem}", "Run desk restore BACKUP, or desk repair."
    )


class ExplainedCursor(sqlite3.Cursor):
    """A cursor of an ExplainedConnection, which explains errors of reading rows."""

    def _explained(self) -> AbstractContextManager[None]:
        watched: Any = self.connection
        return explained(watched.path, watched.ran_long)

    def fetchone(self) -> Any:
        with self._explained():
            return super().fetchone()

    def fetchmany(self, *args: Any, **named: Any) -> list[Any]:
        with self._explained():
            return super().fetchmany(*args, **named)

    def fetchall(self) -> list[Any]:
        with self._explained():
            return super().fetchall()

    def __iter__(self) -> Iterator[Any]:  # type: ignore[override]
        """Yield the rest of the rows."""
        with self._explained():
            # ``super().__iter__`` returns the cursor itself; this calls its C method for each row.
            yield from iter(super().__next__, None)
