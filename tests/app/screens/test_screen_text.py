"""What reaches the terminal: no control byte, no markup, and what themes and copying do to it."""

from pathlib import Path

import pytest
from rich.cells import cell_len

from reviewdesk.app.keys.actions import THEMES
from reviewdesk.desk.core import Desk
from reviewdesk.reports.bytes.source import Source
from tests.app.appkit import SMALL, Stage, open_run, report, showing, staged, verdict
from tests.helpers import ROOT


def hold(stage: Stage) -> None:
    """No control character, no bidirectional override, and every line as wide as the terminal."""
    for text in stage.cells():
        assert not any(ord(c) < 32 or 0x7F <= ord(c) < 0xA0 for c in text), repr(text)
        assert not set("\u202a\u202b\u202d\u202e\u2066\u2067\u2028\ufeff") & set(text)
        assert cell_len(text) <= stage.app.size.width


@pytest.mark.slow
@pytest.mark.parametrize("size", [SMALL, (41, 11)], ids=str)
async def test_the_hostile_report_stays_text(tmp_path: Path, size: tuple[int, int]) -> None:
    desk = Desk.open(tmp_path / "desk.db", reviewer="ann \x1b[31m[bold]")
    run = desk.load(Source.from_path(ROOT / "sample_runs" / "hostile.json")).run
    async with staged(desk, run, size=size) as stage:
        for _ in range(run.verdicts):
            hold(stage)
            await stage.press("enter")
            hold(stage)
            await stage.press("G", "escape", "escape")
            hold(stage)
            await stage.press("p", "enter")
        hold(stage)


@pytest.mark.slow
async def test_no_colour_keeps_every_fact(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    desk, run = open_run(tmp_path / "d.db", report([verdict(1), verdict(2)]))
    async with staged(desk, run) as stage:
        coloured = stage.drawn()
    monkeypatch.setenv("NO_COLOR", "1")
    async with staged(Desk.open(tmp_path / "d.db", reviewer="ann"), run) as stage:
        assert stage.drawn() == coloured


@pytest.mark.slow
async def test_the_theme_comes_from_the_environment_and_every_other_can_be_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REVIEWDESK_THEME", "desk-light")
    async with showing(tmp_path, verdict(1)) as stage:
        assert stage.app.theme == "desk-light"
        for name in THEMES:
            stage.run(f"theme {name}")
            await stage.settle()
            assert stage.app.theme == name
            assert "JURORS" in stage.drawn()
