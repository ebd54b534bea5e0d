"""The list of a million verdicts reads only the rows on screen."""

from array import array
from collections.abc import Sequence

from textual.app import App, ComposeResult
from textual.style import Style

from reviewdesk.app.paint.inks import DEFAULTS
from reviewdesk.app.widgets.queue_list import PAGE, QueueList
from reviewdesk.domain.assessment.result import Flag
from reviewdesk.domain.records import QueueRow
from reviewdesk.errors import DeskError, ReviewDeskError
from reviewdesk.views.document import Tone


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


async def test_moving_within_a_page_reads_nothing_again() -> None:
    app = ListApp()
    async with app.run_test(size=(60, 20)) as pilot:
        queue = app.query_one(QueueList)
        queue.fill(array("q", range(1000)), blind=False)
        for place in range(20):
            queue.point(place)
            await pilot.pause()
        assert len(app.asked) == PAGE


async def test_what_is_fetched_and_not_drawn_was_not_seen() -> None:
    app = ListApp()
    async with app.run_test(size=(60, 20)) as pilot:
        queue = app.query_one(QueueList)
        queue.fill(array("q", range(1000)), blind=False)
        queue.point(0)
        await pilot.pause()
        assert len(app.asked) == PAGE > 20
        assert app.drawn == set(range(20))
        queue.point(20)
        await pilot.pause()
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
