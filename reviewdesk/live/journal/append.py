"""Lines that are on disk when they are said to be: many per fsync, and none on the event loop."""

from __future__ import annotations

import asyncio
import os
import sys
from collections import deque
from pathlib import Path
from threading import Lock

from reviewdesk.errors import JournalError

_FAR = 1 << 40
"""On Windows a locked byte cannot be read by others, so one is locked that is never there."""


def lock(file: int, path: Path) -> None:
    """Take the file for this process; the end of the process gives it back, however it ends.

    Raises:
        JournalError: another process has it.
    """
    try:
        if sys.platform == "win32":
            import msvcrt

            at = os.lseek(file, 0, os.SEEK_CUR)
            os.lseek(file, _FAR, os.SEEK_SET)
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
            os.lseek(file, at, os.SEEK_SET)
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError) as error:
        raise JournalError(
            f"{path}: another reviewdesk is at work on this run", "Wait for it, or stop it."
        ) from error
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise JournalError(
            f"{path}: cannot be locked: {reason}", "Name a -o on a local disk."
        ) from error


_FLAGS = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0)


class Appender:
    """The end of a private file that this process alone writes.

    ``add`` takes a line at once; whoever uses it first awaits ``settled``. Lines that come in while
    others are being written share the next fsync.
    """

    def __init__(self, path: Path) -> None:
        """Open and lock the file, which need not be there yet.

        Raises:
            JournalError: it cannot be written, or another process has it.
        """
        self._path = path
        self._waiting: deque[bytes] = deque()
        self._writing = Lock()
        self._round: asyncio.Task[None] | None = None
        self._added = self._stored = 0
        try:
            self._file = os.open(path, _FLAGS, 0o600)
        except OSError as error:
            raise _unwritable(path, error) from error
        try:
            lock(self._file, path)
            self.size = os.fstat(self._file).st_size
        except BaseException:
            os.close(self._file)
            raise

    @property
    def empty(self) -> bool:
        """Whether nothing is in the file, nor on its way there."""
        return not self.size and not self._waiting

    def add(self, line: bytes) -> None:
        """Take a line, without its end, to be written next."""
        self._added += 1
        self._waiting.append(line + b"\n")

    async def settled(self) -> None:
        """Return when every line that was added so far is on disk."""
        wanted = self._added
        while self._stored < wanted:
            if self._round is None or self._round.done():
                self._round = asyncio.create_task(asyncio.to_thread(self.flush))
            await asyncio.shield(self._round)

    def flush(self) -> None:
        """Write and fsync what waits, and return when it is on disk.

        Raises:
            JournalError: it cannot be written; what was stored before stays whole.
        """
        with self._writing:
            lines = [self._waiting.popleft() for _ in range(len(self._waiting))]
            if not lines:
                return
            try:
                self._write(b"".join(lines))
                os.fsync(self._file)
            except OSError as error:
                self._waiting.extendleft(reversed(lines))
                self.cut(self.size)
                raise _unwritable(self._path, error) from error
            self.size += sum(map(len, lines))
            self._stored += len(lines)

    def cut(self, size: int) -> None:
        """Let the file end there."""
        try:
            os.ftruncate(self._file, size)
        except OSError as error:
            raise _unwritable(self._path, error) from error
        self.size = size

    def close(self) -> None:
        """Write what waits and let go of the file."""
        try:
            self.flush()
        finally:
            os.close(self._file)

    def _write(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[os.write(self._file, view) :]


def _unwritable(path: Path, error: OSError) -> JournalError:
    reason = (error.strerror or str(error)).lower()
    return JournalError(
        f"{path}: {reason}", "What was stored stays. Mend that, then go on with --resume."
    )
