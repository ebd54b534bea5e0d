"""The app on a real terminal, with the other streams leading elsewhere."""

import os
import select
import subprocess
import sys
from pathlib import Path
from time import monotonic

import pytest

from tests.helpers import POSIX, environment

SAMPLE = Path(__file__).resolve().parent.parent.parent / "sample_runs" / "support-bot.jsonl"
PATIENCE = 60


def read_until(terminal: int, wanted: bytes) -> bytes:
    """What the terminal shows, up to a text or the end of the process."""
    seen, deadline = b"", monotonic() + PATIENCE
    while wanted not in seen and monotonic() < deadline:
        ready, _, _ = select.select([terminal], [], [], 1)
        if ready:
            try:
                seen += os.read(terminal, 65536)
            except OSError:
                break
    return seen


def start(tmp_path: Path, file: Path) -> tuple[subprocess.Popen[bytes], int]:
    """Open the desk on a terminal of its own, with stderr in a file."""
    ours, theirs = os.openpty()
    with (tmp_path / "stderr").open("wb") as stderr:
        app = subprocess.Popen(
            [sys.executable, "-m", "reviewdesk", "open", str(file)],
            env=environment(tmp_path / "desk.db", "ann")
            | {"TERM": "xterm-256color", "COLUMNS": "100", "LINES": "30"},
            stdin=theirs,
            stdout=theirs,
            stderr=stderr,
            start_new_session=True,
        )
    os.close(theirs)
    return app, ours


def review(tmp_path: Path, file: Path, *, lost: bool = False) -> tuple[bytes, str]:
    """Open the desk and close it with q; the screen, and what stderr holds."""
    app, ours = start(tmp_path, file)
    screen = read_until(ours, b"more labels")
    if lost:
        (tmp_path / "desk.db").unlink()
    os.write(ours, b"q")
    read_until(ours, b"\x1b[?1049l")
    assert app.wait(PATIENCE) == (2 if lost else 0)
    os.close(ours)
    return screen, (tmp_path / "stderr").read_text(encoding="utf-8")


@pytest.mark.slow
@POSIX
def test_the_screen_is_the_terminals_where_stderr_is_a_file(tmp_path: Path) -> None:
    screen, told = review(tmp_path, SAMPLE)
    assert b"support-bot" in screen
    assert "\x1b" not in told
    assert told.startswith("saved in ")
    assert "deleted or replaced" in review(tmp_path, SAMPLE, lost=True)[1]


@pytest.mark.slow
@POSIX
def test_the_app_ends_with_its_terminal(tmp_path: Path) -> None:
    app, ours = start(tmp_path, SAMPLE)
    read_until(ours, b"more labels")
    os.close(ours)
    try:
        app.wait(PATIENCE)
    finally:
        app.kill()
        app.wait()
    assert app.returncode != -9
