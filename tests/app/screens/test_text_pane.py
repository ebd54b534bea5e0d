"""The scrolling pane: where it is, and what is selected in it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from textual.content import Content

from reviewdesk.app.paint.styled import Lines
from reviewdesk.app.widgets.lines import Pane
from tests.app.appkit import SMALL, Stage, juror, showing, verdict

WORDS = "0123456789" * 12


@asynccontextmanager
async def pane_of(path: Path, lines: Lines) -> AsyncIterator[tuple[Stage, Pane]]:
    async with showing(path, verdict(1), size=SMALL) as stage:
        pane = stage.review.query_one("#item", Pane)
        pane.paint(lambda _width: lines)
        await stage.settle()
        yield stage, pane


def row(stage: Stage, pane: Pane, at: int = 0) -> str:
    return stage.cells()[pane.region.y + at][pane.region.x : pane.region.right - 1]


async def test_going_to_a_line(tmp_path: Path) -> None:
    lines = [Content(f"line {number}") for number in range(100)]
    async with pane_of(tmp_path, lines) as (stage, pane):
        height = pane.region.height
        assert pane.scroll_offset.y == 0
        pane.go(40)
        await stage.settle()
        assert pane.scroll_offset.y == 40
        assert row(stage, pane).startswith(" line 40")
        pane.go(1000)
        await stage.settle()
        assert pane.scroll_offset.y == 100 - height


async def test_a_selection_is_what_was_pointed_at(tmp_path: Path) -> None:
    async with pane_of(tmp_path, [Content(WORDS)]) as (stage, pane):
        await stage.pilot.mouse_down(pane, offset=(3, 0))
        await stage.pilot.hover(pane, offset=(8, 0))
        await stage.pilot.mouse_up(pane, offset=(8, 0))
        await stage.press("ctrl+c")
        # The margin is one column: columns 3 to 8 are characters 2 to 7 of the line.
        assert stage.app.clipboard.startswith(WORDS[2:7])


async def test_the_jury_stops_at_each_juror(tmp_path: Path) -> None:
    seats = [juror(name, 0.9, reason=f"so says {name}") for name in "abcdefghijklmnopqrst"]
    items = [verdict(number, jurors=seats) for number in (1, 2)]
    async with showing(tmp_path, *items, size=SMALL) as stage:
        await stage.press("enter")
        jury = stage.review.text("jury")
        tops = []
        for _ in range(5):
            await stage.press(")")
            tops.append(jury.in_view[0].split()[0])
        assert tops == ["FLAGS", "JURORS", "a", "b", "c"]
        await stage.press("(")
        assert jury.in_view[0].split()[0] == "b"
        # The other item starts at its start.
        await stage.press("J")
        assert jury.scroll_offset.y == 0
