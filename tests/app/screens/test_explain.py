"""The dialog of ``e``: the terms in view, below the header."""

from pathlib import Path

import pytest

from reviewdesk.app.screens.dialogs import PageDialog
from tests.app.appkit import showing, verdict


async def test_it_leaves_the_header_in_view(tmp_path: Path) -> None:
    async with showing(tmp_path, verdict(2), size=(40, 10)) as stage:
        header = stage.cells()[0]
        await stage.press("e")
        assert isinstance(stage.app.screen, PageDialog)
        assert stage.cells()[0] == header
        assert "escalated" in stage.drawn()
        await stage.press("enter", "j", "e")
        assert len(stage.app.screen_stack) == 1


@pytest.mark.slow
async def test_calibration_explains_the_figures_in_view(tmp_path: Path) -> None:
    async with showing(tmp_path, *(verdict(i) for i in range(1, 4)), size=(100, 30)) as stage:
        await stage.press("p", "f", "p", "f4", "e")
        for word in ("accuracy", "ECE", "Brier"):
            assert word in stage.drawn()
