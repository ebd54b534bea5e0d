"""Tags, marks, history, comparing runs, zoom, copying and reading, on the screen."""

from pathlib import Path

import pytest

from reviewdesk.desk import Desk
from reviewdesk.domain.records import Item, Run
from tests.app.appkit import SMALL, WIDE, Stage, open_run, report, staged, verdict

Opened = tuple[Desk, Run]


@pytest.fixture
def opened(tmp_path: Path) -> Opened:
    return open_run(tmp_path / "desk.db", report([verdict(i) for i in range(1, 7)]))


def item_of(stage: Stage) -> Item:
    item = stage.session.item
    assert item is not None
    return item


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
