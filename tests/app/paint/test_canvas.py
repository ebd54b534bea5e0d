"""A grid of characters to plot on."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from reviewdesk.app.paint.plots import Canvas
from reviewdesk.app.theme.inks import Ink


def drawn(canvas: Canvas) -> list[str]:
    return [line.plain for line in canvas.lines()]


def test_the_corners_of_the_unit_square() -> None:
    canvas = Canvas(11, 5)
    assert (canvas.column(0), canvas.column(1), canvas.row(0), canvas.row(1)) == (0, 10, 4, 0)
    # .25 of ten steps is 2.5 and .35 is 3.5: both go up. .5 of four steps is row 2 from below.
    assert (canvas.column(0.25), canvas.column(0.35), canvas.row(0.5)) == (3, 4, 2)
    assert (canvas.column(-1), canvas.column(2), canvas.row(-1), canvas.row(2)) == (0, 10, 4, 0)


def test_a_whisker_has_two_caps() -> None:
    canvas = Canvas(3, 4)
    canvas.whisker(1, 0, 3, Ink.TEXT)
    assert drawn(canvas) == [" ┬ ", " │ ", " │ ", " ┴ "]


def test_what_is_put_last_shows_in_its_ink() -> None:
    canvas = Canvas(3, 2)
    canvas.fill(range(3), range(2), "░", Ink.RULE)
    canvas.put(1, 0, "●", Ink.PASS)
    first, second = canvas.lines()
    assert (first.plain, second.plain) == ("░●░", "░░░")
    assert [(span.start, span.end, span.style) for span in first.spans] == [
        (0, 1, "rule"),
        (1, 2, "pass"),
        (2, 3, "rule"),
    ]


@given(st.floats(0, 1), st.integers(2, 80), st.integers(2, 40))
def test_a_point_is_within_half_a_cell(share: float, columns: int, rows: int) -> None:
    canvas = Canvas(columns, rows)
    assert abs(canvas.column(share) - share * (columns - 1)) <= 0.5 + 1e-6
    assert abs((rows - 1 - canvas.row(share)) - share * (rows - 1)) <= 0.5 + 1e-6
