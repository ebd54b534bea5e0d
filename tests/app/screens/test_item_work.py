"""Tags, marks, history, comparing runs, zoom, copying and reading, on the screen."""

from pathlib import Path

import pytest

from reviewdesk.app.screens.dialogs import PageDialog
from reviewdesk.app.widgets.lines import Pane
from reviewdesk.desk import Desk
from reviewdesk.domain.records import Item, Run, View
from tests.app.appkit import SMALL, WIDE, Stage, open_run, report, staged, verdict
from tests.app.controllers.second_run import second_run

Opened = tuple[Desk, Run]


@pytest.fixture
def opened(tmp_path: Path) -> Opened:
    return open_run(tmp_path / "desk.db", report([verdict(i) for i in range(1, 7)]))


def item_of(stage: Stage) -> Item:
    item = stage.session.item
    assert item is not None
    return item


@pytest.mark.slow
async def test_history_tells_of_the_item(opened: Opened) -> None:
    async with staged(*opened) as stage:
        await stage.press("p", "f", "u", "at")
        drawn = stage.drawn()
        assert "label fail, given open, seen (undone)" in drawn
        assert "label pass" not in drawn


@pytest.mark.slow
@pytest.mark.parametrize("size", [WIDE, SMALL], ids=str)
async def test_two_runs_of_one_content_are_compared(opened: Opened, size: tuple[int, int]) -> None:
    desk, run = opened
    second_run(desk)
    async with staged(desk, run, size=size, view=View(order="file")) as stage:
        await stage.press("d")
        assert isinstance(stage.app.screen, PageDialog)
        drawn = stage.drawn()
        # Items 1 and 2 of 6 fail in the second run, where two of their three jurors turned.
        assert "with again" in drawn
        assert "≠ decision" in drawn
        await stage.press("G", *["j"] * 60)
        assert "not on the panel" in stage.app.screen.query_one(Pane).text
        await stage.press("f")
        assert stage.session.view.filter == "flip:again"
        assert len(stage.session.keys) == 2


@pytest.mark.slow
async def test_zoom_shows_one_pane_and_keeps_the_place(opened: Opened) -> None:
    async with staged(*opened) as stage:
        await stage.press("z")
        drawn = stage.drawn()
        assert "RESPONSE" in drawn
        assert "JURORS" not in drawn
        assert "zoomed" in drawn
        await stage.press("enter")
        assert "JURORS" in stage.drawn()
        await stage.pilot.resize_terminal(*SMALL)
        await stage.settle()
        await stage.pilot.resize_terminal(*WIDE)
        await stage.settle()
        assert "RESPONSE" not in stage.drawn()
        await stage.press("z")
        assert "RESPONSE" in stage.drawn()
    async with staged(opened[0].reader(), opened[1], size=SMALL) as stage:
        await stage.press("z")
        assert "whole screen already" in stage.drawn()
