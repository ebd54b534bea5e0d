"""The main screen: labels, keys, modes, sizes and what survives."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from textual import events
from textual.widgets import Input, TextArea

from reviewdesk.app.screens.dialogs import NoteDialog, OrderDialog, Question
from reviewdesk.app.screens.prompt import PromptField
from reviewdesk.app.widgets.lines import Bar, Pane
from reviewdesk.desk import Desk
from reviewdesk.domain.records import Run, Truth, View
from tests.app.appkit import SMALL, WIDE, open_run, report, staged, verdict


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
        assert "no pass or fail label yet" in drawn


async def test_a_label_is_saved_shown_and_moves_on(opened: tuple[Desk, Run]) -> None:
    async with staged(*opened) as stage:
        first = stage.current
        await stage.press("p")
        assert stage.current != first
        assert labels(*opened)[0] is Truth.PASS
        drawn = stage.drawn()
        assert f"saved ✓ pass {first}" in drawn
        assert "n 1 " in drawn
        await stage.press("2", "i", "F")
        assert labels(*opened)[:4] == [Truth.PASS, Truth.FAIL, Truth.UNSURE, Truth.FAIL]
        await stage.press("backspace")
        assert stage.review.session.index == 3


async def test_twenty_quick_presses_label_twenty(opened: tuple[Desk, Run]) -> None:
    async with staged(*opened, size=SMALL) as stage:
        await stage.press(*["p"] * 20)
        assert labels(*opened).count(Truth.PASS) == 20


async def test_a_held_key_and_a_paste_label_once(opened: tuple[Desk, Run]) -> None:
    async with staged(*opened) as stage:
        stage.clock.wait(1.0)
        await stage.press(*["p"] * 30, wait=0.01)
        assert labels(*opened).count(Truth.PASS) == 1
        assert "too soon" in stage.drawn()
        stage.clock.wait(1.0)
        stage.app.post_message(events.Paste("pppp"))
        await stage.settle()
        await stage.press(*"please fix this xx fff", wait=0.002)
        assert sum(label is not None for label in labels(*opened)) <= 2


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
        item = stage.review.session.item
        assert item is not None
        assert item.note == "pfi123\np"


async def test_a_note_draft_survives_the_end_of_the_app(tmp_path: Path) -> None:
    path = tmp_path / "d.db"
    desk, run = open_run(path, report([verdict(1), verdict(2)]))
    async with staged(desk, run) as stage:
        await stage.press("c", "d", "r")
    # Nothing was saved and nothing closed: what a killed app leaves behind.
    async with staged(Desk.open(path, reviewer="ann"), run) as stage:
        await stage.press("c")
        assert stage.app.screen.query_one(TextArea).text == "dr"
        await stage.press("a", "enter", "c")
        assert stage.app.screen.query_one(TextArea).text == "dra"
        await stage.press("escape")
        assert "draft kept" not in stage.drawn()


async def test_a_note_draft_is_kept_by_escape_and_by_resizing(opened: tuple[Desk, Run]) -> None:
    async with staged(*opened) as stage:
        await stage.press("c", "d", "r")
        for size in (SMALL, WIDE, (30, 8), WIDE):
            await stage.pilot.resize_terminal(*size)
            await stage.settle()
        await stage.press("a")
        await stage.press("escape")
        await stage.press("c")
        assert stage.app.screen.query_one(TextArea).text == "dra"
        await stage.press("escape", "J", "c")
        assert stage.app.screen.query_one(TextArea).text == ""


async def test_resizing_keeps_selection_and_scroll(tmp_path: Path) -> None:
    long = [verdict(i, output="word " * 3000) for i in range(1, 31)]
    async with staged(*open_run(tmp_path / "d.db", report(long))) as stage:
        await stage.press("J", "J", "J", "tab", "ctrl+d", "ctrl+d")
        pane, place = stage.review.query_one("#item", Pane), stage.review.session.index
        top = pane.scroll_offset.y
        assert top > 0
        await stage.pilot.resize_terminal(*SMALL)
        await stage.settle()
        assert stage.review.panes.current == "item"
        await stage.pilot.resize_terminal(*WIDE)
        await stage.settle()
        assert pane.scroll_offset.y == top
        assert stage.review.session.index == place


async def test_levels_on_a_small_terminal(opened: tuple[Desk, Run]) -> None:
    async with staged(*opened, size=SMALL) as stage:
        assert "RESPONSE" in stage.drawn()
        await stage.press("enter")
        drawn = stage.drawn()
        assert "FLAGS" in drawn
        assert "JURORS" in drawn
        await stage.press("enter")
        assert stage.review.panes.current == "jury"
        await stage.press("escape", "escape", "escape", "escape")
        assert stage.review.panes.current == "queue"
        assert stage.app.is_running
        await stage.press("j", "j", "enter")
        assert stage.review.panes.current == "item"
        assert stage.review.session.index == 2


async def test_undo_and_redo_go_to_the_item_and_name_it(opened: tuple[Desk, Run]) -> None:
    async with staged(*opened) as stage:
        first = stage.current
        await stage.press("p", "f", "u", "u")
        assert stage.current == first
        assert not any(labels(*opened))
        assert f"undo: label pass on {first}" in stage.drawn()
        await stage.press("U")
        assert labels(*opened)[0] is Truth.PASS
        await stage.press("ctrl+r", "ctrl+r")
        assert "Nothing to redo" in stage.drawn()


async def test_a_filter_error_points_and_keeps_the_input(opened: tuple[Desk, Run]) -> None:
    async with staged(*opened) as stage:
        await stage.press("backslash", *"esc zz", "enter")
        assert isinstance(stage.app.screen, PromptField)
        field = stage.app.screen.query_one(Input)
        assert field.value == "esc zz"
        pointer = stage.app.screen.query_one("#help", Bar).text.splitlines()[0]
        # One column of margin, then four characters before the word that is wrong.
        assert pointer == "     ▲"
        await stage.press("escape")
        assert stage.review.session.view.filter == ""


async def test_a_filter_applies_and_an_empty_one_clears(opened: tuple[Desk, Run]) -> None:
    async with staged(*opened) as stage:
        await stage.press("backslash", *"id~zz", "enter")
        assert "No verdict matches" in stage.drawn()
        await stage.press("p", "s", "c", "J", "space", "r", "backspace")
        await stage.press("backslash", *["backspace"] * 5, "enter")
        assert len(stage.review.session.keys) == 30
        assert stage.current is not None


async def test_the_order_dialog(opened: tuple[Desk, Run]) -> None:
    async with staged(*opened) as stage:
        await stage.press("o")
        assert isinstance(stage.app.screen, OrderDialog)
        await stage.press("j", "minus", "enter")
        assert stage.review.session.view.order == "-file"
        assert "order -file" in stage.drawn()


async def test_the_done_page_says_what_is_next(tmp_path: Path) -> None:
    run = open_run(tmp_path / "d.db", report([verdict(1), verdict(2)]))
    async with staged(*run) as stage:
        await stage.press("s", "p", "i")
        drawn = stage.drawn()
        for text in ("is decided", ":export labels.jsonl", "f4", "can't tell"):
            assert text in drawn
        await stage.press("p", "J", "space", "backspace")
        assert stage.current is not None


@pytest.mark.parametrize("size", [(1, 1), (39, 24), (40, 24), (200, 9), (140, 24)], ids=str)
async def test_it_starts_at_any_size(opened: tuple[Desk, Run], size: tuple[int, int]) -> None:
    async with staged(*opened, size=size) as stage:
        await stage.press("p")
        tiny = size[0] < 40 or size[1] < 10
        assert stage.review.query_one("#tiny", Bar).display is tiny
        assert any(labels(*opened)) is not tiny
        await stage.pilot.resize_terminal(*SMALL)
        assert "RESPONSE" in stage.drawn() or stage.review.panes.current != "item"


async def test_no_size_breaks_it(opened: tuple[Desk, Run]) -> None:
    given = 0
    async with staged(*opened) as stage:
        for width in (1, 2, 20, 39, 40, 80, 100, 139, 140, 200):
            for height in (1, 9, 24):
                await stage.pilot.resize_terminal(width, height)
                await stage.press("p", "question_mark", "escape", "c", "escape")
                await stage.press("backslash", "escape")
                tiny = width < 40 or height < 10
                assert stage.review.query_one("#tiny", Bar).display is tiny
                given += not tiny
                assert sum(label is not None for label in labels(*opened)) == given
        await stage.pilot.resize_terminal(*SMALL)
        assert "RESPONSE" in stage.drawn() or stage.review.panes.current != "item"


async def test_another_process_is_noticed(tmp_path: Path) -> None:
    desk, run = open_run(tmp_path / "d.db", report([verdict(1), verdict(2)]))
    async with staged(desk, run) as stage:
        other = Desk.open(tmp_path / "d.db", reviewer="bob")
        key = stage.review.session.keys[1]
        other.label(key, Truth.FAIL)
        other.close()
        stage.review._poll()
        await stage.settle()
        assert "n 1 " in stage.drawn()


async def test_a_stale_figure_is_dropped(opened: tuple[Desk, Run]) -> None:
    from reviewdesk.app.messages import CalibrationFinished, Figures

    async with staged(*opened) as stage:
        before = stage.review.meter.figures
        stage.review.post_message(CalibrationFinished(Figures(-1, None)))
        await stage.settle()
        assert stage.review.meter.figures is before
        assert before is not None


async def test_an_error_of_the_desk_is_one_line(
    opened: tuple[Desk, Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    from reviewdesk.errors import DeskError

    def broken(*_args: object, **_more: object) -> None:
        raise DeskError("the desk is locked by another program", "Try again.")

    async with staged(*opened) as stage:
        first = stage.current
        monkeypatch.setattr(Desk, "label", broken)
        monkeypatch.setattr(Desk, "note", broken)
        await stage.press("p")
        assert "the desk is locked" in stage.drawn()
        assert stage.current == first
        await stage.press("c", "x", "enter", "c")
        assert stage.app.screen.query_one(TextArea).text == "x"


async def test_it_resumes_where_it_was_left(opened: tuple[Desk, Run], tmp_path: Path) -> None:
    desk, run = opened
    async with staged(desk, run) as stage:
        await stage.press("p", "J", "J")
        left = stage.current
        await stage.press("q")
    again = Desk.open(tmp_path / "desk.db", reviewer="ann")
    view = again.view(run)
    assert view == View(item=left)
    async with staged(again, run, view=view, notice="resumed open") as stage:
        assert stage.current == left
        assert "resumed open" in stage.drawn()


async def test_a_view_that_no_longer_reads_does_not_keep_the_run_closed(
    opened: tuple[Desk, Run],
) -> None:
    async with staged(*opened, view=View(filter="zz:zz")) as stage:
        assert stage.current is not None
        assert "opened without the filter" in stage.drawn()


async def test_a_click_in_the_queue_selects(opened: tuple[Desk, Run]) -> None:
    async with staged(*opened) as stage:
        await stage.pilot.click("#queue", offset=(5, 4))
        await stage.settle()
        assert stage.review.session.index == 4


async def test_copy_without_a_selection_says_how_to_close(opened: tuple[Desk, Run]) -> None:
    async with staged(*opened) as stage:
        await stage.press("ctrl+c")
        assert "press q to close" in stage.drawn()


async def test_a_hidden_filter_in_a_blind_session_asks_and_no_is_the_default(
    opened: tuple[Desk, Run],
) -> None:
    async with staged(*opened, view=View(blind=True)) as stage:
        await stage.press("backslash", *"esc", "enter")
        assert isinstance(stage.app.screen, Question)
        await stage.press("enter")
        assert stage.review.session.view.filter == ""
        await stage.press("backslash", *"esc", "enter", "y")
        assert stage.review.session.view.filter == "esc"
        await stage.press("p")
        event = next(e for e in _events(stage.desk, stage.review.session.run) if e.kind == "label")
        assert event.detail["blind"] is False


def _events(desk: Desk, run: Run) -> list[Any]:
    keys = desk.queue(run, "", "file")
    return [event for key in keys for event in desk.item(key).history]


async def test_a_confirmed_label_is_given_though_another_window_wrote_meanwhile(
    opened: tuple[Desk, Run],
) -> None:
    async with staged(*opened) as stage:
        item = stage.review.session.item
        assert item is not None
        stage.app.choose("label.fail")
        await stage.settle()
        other = Desk.open(stage.desk.path, reviewer="bob")
        other.note(item.row.key, "seen")
        other.close()
        stage.review._poll()
        await stage.press("y")
        assert stage.desk.item(item.row.key).row.label is Truth.FAIL
