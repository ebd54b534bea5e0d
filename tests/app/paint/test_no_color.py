"""Without colour, and with sixteen: what the real program sends to a real terminal."""

import os
import re
from pathlib import Path

import pytest
from rich.segment import Segment
from rich.style import Style
from textual.color import Color

from reviewdesk.app.paint.inks import Colourless
from tests.app.appkit import open_run, report, showing, verdict
from tests.app.screens.test_theme_screens import SCENES
from tests.cli.terminalkit import on_terminal
from tests.helpers import POSIX, SAMPLES

SGR = re.compile(rb"\x1b\[([0-9;:]*)m")
PLAIN = {b"", b"0", b"1", b"2", b"3", b"4", b"7", b"22", b"23", b"24", b"27"}
"""Reset, bold, dim, italic, underlined and reversed, and the end of each."""
CURSOR = re.compile(rb"\x1b\[([0-9;]*)m" + "▸".encode())
QUEUE, PALETTE, CLOSE = b"\x1bOQ", b"\x10", b"\x11"


def visited(folder: Path, kind: str = "xterm-256color") -> bytes:
    """Everything a terminal gets, narration included, while the desk and its palette open."""
    with on_terminal(folder / "desk.db", "open", SAMPLES / "support-bot.jsonl", kind=kind) as app:
        app.until(b"more labels")
        os.write(app.screen, QUEUE)
        app.until("▸".encode())
        os.write(app.screen, PALETTE)
        app.until(b"Label pass, go on")
        os.write(app.screen, CLOSE)
        assert app.end()[0] == 0
    return app.shown


@pytest.mark.slow
@POSIX
def test_no_colour_means_no_colour_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    seen = visited(tmp_path)
    codes = {code for match in SGR.findall(seen) for code in re.split(rb"[;:]", match)}
    assert codes <= PLAIN
    # The cursor line is told by reversing.
    assert b"7" in codes
    assert CURSOR.findall(seen)
    assert all(b"7" in match.split(b";") for match in CURSOR.findall(seen))


@pytest.mark.slow
@POSIX
def test_sixteen_colours_show_the_cursor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLORTERM")
    seen = visited(tmp_path, "xterm")
    codes = {code for match in SGR.findall(seen) for code in re.split(rb"[;:]", match)}
    assert not codes & {b"38", b"48"}
    assert {b"31", b"32"} & codes or {b"91", b"92"} & codes
    assert CURSOR.findall(seen)
    assert all(b"7" in match.split(b";") for match in CURSOR.findall(seen))


def test_empty_no_color_asks_for_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "")
    desk, run = open_run(tmp_path / "d.db", report([verdict(1)]))
    from reviewdesk.app.app import ReviewApp
    from reviewdesk.desk.review.runs import Opening
    from reviewdesk.domain.records import View

    app = ReviewApp(Opening(desk, run, View()))
    desk.close()
    assert not app.no_color
    assert app.theme == "desk"


@pytest.mark.slow
async def test_no_dialog_or_theme_colours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("REVIEWDESK_THEME", "desk")
    async with showing(tmp_path, verdict(1)) as stage:
        for scene in SCENES.values():
            await scene(stage)
            for row in stage.strips():
                styles = [segment.style for segment in row if segment.style]
                assert all(style.color is None and style.bgcolor is None for style in styles)
            if stage.app.screen is not stage.review:
                await stage.press("escape")
        assert stage.app.theme == "no-color"
        stage.run("theme desk-light")
        assert "NO_COLOR is set" in stage.notice
        assert stage.app.theme == "no-color"


def test_what_stood_out_by_its_background_is_reversed() -> None:
    ground = Color.parse("#000000")
    style = Style.parse("bold red on blue")
    [raised, flat, bare] = Colourless().apply(
        [Segment("a", style), Segment("b", Style.parse("red on default")), Segment("c")], ground
    )
    assert raised == Segment("a", Style(bold=True, reverse=True))
    assert flat == Segment("b", Style())
    assert bare == Segment("c")
