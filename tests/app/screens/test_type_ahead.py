"""Keys typed while a dialog opens belong to its text, and label nothing."""

from pathlib import Path

import pytest
from textual import events

from reviewdesk.app.screens.fields import NoteDialog, PromptField
from tests.app.appkit import Stage, open_run, report, staged, verdict
from tests.app.screens.test_stray_keys import given


async def burst(stage: Stage, *keys: str) -> None:
    """Post keys that are all on their way before the first of them has been handled."""
    for key in keys:
        stage.app.post_message(events.Key(key, key if len(key) == 1 else None))
    await stage.settle()


@pytest.mark.parametrize("opener", ["colon", "slash", "backslash", "t", "c"])
async def test_what_is_typed_at_once_stands_in_the_field(tmp_path: Path, opener: str) -> None:
    path = tmp_path / "d.db"
    desk, run = open_run(path, report([verdict(1), verdict(2)]))
    async with staged(desk, run) as stage:
        await burst(stage, opener, "p", "f", "i", "x", "q")
        screen = stage.app.screen
        assert isinstance(screen, PromptField | NoteDialog)
        text = screen.text if isinstance(screen, NoteDialog) else screen.field.value
        assert text == "pfixq"
        assert given(path) == []


async def test_keys_after_a_text_that_does_not_open_are_no_labels(tmp_path: Path) -> None:
    path = tmp_path / "d.db"
    desk, run = open_run(path, report([verdict(1)]))
    async with staged(desk, run) as stage:
        stage.clock.wait(1)
        await stage.press("p")
        before = given(path)
        assert len(before) == 1
        # The queue is done: there is no item to write about.
        await burst(stage, "c", "f", "f", "u")
        assert stage.app.screen is stage.review
        assert given(path) == before
        # The next key counts again.
        await stage.press("u")
        assert stage.controller.session.progress.labelled == 0
