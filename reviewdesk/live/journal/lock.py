"""One process per file, for as long as it lives."""

from __future__ import annotations

import os
import sys
from pathlib import Path

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
