"""What the status line says, and that it goes when it is not so any more."""

from __future__ import annotations

from pathlib import Path

from reviewdesk.app.controllers.notices import Notice

from reviewdesk.app.controllers.queue import mode_notice
from reviewdesk.app.theme.inks import Ink
from reviewdesk.domain.records import View
from tests.app.appkit import SMALL, Stage, open_run, report, staged, verdict


def test_a_notice_of_nothing_in_particular_stays() -> None:
    said = Notice("saved", Ink.NOTE)
    assert said.beside(None) is said
    assert said.beside((1, 7)) is said


def test_a_notice_of_an_item_goes_with_it_and_does_not_come_back() -> None:
    said = Notice("revealed", Ink.NOTE, about=(1, 7))
    assert said.beside((1, 7)) is said
    for other in ((1, 8), (2, 7), (1, None), None):
        gone = said.beside(other)
        assert gone.text == ""
        assert gone.beside((1, 7)).text == ""


def test_turning_blind_says_what_it_comes_too_late_for() -> None:
    assert mode_notice(True, 0) == "blind: the panel's answers are hidden until you label"
    for seen, items in ((1, "1 item"), (2, "2 items"), (12_000, "12,000 items")):
        found = mode_notice(True, seen)
        assert f"labels on {items} seen before are not blind" in found
        # Whole on the narrowest usual terminal, behind the space in front.
        assert len(found) < 80


def said(stage: Stage) -> str:
    """The status line of the screen in view."""
    return stage.app.top.bar("status").text.strip()


async def test_what_is_said_of_an_item_is_not_said_of_the_next(tmp_path: Path) -> None:
    long = verdict(3, output="needle\n" + "word " * 20_000)
    body = report([verdict(1, output="needle"), verdict(2), long])
    opened = open_run(tmp_path / "desk.db", body)
    async with staged(*opened, size=SMALL, view=View(blind=True, order="file")) as stage:
        for keys, notice in (
            (["r"], "revealed: a label on this item is not blind"),
            (["r"], "Nothing is hidden here."),
            (["m"], "marked: \\ then mark shows the marked ones"),
            (["slash", *"needle", "enter"], "1 of 2 with needle"),
            (["right_square_bracket"], "no text here is longer than a page"),
        ):
            await stage.press(*keys)
            assert said(stage) == notice
            await stage.press("J")
            assert (said(stage), stage.current) == ("", "item/002")
            await stage.press("K")
            assert (said(stage), stage.current) == ("", "item/001")
        # At the end of the way back, and on the page of another item.
        await stage.press("G", "J", "J", "right_square_bracket")
        assert (said(stage)[:9], stage.current) == ("page 2 of", "item/003")
        await stage.press("backspace")
        assert said(stage) == ""
        # What is said of a label names its item, and is read beside the next one.
        await stage.press("p")
        assert "the panel said" in said(stage)
        await stage.press("J")
        assert "the panel said" in said(stage)
        # The mark of what was saved last is that of the deferral.
        await stage.press("s")
        assert "saved ✓ defer" in stage.drawn()


async def test_the_way_to_an_item_is_not_told_where_it_is_open(tmp_path: Path) -> None:
    opened = open_run(tmp_path / "desk.db", report([verdict(1), verdict(2)]))
    async with staged(*opened, size=SMALL) as stage:
        await stage.press("escape", "p")
        assert said(stage) == "enter opens the item: a label is given where it can be read"
        await stage.press("enter")
        assert said(stage) == ""


async def test_what_is_said_of_a_run_goes_with_it(tmp_path: Path) -> None:
    for number in (1, 2):
        desk, run = open_run(tmp_path / "desk.db", report([verdict(number)]))
        if number == 1:
            desk.close()
    async with staged(desk, run, size=SMALL) as stage:
        await stage.press("f5", "x")
        assert said(stage) == "this run is under review: turn to another one first"
        await stage.press("j")
        assert said(stage) == ""
