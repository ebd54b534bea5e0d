"""Only what changes is sent, and the terminal shows the same as if all had been sent."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from reviewdesk.app.terminal.changes import Shown
from tests.app.drawkit import Terminal

WIDTH, HEIGHT = 30, 5


def drawn(row: int, column: int, *texts: tuple[str, str]) -> str:
    """One piece of a line as Textual sends it: each text in its style, which is then reset."""
    styled = (f"\x1b[{style}m{text}\x1b[0m" if style else text for text, style in texts)
    return f"\x1b[{row + 1};{column + 1}H{''.join(styled)}"


RED, ON_BLUE = "38;2;255;0;0", "1;38;2;9;9;9;48;2;0;0;99"


def test_what_is_known_to_be_shown_is_not_sent_again() -> None:
    shown, data = Shown(), drawn(0, 2, ("a line", RED)) + "\x1b[1;1H"
    assert shown.changes(data) == "\x1b[1;3H\x1b[38;2;255;0;0ma line\x1b[0m\x1b[1;1H"
    assert shown.changes(data) == ""


def test_only_the_characters_that_change_are_sent() -> None:
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
def test_the_terminal_shows_what_it_would_if_all_were_sent(
    drawings: list[list[tuple[int, int, list[tuple[str, str]]]]],
) -> None:
    shown, whole, less = Shown(), Terminal(WIDTH, HEIGHT), Terminal(WIDTH, HEIGHT)
    for pieces in drawings:
        data = "".join(drawn(row, column, *texts) for row, column, texts in pieces)
        whole.send(data + "\x1b[2;2H")
        less.send(shown.changes(data + "\x1b[2;2H"))
        assert less.cells == whole.cells
        assert less.cursor == whole.cursor
