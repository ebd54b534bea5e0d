"""The app on a terminal while another process holds the lock of its desk."""

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from time import monotonic

import pytest

from tests.cli.terminalkit import PATIENCE, Terminal, on_terminal
from tests.helpers import POSIX, numbered

pytestmark = [POSIX, pytest.mark.slow]


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


def test_the_screen_answers_and_the_label_is_saved_when_the_lock_goes(
    screen: Terminal, desk: Path
) -> None:
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


def test_a_signal_keeps_what_could_not_be_saved_and_says_where(
    screen: Terminal, desk: Path
) -> None:
    with locked(desk):
        screen.until(b"saving", press=b"p")
        screen.running.terminate()
        code, said = screen.end()
    (kept,) = desk.parent.glob(f"{desk.name}.unsaved-*")
    assert f"not saved but kept in {kept}".encode() in said
    assert (code, b"saved in" in said) == (143, True)
    assert labels(desk) == []
