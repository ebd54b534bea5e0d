"""The pages of the calibration screen: how they turn, what each reads, what a blind one hides."""

from pathlib import Path

import pytest

from reviewdesk.app.controllers.pages import PAGES, CalibrationController
from reviewdesk.app.screens.pages import CalibrationScreen
from reviewdesk.app.widgets.lines import Pane
from reviewdesk.desk import Desk
from reviewdesk.domain.records import Run, Truth
from tests.app.appkit import SMALL, WIDE, Stage, open_run, report, staged, verdict

Opened = tuple[Desk, Run]
NAMES = [page.name for page in PAGES]


@pytest.fixture
def opened(tmp_path: Path) -> Opened:
    return open_run(tmp_path / "desk.db", report([verdict(i) for i in range(1, 7)]))


def screen(stage: Stage) -> CalibrationScreen:
    top = stage.app.top
    assert isinstance(top, CalibrationScreen)
    return top


def name(stage: Stage) -> str:
    page = stage.controller.state.page
    assert isinstance(page, CalibrationController)
    return NAMES[page.at]


def pane(stage: Stage) -> Pane:
    return screen(stage).query_one(f"#{name(stage)}", Pane)


@pytest.mark.slow
async def test_each_page_keeps_its_place_through_turning_and_resizing(opened: Opened) -> None:
    desk, run = opened
    for key in desk.queue(run):
        desk.label(key, Truth.PASS)
    async with staged(desk, run, size=SMALL) as stage:
        # The key that adds the second layer scrolls to it.
        await stage.press("f4", "enter")
        assert pane(stage).in_view[0].startswith("HOW RIGHT?")
        await stage.press("shift+tab", "ctrl+d")
        place = pane(stage).scroll_offset.y
        assert place > 0
        await stage.press(*["tab"] * len(PAGES))
        assert pane(stage).scroll_offset.y == place
        await stage.resize(WIDE)
        await stage.resize(SMALL)
        assert name(stage) == "what-if"
        assert pane(stage).scroll_offset.y == place
