"""The app on a terminal: little is sent, only what changes, and it shows what the app drew."""

import os
import random
import re
import sys
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from reviewdesk.app.app import ReviewApp
from reviewdesk.app.paint.styled import SINGLE
from reviewdesk.app.terminal.changes import ChangesDriver, Shown
from reviewdesk.desk.core import Desk
from reviewdesk.desk.review.runs import Opening
from reviewdesk.domain.records import Run, View
from reviewdesk.reports.bytes.source import Source
from tests.app.appkit import SMALL, WIDE, Stage, seeds, showing, staged, verdict
from tests.app.drawkit import Terminal, WireDriver, sent, wire
from tests.helpers import ROOT

FILES = ("support-bot.jsonl", "code-review.json", "hostile.json")


@pytest.fixture(autouse=True)
def a_terminal_at_stdin() -> Iterator[None]:
    """The review closes when its terminal is gone, and looks for that at standard input."""
    ours, theirs = os.openpty()
    before = os.dup(0)
    os.dup2(theirs, 0)
    yield
    os.dup2(before, 0)
    for end in (ours, theirs, before):
        os.close(end)


def loaded(path: Path, name: str) -> tuple[Desk, Run]:
    desk = Desk.open(path / "desk.db", reviewer="ann")
    return desk, desk.load(Source.from_path(ROOT / "sample_runs" / name)).run


def wired(
    path: Path, name: str = "support-bot.jsonl", size: tuple[int, int] = WIDE
) -> AbstractAsyncContextManager[Stage]:
    return staged(*loaded(path, name), size=size, driver=WireDriver)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["support-bot.jsonl", "code-review.json"])
async def test_a_key_sends_little(name: str, tmp_path: Path) -> None:
    async with wired(tmp_path, name) as stage:
        other = {key: len(await sent(stage, key)) for key in ("J", "K", "space", "p", "u")}
        assert max(other.values()) < 24_000, other
        await stage.press("enter")
        same = {key: len(await sent(stage, key)) for key in ("j", "ctrl+d", "G", "g", "w", "m")}
        assert max(same.values()) < 8_000, same


@pytest.mark.slow
@pytest.mark.parametrize("key", ["c", "colon", "question_mark"])
async def test_a_dialog_sends_little_when_it_opens_and_closes(key: str, tmp_path: Path) -> None:
    async with wired(tmp_path) as stage:
        opened = len(await sent(stage, key))
        assert len(stage.app.screen_stack) > 1 or stage.notice
        assert max(opened, len(await sent(stage, "escape"))) < 8_000


@pytest.mark.slow
async def test_a_key_that_scrolls_one_pane_sends_nothing_of_the_others(tmp_path: Path) -> None:
    long = "\n".join(f"line {number} of an answer" for number in range(200))
    async with showing(tmp_path, verdict(1, output=long), size=WIDE, driver=WireDriver) as stage:
        column = stage.review.query_one("#item-column").region
        moves = re.findall(r"\x1b\[\d+;(\d+)H", await sent(stage, "ctrl+d"))
        # The last puts the cursor where it is kept.
        assert len(moves) > 1
        assert all(column.x <= int(x) - 1 < column.right for x in moves[:-1])


@pytest.mark.slow
async def test_a_step_draws_its_two_lines_and_the_title(tmp_path: Path) -> None:
    verdicts = [verdict(number) for number in range(100)]
    async with showing(tmp_path, *verdicts, size=WIDE, driver=WireDriver) as stage:
        await stage.press("f2", "j")
        place, begun = stage.review.queue.region.y, len(wire(stage).asked)
        await stage.press("j")
        asked = "".join(wire(stage).asked[begun:])
        # The list and its title begin in the first column; rows of a terminal count from 1.
        rows = {int(row) - 1 for row in re.findall(r"\x1b\[(\d+);1H", asked)}
        assert rows - {0} == {place - 1, place + 1, place + 2}


@pytest.mark.slow
async def test_a_poll_that_finds_nothing_sends_nothing(tmp_path: Path) -> None:
    async with wired(tmp_path) as stage:
        before = len(wire(stage).sent)
        stage.review._poll()
        await stage.settle()
        assert wire(stage).sent[before:] == []


async def test_the_redraw_key_sends_the_whole_screen(tmp_path: Path) -> None:
    async with wired(tmp_path, size=SMALL) as stage:
        terminal = Terminal(*SMALL)
        terminal.send(await sent(stage, "ctrl+l"))
        assert "#" * 3 not in "".join(terminal.screen.display)
        assert terminal.screen.display[0].strip() in stage.cells()[0]


KEYS = [
    "J", "K", "j", "k", "ctrl+d", "ctrl+u", "g", "G", "space", "backspace", "p", "f", "u", "U", "s",
    "enter", "escape", "tab", "z", "w", "x", "m", "c", "t", "slash", "colon", "o", "question_mark",
    "f4", "f5", "f2", "b", "r", "at", "d", "a", "e", "h", "l", "n", "ctrl+p", "down", "up",
]  # fmt: skip


@pytest.mark.parametrize("seed", seeds(3))
async def test_the_terminal_shows_what_a_full_redraw_would(seed: int, tmp_path: Path) -> None:
    dice = random.Random(seed)  # noqa: S311  (dice)
    async with wired(tmp_path, FILES[seed % len(FILES)], size=(100, 30)) as stage:
        driver, terminal = wire(stage), Terminal(100, 30)
        terminal.send("".join(driver.sent))
        for _ in range(12 if seed == 0 else 40):
            if not stage.app.is_running:
                break
            if dice.random() < 0.05:
                size = dice.choice([(160, 48), (80, 24), (100, 30), (39, 12), (220, 60)])
                terminal, at = Terminal(*size), len(driver.sent)
                await stage.pilot.resize_terminal(*size)
                terminal.send("".join(driver.sent[at:]))
            else:
                terminal.send(await sent(stage, dice.choice(KEYS)))
            await agrees(stage, terminal)


async def agrees(stage: Stage, terminal: Terminal) -> None:
    """Hold the terminal against one on which the whole screen is drawn at once."""
    driver = wire(stage)
    begun = len(driver.sent)
    while stage.app.is_running and stage.app._batch_count:
        # Nothing is drawn while a screen is put together.
        await stage.pilot.pause(0.001)
    if not stage.app.is_running:
        return
    asked = len(driver.asked)
    stage.app.screen.refresh()
    await stage.pilot.pause()
    whole = Terminal(terminal.screen.columns, terminal.screen.lines)
    whole.send("".join(driver.asked[asked:]))
    terminal.send("".join(driver.sent[begun:]))
    assert "#" * 40 not in "".join(whole.screen.display)
    seen, wanted = terminal.cells, whole.cells
    for y, text in enumerate(stage.cells()):
        # Where a text is whose width terminals doubt, each shows something else.
        if SINGLE.fullmatch(text):
            assert seen[y] == wanted[y], (y, text)


def test_the_app_draws_by_changes_where_drawings_come_whole(tmp_path: Path) -> None:
    desk, run = loaded(tmp_path, "support-bot.jsonl")
    app = ReviewApp(Opening(desk, run, View()))
    assert issubclass(app.driver_class, ChangesDriver) is (sys.platform != "win32")


WIDTH, HEIGHT = 30, 5


def drawn(row: int, column: int, *texts: tuple[str, str]) -> str:
    """One piece of a line as Textual sends it: each text in its style, which is then reset."""
    styled = (f"\x1b[{style}m{text}\x1b[0m" if style else text for text, style in texts)
    return f"\x1b[{row + 1};{column + 1}H{''.join(styled)}"


RED, ON_BLUE = "38;2;255;0;0", "1;38;2;9;9;9;48;2;0;0;99"


def test_only_the_characters_that_change_are_sent() -> None:
    shown, data = Shown(), drawn(0, 2, ("a line", RED)) + "\x1b[1;1H"
    assert shown.changes(data) == "\x1b[1;3H\x1b[38;2;255;0;0ma line\x1b[0m\x1b[1;1H"
    assert shown.changes(data) == ""
    shown = Shown()
    shown.changes(drawn(0, 0, ("the score is 0.71 of 1", "")) + "\x1b[1;1H")
    changed = drawn(0, 0, ("the score is 0.84 of 1", "")) + "\x1b[1;1H"
    assert shown.changes(changed) == "\x1b[1;16H84\x1b[1;1H"


@pytest.mark.parametrize(
    ("data", "known"),
    [
        # Modes and the clipboard change no cell.
        *((data, True) for data in ("\x07", "\x1b[?2026h", "\x1b[?25l", "\x1b]52;c;aGk=\x07")),
        *((data, True) for data in ("\x1b[>25u", "\x1b[?2026$p")),
        # What is not a drawing leaves nothing known.
        *((data, False) for data in ("\x1b[?1049h", "\x1b[2J", "text without a place")),
        *((data, False) for data in ("\x1b[1;1Ha\tb", "\x1b]8;;x\x07", "\x1bc")),
    ],
)
def test_what_else_is_sent_passes(data: str, known: bool) -> None:
    shown, line = Shown(), drawn(0, 0, ("a line", ""))
    first = shown.changes(line)
    assert shown.changes(data) == data
    assert shown.changes(line) == ("" if known else first)
    shown.forget()
    assert shown.changes(line) == first


def test_a_line_that_was_drawn_for_a_wider_terminal_is_drawn_to_its_end_again() -> None:
    shown, terminal = Shown(), Terminal(WIDTH, HEIGHT)
    shown.forget(WIDTH)
    terminal.send(shown.changes(drawn(0, 0, ("x" * (WIDTH + 5), ON_BLUE), ("late", RED))))
    terminal.send(shown.changes(drawn(0, 0, ("x" * WIDTH, ON_BLUE))))
    assert terminal.screen.display[0] == "x" * WIDTH


def test_no_old_sign_stays_beside_a_text_that_is_narrower_than_thought() -> None:
    doubted, terminal, shown = "नमस्ते क्षत्रिय", Terminal(WIDTH, HEIGHT), Shown()
    shown.changes(drawn(0, 20, ("the jury", "")))
    sent = shown.changes(drawn(0, 0, (doubted, ""), (" " * (20 - cell_len(doubted)), "")))
    # Where the terminal takes more columns, the beginning of the next pane is overwritten.
    assert sent.endswith("the jury\x1b[1;21H")
    terminal.send(sent)
    row = terminal.screen.display[0]
    assert "#" not in row[: cell_len(doubted)]


STYLES = st.sampled_from(["", RED, ON_BLUE, "4", "2;3;90", "7;31;104", "48;5;20", "1;2"])
WORDS = st.text("ab .·│é日本", min_size=1, max_size=8)
PIECES = st.tuples(
    st.integers(0, HEIGHT - 1),
    st.integers(0, WIDTH - 1),
    st.lists(st.tuples(WORDS, STYLES), min_size=1, max_size=4),
)


def _fits(piece: tuple[int, int, list[tuple[str, str]]]) -> bool:
    _, column, texts = piece
    return column + sum(cell_len(text) for text, _ in texts) <= WIDTH


@pytest.mark.slow
@given(st.lists(st.lists(PIECES.filter(_fits), min_size=1, max_size=4), max_size=12))
def test_the_terminal_shows_what_it_would_if_all_were_sent(drawings: Any) -> None:
    shown, whole, less = Shown(), Terminal(WIDTH, HEIGHT), Terminal(WIDTH, HEIGHT)
    for pieces in drawings:
        data = "".join(drawn(row, column, *texts) for row, column, texts in pieces)
        whole.send(data + "\x1b[2;2H")
        less.send(shown.changes(data + "\x1b[2;2H"))
        assert less.cells == whole.cells
        assert less.cursor == whole.cursor
