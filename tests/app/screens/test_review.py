"""The main screen: labels, keys, modes and sizes, what survives, and rough use."""

from pathlib import Path

import pytest
from textual.widgets import Input, TextArea, Tooltip

from reviewdesk.app.paint.styled import block, inline
from reviewdesk.app.screens.dialogs import NoteDialog, PromptField
from reviewdesk.app.widgets.lines import Bar, Pane
from reviewdesk.desk.core import Desk
from reviewdesk.domain.records import Run, Truth, View
from tests.app.appkit import SMALL, WIDE, open_run, report, showing, staged, verdict


@pytest.fixture
def opened(tmp_path: Path) -> tuple[Desk, Run]:
    return open_run(tmp_path / "desk.db", report([verdict(i) for i in range(1, 31)]))


def labels(desk: Desk, run: Run) -> list[Truth | None]:
    return [row.label for row in desk.rows(desk.queue(run, "", "draw"))]


async def test_the_first_look_has_flags_table_and_item(opened: tuple[Desk, Run]) -> None:
    async with staged(*opened) as stage:
        drawn = stage.drawn()
        for text in ("QUEUE", "RESPONSE", "FLAGS", "JURORS", "judge-2", "NUMBERS", "trimmed"):
            assert text in drawn
        assert "figures after 20 more labels" in drawn


async def test_the_text_has_the_keys_until_the_queue_is_given_them(tmp_path: Path) -> None:
    long = "\n".join(f"line {number}" for number in range(200))
    bodies = [verdict(i, output=long) for i in range(1, 9)]
    async with showing(tmp_path, *bodies, size=SMALL) as stage:
        first = stage.current
        item = stage.review.item
        for key, way in (("j", 1), ("ctrl+d", 1), ("k", -1), ("pagedown", 1), ("ctrl+u", -1)):
            top = item.scroll_offset.y
            await stage.press(key)
            assert (item.scroll_offset.y - top) * way > 0
        assert stage.current == first
        await stage.press("J")
        assert stage.current != first
        await stage.press("K", "tab")
        assert (stage.current, stage.panes.current) == (first, "queue")
        await stage.press("j")
        assert stage.session.index == 1
        await stage.press("f3", "f2", "k")
        assert stage.current == first


async def test_the_foot_shows_five_keys_and_help(opened: tuple[Desk, Run], tmp_path: Path) -> None:
    async with staged(*opened, size=(220, 50)) as stage:
        for keys, foot in (
            ("", "p pass  f fail  i can't tell  u undo  enter jury  ? help"),
            ("b", "p pass  f fail  i can't tell  r reveal  u undo  ? help"),
            ("bv", "p pass 1  f fail 1  i can't tell 1  esc select none  u undo  ? help"),
        ):
            await stage.press(*keys)
            assert stage.review.bar("footer").text.strip() == foot
    # A telephone of 390 pixels has some 46 columns.
    other = open_run(tmp_path / "other.db", report([verdict(1), verdict(2)]))
    async with staged(*other, size=(46, 40)) as stage:
        foot = stage.review.bar("footer").text.strip()
        assert foot == "p pass f fail i can't tell u undo enter jury ?"
        stage.desk.read_only = True
        await stage.press("J")
        assert stage.review.bar("footer").text.split()[:2] == ["enter", "jury"]


@pytest.mark.slow
async def test_typing_in_a_field_never_labels(opened: tuple[Desk, Run]) -> None:
    async with staged(*opened) as stage:
        first = stage.current
        await stage.press("c", *"pfi123", "ctrl+j", "p")
        assert isinstance(stage.app.screen, NoteDialog)
        assert stage.app.screen.text == "pfi123\np"
        await stage.press("enter")
        await stage.press("backslash", *"pfi")
        assert stage.app.screen.query_one(Input).value == "pfi"
        await stage.press("escape")
        assert stage.current == first
        assert not any(labels(*opened))
        assert stage.item.note == "pfi123\np"


@pytest.mark.slow
async def test_a_note_draft_is_kept_by_escape_and_by_resizing(opened: tuple[Desk, Run]) -> None:
    async with staged(*opened) as stage:
        await stage.press("c", "d", "r")
        for size in (SMALL, WIDE, (30, 8), WIDE):
            await stage.resize(size)
        await stage.press("a")
        await stage.press("escape")
        await stage.press("c")
        assert stage.app.screen.query_one(TextArea).text == "dra"
        await stage.press("escape", "J", "c")
        assert stage.app.screen.query_one(TextArea).text == ""


async def test_an_item_is_where_it_was_left_after_one_without_a_scroll_bar(tmp_path: Path) -> None:
    long = verdict(2, output="word " * 3000)
    async with showing(tmp_path, verdict(1), long, view=View(order="file")) as stage:
        await stage.press("J", "ctrl+d", "ctrl+d")
        pane = stage.review.query_one("#item", Pane)
        top = pane.scroll_offset.y
        assert top > 0
        await stage.press("K")
        assert not pane.show_vertical_scrollbar
        await stage.press("J")
        assert pane.scroll_offset.y == top


async def test_a_filter_error_points_and_keeps_the_input(opened: tuple[Desk, Run]) -> None:
    async with staged(*opened) as stage:
        await stage.press("backslash", *"esc zz", "enter")
        assert isinstance(stage.app.screen, PromptField)
        assert stage.app.screen.query_one(Input).value == "esc zz"
        pointer = stage.app.screen.query_one("#help", Bar).text.splitlines()[0]
        # Four characters stand before the word that is wrong.
        assert pointer == "    ▲"
        await stage.press("escape")
        assert stage.session.view.filter == ""


@pytest.mark.parametrize("size", [(1, 1), (200, 9)], ids=str)
async def test_it_starts_at_any_size(opened: tuple[Desk, Run], size: tuple[int, int]) -> None:
    async with staged(*opened, size=size) as stage:
        await stage.press("p")
        tiny = size[0] < 40 or size[1] < 10
        assert stage.review.query_one("#tiny", Bar).display is tiny
        assert any(labels(*opened)) is not tiny
        await stage.pilot.resize_terminal(*SMALL)
        assert "RESPONSE" in stage.drawn() or stage.panes.current != "item"


@pytest.mark.slow
async def test_no_size_breaks_it(opened: tuple[Desk, Run]) -> None:
    given = 0
    async with staged(*opened) as stage:
        for width in (1, 20, 39, 40, 139, 140):
            for height in (1, 9, 24):
                await stage.pilot.resize_terminal(width, height)
                await stage.press("p", "question_mark", "escape", "c", "escape")
                await stage.press("backslash", "escape")
                tiny = width < 40 or height < 10
                assert stage.review.query_one("#tiny", Bar).display is tiny
                given += not tiny
                assert sum(label is not None for label in labels(*opened)) == given
        await stage.pilot.resize_terminal(*SMALL)
        assert "RESPONSE" in stage.drawn() or stage.panes.current != "item"


@pytest.fixture
def rough(tmp_path: Path) -> tuple[Desk, Run]:
    return open_run(tmp_path / "d.db", report([verdict(n) for n in range(1, 9)]))


SIZES = [
    (80, 24), (39, 3), (16, 24), (4, 24), (1, 1), (200, 24), (41, 1), (40, 3), (17, 1), (8, 1),
]  # fmt: skip


@pytest.mark.slow
async def test_no_width_breaks_a_dialog(rough: tuple[Desk, Run]) -> None:
    async with staged(*rough) as stage:
        for key in ("at", "ctrl+p", "question_mark", "backslash", "c"):
            await stage.press(key)
            assert len(stage.app.screen_stack) == 2
            for size in SIZES:
                await stage.pilot.resize_terminal(*size)
            assert len(stage.app.screen_stack) == 2
            await stage.press("escape")
            await stage.pilot.resize_terminal(*SMALL)


async def test_job_that_reports_after_screens_closed_is_not_heard(rough: tuple[Desk, Run]) -> None:
    heard: list[str] = []
    async with staged(*rough) as stage:
        app = stage.app
        app.act(lambda: heard.append("open"))
    app.act(lambda: heard.append("closed"))
    assert heard == ["open"]


async def test_nothing_of_textuals_own_lies_over_the_first_look(rough: tuple[Desk, Run]) -> None:
    async with staged(*rough) as stage:
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
