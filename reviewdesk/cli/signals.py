"""What the signals do that ask the process to end: SIGTERM, and SIGHUP of a closed terminal."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from reviewdesk.errors import Ended

Handler = Callable[[int, FrameType | None], None]

_NUMBERS = tuple(
    number for name in ("SIGTERM", "SIGHUP") if (number := getattr(signal, name, None)) is not None
)
"""Windows has no SIGHUP."""


def on_end(handler: Handler) -> None:
    """Call ``handler`` for each of the signals, but not for one that the parent has ignored."""
    for number in _NUMBERS:
        # nohup ignores SIGHUP for the program that it starts.
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, handler)


@contextmanager
def closing(close: Callable[[], None]) -> Iterator[list[int]]:
    """Close the app for a signal while its loop runs; the list holds the signals that came.

    An error raised in the middle of the loop would leave the terminal as the app had set it.
    """
    ended: list[int] = []

    def handle(number: int, _frame: FrameType | None) -> None:
        ended.append(number)
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            raise Ended(number) from None
        loop.call_soon_threadsafe(close)

    before = {number: signal.getsignal(number) for number in _NUMBERS}
    on_end(handle)
    try:
        yield ended
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
