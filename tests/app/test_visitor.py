from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from reviewdesk.app.app import ReviewApp
from reviewdesk.app.keys.actions import ACTIONS
from reviewdesk.app.screens.dialogs import DoorDialog
from reviewdesk.app.screens.review import ReviewScreen
from reviewdesk.desk import files
from reviewdesk.desk.core import Access, Desk
from reviewdesk.desk.review import unsaved
from reviewdesk.desk.review.edits import Turn
from reviewdesk.desk.review.runs import Opening
from reviewdesk.domain.records import Run, View
from reviewdesk.domain.tags import reviewer_name
from reviewdesk.errors import DeskError, ReviewDeskError
from reviewdesk.settings import Settings
from tests.app.appkit import QuickPilot, Stage
from tests.app.builders import WIDE, Clock, open_run, report, verdict


class Visit(Stage):
    """A console with a door."""

    @property
    def at_the_door(self) -> bool:
        return isinstance(self.app.screen, DoorDialog)


@pytest.fixture
def run(tmp_path: Path) -> Run:
    desk, found = open_run(tmp_path / "desk.db", report([verdict(1), verdict(2)]))
    desk.close()
    return found


@asynccontextmanager
async def visiting(
    path: Path, run: Run, *, shared: bool = False, inside: bool = False
) -> AsyncIterator[Visit]:
    """Run a console on a desk, behind its door if bea went in; one that only reads has none."""
    desks: list[Desk] = []

    def enter(typed: str) -> Opening:
        desks.append(Desk.open(path, reviewer=reviewer_name(typed)))
        return Opening(desks[-1], run, View(), "welcome")

    if shared:
        desks.append(Desk.open(path, reviewer="ann", access=Access.READ, only=run.hash))
    opening = Opening(desks[0], run, View()) if shared else run.name
    clock = Clock()
    app = ReviewApp(opening, Settings(), enter=enter)
    app.clock, app.later = clock, clock.after
    async with app.run_test(size=WIDE):
        on = Visit(app, QuickPilot(app, clock), clock)
        await on.settle()
        if inside:
            await on.pilot.press("b", "e", "a", "enter")
            await on.settle()
        yield on
    for desk in desks:
        desk.close()


async def test_whoever_comes_is_asked_for_a_name(tmp_path: Path, run: Run) -> None:
    async with visiting(tmp_path / "desk.db", run) as on:
        assert on.at_the_door
        assert run.name in on.drawn()
        await on.pilot.resize_terminal(42, 30)
        await on.settle()
        assert "have done are kept under it." in " ".join(on.drawn().replace("│", "").split())
        await on.pilot.resize_terminal(*WIDE)
        for typed, refusal in {
            "": "name is blank",
            "   ": "name is blank",
            "@desk": "begins with @",
            "x" * 61: "up to 60 plain characters",
            "a\u202eb": "up to 60 plain characters",
        }.items():
            on.app.screen.query_one("Input").value = typed  # type: ignore[attr-defined]
            await on.pilot.press("enter")
            assert on.at_the_door
            assert refusal in on.drawn()
        on.app.screen.query_one("Input").value = ""  # type: ignore[attr-defined]
        # The keys of labels are letters here.
        await on.pilot.press("p", "i", "p", "enter")
        await on.settle()
        assert isinstance(on.app.screen, ReviewScreen)
        assert on.desk.reviewer == "pip"
        assert "welcome" in on.drawn()


async def test_the_review_behind_the_door_is_the_whole_one(tmp_path: Path, run: Run) -> None:
    async with visiting(tmp_path / "desk.db", run, inside=True) as on:
        await on.press("f4", "escape")
        assert on.controller.page is None
        first = on.current
        await on.press("p")
        assert on.current != first
        assert on.desk.progress(run).labelled == 1


async def test_what_belongs_to_the_machine_is_withheld(tmp_path: Path, run: Run) -> None:
    async with visiting(tmp_path / "desk.db", run, inside=True) as on:
        for command in ("open /etc/passwd", f"export {tmp_path / 'out.csv'}", "improve"):
            on.run(command)
            assert "not in a browser" in on.notice
        assert not (tmp_path / "out.csv").exists()
        await on.press("R")
        assert on.app.screen is on.app.review
        await on.press("f5", "a")
        assert "Load a report" not in on.drawn()
        await on.press("x")
        assert len(on.desk.runs()) == 1
        assert {"rerun", "run.load", "run.remove", "export"} <= on.app.keymap.withheld


def beside(folder: Path) -> set[Path]:
    """What lies in a folder, but for the desk and its own files."""
    return {path for path in folder.rglob("*") if not path.name.startswith("desk.db")}


@pytest.mark.slow
async def test_no_key_of_a_visitor_writes_a_file_of_the_machine(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))
    monkeypatch.chdir(tmp_path)
    async with visiting(tmp_path / "desk.db", run, inside=True) as on:
        before = beside(tmp_path)
        await on.press("y")
        assert "copied" in on.notice
        assert "copied.json" not in on.notice
        for action in ACTIONS:
            if action not in {"quit", "desk.close"}:
                on.run(action)
                await on.settle()
                await on.press("escape", "escape")
        assert beside(tmp_path) == before
        # Each way to write a file refuses, whoever calls it.
        with pytest.raises(ReviewDeskError, match="not written for a browser"):
            files.write(on.desk, tmp_path / "out.csv", ["x"], force=True)
        for name in ("out.html", "out.json"):
            with pytest.raises(ReviewDeskError, match="not written for a browser"):
                files.write_run(on.desk, run, tmp_path / name, force=True)
        # What belongs to the desk is written: edits that wait for another process's lock.
        assert unsaved.keep(on.desk, [(on.desk.clock(), Turn("undo"))]).exists()


async def test_a_door_that_does_not_open_says_why() -> None:
    def enter(_name: str) -> Opening:
        raise DeskError("the desk is locked", "Try later.")

    app = ReviewApp("run", Settings(), enter=enter)
    async with app.run_test(size=WIDE):
        on = Visit(app, QuickPilot(app), Clock())
        await on.pilot.press("b", "enter")
        assert "the desk is locked. Try later." in on.drawn()
        assert on.at_the_door


@pytest.mark.parametrize("key", ["ctrl+q", "hang up"])
async def test_whoever_leaves_at_door_leaves_nothing(key: str, tmp_path: Path, run: Run) -> None:
    async with visiting(tmp_path / "desk.db", run) as on:
        await on.pilot.press("ctrl+p")
        assert on.at_the_door
        if key == "ctrl+q":
            await on.pilot.press(key)
        else:
            on.app.action_close_desk()
        await on.pilot.pause()
        assert not on.app.is_running
        assert isinstance(on.app, ReviewApp)
        assert on.app.flush(0) == []


async def test_a_shared_run_has_no_door_and_takes_nothing(tmp_path: Path, run: Run) -> None:
    async with visiting(tmp_path / "desk.db", run, shared=True) as on:
        await on.settle()
        assert on.app.screen is on.app.review
        head = on.desk.head()
        await on.press("p")
        assert "read-only" in on.drawn()
        for key in ("m", "s", "r"):
            await on.press(key)
        assert on.desk.head() == head
