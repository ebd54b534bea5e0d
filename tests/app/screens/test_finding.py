"""Search, jumps, saved filters and the command line, on the screen."""

from pathlib import Path

import pytest
from textual.widgets import Input

from reviewdesk.app.screens.dialogs import PromptField
from reviewdesk.desk import Desk
from reviewdesk.desk.review import filters
from reviewdesk.domain.query.filter import HELP
from reviewdesk.domain.records import Run
from tests.app.appkit import SMALL, Stage, juror, open_run, report, showing, staged, verdict
from tests.app.builders import refunds

Opened = tuple[Desk, Run]


@pytest.fixture
def opened(tmp_path: Path) -> Opened:
    return open_run(tmp_path / "desk.db", report(refunds()))


async def typed(stage: Stage, key: str, text: str) -> None:
    await stage.press(key)
    await stage.write(text)
    await stage.press("enter")


@pytest.mark.slow
async def test_a_found_word_is_in_view_and_marked(tmp_path: Path) -> None:
    long = verdict(1, output="\n".join([*["filler"] * 200, "here is the needle", "end"]))
    async with showing(tmp_path, long, size=SMALL) as stage:
        assert "needle" not in stage.drawn()
        await typed(stage, "slash", "needle")
        assert "here is the needle" in stage.drawn()
        lines = stage.review.text("item").painted
        line = next(content for content in lines if "needle" in content.plain)
        assert any(span.style == "found" for span in line.spans)


async def test_a_command_that_cannot_be_read_stays_and_completes(opened: Opened) -> None:
    async with staged(*opened) as stage:
        await typed(stage, "colon", "fliter")
        assert isinstance(stage.app.screen, PromptField)
        assert "Did you mean filter" in stage.drawn()
        await stage.press(*["backspace"] * 6, *"ord", "tab")
        assert stage.app.screen.query_one(Input).value == "order"
        await stage.press("space", *"sco", "tab", "enter")
        assert stage.session.view.order == "score"


@pytest.mark.slow
async def test_what_was_left_with_esc_is_brought_back_by_the_arrow(opened: Opened) -> None:
    async with staged(*opened) as stage:
        for key, text in (("colon", "go it"), ("backslash", "esc lab"), ("slash", "re")):
            await stage.press(key, *text, "escape", key)
            assert stage.app.screen.query_one(Input).value == ""
            await stage.press("up")
            assert stage.app.screen.query_one(Input).value == text
            await stage.press("escape")
        await stage.press("t", *"ton", "escape", "t")
        assert stage.app.screen.query_one(Input).value == "ton"
        await stage.press("escape")
        assert stage.session.view.filter == ""


@pytest.mark.slow
async def test_a_filter_is_completed_and_a_saved_one_recalled(opened: Opened) -> None:
    desk, _ = opened
    async with staged(*opened, size=SMALL) as stage:
        await stage.press("backslash", *"label:n", "tab")
        # How words are put together, with an example, is on screen whatever is typed.
        assert all(line in stage.drawn() for line in HELP.splitlines())
        assert stage.app.screen.query_one(Input).value == "label:none"
        await stage.press("enter")
        filters.save(desk, "todo", "label:fail")
        await typed(stage, "backslash", "@todo")
        assert stage.session.view.filter == "label:fail"
        await stage.press("backslash", "@", "x", "enter")
        assert isinstance(stage.app.screen, PromptField)
        await stage.press("escape")


async def test_what_other_rules_decide_is_brought_into_view(tmp_path: Path) -> None:
    long = verdict(1, jurors=[juror(f"j{n}", 0.9, reason="so many words " * 40) for n in range(9)])
    async with showing(tmp_path, long, size=SMALL) as stage:
        await stage.press("w")
        assert any("▿ WHAT IF" in row for row in stage.review.text("jury").in_view)
        await stage.press("g")
        assert not any("WHAT IF" in row for row in stage.review.text("jury").in_view)
