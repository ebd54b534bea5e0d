"""What counts as seen is what was drawn: a frame below a dialog, or one never drawn, is not."""

from pathlib import Path
from typing import Any

import pytest

from reviewdesk.app.controllers.exposure import SeenItems
from reviewdesk.domain.records import View
from tests.app.appkit import SMALL, Stage, key_event, showing, verdict

FILE: dict[str, Any] = {"size": SMALL, "view": View(order="file")}
LONG = "\n".join(f"line {number}" for number in range(1, 101))


def seen_lines(stage: Stage) -> int | None:
    """The first line of the response that was not on screen, ``None`` if enough was."""
    found = stage.controller.seen.unseen(stage.item)
    if found is None:
        return None
    part = stage.review.item.layout_of_item.part(found.part)
    return part.line(found.char) - part.first + 1 if part else 1


def labels(stage: Stage) -> int:
    return sum(row.label is not None for row in stage.desk.rows(stage.session.keys))


def first_below(stage: Stage) -> int:
    """The first line of the response below the pane, as the screen shows it."""
    shown = [cell.strip() for cell in stage.cells() if cell.strip().startswith("line ")]
    return int(shown[-1].split()[1]) + 1


def forget(stage: Stage) -> None:
    stage.controller.seen = SeenItems()
    stage.review.item._saw = stage.controller.seen.saw


async def test_the_lines_on_screen_are_those_that_count(tmp_path: Path) -> None:
    async with showing(tmp_path, verdict(1, output=LONG), verdict(2), **FILE) as stage:
        assert seen_lines(stage) == first_below(stage)
        await stage.press("j", "j")
        assert seen_lines(stage) == first_below(stage)
        await stage.press("p")
        assert "not seen enough of the response yet. Press p" in stage.drawn()
        assert seen_lines(stage) is None
        assert labels(stage) == 0
        await stage.press("p")
        assert labels(stage) == 1


async def test_a_scroll_that_was_not_drawn_does_not_count(tmp_path: Path) -> None:
    async with showing(tmp_path, verdict(1, output=LONG), **FILE) as stage:
        before = seen_lines(stage)
        pane = stage.review.item
        pane.move(12)
        # The key is handled before the next frame.
        assert seen_lines(stage) == before
        await stage.settle()
        assert seen_lines(stage) != before
        await stage.press("question_mark")
        known = seen_lines(stage)
        pane.move(30)
        await stage.settle()
        assert seen_lines(stage) == known
        pane.move(-30)
        await stage.press("escape")
        assert seen_lines(stage) == known


async def test_a_pane_without_a_width_shows_nothing(tmp_path: Path) -> None:
    async with showing(tmp_path, verdict(1, output=LONG), **FILE) as stage:
        await stage.press("ctrl+d")
        # The line of verdict stands above a text that is scrolled.
        assert stage.cells()[2].startswith(" pass 2 of 3 pass")
        left = stage.cells()[4:-4]
        for size in ((1, 1), SMALL):
            await stage.resize(size)
        assert stage.cells()[4:-4] == left
        pane = stage.review.item
        pane.styles.max_width = 0
        forget(stage)
        await stage.settle()
        pane.render_lines(pane.size.region)
        assert pane.layout_of_item.parts == ()
        await stage.settle()
        assert seen_lines(stage) == 1


@pytest.mark.slow
async def test_an_item_is_shown_where_it_was_left(tmp_path: Path) -> None:
    items = [verdict(1, output=LONG), verdict(2, output=LONG)]
    async with showing(tmp_path, *items, **FILE) as stage:
        await stage.press("ctrl+d")
        left = stage.cells()[4:-4]
        for way in (("J", "K"), ("space", "backspace"), ("question_mark", "escape")):
            await stage.press(*way)
            assert stage.cells()[4:-4] == left
        top = left[0].strip()
        for size in ((160, 48), (60, 20), SMALL):
            await stage.resize(size)
            assert top in stage.drawn()
        assert (stage.current, stage.panes.current) == ("item/001", "item")
        assert stage.cells()[4:-4] == left


async def test_keys_jump_between_the_words_found_in_a_long_text(tmp_path: Path) -> None:
    rows = [f"needle {at}" if at in {60, 90, 120} else f"hay {at}" for at in range(200)]
    async with showing(tmp_path, verdict(1, output="\n".join(rows)), **FILE) as stage:
        await stage.press("slash")
        await stage.write("needle")
        await stage.press("enter")
        assert "needle 60" in stage.drawn()
        tops = []
        for key in ("right_parenthesis",) * 3 + ("left_parenthesis",):
            await stage.press(key)
            tops.append(" ".join(stage.cells()[4].split()[:2]))
        assert tops == ["needle 60", "needle 90", "needle 120", "needle 90"]


async def test_keys_jump_between_the_texts_and_unfold_them(tmp_path: Path) -> None:
    long = verdict(1, output=LONG, input=LONG.replace("line", "ask"), reference="right")
    async with showing(tmp_path, long, **FILE) as stage:
        assert "lines …" in stage.drawn()
        assert "RESPONSE" in stage.drawn()
        tops = []
        for _ in range(3):
            await stage.press("right_parenthesis")
            tops.append(stage.cells()[4].split()[0])
        assert tops == ["RUBRIC", "INPUT", "RESPONSE"]
        await stage.press("left_parenthesis")
        assert stage.cells()[4].split()[0] == "INPUT"
        await stage.press("semicolon")
        assert "lines …" not in stage.review.item.text
        await stage.press("semicolon")
        assert "ask 50" not in stage.review.item.text
        await stage.press("slash")
        await stage.write("ask 50")
        await stage.press("enter")
        assert "ask 50" in stage.drawn()


async def test_held_keys_do_not_outrun_the_screen(tmp_path: Path) -> None:
    async with showing(tmp_path, verdict(1, output=LONG), verdict(2), **FILE) as stage:
        stage.clock.wait(1)
        # Both are in the queue before a frame can be drawn.
        for key in ("ctrl+d", "p"):
            stage.app.post_message(key_event(key))
        await stage.settle()
        assert labels(stage) == 0


@pytest.mark.slow
async def test_an_item_is_reported_again_whenever_it_is_painted(tmp_path: Path) -> None:
    async with showing(tmp_path, size=SMALL, view=View(order="file")) as stage:
        pane = stage.review.item
        # The list of lines may stand where an earlier one stood in memory.
        lines = pane._lines
        pane.repaint()
        pane._lines = lines
        forget(stage)
        assert seen_lines(stage) == 1
        await stage.settle()
        assert seen_lines(stage) is None


@pytest.mark.parametrize("blind", [False, True])
async def test_criteria_stand_above_a_text_that_stays_there(tmp_path: Path, blind: bool) -> None:
    made = [
        verdict(
            1, id=f"r / {name}", case={"test": "r", "dimension": name}, output=LONG, rubric=asks
        )
        for name, asks in (("tone", "Is it kind?"), ("facts", "Is it right?"))
    ]
    view = View(order="file", blind=blind)
    async with showing(tmp_path, *made, verdict(2), size=SMALL, view=view) as stage:
        assert stage.cells()[2].rstrip() == " CRITERIA  ▶tone ·  facts ·   Is it kind?"
        await stage.press("G")
        text = stage.cells()[5:-4]
        assert text[0].split()[0] != "RUBRIC"
        await stage.press("p")
        assert stage.cells()[2].rstrip() == " CRITERIA  tone p  ▶facts ·   Is it right?"
        assert stage.cells()[5:-4] == text
        await stage.press("f")
        # An item without other criteria has the line for its text.
        assert "CRITERIA" not in stage.drawn()
        assert stage.review.bar("criteria").size.height == 0


async def test_a_conversation_shows_its_turns_first_and_then_its_tools(tmp_path: Path) -> None:
    turns = "\n\n".join(f"user: turn {n}" for n in range(20))
    talk = f"{turns}\n\ntool: {LONG}\n\nuser: go on"
    async with showing(tmp_path, verdict(1, input=talk, output=LONG), **FILE) as stage:
        shown = []
        for _ in range(4):
            text = stage.review.item.text
            shown.append(("turn 10" in text, "line 50" in text.partition("RESPONSE")[0]))
            await stage.press("semicolon")
        assert shown == [(False, False), (True, False), (True, True), (False, False)]
