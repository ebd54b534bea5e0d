"""Signals by which a system asks a program to end."""

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

Handler = Callable[[int, FrameType | None], None]

ENDING = tuple(
    signal.Signals[name]
    for name in ("SIGTERM", "SIGHUP", "SIGBREAK")
    if name in signal.Signals.__members__
)
"""Windows has no SIGHUP: a console that is closed, like ctrl+break, sends SIGBREAK."""

_heard: list[int] = []


def on_end(handler: Handler) -> None:
    """Call ``handler`` for each of the signals, but not for one that the parent has ignored."""

    def hear(number: int, frame: FrameType | None) -> None:
        _heard.append(number)
        handler(number, frame)

    for number in ENDING:
        # nohup ignores SIGHUP for the program that it starts.
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, hear)


def asked_to_end() -> int | None:
    """Return the last such signal that was received, or ``None``."""
    return _heard[-1] if _heard else None


@contextmanager
def held_back() -> Iterator[None]:
    """Delay ctrl+c and the signals that ask the program to end until the block is done.

    Threads started in the block, and their processes, never receive ctrl+c, which a terminal sends
    to every process of a command. On Windows they do receive it.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread handles signals
        return
    heard: list[tuple[int, FrameType | None]] = []
    former = {
        number: handler
        for number in (signal.SIGINT, *ENDING)
        if callable(handler := signal.getsignal(number))
    }
    for number in former:
        signal.signal(number, lambda *told: heard.append(told))
    try:
        with _ctrl_c_blocked():
            yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)
        if heard:
            first, frame = heard[0]
            former[signal.Signals(first)](first, frame)


@contextmanager
def _ctrl_c_blocked() -> Iterator[None]:
    """Block SIGINT in this thread and in everything that it starts."""
    if sys.platform == "win32":
        yield
        return
    from multiprocessing.resource_tracker import ensure_running

    # Start the tracker first: it unblocks SIGINT in its thread, else in one that starts workers.
    ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
