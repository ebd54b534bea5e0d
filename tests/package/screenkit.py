"""A program on a terminal of its own, and what its screen shows."""

import fcntl
import os
import select
import struct
import subprocess
import termios
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from time import monotonic

import pyte

PATIENCE = 60.0
"""Seconds after which a screen that does not come is called missing."""


class OnScreen:
    """A program at a terminal of 160 columns and 48 rows; pyte keeps what the terminal shows."""

    def __init__(self, command: Sequence[str], env: Mapping[str, str], folder: Path) -> None:
        """Start the program."""
        self._ours, theirs = os.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 48, 160, 0, 0))
        self._screen = pyte.Screen(160, 48)
        self._stream = pyte.ByteStream(self._screen)
        self._program = subprocess.Popen(
            command, env=env, cwd=folder, stdin=theirs, stdout=theirs, stderr=theirs,
            start_new_session=True,
        )  # fmt: skip
        os.close(theirs)

    @property
    def text(self) -> str:
        """What the screen shows."""
        return "\n".join(self._screen.display)

    def until(self, seen: Callable[[str], object]) -> str:
        """Read until the screen shows what is wanted."""
        end = monotonic() + PATIENCE
        while not seen(self.text):
            ready, _, _ = select.select([self._ours], [], [], max(0.0, end - monotonic()))
            assert ready, f"not on the screen:\n{self.text}"
            self._stream.feed(os.read(self._ours, 65536))
        return self.text

    def rest(self) -> str:
        """Read until the screen has kept still for a second, as a person waits to look at it."""
        while select.select([self._ours], [], [], 1.0)[0]:
            self._stream.feed(os.read(self._ours, 65536))
        return self.text

    def press(self, keys: str) -> None:
        """Type on the terminal."""
        os.write(self._ours, keys.encode())

    def ended(self) -> int:
        """Read to the end, and return the program's exit code."""
        try:
            while os.read(self._ours, 65536):
                pass
        except OSError:  # a terminal whose program has gone
            pass
        return self._program.wait(PATIENCE)

    def close(self) -> None:
        """End what still runs."""
        self._program.kill()
        self._program.wait()
        os.close(self._ours)
