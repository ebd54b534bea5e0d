"""The calibration and runs screens: what they show, where they lead, and how they wait."""

import contextlib
import json
from pathlib import Path
from typing import Any

import pytest
from textual.worker import WorkerCancelled

from reviewdesk.app.controllers.pages import PAGES, CalibrationController
from reviewdesk.app.screens.dialogs import PageDialog
from reviewdesk.app.widgets.lines import Pane
from reviewdesk.desk.core import Desk
from reviewdesk.domain.records import Run, Truth
from tests.app.appkit import SMALL, WIDE, Stage, open_run, report, showing, staged, verdict

Opened = tuple[Desk, Run]


@pytest.fixture
def opened(tmp_path: Path) -> Opened:
    return open_run(tmp_path / "desk.db", report([verdict(i) for i in range(1, 7)]))


async def test_a_stopped_load_keeps_nothing(opened: Opened, tmp_path: Path) -> None:

    desk, run = opened
    many: list[dict[str, Any]] = [verdict(i) for i in range(2000)]
    file = tmp_path / "many.json"
    file.write_text(json.dumps(report(many)), encoding="utf-8")
    async with staged(desk, run) as stage:
        stage.run(f"open {file}")
        stage.app.act(lambda: stage.controller.handle("stop"))
        assert "stopped: loading" in stage.drawn()
        with contextlib.suppress(WorkerCancelled):
            await stage.settle()
        # The thread itself ends at its next look at the time; a load of its own finds no trace.
        await stage.pilot.pause()
        assert [found.name for found in desk.runs()] == [run.name]


@pytest.mark.slow
async def test_screens_survive_every_size(opened: Opened) -> None:
    async with staged(*opened) as stage:
        for key in ("f4", "f5"):
            await stage.press(key)
            for size in ((30, 8), SMALL, (1, 1), (41, 11), WIDE):
                await stage.resize(size)
                await stage.press("j", "enter", "escape", "k")
                await stage.press(key)
        assert stage.app.is_running


NAMES = [page.name for page in PAGES]


def name(stage: Stage) -> str:
    page = stage.controller.page
    assert isinstance(page, CalibrationController)
    return NAMES[page.at]


def pane(stage: Stage) -> Pane:
    return stage.review.item


@pytest.mark.slow
async def test_a_page_keeps_its_place_through_resizing(opened: Opened) -> None:
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
        await stage.resize(WIDE)
        await stage.resize(SMALL)
        assert name(stage) == "what-if"
        assert pane(stage).scroll_offset.y == place


@pytest.mark.slow
async def test_it_leaves_the_header_in_view(tmp_path: Path) -> None:
    async with showing(tmp_path, verdict(2), size=(40, 10)) as stage:
        header = stage.cells()[0]
        await stage.press("e")
        assert isinstance(stage.app.screen, PageDialog)
        assert stage.cells()[0] == header
        assert "escalated" in stage.drawn()
        await stage.press("enter", "j", "e")
        assert len(stage.app.screen_stack) == 1
