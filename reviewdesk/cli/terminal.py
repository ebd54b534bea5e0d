"""Connect the app to the terminal if the process's streams are redirected."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from reviewdesk.errors import UsageError


@contextmanager
def terminal() -> Iterator[None]:
    """Read keys from the terminal even if stdin was the report, and draw the screen on it.

    The app draws through stderr. If stderr is redirected, it points to stdout's terminal while the
    app runs, and is restored afterwards for messages.

    Raises:
        UsageError: there is no terminal to read keys from.
    """
    if not sys.stdin.isatty():
        try:
            os.dup2(os.open("/dev/tty", os.O_RDONLY), 0)
        except OSError as error:
            raise UsageError(
                "no terminal to read keys from", "Load it: reviewdesk ingest."
            ) from error
    kept = None if os.isatty(2) else os.dup(2)
    if kept is not None:
        os.dup2(1, 2)
    try:
        yield
    finally:
        if kept is not None:
            sys.stderr.flush()
            os.dup2(kept, 2)
            os.close(kept)
