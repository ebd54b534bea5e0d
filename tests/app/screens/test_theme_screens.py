"""What is on screen can be read in each of our themes: dialogs, fields, lists, selections."""

from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest
from textual.color import Color
from textual.geometry import Region
from textual.widget import Widget

from reviewdesk.app.controllers.state import question_form
from reviewdesk.app.screens.dialogs import PageDialog
from reviewdesk.app.widgets.lines import Pane
from tests.app.appkit import WIDE, Stage, showing, verdict
from tests.app.paint.test_jury import contrast

LEAST = {"desk": 4.5, "desk-light": 4.5, "high-contrast": 7.0}
ROUNDING = 0.01
"""Blended colours are cut to whole numbers."""
RULED = range(0x2500, 0x25A0)
"""Lines and blocks: no text."""


Scene = Callable[[Stage], Awaitable[None]]


def pressed(*keys: str) -> Scene:
    return lambda stage: stage.press(*keys)


async def question(stage: Stage) -> None:
    stage.app.push_screen(
        PageDialog(question_form("Show what is hidden?", "A label is then not blind."))
    )
    await stage.settle()


async def selection(stage: Stage) -> None:
    pane = stage.review.query_one("#jury", Pane)
    await stage.pilot.mouse_down(pane, offset=(1, 0))
    await stage.pilot.hover(pane, offset=(30, 12))
    await stage.pilot.mouse_up(pane, offset=(30, 12))


async def toasts(stage: Stage) -> None:
    for severity in ("information", "warning", "error"):
        stage.app.notify("words", title="Title", severity=severity)
    await stage.settle()


SCENES: dict[str, Scene] = {
    "review": pressed("J"), "order": pressed("at", "down"),
    "filter": pressed("backslash", *"esc", "shift+left"),
    "filter error": pressed("backslash", "x", "enter"), "note": pressed("c", *"abc", "shift+left"),
    "help": pressed("question_mark"), "palette": pressed("ctrl+p", *"la", "tab"),
    "question": question, "selection": selection, "toasts": toasts,
}  # fmt: skip


def leaves(stage: Stage) -> list[Region]:
    """Where the widgets of the uppermost screen are that hold text."""
    widgets = [
        widget
        for widget in stage.app.screen.walk_children(Widget)
        if not widget.children and widget.is_on_screen and widget.visible and widget.region
    ]
    return [widget.region for widget in widgets]


def characters(stage: Stage) -> Iterator[tuple[str, Color, Color]]:
    """Every character of those widgets, with its colour and the one below it."""
    regions = leaves(stage)
    for y, row in enumerate(stage.strips()):
        x = 0
        for segment in row:
            place, x = x, x + segment.cell_length
            style = segment.style
            text = [c for c in segment.text if c != " " and ord(c) not in RULED]
            if not text or not any(region.contains(place, y) for region in regions):
                continue
            assert style is not None
            assert style.color is not None
            assert style.bgcolor is not None
            labeller, paper = (Color.from_rich_color(c) for c in (style.color, style.bgcolor))
            for char in text:
                yield char, labeller, paper


@pytest.mark.slow
@pytest.mark.parametrize("name", LEAST)
async def test_all_is_readable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv("REVIEWDESK_THEME", name)
    tagged = {"test": "t", "tags": ["x"]}
    body = verdict(1, (0.9, 0.8, 0.85, 0.95, 0.1), decision="fail", case=tagged)
    async with showing(tmp_path, body, verdict(2), size=WIDE) as stage:
        for shown, scene in SCENES.items():
            await scene(stage)
            seen = 0
            for char, labeller, paper in characters(stage):
                seen += 1
                what = (shown, char, labeller.hex, paper.hex)
                assert contrast(labeller, paper) >= LEAST[name] - ROUNDING, what
            assert seen > 50, shown
            if stage.app.screen is not stage.review:
                await stage.press("escape")
