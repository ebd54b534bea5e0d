"""A command in a process of its own, on a terminal of its own."""

import asyncio
import os
import select
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic
from typing import IO, Any

import pytest

from tests.helpers import ROOT, environment
from tests.live.server import Seen, verdict

QUESTION = b"[y/N] "
PATIENCE = 60.0
"""Seconds until something that must come is given up."""


async def started(arguments: Sequence[str], desk: Path, **more: str) -> asyncio.subprocess.Process:
    """Start a command in a process of its own, which nobody types to."""
    return await asyncio.create_subprocess_exec(
        sys.executable, "-m", "reviewdesk", *arguments, env=environment(desk) | more, cwd=ROOT,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip


Calls = set[tuple[str, str]]


class Killer:
    """The server decides when: it has read the n-th call of a process when that is killed."""

    def __init__(self, kills: Sequence[int], whom: Callable[[Seen], tuple[str, str]]) -> None:
        self._kills, self._whom = kills, whom
        self._asked: list[Counter[tuple[str, str]]] = []

    def __call__(self, seen: Seen) -> str:
        at, calls = len(self._asked) - 1, self._asked[-1]
        calls[self._whom(seen)] += 1
        if at < len(self._kills) and calls.total() == self._kills[at]:
            self._running.kill()
        return verdict(seen)

    async def run(
        self,
        start: Callable[[int], Awaitable[asyncio.subprocess.Process]],
        kept: Callable[[], Calls],
    ) -> Calls:
        """Start processes that have four calls open, of which the last one ends by itself."""
        stored: Calls = set()
        for place in range(len(self._kills) + 1):
            self._asked.append(Counter())
            self._running = await start(place)
            _, told = await self._running.communicate()
            is_killed = place < len(self._kills)
            assert self._running.returncode == (-signal.SIGKILL if is_killed else 0), told
            # No stored reply was asked for again, and nothing twice within one process.
            assert not stored & set(self._asked[-1])
            assert set(self._asked[-1].values()) == {1}
            now = kept()
            assert stored <= now
            assert len(set(self._asked[-1]) - now) <= 4
            stored = now
        return stored


class Terminal:
    """The app on a terminal of its own, of which every byte is kept."""

    def __init__(
        self,
        desk: Path,
        *arguments: str | Path,
        stderr: IO[bytes] | None = None,
        kind: str = "xterm-256color",
    ) -> None:
        self.screen, terminal = os.openpty()
        size = {"TERM": kind, "COLUMNS": "100", "LINES": "30"}
        self.running = subprocess.Popen(
            [sys.executable, "-m", "reviewdesk", *arguments],
            env=environment(desk) | size, cwd=ROOT, start_new_session=True,
            stdin=terminal, stdout=terminal, stderr=stderr or terminal,
        )  # fmt: skip
        os.close(terminal)
        self.shown = b""

    def until(self, text: bytes, press: bytes = b"") -> None:
        """Read until the screen shows a text, and press a key until it does."""
        end = monotonic() + PATIENCE
        while text not in self.shown:
            assert monotonic() < end, self.shown[-2000:]
            os.write(self.screen, press)
            if select.select([self.screen], [], [], 0.5)[0]:
                self.shown += os.read(self.screen, 65536)

    def end(self) -> tuple[int, bytes]:
        """Read to the end: the exit code, and what is printed after the screen."""
        with suppress(OSError):  # a terminal whose program has gone
            while piece := os.read(self.screen, 65536):
                self.shown += piece
        return self.running.wait(PATIENCE), self.shown.rpartition(b"\x1b[?1049l")[2]


@contextmanager
def on_terminal(desk: Path, *arguments: str | Path, **how: Any) -> Iterator[Terminal]:
    """Run the app on a terminal, and end what still runs."""
    found = Terminal(desk, *arguments, **how)
    with found.running:
        try:
            yield found
        finally:
            found.running.kill()
            os.close(found.screen)


async def at_a_terminal(
    arguments: Sequence[str], desk: Path, key: bytes, early: bytes = b""
) -> tuple[int, str]:
    """Answer the question by one key: exit code, and what it showed.

    ``early`` was typed before the command began.
    """
    if sys.platform == "win32":
        pytest.skip("a terminal of POSIX")
    leader, follower = os.openpty()
    os.write(leader, early)
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "reviewdesk", *arguments,
        env=environment(desk), cwd=ROOT,
        stdin=follower, stderr=follower, stdout=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    os.close(follower)
    shown = b""

    def read() -> bytes:
        with suppress(OSError):  # the other end of a terminal that nobody holds any more
            return os.read(leader, 4096)
        return b""

    while more := await asyncio.to_thread(read):
        shown += more
        if shown.endswith(QUESTION):
            os.write(leader, key)
    os.close(leader)
    return await process.wait(), shown.decode()
