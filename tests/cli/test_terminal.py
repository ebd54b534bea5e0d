"""The app on a real terminal, with the other streams leading elsewhere."""

import os
from pathlib import Path

import pytest

from tests.cli.terminalkit import PATIENCE, on_terminal
from tests.helpers import POSIX, SAMPLES

pytestmark = [POSIX, pytest.mark.slow]
SAMPLE = SAMPLES / "support-bot.jsonl"


def review(folder: Path, *, lost: bool = False) -> tuple[bytes, str]:
    """Open the desk and close it with q; the screen, and what stderr holds."""
    desk, told = folder / "desk.db", folder / "stderr"
    with told.open("wb") as stderr, on_terminal(desk, "open", SAMPLE, stderr=stderr) as app:
        app.until(b"more labels")
        if lost:
            desk.unlink()
        os.write(app.screen, b"q")
        assert app.end()[0] == (2 if lost else 0)
    return app.shown, told.read_text(encoding="utf-8")


def test_the_screen_is_the_terminals_where_stderr_is_a_file(tmp_path: Path) -> None:
    screen, told = review(tmp_path)
    assert b"support-bot" in screen
    assert "\x1b" not in told
    assert told.startswith("saved in ")
    assert "deleted or replaced" in review(tmp_path, lost=True)[1]


def test_the_app_ends_with_its_terminal(tmp_path: Path) -> None:
    with (
        (tmp_path / "stderr").open("wb") as stderr,
        on_terminal(tmp_path / "desk.db", "open", SAMPLE, stderr=stderr) as app,
    ):
        app.until(b"more labels")
        os.close(app.screen)
        app.screen = os.open(os.devnull, os.O_RDONLY)
        assert app.running.wait(PATIENCE) != -9
