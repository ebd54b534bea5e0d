"""The mouse on hints, rows, rules and panes; the scrolling pane and what is selected in it."""

import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from textual import events
from textual.content import Content

from reviewdesk.app.paint.styled import Lines
from reviewdesk.app.widgets.lines import Pane
from reviewdesk.domain.records import Truth
from tests.app.appkit import SMALL, Stage, juror, showing, verdict


@asynccontextmanager
async def opened(path: Path, count: int = 60, **more: object) -> AsyncIterator[Stage]:
    long = "\n".join(f"line {i} of the answer" for i in range(90))
    bodies = [verdict(i, rubric=long) for i in range(1, count + 1)]
    async with showing(path, *bodies, **more) as stage:
        yield stage


async def click(stage: Stage, x: int, y: int, wait: float = 1.0) -> None:
    stage.clock.wait(wait)
    await stage.pilot.click(offset=(x, y))
    await stage.settle()


async def click_hint(stage: Stage, word: str, wait: float = 1.0) -> None:
    await click(stage, stage.cells()[-1].index(word), len(stage.cells()) - 1, wait)


def labels(stage: Stage) -> list[Truth]:
    rows = stage.desk.rows(stage.desk.queue(stage.session.run))
    return [row.label for row in rows if row.label is not None]


@pytest.mark.slow
async def test_a_click_on_a_hint_does_what_its_key_does(tmp_path: Path) -> None:
    async with opened(tmp_path) as stage:
        await click_hint(stage, "jury")
        assert stage.panes.current == "jury"
        await stage.press("t")
        assert stage.app.asking
        # Beside the dialog nothing is lost and nothing happens below.
        await stage.write("tone")
        await click(stage, 3, 3)
        assert stage.app.asking
        await stage.press("enter")
        assert stage.item.tags == ("tone",)
        await stage.press("f4")
        assert stage.controller.where == "calibration"
        await click_hint(stage, "help")
        assert stage.app.asking


async def test_a_clicked_label_goes_through_the_guard(tmp_path: Path) -> None:
    async with opened(tmp_path) as stage:
        await click_hint(stage, "pass")
        assert labels(stage) == [Truth.PASS]
        # The next item has just come on screen.
        await click_hint(stage, "pass", wait=0)
        assert "too soon" in stage.notice
        assert labels(stage) == [Truth.PASS]
        # A click on an item shows it, and no more.
        row = stage.review.queue.region
        await click(stage, row.x + 4, row.y + 5)
        assert stage.session.index == 5
        assert labels(stage) == [Truth.PASS]


@pytest.mark.slow
async def test_a_rule_is_dragged(tmp_path: Path) -> None:
    async with opened(tmp_path) as stage:
        before = stage.panes.columns
        for pane, way in (("queue", 9), ("jury", -7)):
            rule = before["queue"] if pane == "queue" else 159 - stage.panes.columns["jury"]
            assert stage.cells()[10][rule] == "│"
            await stage.pilot.mouse_down(offset=(rule, 10))
            await stage.pilot.hover(offset=(rule + way, 14))
            await stage.pilot.mouse_up(offset=(rule + way, 14))
            await stage.settle()
            assert stage.panes.columns[pane] == before[pane] + abs(way)
            assert stage.cells()[10][rule + way] == "│"
        dragged = stage.panes
        await stage.pilot.hover(offset=(80, 14))
        assert stage.panes == dragged
        assert stage.review.text("item").outer_size.width == dragged.columns["item"]


@pytest.mark.slow
async def test_the_wheel_scrolls_what_is_below_it_and_text_is_copied(tmp_path: Path) -> None:
    async with opened(tmp_path) as stage:
        current, item = stage.current, stage.review.text("item")
        # The long rubric whole.
        await stage.press("semicolon")
        for widget in (stage.review.queue, item):
            spot = (widget.region.x + 5, widget.region.y + 5)
            await stage.pilot._post_mouse_events([events.MouseScrollDown], offset=spot)
            await stage.settle()
            assert widget.scroll_offset.y > 0
        assert stage.current == current
        assert stage.review.text("jury").scroll_offset.y == 0
        x, y = item.region.x + 1, item.region.y + 8
        await stage.pilot.mouse_down(offset=(x, y))
        await stage.pilot.hover(offset=(x + 5, y))
        await stage.pilot.mouse_up(offset=(x + 5, y))
        await stage.settle()
        await stage.press("ctrl+c")
        assert stage.notice.startswith("copied ")


@pytest.mark.slow
async def test_clicks_anywhere_but_on_hints_of_labels_give_none(tmp_path: Path) -> None:
    spots = random.Random(7)  # noqa: S311
    async with opened(tmp_path, size=SMALL) as stage:
        for _ in range(60):
            await click(stage, spots.randrange(80), spots.randrange(23))
        assert labels(stage) == []
        # All of them at once, on a hint: as a held key, at most two.
        for _ in range(3):
            await stage.press("escape")
        stage.clock.wait(1)
        await stage.press("f3")
        for _ in range(20):
            await click_hint(stage, "pass", wait=0.01)
        assert len(labels(stage)) <= 2


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
