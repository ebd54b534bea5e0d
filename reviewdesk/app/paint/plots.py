"""Plots: the jurors' scores on a line, and the reliability diagram."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from textual.content import Content

from reviewdesk.app.paint.styled import Lines, Piece, cut, flow, line, pad
from reviewdesk.app.theme.inks import Ink
from reviewdesk.domain.assessment.seats import Seat, State
from reviewdesk.domain.stats.calibration_page import BinPosition, band, place
from reviewdesk.domain.stats.figures import Bin, Fit


def strip_plot(seats: Sequence[Seat], threshold: float | None, width: int) -> Content:
    """Plot scores from 0 to 1: ``●`` is counted, ``○`` trimmed, ``◆`` a trimmed dissent.

    A digit says how many scores share one place.
    """
    if width < 3:
        return Content("")
    marks: dict[int, list[Seat]] = {}
    for seat in seats:
        if seat.ballot.score is not None:
            marks.setdefault(round(seat.ballot.score * (width - 1)), []).append(seat)
    bar = None if threshold is None else round(threshold * (width - 1))
    return line(*(_mark(marks.get(at), threshold=at == bar) for at in range(width)))


def _mark(here: list[Seat] | None, *, threshold: bool) -> Piece:
    if not here:
        return ("│", Ink.STRONG) if threshold else ("─", Ink.RULE)
    if len(here) > 1:
        return str(min(len(here), 9)), Ink.STRONG
    [seat] = here
    if seat.state is State.COUNTED:
        return "●", Ink.STRONG
    return ("◆", Ink.WARN) if seat.dissent else ("○", Ink.MUTED)


def score_plot_lines(seats: Sequence[Seat], threshold: float | None, width: int) -> Lines:
    """Return the plot with its threshold and legend; nothing without a score or room."""
    if width < 12 or not any(seat.ballot.score is not None for seat in seats):
        return []
    room = width - 4
    plot = strip_plot(seats, threshold, room)
    lines = [line(("0 ", Ink.MUTED)) + plot + line((" 1", Ink.MUTED))]
    if threshold is not None:
        lines.append(_threshold_line(threshold, room, width))
    legend = "● counted  ○ trimmed  ◆ trimmed dissent  2..9 together"
    return [*lines, cut(line((f"  {legend}", Ink.MUTED)), width)]


def _threshold_line(threshold: float, room: int, width: int) -> Content:
    """Point at the threshold from the line below, because scores may hide it on the axis."""
    at = round(threshold * (room - 1))
    text = f"threshold {threshold:g}"
    if at + 4 + len(text) <= width:
        return line(" " * (at + 2), ("▲ ", Ink.STRONG), (text, Ink.MUTED))
    lead = max(0, at + 1 - len(text))
    return cut(line(" " * lead, (f"{text} ", Ink.MUTED), ("▲", Ink.STRONG)), width)


class Canvas:
    """A grid of cells over the unit square. Column 0 is at the left, row 0 at the top."""

    def __init__(self, columns: int, rows: int) -> None:
        self.columns = max(2, columns)
        self.rows = max(2, rows)
        self._cells = [[(" ", "")] * self.columns for _ in range(self.rows)]

    def column(self, x: float) -> int:
        """Return the column nearest to ``x``, a number from 0 to 1."""
        return _nearest(x, self.columns)

    def row(self, y: float) -> int:
        """Return the row nearest to ``y``, a number from 0 at the bottom to 1 at the top."""
        return self.rows - 1 - _nearest(y, self.rows)

    def put(self, column: int, row: int, sign: str, ink: str) -> None:
        self._cells[row][column] = (sign, ink)

    def fill(self, columns: range, rows: range, sign: str, ink: str) -> None:
        for row in rows:
            for column in columns:
                self.put(column, row, sign, ink)

    def whisker(self, column: int, top: int, bottom: int, ink: str) -> None:
        self.fill(range(column, column + 1), range(top, bottom + 1), "│", ink)
        self.put(column, top, "┬", ink)
        self.put(column, bottom, "┴", ink)

    def lines(self) -> Lines:
        """Return the drawing, one line per row."""
        return [
            line(*(("".join(sign for sign, _ in run), ink) for ink, run in groupby(row, _ink)))
            for row in self._cells
        ]


def _ink(cell: tuple[str, str]) -> str:
    return cell[1]


def _nearest(share: float, cells: int) -> int:
    # Python rounds halves to even, which would draw equal steps unequally.
    return min(max(int(share * (cells - 1) + 0.5 + 1e-9), 0), cells - 1)


_BINS = 10
_AXIS = 6
"""Columns to the left of the plot: a tick's number, a space and the axis."""
_LOW = 13
_HIGH = 26
"""Rows of the plot on 24 lines and on a wide terminal. Every tick falls exactly on a row."""
_TICKS = {_LOW: 4, _HIGH: 5}
_MARKS = {
    BinPosition.INSIDE: ("●", Ink.PASS),
    BinPosition.BELOW: ("▼", Ink.FAIL),
    BinPosition.ABOVE: ("▲", Ink.WARN),
}
_BARS = "▁▂▃▄▅▆▇█"
_ROOMY = 5
_WIDEST = 9
"""The columns of a bin from which any short count fits, and the most columns of a bin."""


def diagram_lines(found: Fit, width: int, *, tall: bool = False) -> Lines:
    """Return the plot with its axes, sizes and legend; nothing where there is no room for it."""
    each = min((width - _AXIS - 1) // _BINS, _WIDEST)
    if each < 1 or not found.bins:
        return []
    canvas = Canvas(each * _BINS + 1, _HIGH if tall else _LOW)
    _draw(canvas, found, each)
    lines = [*_plot_lines(canvas), _sizes(found.bins, each), *_legend(found.bins, each, width)]
    return [cut(one, width) for one in lines]


def _draw(canvas: Canvas, found: Fit, each: int) -> None:
    """Draw band, diagonal, intervals and points, in this order from back to front."""
    for one in found.bins:
        expected = band(one)
        rows = range(canvas.row(expected.high), canvas.row(expected.low) + 1)
        canvas.fill(_columns(one, each), rows, "░", Ink.RULE)
    for column in range(canvas.columns):
        canvas.put(column, canvas.row(column / (canvas.columns - 1)), "·", Ink.MUTED)
    for one in found.bins:
        # Each point stays within its bin's columns, so that no two fall on one cell.
        own = _columns(one, each)
        column = min(max(canvas.column(one.mean_confidence), own[0]), own[-1])
        canvas.whisker(column, canvas.row(one.high), canvas.row(one.low), Ink.TEXT)
        canvas.put(column, canvas.row(one.accuracy), *_MARKS[place(one)])


def _columns(one: Bin, each: int) -> range:
    return range(one.index * each, (one.index + 1) * each + (one.index == _BINS - 1))


def _plot_lines(canvas: Canvas) -> Lines:
    """Return the plot with its axes and a number at every tick."""
    parts = _TICKS[canvas.rows]
    each = (canvas.columns - 1) // _BINS
    ticks = {canvas.row(tick / parts): f"{tick / parts:.2f}" for tick in range(parts + 1)}
    lines = [
        line((f"{ticks.get(row, ''):>4} ", Ink.MUTED), ("┤" if row in ticks else "│", Ink.RULE))
        + drawn
        for row, drawn in enumerate(canvas.lines())
    ]
    rule = "└" + ("┴" + "─" * (each - 1)) * _BINS + "┘"
    left = " " * (_AXIS - 1)
    return [*lines, line((left + rule, Ink.RULE)), line((left + _edge_labels(each), Ink.MUTED))]


def _edge_labels(each: int) -> str:
    step = 1 if each >= _ROOMY else 2 if each > 1 else 5
    names = [f"{tick / _BINS:.1f}" if tick else " 0" for tick in range(0, _BINS, step)]
    return "".join(pad(name, each * step) for name in names) + " 1"


def _sizes(bins: Sequence[Bin], each: int) -> Content:
    """Return the number of labels in each bin, in digits or, where room is short, as bars."""
    most = max(one.n for one in bins)
    row = [" " * each] * _BINS
    for one in bins:
        bar = _BARS[round(one.n / most * (len(_BARS) - 1))]
        row[one.index] = (short(one.n) if each >= _ROOMY else bar).center(each)
    return line((pad("n", _AXIS), Ink.MUTED), ("".join(row).rstrip(), Ink.TEXT))


def short(count: int) -> str:
    """Format a count in at most four characters."""
    for size, unit in ((1_000_000, "M"), (1_000, "k")):
        if count >= size:
            return f"{count // size}{unit}"
    return str(count)


def _legend(bins: Sequence[Bin], each: int, width: int) -> Lines:
    signs = [
        line(*pieces)
        for pieces in (
            [("●", Ink.PASS), (" in the band", Ink.MUTED)],
            [("▼", Ink.FAIL), (" below ", Ink.MUTED), ("▲", Ink.WARN), (" above it", Ink.MUTED)],
            [("│", Ink.TEXT), (" Wilson 95%", Ink.MUTED)],
            [("·", Ink.MUTED), (" calibrated", Ink.MUTED)],
            [
                ("░", Ink.RULE),
                (" 95% of calibrated bins: c ± 1.96·√(c(1-c)/n), c the mean", Ink.MUTED),
            ],
        )
    ]
    if each < _ROOMY:
        signs.append(line((f"█ {max(one.n for one in bins):,} labels in a bin", Ink.MUTED)))
    return flow(signs, width, gap=2)
