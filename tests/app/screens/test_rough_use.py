"""Rough use: tiny terminals under every dialog, random keys, and what a first look shows."""

from pathlib import Path

import pytest
from textual.widgets import Tooltip

from reviewdesk.app.paint.styled import block, inline
from reviewdesk.desk import Desk
from reviewdesk.domain.records import Run
from tests.app.appkit import SMALL, open_run, report, showing, staged, verdict

DIALOGS = ("at", "ctrl+p", "question_mark", "backslash", "c")


@pytest.fixture
def opened(tmp_path: Path) -> tuple[Desk, Run]:
    return open_run(tmp_path / "d.db", report([verdict(n) for n in range(1, 9)]))


SIZES = [
    (80, 24), (39, 3), (16, 24), (4, 24), (1, 1), (200, 24), (41, 1), (40, 3), (17, 1), (8, 1),
]  # fmt: skip


@pytest.mark.slow
async def test_no_width_breaks_a_dialog(opened: tuple[Desk, Run]) -> None:
    async with staged(*opened) as stage:
        for key in DIALOGS:
            await stage.press(key)
            assert len(stage.app.screen_stack) == 2
            for size in SIZES:
                await stage.pilot.resize_terminal(*size)
            assert len(stage.app.screen_stack) == 2
            await stage.press("escape")
            await stage.pilot.resize_terminal(*SMALL)


async def test_a_job_that_reports_after_the_screens_closed_is_not_heard(
    opened: tuple[Desk, Run],
) -> None:
    heard: list[str] = []
    async with staged(*opened) as stage:
        app = stage.app
        app.act(lambda: heard.append("open"))
    app.act(lambda: heard.append("closed"))
    assert heard == ["open"]


async def test_nothing_of_textuals_own_lies_over_the_first_look(opened: tuple[Desk, Run]) -> None:
    async with staged(*opened) as stage:
        assert not stage.review.query_one(Tooltip).display
        for size in ((30, 8), SMALL):
            await stage.resize(size)
            assert not stage.review.query_one(Tooltip).display


def test_emoji_are_painted_with_a_width_that_terminals_agree_on() -> None:
    # A family is three emoji with two joiners; a thumb has a skin tone; a heart an emoji style.
    assert inline("👩\u200d👩\u200d👧 👍\U0001f3fd ❤\ufe0f") == "👩👩👧 👍 ❤"
    # In Persian and Hindi a joiner shapes the letters, and takes no column of its own.
    assert block("می\u200cخواهم क्\u200dष") == "می\u200cخواهم क्\u200dष"


@pytest.mark.slow
async def test_a_page_key_before_a_list_has_lines_is_harmless(tmp_path: Path) -> None:
    # On two lines no list has room, as in the moment before it is laid out.
    async with showing(tmp_path, verdict(1), size=(30, 2)) as stage:
        for dialog in ("ctrl+p", "question_mark"):
            await stage.press(dialog, "pageup", "pagedown")
            assert stage.app.asking
            await stage.press("escape")
        # The history can be asked for where the review is in view.
        await stage.pilot.resize_terminal(40, 10)
        await stage.press("at")
        await stage.pilot.resize_terminal(30, 2)
        await stage.press("pageup", "pagedown")
        assert stage.app.is_running
