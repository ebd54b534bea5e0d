"""The pages of the calibration screen: how they turn, what each reads, what a blind one hides."""

from pathlib import Path
from typing import Any

import pytest

from reviewdesk.app.controllers.pages import PAGES, CalibrationController
from reviewdesk.app.screens.pages import CalibrationScreen
from reviewdesk.app.widgets.lines import Pane
from reviewdesk.desk import Desk
from reviewdesk.domain.records import Run, Truth, View
from tests.app.appkit import SMALL, WIDE, Stage, open_run, report, staged, verdict
from tests.helpers import START

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
        await stage.pilot.resize_terminal(*WIDE)
        await stage.settle()
        await stage.pilot.resize_terminal(*SMALL)
        await stage.settle()
        assert name(stage) == "what-if"
        assert pane(stage).scroll_offset.y == place


def twin(number: int, *, other: bool) -> dict[str, Any]:
    """Verdicts of one content and one panel; every second answer of the other run differs."""
    if not other or number % 2:
        return verdict(number, (0.9, 0.95, 0.85), escalate_for_review=False)
    stated = {"decision": "fail", "score": 0.2, "band": "low", "escalate_for_review": True}
    return verdict(number, (0.1, 0.3, 0.2), bias_warning="kin", same_family=True, **stated)


@pytest.mark.slow
async def test_blind_twins_look_alike_on_every_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []
    for other in (False, True):
        body = report([twin(i, other=other) for i in range(1, 13)])
        folder = tmp_path / "ab"[other]
        folder.mkdir()
        monkeypatch.chdir(folder)
        desk, run = open_run(Path("d.db"), body, seed="same", clock=lambda: START)
        async with staged(desk, run, size=SMALL, view=View(blind=True)) as stage:
            pages = []
            await stage.press("f4")
            for _ in PAGES:
                pages.append("\n".join(stage.cells()))
                await stage.press("tab")
            seen.append(pages)
    assert seen[0] == seen[1]
