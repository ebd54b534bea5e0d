"""Tags, marks, history, comparing runs, zoom, copying and reading, on the screen."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from textual.widgets import Input, OptionList

from reviewdesk.app.screens.diff import DiffScreen
from reviewdesk.app.screens.history import HistoryScreen
from reviewdesk.app.widgets.lines import Pane
from reviewdesk.desk import Desk
from reviewdesk.domain.records import Item, Run, Truth, View
from reviewdesk.reports.bytes.source import Source
from tests.app.appkit import SMALL, WIDE, Stage, open_run, report, staged, verdict

Opened = tuple[Desk, Run]


@pytest.fixture
def opened(tmp_path: Path) -> Opened:
    return open_run(tmp_path / "desk.db", report([verdict(i) for i in range(1, 7)]))


def item_of(stage: Stage) -> Item:
    item = stage.review.session.item
    assert item is not None
    return item


async def test_tags_are_typed_completed_and_undone(opened: Opened) -> None:
    async with staged(*opened) as stage:
        await stage.press("t", *"Wrong Policy, tone", "enter")
        assert item_of(stage).tags == ("wrong-policy", "tone")
        assert "wrong-policy, tone" in stage.drawn()
        await stage.press("J", "t", *"wr", "tab", "enter")
        assert item_of(stage).tags == ("wrong-policy",)
        await stage.press("u")
        assert item_of(stage).tags == ()
        assert "undo: tags wrong-policy" in stage.drawn()
        await stage.press("U")
        assert item_of(stage).tags == ("wrong-policy",)
        await stage.press("t")
        assert stage.app.screen.query_one(Input).value == "wrong-policy, "
        await stage.press("enter")
        assert "as they were" in stage.drawn()


@pytest.mark.parametrize("size", [WIDE, SMALL], ids=str)
async def test_a_mark_is_set_shown_filtered_for_and_taken_away(
    opened: Opened, size: tuple[int, int]
) -> None:
    async with staged(*opened, size=size) as stage:
        first = stage.current
        await stage.press("m")
        assert "* marked" in stage.drawn()
        await stage.press("backslash", *"mark", "enter")
        assert len(stage.review.session.keys) == 1
        assert stage.current == first
        await stage.press("m")
        assert not item_of(stage).marked
        assert "mark taken away" in stage.drawn()


async def test_history_tells_of_the_item_and_of_my_work_and_goes_there(opened: Opened) -> None:
    async with staged(*opened) as stage:
        first = stage.current
        await stage.press("p", "f", "u", "at")
        screen = stage.app.screen
        assert isinstance(screen, HistoryScreen)
        drawn = stage.drawn()
        assert "label fail (undone)" in drawn
        assert "label pass" not in drawn
        await stage.press("tab")
        drawn = stage.drawn()
        assert f"label pass  {first}" in drawn
        options = screen.query_one(OptionList)
        options.highlighted = options.option_count - 1
        await stage.press("enter")
        assert stage.current == first


async def test_blind_history_holds_no_judgement_of_others(opened: Opened) -> None:
    desk, run = opened
    other = Desk(desk.path, "bob", desk.clock)
    key = desk.queue(run)[0]
    other.note(key, "the panel is right")
    other.close()
    async with staged(desk, run, view=View(blind=True, order="draw")) as stage:
        stage.app.review_session.goto(key)
        stage.review.show()
        await stage.press("at")
        assert "panel is right" not in stage.drawn()
        await stage.press("escape", "b", "at")
        assert "panel is right" in stage.drawn()
        await stage.press("escape")


def second_run(desk: Desk, name: str = "again") -> Run:
    """The same items; the panel has one other juror, and decides two items otherwise."""
    bodies: list[dict[str, Any]] = [verdict(i, (0.1, 0.2, 0.3) if i < 3 else (0.9, 0.8, 0.3))
                                    for i in range(1, 7)]  # fmt: skip
    for body in bodies:
        body["jurors"][2]["id"] = "newcomer"
    body = {**report(bodies), "report_id": name}
    return desk.load(Source.from_bytes("again.json", json.dumps(body).encode())).run


@pytest.mark.parametrize("size", [WIDE, SMALL], ids=str)
async def test_two_runs_of_one_content_are_compared(opened: Opened, size: tuple[int, int]) -> None:
    desk, run = opened
    second_run(desk)
    async with staged(desk, run, size=size, view=View(order="file")) as stage:
        await stage.press("d")
        assert isinstance(stage.app.screen, DiffScreen)
        drawn = stage.drawn()
        # Items 1 and 2 of 6 fail in the second run, where two of their three jurors turned.
        assert "6 items in both runs, 2 decided otherwise" in drawn
        assert "≠ decision" in drawn
        await stage.press("G", *["j"] * 60)
        assert "not on the panel" in stage.app.screen.query_one(Pane).text
        await stage.press("f")
        assert stage.review.session.view.filter == "flip:again"
        assert len(stage.review.session.keys) == 2


async def test_a_blind_comparison_counts_no_decisions_of_other_items(opened: Opened) -> None:
    desk, run = opened
    second_run(desk)
    async with staged(desk, run, view=View(blind=True)) as stage:
        await stage.press("p", "backspace", "d")
        drawn = stage.drawn()
        assert "≠" in drawn
        assert "6 items in both runs" in drawn
        assert "decided otherwise" not in drawn
        await stage.press("escape")


@pytest.mark.parametrize("name", ["a|b", "two words", 'said "so"', "@kept", "!not"])
async def test_a_run_of_any_name_leads_to_what_it_turned(opened: Opened, name: str) -> None:
    desk, run = opened
    second_run(desk, name)
    async with staged(desk, run) as stage:
        await stage.press("d", "f")
        # As above: items 1 and 2.
        assert len(stage.review.session.keys) == 2


async def test_a_draft_that_cannot_be_looked_at_is_one_line(opened: Opened) -> None:
    async with staged(*opened) as stage:
        await stage.press("c", "x")
        stage.desk.conn.execute("DROP TABLE drafts")
        await stage.press("escape")
        assert "no such table" in stage.drawn()


async def test_nothing_to_compare_with_says_so_and_blind_hides_it(opened: Opened) -> None:
    desk, run = opened
    async with staged(desk, run) as stage:
        await stage.press("d")
        assert "no other loaded run" in stage.drawn()
        second_run(desk)
        await stage.press("b", "d")
        assert "hidden until the item is labelled" in stage.drawn()


async def test_undo_goes_to_the_other_run(opened: Opened) -> None:
    desk, run = opened
    other = second_run(desk)
    desk.label(desk.queue(other)[0], Truth.FAIL)
    async with staged(desk, run) as stage:
        await stage.press("u")
        assert stage.review.session.run.hash == other.hash
        assert "undo: label fail" in stage.drawn()


async def test_undo_in_a_removed_run_says_so_and_stays(opened: Opened) -> None:
    desk, run = opened
    other = second_run(desk)
    desk.label(desk.queue(other)[0], Truth.FAIL)
    desk.remove(other)
    async with staged(desk, run) as stage:
        await stage.press("u")
        assert stage.review.session.run.hash == run.hash
        assert "in a run that was removed" in stage.drawn()


async def test_zoom_shows_one_pane_and_keeps_the_place(opened: Opened) -> None:
    async with staged(*opened) as stage:
        await stage.press("tab", "z")
        drawn = stage.drawn()
        assert "RESPONSE" in drawn
        assert "JURORS" not in drawn
        assert "zoomed" in drawn
        await stage.press("tab")
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


async def test_the_item_is_copied_as_json_and_told_where(
    opened: Opened, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    async with staged(*opened) as stage:
        await stage.press("y")
        shape = json.loads(stage.app.clipboard)
        assert shape["id"] == stage.current
        assert len(shape["jurors"]) == 3
        path = tmp_path / "cache" / "reviewdesk" / "copied.json"
        assert json.loads(path.read_text(encoding="utf-8")) == shape
        assert path.stat().st_mode & 0o077 == 0
        assert "copied.json" in stage.drawn()
        await stage.press("b", "J", "y")
        blind = json.loads(stage.app.clipboard)
        assert set(blind) == {"run", "id", "test", "item_hash", "rubric", "input", "output",
                              "alternative", "reference", "checks"}  # fmt: skip


async def test_long_texts_turn_pages_wrap_and_scroll_sideways(tmp_path: Path) -> None:
    text = "\n".join(f"line {i} " + "x" * 300 for i in range(200))
    opened = open_run(tmp_path / "d.db", report([verdict(1, output=text), verdict(2)]))
    async with staged(*opened, size=SMALL, view=View(order="file")) as stage:
        pane = stage.review.panes.text("item")
        assert "page 1 of 4" in pane.text
        await stage.press("right_square_bracket")
        assert "page 2 of 4" in pane.text
        await stage.press("left_square_bracket", "left_square_bracket")
        assert "page 1 of 4" in pane.text
        folded = len(pane.painted)
        await stage.press("w")
        assert len(pane.painted) < folded
        assert max(content.cell_length for content in pane.painted) > 300
        before = stage.cells()
        await stage.press("l")
        assert stage.cells() != before
        await stage.press("h", "w")
        assert len(pane.painted) == folded
        await stage.press("right_square_bracket", "J", "K")
        assert "page 1 of 4" in pane.text


async def test_a_pair_stands_side_by_side_or_below(tmp_path: Path) -> None:
    pair = verdict(1, output="the first draft", alternative="the second draft")
    async with staged(*open_run(tmp_path / "d.db", report([pair])), size=SMALL) as stage:
        assert any("first draft" in line and "second draft" in line for line in stage.cells())
        await stage.press("vertical_line")
        assert not any("first draft" in line and "second draft" in line for line in stage.cells())


async def test_json_is_indented_and_shown_as_it_is_by_a_key(tmp_path: Path) -> None:
    one = verdict(1, output='{"a":[1,1.50],"a":"b"}')
    async with staged(*open_run(tmp_path / "d.db", report([one])), size=SMALL) as stage:
        # Nothing is lost: the key that stands twice and the number as it was written.
        assert stage.drawn().count('"a":') == 2
        assert "1.50" in stage.drawn()
        assert '{"a":[1,1.50],"a":"b"}' not in stage.drawn()
        await stage.press("x")
        assert '{"a":[1,1.50],"a":"b"}' in stage.drawn()
