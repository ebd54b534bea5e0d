"""The scrolling pane: sideways and down, and where it is."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from textual.content import Content

from reviewdesk.app.paint.styled import Lines, heading
from reviewdesk.app.widgets.lines import Pane
from tests.app.appkit import SMALL, Stage, juror, open_run, report, staged, verdict

WORDS = "0123456789" * 12


@asynccontextmanager
async def pane_of(path: Path, lines: Lines) -> AsyncIterator[tuple[Stage, Pane]]:
    desk, run = open_run(path / "d.db", report([verdict(1)]))
    async with staged(desk, run, size=SMALL) as stage:
        pane = stage.review.query_one("#item", Pane)
        pane.paint(lambda _width: lines)
        await stage.settle()
        yield stage, pane


def row(stage: Stage, pane: Pane, at: int = 0) -> str:
    return stage.cells()[pane.region.y + at][pane.region.x : pane.region.right - 1]


async def test_wide_lines_scroll_sideways_within_their_range(tmp_path: Path) -> None:
    lines = [Content(WORDS), Content("short"), Content(""), heading("TITLE", 40)]
    async with pane_of(tmp_path, lines) as (stage, pane):
        # 80 columns less the margin and the column of the scroll bar.
        room = pane.region.width - 2
        assert room == 78
        assert row(stage, pane) == " " + WORDS[: room - 1] + "›"
        pane.sideways(10)
        await stage.settle()
        assert row(stage, pane) == "‹" + WORDS[10 : 10 + room - 1] + "›"
        assert row(stage, pane, 1) == "‹" + " " * room
        assert row(stage, pane, 2) == " " * (room + 1)
        # A section's title stays.
        assert row(stage, pane, 3).startswith(" TITLE")
        pane.sideways(1000)
        await stage.settle()
        assert row(stage, pane) == "‹" + WORDS[-room:]
        pane.sideways(-1000)
        await stage.settle()
        assert row(stage, pane).startswith(" 0123")


async def test_a_wide_character_at_the_edge_is_not_halved(tmp_path: Path) -> None:
    async with pane_of(tmp_path, [Content("日本語" * 40)]) as (stage, pane):
        pane.sideways(1)
        await stage.settle()
        assert row(stage, pane).startswith("‹ 本語日")
        assert stage.cells()[pane.region.y]


async def test_another_text_starts_at_the_left_and_the_same_stays(tmp_path: Path) -> None:
    async with pane_of(tmp_path, [Content(WORDS)]) as (stage, pane):
        pane.sideways(20)
        pane.paint(lambda _width: [Content(WORDS)], keep=True)
        await stage.settle()
        assert row(stage, pane).startswith("‹" + WORDS[20:30])
        # A text that is less wide cannot be scrolled so far: 90 columns in 78 leave 12.
        pane.paint(lambda _width: [Content(WORDS[:90])], keep=True)
        await stage.settle()
        assert row(stage, pane).startswith("‹" + WORDS[12:22])
        pane.paint(lambda _width: [Content(WORDS)])
        await stage.settle()
        assert row(stage, pane).startswith(" " + WORDS[:10])


async def test_a_text_that_fits_does_not_move(tmp_path: Path) -> None:
    async with pane_of(tmp_path, [Content("short")]) as (stage, pane):
        pane.sideways(5)
        await stage.settle()
        assert row(stage, pane).rstrip() == " short"


async def test_going_to_a_line_and_telling_the_place(tmp_path: Path) -> None:
    lines = [Content(f"line {number}") for number in range(100)]
    async with pane_of(tmp_path, lines) as (stage, pane):
        height = pane.region.height
        assert pane.place == (0, height, 100)
        pane.go(40)
        await stage.settle()
        assert pane.place == (40, height, 100)
        assert row(stage, pane).startswith(" line 40")
        pane.go(1000)
        await stage.settle()
        assert pane.place == (100 - height, height, 100)


async def test_a_selection_in_a_scrolled_line_is_what_was_pointed_at(tmp_path: Path) -> None:
    async with pane_of(tmp_path, [Content(WORDS)]) as (stage, pane):
        pane.sideways(10)
        await stage.settle()
        await stage.pilot.mouse_down(pane, offset=(3, 0))
        await stage.pilot.hover(pane, offset=(8, 0))
        await stage.pilot.mouse_up(pane, offset=(8, 0))
        await stage.press("ctrl+c")
        # The margin is one column: columns 3 to 8 are characters 12 to 17 of the line.
        assert stage.app.clipboard.startswith(WORDS[12:17])


async def test_the_jury_stops_at_each_juror_and_is_kept_for_every_item(tmp_path: Path) -> None:
    seats = [juror(name, 0.9, reason=f"so says {name}") for name in "abcdefghijklmnopqrst"]
    items = [verdict(number, jurors=seats) for number in (1, 2)]
    desk, run = open_run(tmp_path / "d.db", report(items))
    async with staged(desk, run, size=SMALL) as stage:
        await stage.press("enter")
        jury = stage.review.text("jury")
        tops = []
        for _ in range(5):
            await stage.press(")")
            tops.append(jury.in_view[0].split()[0])
        assert tops == ["FLAGS", "JURORS", "a", "b", "c"]
        await stage.press("(")
        assert jury.in_view[0].split()[0] == "b"
        # The other item starts at its start; each comes back as it was left.
        await stage.press("J")
        assert jury.place[0] == 0
        # It has no flags.
        for _ in range(2):
            await stage.press(")")
        assert jury.in_view[0].split()[0] == "a"
        await stage.press("K")
        assert jury.in_view[0].split()[0] == "b"
        await stage.press("J")
        assert jury.in_view[0].split()[0] == "a"
