"""The app on a real terminal, with the other streams leading elsewhere."""

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from time import monotonic

import pytest

from tests.cli.terminalkit import PATIENCE, Terminal, on_terminal
from tests.helpers import POSIX, SAMPLES, locked, numbered

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


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    return tmp_path / "desk.db"


@pytest.fixture
def screen(desk: Path, tmp_path: Path) -> Iterator[Terminal]:
    """The app on a terminal, at a run of six."""
    report = tmp_path / "report.json"
    report.write_bytes(numbered(6))
    with on_terminal(desk, "open", report) as found:
        found.until(b"pass")
        yield found


def labels(desk: Path) -> list[str]:
    with contextlib.closing(sqlite3.connect(desk)) as conn:
        return [
            row[0] for row in conn.execute("SELECT label FROM label_events WHERE kind = 'label'")
        ]


def test_screen_answers_and_label_is_saved_when_the_lock_goes(screen: Terminal, desk: Path) -> None:
    with locked(desk):
        # A label key is ignored if the item is too new.
        screen.until(b"saving", press=b"p")
        # The screen goes on meanwhile.
        screen.until(b"Label pass", press=b"?")
        assert labels(desk) == []
    end = monotonic() + PATIENCE
    while not labels(desk):
        assert monotonic() < end
    assert set(labels(desk)) == {"pass"}
    screen.running.terminate()
    code, said = screen.end()
    assert (code, b"not saved" in said) == (143, False)


def test_signal_keeps_what_could_not_be_saved_and_says_where(screen: Terminal, desk: Path) -> None:
    with locked(desk):
        screen.until(b"saving", press=b"p")
        screen.running.terminate()
        code, said = screen.end()
    (kept,) = desk.parent.glob(f"{desk.name}.unsaved-*")
    assert f"not saved but kept in {kept}".encode() in said
    assert (code, b"saved in" in said) == (143, True)
    assert labels(desk) == []
