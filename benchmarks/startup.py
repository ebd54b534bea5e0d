"""Measure the start of the app and its keys on a pseudo terminal, beside a bare Textual app.

Usage: python benchmarks/startup.py DESK... [--rounds 5]

Prints medians of CPU and wall time, interleaved in one run: until the first content is on screen,
until a first key is answered, and for each of 300 keys of a held ``j``.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import re
import select
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import pyte

BARE = """
from textual.app import App
from textual.widgets import Static

class Bare(App):
    def compose(self):
        yield Static("bare content")
    def on_key(self, event):
        self.query_one(Static).update("answered")

Bare().run()
"""
SIZE = (48, 160)
KEYS, GAP = 300, 0.033
"""Keys of the walk, and the seconds between two, as a keyboard repeats them."""


@dataclass(frozen=True, slots=True)
class Moment:
    """CPU and wall milliseconds since a program was started."""

    cpu: float
    wall: float


@dataclass(frozen=True, slots=True)
class Start:
    """The moments of the first content and of the first answered key."""

    first: Moment
    ready: Moment


@dataclass(frozen=True, slots=True)
class Walk:
    """CPU milliseconds a key at two percentiles, and the resident megabytes."""

    p50: float
    p99: float
    memory: float


class Screen:
    """A program on a pseudo terminal."""

    def __init__(self, command: Sequence[str]) -> None:
        """Start the program."""
        self._fd, child = os.openpty()
        fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", *SIZE, 0, 0))
        environ = {**os.environ, "TERM": "xterm-256color", "COLORTERM": "truecolor"}
        for name in ("PYTHONDONTWRITEBYTECODE", "NO_COLOR", "COLUMNS", "LINES"):
            environ.pop(name, None)
        self._begun = time.monotonic()
        self._process = subprocess.Popen(
            command, stdin=child, stdout=child, stderr=child, env=environ, start_new_session=True
        )
        os.close(child)
        self.output = b""
        self.shown = pyte.Screen(SIZE[1], SIZE[0])
        self._stream = pyte.ByteStream(self.shown)

    @property
    def cpu(self) -> float:
        """CPU milliseconds of all threads."""
        tasks = Path(f"/proc/{self._process.pid}/task").iterdir()
        return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e6

    @property
    def memory(self) -> float:
        """Resident megabytes."""
        text = Path(f"/proc/{self._process.pid}/status").read_text()
        return int(text.partition("VmRSS:")[2].split()[0]) / 1024

    def type(self, keys: bytes) -> None:
        """Type keys; what was on screen before them counts no more."""
        self.output = b""
        os.write(self._fd, keys)

    def read(self, seconds: float) -> None:
        """Read what the program draws for so long."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if select.select([self._fd], [], [], left)[0]:
                drawn = os.read(self._fd, 1 << 16)
                self.output += drawn
                self._stream.feed(drawn)

    def until(self, seen: Callable[[bytes], bool]) -> Moment:
        """Return the moment from which the output fits."""
        end = time.monotonic() + 120
        while not seen(self.output):
            if time.monotonic() > end:
                raise TimeoutError(self.output[-500:])
            self.read(0.001)
        return Moment(self.cpu, (time.monotonic() - self._begun) * 1e3)

    def close(self) -> None:
        """End the program."""
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()
        os.close(self._fd)


def start_of_bare() -> Start:
    """Start the bare app and press a key."""
    with tempfile.NamedTemporaryFile("w", suffix=".py") as file:
        file.write(BARE)
        file.flush()
        screen = Screen([sys.executable, file.name])
        first = screen.until(lambda output: b"bare content" in output)
        screen.type(b"J")
        ready = screen.until(lambda output: b"answered" in output)
        screen.close()
    return Start(first, ready)


def opening(desk: Path) -> list[str]:
    """Return the command that opens a desk."""
    return [str(Path(sys.executable).with_name("reviewdesk")), "open", "--desk", str(desk)]


def place(screen: Screen) -> str | None:
    """Return the place in the queue that the title tells, ``None`` if it is not on screen."""
    found = re.search(r"QUEUE +([\d,]+) of", screen.shown.display[1])
    return found[1] if found else None


def start_of_desk(desk: Path) -> Start:
    """Open a desk on its last run and press ``J``; ready once the cursor is on another row."""
    screen = Screen(opening(desk))
    first = screen.until(lambda _: place(screen) is not None)
    start = place(screen)
    screen.type(b"J")
    ready = screen.until(lambda _: place(screen) not in {None, start})
    screen.close()
    return Start(first, ready)


def walk(desk: Path) -> Walk:
    """Hold ``J`` on a desk, and after each 30 keys ``K`` for 10."""
    screen, costs = Screen(opening(desk)), []
    screen.until(lambda _: " help " in screen.shown.display[-1])
    screen.read(3)
    for at in range(KEYS):
        before = screen.cpu
        screen.type(b"J" if at % 40 < 30 else b"K")
        screen.read(GAP)
        costs.append(screen.cpu - before)
    memory = screen.memory
    screen.close()
    costs.sort()
    return Walk(costs[KEYS // 2], costs[KEYS * 99 // 100], memory)


def _line(name: str, found: Sequence[Moment], bare: Sequence[Moment]) -> str:
    cpu, wall = (median(getattr(one, part) for one in found) for part in ("cpu", "wall"))
    least, soonest = (median(getattr(one, part) for one in bare) for part in ("cpu", "wall"))
    ratios = f"{cpu / least:5.2f}x {wall / soonest:5.2f}x"
    return f"{name:42} cpu {cpu:7.1f} ms  wall {wall:7.1f} ms  {ratios}"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("desks", nargs="+", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    bare: list[Start] = []
    starts: dict[Path, list[Start]] = {desk: [] for desk in given.desks}
    walks: dict[Path, list[Walk]] = {desk: [] for desk in given.desks}
    for _ in range(given.rounds):
        bare.append(start_of_bare())
        for desk in given.desks:
            starts[desk].append(start_of_desk(desk))
            walks[desk].append(walk(desk))
    firsts, readies = [one.first for one in bare], [one.ready for one in bare]
    print(_line("bare Textual app: first content", firsts, firsts))
    print(_line("bare Textual app: first key answered", readies, readies))
    for desk in given.desks:
        name, found = desk.stem, starts[desk]
        print(_line(f"{name}: first content", [one.first for one in found], firsts))
        print(_line(f"{name}: first key answered", [one.ready for one in found], readies))
        p50, p99, memory = (
            median(getattr(one, part) for one in walks[desk]) for part in ("p50", "p99", "memory")
        )
        print(f"{name}: j and k held  cpu p50 {p50:.1f} ms  p99 {p99:.1f} ms  {memory:.0f} MB")


if __name__ == "__main__":
    main()
