"""The line of reasons on a terminal: its digits never label, and the dialogs name their item."""

from pathlib import Path

import pytest
from textual import events

from reviewdesk.domain.records import View
from reviewdesk.domain.tags import USUAL
from tests.app.appkit import SMALL, Stage, showing, verdict

FILE = View(order="file")
THREE = [verdict(i) for i in range(1, 4)]


def tagging(stage: Stage) -> bool:
    return any("Reasons for" in line for line in stage.cells())


def labels(stage: Stage) -> list[str | None]:
    return [row.label for row in stage.desk.rows(stage.session.keys)]


@pytest.mark.slow
@pytest.mark.parametrize("size", [SMALL, (40, 10)], ids=str)
async def test_digits_in_the_line_tag_and_never_label(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    async with showing(tmp_path, *THREE, size=size, view=FILE) as stage:
        # In the smallest pane the first press scrolls to the response.
        await stage.press("f3", *"F" * (2 if size == (40, 10) else 1), "1", "3")
        assert tagging(stage)
        lines = stage.cells()
        assert any("Reasons for item/001" in line for line in lines)
        assert any(f"1✓{USUAL[0]}" in line for line in lines)
        assert any("esc closes" in line for line in lines) or size == (40, 10)
        for text in ("123", "pf1\n2"):
            stage.app.post_message(events.Paste(text))
            await stage.settle()
        assert labels(stage) == ["fail", None, None]
        assert stage.desk.item(stage.session.keys[0]).tags == (USUAL[0], USUAL[2])
        await stage.press("escape")
        assert not tagging(stage)
        # Right after the line a digit is a label key again, and waits as after every dialog.
        await stage.press("1", wait=0.1)
        assert labels(stage) == ["fail", None, None]
        await stage.press(*"1" * (2 if size == (40, 10) else 1))
        assert labels(stage) == ["fail", "pass", None]
        # The key that opens the line does not close it: a digit after it must not label.
        await stage.press("T", "T", "2", "t")
        assert labels(stage) == ["fail", "pass", None]
        assert stage.desk.item(stage.session.keys[1]).tags == (USUAL[1],)
        assert any("Tags of item/002" in line for line in stage.cells())
        await stage.press("escape", "C")
        assert any("Note on item/002" in line for line in stage.cells())
        await stage.press("x")
        assert any("draft kept" in line for line in stage.cells()) or size == (40, 10)


async def test_digits_that_come_right_after_a_label_give_no_other(tmp_path: Path) -> None:
    async with showing(tmp_path, *THREE, view=FILE) as stage:
        stage.clock.wait(1.0)
        # Three keys at once are no burst.
        for key in ("F", "1", "2"):
            stage.app.post_message(events.Key(key, key))
        await stage.settle()
        assert labels(stage) == ["fail", None, None]
        assert tagging(stage)
