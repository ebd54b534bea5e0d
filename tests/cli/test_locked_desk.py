"""The app on a terminal while another process holds the lock of its desk."""

import contextlib
import os
import select
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers import POSIX, ROOT, environment, numbered

pytestmark = [POSIX, pytest.mark.slow]
LONGEST = 20.0
"""Seconds until something that must come is given up; the lock is held until it has come."""


class Screen:
    """The app on a terminal of its own."""

    def __init__(self, path: Path) -> None:
        self.desk = path / "desk.db"
        report = path / "report.json"
        report.write_bytes(numbered(6))
        self.screen, terminal = os.openpty()
        self.running = subprocess.Popen(
            [sys.executable, "-m", "reviewdesk", "open", str(report)],
            env={**environment(self.desk), "TERM": "xterm-256color"},
            cwd=ROOT,
            stdin=terminal,
            stdout=terminal,
            stderr=terminal,
        )
        os.close(terminal)
        self.shown = b""

    def until(self, text: bytes) -> None:
        """Read the screen until it shows a text."""
        end = time.monotonic() + LONGEST
        while text not in self.shown:
            assert time.monotonic() < end, self.shown[-2000:]
            if select.select([self.screen], [], [], 0.1)[0]:
                self.shown += os.read(self.screen, 65536)

    def press(self, key: bytes, shows: bytes) -> None:
        """Press a key until the screen answers: a label key is ignored if the item is too new."""
        end = time.monotonic() + LONGEST
        self.shown = b""
        while shows not in self.shown:
            assert time.monotonic() < end, self.shown[-2000:]
            os.write(self.screen, key)
            if select.select([self.screen], [], [], 0.5)[0]:
                self.shown += os.read(self.screen, 65536)

    def end(self) -> bytes:
        """Ask the app to end, and return what it prints after the screen."""
        self.shown = b""
        self.running.send_signal(signal.SIGTERM)
        with contextlib.suppress(OSError):
            while piece := os.read(self.screen, 65536):
                self.shown += piece
        assert self.running.wait(LONGEST) == 143
        return self.shown[self.shown.rindex(b"\x1b[?1049l") :]


@pytest.fixture
def screen(tmp_path: Path) -> Iterator[Screen]:
    found = Screen(tmp_path)
    with found.running:
        try:
            found.until(b"pass")
            yield found
        finally:
            found.running.kill()
            os.close(found.screen)


@contextlib.contextmanager
def locked(desk: Path) -> Iterator[None]:
    other = sqlite3.connect(desk, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    yield
    other.execute("ROLLBACK")
    other.close()


def labels(desk: Path) -> list[str]:
    with contextlib.closing(sqlite3.connect(desk)) as conn:
        return [
            row[0] for row in conn.execute("SELECT label FROM label_events WHERE kind = 'label'")
        ]


def test_the_screen_answers_and_the_label_is_saved_when_the_lock_goes(screen: Screen) -> None:
    with locked(screen.desk):
        screen.press(b"p", b"saving")
        # The screen goes on meanwhile.
        screen.press(b"?", b"Label pass")
        assert labels(screen.desk) == []
    end = time.monotonic() + LONGEST
    while not labels(screen.desk):
        assert time.monotonic() < end
    assert set(labels(screen.desk)) == {"pass"}
    assert b"not saved" not in screen.end()


def test_a_signal_keeps_what_could_not_be_saved_and_says_where(screen: Screen) -> None:
    with locked(screen.desk):
        screen.press(b"p", b"saving")
        said = screen.end()
    (kept,) = screen.desk.parent.glob(f"{screen.desk.name}.unsaved-*")
    assert f"not saved but kept in {kept}".encode() in said
    assert b"saved in" in said
    assert labels(screen.desk) == []
