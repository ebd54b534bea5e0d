"""Let one process at a time write a file; the system releases the lock when the process ends."""

import errno
import os
import sys
import time
from contextlib import suppress
from pathlib import Path

_UNKNOWN = (errno.ENOTSUP, errno.EINVAL, errno.ENOTTY)
"""The errors of a file system for a call that it does not support."""


def sync(descriptor: int) -> None:
    """Return once what was written to a file is on disk; raise OSError if that fails."""
    try:
        if sys.platform == "darwin":
            import fcntl

            # There, fsync leaves the data in the cache of the drive.
            fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
        else:
            os.fsync(descriptor)
    except OSError as error:
        # Only if the call is unsupported: after a failed flush, a second one would report success.
        if error.errno not in _UNKNOWN:
            raise
        os.fsync(descriptor)


def sync_folder(folder: Path) -> None:
    """Write the names in a folder to disk. Windows cannot open folders; it journals names."""
    if os.name != "posix":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        sync(descriptor)
    finally:
        os.close(descriptor)


_RESPECT = 1.0
"""Seconds for which others let a waiting process go first, as a stopped one would wait forever."""


class WriterPlace:
    """A place in the line of processes that wait for a file; it is kept until ``leave``.

    Each process locks the byte of the file whose number is its time of arrival in microseconds, so
    that the system drops processes that die. Without such locks every process is first.
    """

    def __init__(self, path: Path) -> None:
        """Join the end of the line for a file."""
        self._byte = int(1e6 * time.monotonic())
        self._file: int | None = None
        if sys.platform != "win32":
            import fcntl

            flags = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
            with suppress(OSError):
                self._file = os.open(path, flags)
                fcntl.lockf(self._file, fcntl.LOCK_SH | fcntl.LOCK_NB, 1, self._byte)

    def is_first(self) -> bool:
        """Return True unless a process waits that arrived earlier, within the last second."""
        oldest = max(0, int(1e6 * (time.monotonic() - _RESPECT)))
        if sys.platform == "win32" or self._file is None or oldest >= self._byte:
            return True
        import fcntl

        earlier = self._byte - oldest, oldest
        try:
            fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB, *earlier)
            fcntl.lockf(self._file, fcntl.LOCK_UN, *earlier)
        except BlockingIOError:
            return False
        except OSError:
            pass
        return True

    def leave(self) -> None:
        """Leave the line, so that the next process can go first."""
        if self._file is not None:
            os.close(self._file)
            self._file = None
