"""No key labels but a label key at an item in view; the digits of the line of reasons never do."""

import random
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from textual import events
from textual.pilot import Pilot

from reviewdesk.app.app import ReviewApp
from reviewdesk.app.keys.actions import ACTIONS
from reviewdesk.app.screens.dialogs import NoteDialog, PromptField
from reviewdesk.app.screens.review import ReviewScreen
from reviewdesk.desk.review.runs import Opening
from reviewdesk.domain.records import View
from reviewdesk.domain.tags import USUAL
from tests.app.appkit import SMALL, WIDE, Stage, open_run, report, seeds, showing, staged, verdict
from tests.helpers import mostly_slow

LABELS = {
    "p": "pass", "1": "pass",
    "f": "fail", "2": "fail",
    "i": "unsure", "3": "unsure",
}  # fmt: skip
OPENERS = (
    "c", "t", "backslash", "slash", "colon", "o", "at", "question_mark", "ctrl+p",
)  # fmt: skip
KEYS = [
    *LABELS, *OPENERS, "escape", "enter", "tab", "shift+tab", "space", "backspace", "up", "down",
    *(key for action in ACTIONS.values() for key in action.keys.split(",")
      if key and not action.id.startswith("quit")),
]  # fmt: skip


def given(folder: Path) -> list[str]:
    with closing(sqlite3.connect(folder / "d.db")) as conn:
        rows = conn.execute("SELECT label FROM label_events WHERE kind = 'label' ORDER BY key")
        return [row[0] for row in rows]


async def burst(stage: Stage, *keys: str) -> None:
    """Keys that are on their way before the first of them has been handled."""
    for key in keys:
        stage.app.post_message(events.Key(key, key if len(key) == 1 else None))
    await stage.settle()


@pytest.mark.slow
@pytest.mark.parametrize("size", [WIDE, SMALL], ids=str)
async def test_label_keys_by_a_dialog_label_nothing(tmp_path: Path, size: tuple[int, int]) -> None:
    async with showing(tmp_path, size=size) as stage:
        for opener in (*OPENERS, "f4", "f5"):
            stage.clock.wait(1.0)
            await burst(stage, opener, "p", "f", "i")
            if stage.app.screen is stage.review and stage.controller.page is None:
                await stage.press(opener)
            assert stage.app.screen is not stage.review or stage.controller.page, opener
            await stage.press(*LABELS)
            assert given(tmp_path) == [], opener
            while stage.app.screen is not stage.review or stage.controller.page:
                await stage.press("escape")


@pytest.mark.slow
async def test_keys_that_come_twice_close_one_dialog_only(tmp_path: Path) -> None:
    async with showing(tmp_path, verdict(1)) as stage:
        for opener in OPENERS:
            await stage.press("f5", opener)
            await burst(stage, "escape", "escape", "escape", "enter")
            while not isinstance(stage.app.screen, ReviewScreen):
                await stage.press("escape")
            assert stage.app.screen_stack[0] is stage.review
            assert stage.app.is_running
            await stage.press("f2")


@pytest.mark.parametrize("seed", seeds(4))
async def test_random_keys_give_no_label_of_their_own(tmp_path: Path, seed: int) -> None:
    desk, run = open_run(tmp_path / "d.db", report([verdict(i) for i in range(1, 20)]))
    dice, pressed = random.Random(seed), []  # noqa: S311 - dice, not secrets
    async with staged(desk, run, size=dice.choice([WIDE, SMALL])) as stage:
        for _ in range(150):
            if not stage.app.is_running:
                # Closed by its name, from the palette or the help; a fault would be raised here.
                break
            if dice.random() < 0.04:
                size = dice.choice([WIDE, SMALL, (40, 10), (20, 5), (1, 1)])
                await stage.pilot.resize_terminal(*size)
            elif dice.random() < 0.04:
                stage.app.post_message(events.Paste(dice.choice(["pfi", "esc\npp", ":zz"])))
            else:
                key = dice.choice(KEYS)
                pressed += [LABELS[key]] if key in LABELS else []
                stage.clock.wait(dice.choice([0.01, 0.2]))
                await stage.pilot.press(key)
    # Every label, in order, is one of the keys, in order.
    keys = iter(pressed)
    assert all(any(key == label for key in keys) for label in given(tmp_path))
    assert desk.open(desk.path).verify().ok


@pytest.mark.slow
def test_a_fault_ends_the_app_and_is_kept_without_a_report(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    desk, run = open_run(tmp_path / "d.db", report([verdict(1)]))
    app = ReviewApp(Opening(desk, run, View()))
    fault = ValueError("unforeseen")

    def fail() -> None:
        raise fault

    async def break_off(_: Pilot[object]) -> None:
        # A bell that rings for something else, inside a handler, is no fault.
        try:
            fail()
        except ValueError:
            app.bell()
        assert app.fault is None
        app.call_later(fail)

    app.run(headless=True, auto_pilot=break_off)
    assert (app.return_code, app.fault) == (1, fault)
    assert capsys.readouterr().err == ""


async def test_a_note_in_one_burst_with_its_enter_is_whole(tmp_path: Path) -> None:
    async with showing(tmp_path, verdict(1)) as stage:
        await stage.press("c")
        await burst(stage, *"hello", "enter")
        assert stage.item.note == "hello"


@pytest.mark.parametrize(
    "text", mostly_slow(["pass fail", "smuxqpfi", "\x1b[31mpass fail\x1b[0m", "pfip"])
)
async def test_a_paste_outside_a_text_does_nothing_and_says_so(tmp_path: Path, text: str) -> None:
    async with showing(tmp_path, size=SMALL) as stage:
        head = stage.desk.head()
        stage.clock.wait(1.0)
        await stage.write(text)
        assert stage.notice == "A paste does nothing outside a text field."
        stage.clock.wait(1.0)
        await burst(stage, *text.replace("\x1b", "^"))
        assert stage.notice.startswith("Several keys came at once, as from a paste")
        assert stage.desk.head() == head
        assert stage.current == "item/002"
        # A hand's key counts again.
        await stage.press("p")
        assert given(tmp_path) == ["pass"]


async def test_a_burst_on_the_heels_of_a_label_does_nothing(tmp_path: Path) -> None:
    async with showing(tmp_path, *map(verdict, (1, 2, 3))) as stage:
        await stage.press("p")
        stage.clock.wait(0.2)
        await burst(stage, "f", "a", "i", "l")
        assert given(tmp_path) == ["pass"]


async def test_a_burst_answers_no_question(tmp_path: Path) -> None:
    async with showing(tmp_path) as stage:
        await stage.press("v", "v", "p")
        assert stage.app.screen is not stage.review
        stage.clock.wait(1.0)
        await burst(stage, *"may you")
        assert stage.app.screen is not stage.review
        assert given(tmp_path) == []
        await stage.press("y")
        assert len(given(tmp_path)) == 2


async def test_a_paste_that_comes_with_the_key_of_a_field_stands_in_it(tmp_path: Path) -> None:
    async with showing(tmp_path, verdict(1)) as stage:
        stage.app.post_message(events.Key("c", "c"))
        stage.app.post_message(events.Paste("hello"))
        await stage.settle()
        assert isinstance(stage.app.screen, NoteDialog)
        assert stage.app.screen.text == "hello"


@pytest.mark.parametrize("opener", mostly_slow(["colon", "slash", "backslash", "t", "c"]))
async def test_what_is_typed_at_once_stands_in_the_field(tmp_path: Path, opener: str) -> None:
    async with showing(tmp_path) as stage:
        await burst(stage, opener, "p", "f", "i", "x", "q")
        screen = stage.app.screen
        assert isinstance(screen, PromptField | NoteDialog)
        text = screen.text if isinstance(screen, NoteDialog) else screen.field.value
        assert text == "pfixq"
        assert given(tmp_path) == []


async def test_keys_after_a_text_that_does_not_open_are_no_labels(tmp_path: Path) -> None:
    async with showing(tmp_path, verdict(1)) as stage:
        await stage.press("p", wait=1)
        assert len(given(tmp_path)) == 1
        # The queue is done: there is no item to write about.
        await burst(stage, "c", "f", "f", "u")
        assert stage.app.screen is stage.review
        assert len(given(tmp_path)) == 1
        # The next key counts again.
        await stage.press("u")
        assert stage.controller.session.progress.labelled == 0


FILE = View(order="file")
THREE = [verdict(i) for i in range(1, 4)]


def tagging(stage: Stage) -> bool:
    return any("Reasons for" in line for line in stage.cells())


def labels(stage: Stage) -> list[str | None]:
    return [row.label for row in stage.desk.rows(stage.session.keys)]


@pytest.mark.slow
@pytest.mark.parametrize("size", [SMALL, (40, 10)], ids=str)
async def test_digits_in_the_line_tag_and_never_label(tmp_path: Path, size: Any) -> None:
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
