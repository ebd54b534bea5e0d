"""The terminal that the app needs, wherever the streams of the process lead."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from reviewdesk.errors import UsageError


@contextmanager
def terminal() -> Iterator[None]:
    """Keys come from the terminal even where stdin was the report, and the screen goes there.

    The app draws through stderr; where that is redirected, it is lent the terminal of stdout and
    given back for the narration that follows.
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
