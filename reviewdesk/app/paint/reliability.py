"""Plot the reliability diagram: how often the panel is right by stated confidence."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content

from reviewdesk.app.paint.canvas import Canvas
from reviewdesk.app.paint.styled import Lines, cut, flow, line, pad
from reviewdesk.app.theme.inks import Ink
from reviewdesk.domain.stats.diagram import BinPosition, band, place
from reviewdesk.domain.stats.figures import Bin, Fit

_BINS = 10
_AXIS = 6
"""Columns to the left of the plot: a tick's number, a space and the axis."""
_LOW, _HIGH = 13, 26
"""Rows of the plot on 24 lines and on a wide terminal. Every tick falls exactly on a row."""
_TICKS = {_LOW: 4, _HIGH: 5}
_MARKS = {
    BinPosition.INSIDE: ("●", Ink.PASS),
    BinPosition.BELOW: ("▼", Ink.FAIL),
    BinPosition.ABOVE: ("▲", Ink.WARN),
}
_BARS = "▁▂▃▄▅▆▇█"
_ROOMY, _WIDEST = 5, 9
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
    """Return the columns of a bin. The last bin also has the column of confidence 1."""
    return range(one.index * each, (one.index + 1) * each + (one.index == _BINS - 1))


def _plot_lines(canvas: Canvas) -> Lines:
    """Return the plot with its axes and a number at every tick."""
    parts, each = _TICKS[canvas.rows], (canvas.columns - 1) // _BINS
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
    """Return the labels of the bin edges, as many as fit, each under its column."""
    step = 1 if each >= _ROOMY else 2 if each > 1 else 5
    names = [f"{tick / _BINS:.1f}" if tick else " 0" for tick in range(0, _BINS, step)]
    return "".join(pad(name, each * step) for name in names) + " 1"


def _sizes(bins: Sequence[Bin], each: int) -> Content:
    """Return the number of labels in each bin, in digits or, where room is short, as bars."""
    most, row = max(one.n for one in bins), [" " * each] * _BINS
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
