"""Signals by which a system asks a program to end."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterable
from types import FrameType

Handler = Callable[[int, FrameType | None], None]

_NAMES = ("SIGTERM", "SIGHUP", "SIGBREAK")
"""Windows has no SIGHUP: a console that is closed, like ctrl+break, sends SIGBREAK."""


def ending(known: Iterable[str]) -> tuple[str, ...]:
    """Return which of a system's signals ask a program to end."""
    return tuple(name for name in _NAMES if name in set(known))


ENDING = tuple(signal.Signals[name] for name in ending(signal.Signals.__members__))


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
    """Return the last of the signals that came, ``None`` if none did."""
    return _heard[-1] if _heard else None
