"""The list of a million verdicts reads only rows on screen; search, jumps and the command line."""

from array import array
from collections.abc import Sequence
from pathlib import Path

import pytest
from textual.app import App, ComposeResult
from textual.style import Style
from textual.widgets import Input

from reviewdesk.app.paint.inks import DEFAULTS
from reviewdesk.app.screens.dialogs import PromptField
from reviewdesk.app.widgets.queue_list import PAGE, QueueList
from reviewdesk.desk.core import Desk
from reviewdesk.desk.review import filters
from reviewdesk.domain.assessment.result import Flag
from reviewdesk.domain.query.filter import HELP
from reviewdesk.domain.records import QueueRow, Run
from reviewdesk.errors import DeskError, ReviewDeskError
from reviewdesk.views.document import Tone
from tests.app.appkit import SMALL, Stage, juror, open_run, report, showing, staged, verdict
from tests.app.builders import refunds


def row(key: int) -> QueueRow:
    return QueueRow(
        key, f"id-{key}", "t", None, None, None, None, Flag(0), "", False, None, False, False
    )


class ListApp(App[None]):
    def __init__(self, *, fail: bool = False) -> None:
        self.inks = {ink.value: Style.null() for ink in Tone}
        super().__init__()
        self.asked: list[int] = []
        self.drawn: set[int] = set()
        self.fail = fail
        self.failures = 0

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return DEFAULTS

    def fetch(self, keys: Sequence[int]) -> list[QueueRow]:
        if self.fail:
            raise DeskError("the desk is gone")
        self.asked.extend(keys)
        return [row(key) for key in keys]

    def compose(self) -> ComposeResult:
        yield QueueList(self.fetch, self.drawn.update, self.asked.append, self.failed)

    def failed(self, error: ReviewDeskError) -> None:
        assert error.message == "the desk is gone"
        self.failures += 1


async def test_a_million_keys_cost_a_screenful_of_rows() -> None:
    app = ListApp()
    async with app.run_test(size=(60, 40)) as pilot:
        queue = app.query_one(QueueList)
        queue.fill(array("q", range(1_000_000)), blind=False)
        queue.point(0)
        await pilot.pause()
        assert queue.virtual_size.height == 1_000_000
        assert app.asked == list(range(PAGE))
        queue.point(999_999)
        await pilot.pause()
        assert max(app.asked) == 999_999
        assert len(app.asked) <= 3 * PAGE
        assert "id-999999" in queue.render_line(39).text


async def test_a_page_is_fetched_once_and_seen_as_far_as_it_is_drawn() -> None:
    app = ListApp()
    async with app.run_test(size=(60, 20)) as pilot:
        queue = app.query_one(QueueList)
        queue.fill(array("q", range(1000)), blind=False)
        queue.point(0)
        await pilot.pause()
        assert len(app.asked) == PAGE > 20
        assert app.drawn == set(range(20))
        for place in range(1, 21):
            queue.point(place)
            await pilot.pause()
        assert len(app.asked) == PAGE
        assert app.drawn == set(range(21))


async def test_a_failing_desk_is_told_once_and_draws_blanks() -> None:
    app = ListApp(fail=True)
    async with app.run_test(size=(60, 20)) as pilot:
        queue = app.query_one(QueueList)
        queue.fill(array("q", range(100)), blind=False)
        await pilot.pause()
        await pilot.pause()
        assert app.failures == 1
        assert queue.render_line(0).text.strip() == ""


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
        # The only completion is what was meant.
        await stage.press("o", *"marg", "enter")
        assert stage.session.view.order == "margin"


async def test_actions_of_the_palette_and_notices_are_not_cut(
    opened: Opened, tmp_path: Path
) -> None:
    async with staged(*opened, size=SMALL) as stage:
        await stage.press("ctrl+p")
        assert "Select the item, or not; go to the next one  v" in stage.drawn()
        await stage.press("escape", "p")
        path = tmp_path / f"{'labels' * 10}.csv"
        stage.run(f"export {path}")
        await stage.settle()
        assert str(path) in stage.drawn().replace("\n ", "").replace(" ", "")


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
