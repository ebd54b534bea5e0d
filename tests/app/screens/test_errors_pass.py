"""An error on the status line goes with the next thing that succeeds, and not before."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.app.appkit import Stage, open_run, report, staged, verdict
from tests.app.rerunkit import dialog

WRONG = "no-such-item"


async def typed(stage: Stage, text: str) -> None:
    await stage.press("colon")
    await stage.write(text)
    await stage.press("enter")


@pytest.mark.parametrize("screen", ["f2", "f4"])
async def test_a_command_that_succeeds_clears_the_error_of_the_one_before(
    tmp_path: Path, screen: str
) -> None:
    desk, run = open_run(tmp_path / "d.db", report([verdict(i) for i in range(1, 4)]))
    async with staged(desk, run) as stage:
        await typed(stage, f"go {WRONG}")
        assert WRONG in stage.drawn()
        await stage.press(screen)
        await typed(stage, "go item/002")
        assert stage.current == "item/002"
        assert WRONG not in stage.drawn()


async def test_a_command_that_fails_again_says_so_again(tmp_path: Path) -> None:
    desk, run = open_run(tmp_path / "d.db", report([verdict(1)]))
    async with staged(desk, run) as stage:
        await typed(stage, f"go {WRONG}")
        await typed(stage, "go another")
        assert WRONG not in stage.drawn()
        assert "another" in stage.drawn()


async def test_the_open_dialog_clears_an_error(tmp_path: Path) -> None:
    desk, run = open_run(tmp_path / "d.db", report([verdict(1)]))
    async with staged(desk, run) as stage:
        await typed(stage, f"go {WRONG}")
        await stage.press("R")
        assert dialog(stage)
        assert WRONG not in stage.drawn()


async def test_what_is_no_error_stays(tmp_path: Path) -> None:
    desk, run = open_run(tmp_path / "d.db", report([verdict(1), verdict(3)]))
    async with staged(desk, run) as stage:
        await stage.press("p")
        assert "saved ✓ pass" in stage.drawn()
        await typed(stage, "go item/003")
        assert "saved ✓ pass" in stage.drawn()
