"""Lay a document out for a terminal of a given width, with its plots."""

from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import groupby, zip_longest
from operator import itemgetter
from typing import Any

from msgspec.structs import replace
from textual.content import Content

from reviewdesk.app.controllers.state import TWO_COLUMNS
from reviewdesk.app.paint.inks import STOP
from reviewdesk.app.paint.styled import (
    Lines,
    Piece,
    block,
    cut,
    cut_apart,
    cut_below,
    flow,
    heading,
    inline,
    line,
    pad,
    paragraph,
)
from reviewdesk.domain.assessment.result import Seat, State
from reviewdesk.domain.stats.calibration_page import BinPosition, band, place
from reviewdesk.domain.stats.figures import Fit
from reviewdesk.views.document import (
    Block,
    Column,
    Document,
    Facts,
    Flow,
    Gap,
    Paragraph,
    Quote,
    ReliabilityDiagram,
    ScorePlot,
    Section,
    Table,
    Tone,
    Words,
    plain,
    spans,
)
from reviewdesk.views.words import NONE


def strip_plot(seats: Sequence[Seat], threshold: float | None, width: int) -> Content:
    """Plot scores from 0 to 1: ``●`` is counted, ``○`` trimmed, ``◆`` a trimmed dissent.

    A digit is the number of scores that share one place; 9 stands for nine or more.
    """
    if width < 3:
        return Content("")
    marks: dict[int, list[Seat]] = {}
    for seat in seats:
        if seat.ballot.score is not None:
            marks.setdefault(round(seat.ballot.score * (width - 1)), []).append(seat)
    bar = None if threshold is None else round(threshold * (width - 1))
    pieces: list[Piece] = [("─", Tone.RULE)] * width
    if bar is not None:
        pieces[bar] = ("│", Tone.STRONG)
    for at, here in marks.items():
        if len(here) > 1:
            pieces[at] = (str(min(len(here), 9)), Tone.STRONG)
        elif here[0].state is State.COUNTED:
            pieces[at] = ("●", Tone.STRONG)
        else:
            pieces[at] = ("◆", Tone.WARN) if here[0].dissent else ("○", Tone.MUTED)
    return line(*pieces)


def score_plot_lines(seats: Sequence[Seat], threshold: float | None, width: int) -> Lines:
    """Return the plot with its threshold and legend; empty without a score or room."""
    if width < 12 or not any(seat.ballot.score is not None for seat in seats):
        return []
    room = width - 4
    plot = strip_plot(seats, threshold, room)
    lines = [line(("0 ", Tone.MUTED)) + plot + line((" 1", Tone.MUTED))]
    legend = "● counted  ○ trimmed  ◆ trimmed dissent  2..9 together"
    if threshold is not None:
        # Scores may hide it on the axis, so the line below points at it.
        at = round(threshold * (room - 1))
        lines.append(line((f"{' ' * (at + 2)}▲", Tone.STRONG)))
        legend += f"  ▲ threshold {threshold:g}"
    return [*lines, *paragraph(legend, width, Tone.MUTED, indent=2)]


_BINS = 10
_AXIS = 6
"""Columns to the left of the plot: a tick's number, a space and the axis."""
_ROWS = 13
"""The rows of the plot, so that each quarter falls exactly on a row."""
_MARKS = {
    BinPosition.INSIDE: ("●", Tone.PASS),
    BinPosition.BELOW: ("▼", Tone.FAIL),
    BinPosition.ABOVE: ("▲", Tone.WARN),
}
_ROOMY = 5
_WIDEST = 9
"""The columns of a bin that fit any short count, and the most columns of a bin."""
_DIAGRAM_SIGNS = (
    [("●", Tone.PASS), (" in the band", Tone.MUTED)],
    [("▼", Tone.FAIL), (" below ", Tone.MUTED), ("▲", Tone.WARN), (" above it", Tone.MUTED)],
    [("│", Tone.TEXT), (" 95% interval", Tone.MUTED)],
    [("·", Tone.MUTED), (" calibrated", Tone.MUTED)],
    [("░", Tone.RULE), (" 95% of calibrated bins: c ± 1.96·√(c(1-c)/n), c the mean", Tone.MUTED)],
)


def diagram_lines(found: Fit, width: int) -> Lines:
    """Return the plot with its axes, sizes and legend; empty if there is no room for it."""
    each = min((width - _AXIS - 1) // _BINS, _WIDEST)
    if each < 1 or not found.bins:
        return []
    grid = _grid(found, each)
    ticks = {_height_of(tick / 4): f"{tick / 4:.2f}" for tick in range(5)}
    lines = []
    for at, cells in enumerate(grid):
        axis = (f"{ticks.get(at, ''):>4} ", Tone.MUTED), ("┤" if at in ticks else "│", Tone.RULE)
        same_ink = groupby(cells, itemgetter(1))
        lines.append(
            line(*axis, *(("".join(sign for sign, _ in run), ink) for ink, run in same_ink))
        )
    left = " " * (_AXIS - 1)
    step = 1 if each >= _ROOMY else 2 if each > 1 else 5
    names = [f"{tick / _BINS:.1f}" if tick else " 0" for tick in range(0, _BINS, step)]
    lines.append(line((f"{left}└{('┴' + '─' * (each - 1)) * _BINS}┘", Tone.RULE)))
    lines.append(line((f"{left}{''.join(pad(one, each * step) for one in names)} 1", Tone.MUTED)))
    if each >= _ROOMY:
        sizes = [" " * each] * _BINS
        for one in found.bins:
            sizes[one.index] = short(one.n).center(each)
        lines.append(line((pad("n", _AXIS), Tone.MUTED), ("".join(sizes).rstrip(), Tone.TEXT)))
    signs = [line(*((text, ink) for text, ink in one)) for one in _DIAGRAM_SIGNS]
    return [cut(one, width) for one in [*lines, *flow(signs, width, gap=2)]]


def _grid(found: Fit, each: int) -> list[list[Piece]]:
    """Draw band, diagonal, intervals and points, in this order from back to front."""
    columns = each * _BINS + 1
    grid: list[list[Piece]] = [[(" ", "")] * columns for _ in range(_ROWS)]
    # Each point stays within its bin's columns, so that no two fall on one cell.
    own = [
        range(one.index * each, (one.index + 1) * each + (one.index == _BINS - 1))
        for one in found.bins
    ]
    for one, room in zip(found.bins, own, strict=True):
        expected = band(one)
        for at in range(_height_of(expected.high), _height_of(expected.low) + 1):
            grid[at][room.start : room.stop] = [("░", Tone.RULE)] * len(room)
    for column in range(columns):
        grid[_height_of(column / (columns - 1))][column] = ("·", Tone.MUTED)
    for one, room in zip(found.bins, own, strict=True):
        column = min(max(_nearest(one.mean_confidence, columns), room[0]), room[-1])
        top = _height_of(one.high)
        bottom = _height_of(one.low)
        for at in range(top, bottom + 1):
            sign = "┴" if at == bottom else "┬" if at == top else "│"
            grid[at][column] = (sign, Tone.TEXT)
        grid[_height_of(one.accuracy)][column] = _MARKS[place(one)]
    return grid


def _height_of(share: float) -> int:
    """Return the row nearest to a share, a number from 0 at the bottom to 1 at the top."""
    return _ROWS - 1 - _nearest(share, _ROWS)


def _nearest(share: float, cells: int) -> int:
    # Python rounds halves to even, which would draw equal steps unequally.
    return min(max(int(share * (cells - 1) + 0.5 + 1e-9), 0), cells - 1)


def short(count: int) -> str:
    """Format a count in at most four characters."""
    for size, unit in ((1_000_000, "M"), (1_000, "k")):
        if count >= size:
            return f"{count // size}{unit}"
    return str(count)


_LONGEST = 20_000
_NARROWEST = 8
"""The least width of names where no column of the table may be left out."""
_BIG = {Tone.BIG_PASS, Tone.BIG_FAIL, Tone.BIG_WARN}
_FOLDED = 12
"""The cells to which a folding column shrinks before names go below their least width."""


def document_lines(document: Document, width: int) -> Lines:
    """Return a document's lines; where there is room, in two columns below an untitled section."""
    end = section_lines(Section("", document.end), width)
    if width < TWO_COLUMNS or not document.aside:
        lines = _stack(document.every[: -1 if end else None], width)
    else:
        gap = 4
        half = (width - gap) // 2
        at = 1 if len(document.sections) > 1 and not document.sections[0].title else 0
        above = _stack(document.sections[:at], width)
        left, right = (
            _stack(sections, half) for sections in (document.sections[at:], document.aside)
        )
        lines = [*above, *([Content("")] if above else [])]
        lines += [
            cut(one.pad_right(half + gap - one.cell_length) + other if other else one, width)
            for one, other in zip_longest(left, right, fillvalue=Content(""))
        ]
    return [*lines, *([Content("")] if lines and end else []), *end]


def _stack(sections: Sequence[Section], width: int) -> Lines:
    """Return sections one below the other; those that draw nothing, or are folded, leave no gap."""
    lines: Lines = []
    folded = False
    for section in sections:
        drawn = section_lines(section, width)
        gap = lines and drawn and not (folded and not section.blocks)
        lines += [*([Content("")] if gap else []), *drawn]
        folded = not section.blocks
    return lines


def section_lines(section: Section, width: int) -> Lines:
    """Return a section with its heading, below which a note continues that does not fit."""
    note = inline(plain(section.note), _LONGEST)
    title = section.title.upper()
    lines: Lines = []
    if title and line(title, note).cell_length + 3 > width:
        lead = [(f"{title}  ", Tone.HEAD)]
        lines = paragraph(note, width, Tone.MUTED, first=lead, indent=2)
    elif title:
        lines = [heading(title, width, note)]
    for one in section.blocks:
        lines += block_lines(one, width)
    return lines


def block_lines(one: Block, width: int) -> Sequence[Content]:
    if isinstance(one, ReliabilityDiagram):
        return diagram_lines(one.fit, width)
    if isinstance(one, ScorePlot):
        return score_plot_lines(one.seats, one.threshold, width)
    return _painted(one, width)


@lru_cache(2048)
def _painted(one: Block, width: int) -> tuple[Content, ...]:
    """Return the lines of a block, which are often drawn again as others around it grow."""
    return tuple(_PAINTERS[type(one)](one, width))


@lru_cache(4096)
def words_line(words: Words, tone: Tone = Tone.TEXT) -> Content:
    """Return a text as one line of any width, made harmless."""
    pieces = ((inline(span.text, _LONGEST), span.tone) for span in spans(words, tone))
    return line(*((f" {text} " if ink in _BIG else text, ink) for text, ink in pieces))


def _facts(one: Facts, width: int) -> Lines:
    lines: Lines = []
    names = [
        ("" if fact.mark is None else fact.mark.text) + inline(fact.name, _LONGEST)
        for fact in one.rows
    ]
    column = max([one.column, *(line(name).cell_length + 1 for name in names)])
    # A column of names that leaves the texts little room does not help: they begin behind the name.
    narrow = width < 3 * column
    for shown, fact in zip(names, one.rows, strict=True):
        name = line((f"{shown}  " if narrow else pad(shown, column), fact.tone))
        indent = 2 if narrow else column
        rows = paragraph(words_line(fact.text), width, first=name, indent=indent)
        lines += cut_below(rows, one.lines, width)
    return lines


def _flow(one: Flow, width: int) -> Lines:
    """Return the groups; if lines are few, leave out groups before the last that do not fit."""
    groups = [words_line(group) for group in one.groups]
    if not one.lines:
        return flow(groups, width, one.gap)
    short = words_line(one.short)
    between = line((" · ", Tone.MUTED))
    for every in (groups, [*groups[:-1], short] if short else groups):
        kept = list(every)
        # Text with more cells than the lines have is not worth folding.
        while len(kept) > 3 and between.join(kept).cell_length > one.lines * width:
            del kept[-2]
        while len(rows := paragraph(between.join(kept), width)) > one.lines and len(kept) > 3:
            del kept[-2]
        if len(rows) <= one.lines:
            return rows
    return cut_below(rows, one.lines, width)


def _quote(one: Quote, width: int) -> Lines:
    if one.lines:
        # Wrapped once, however many of its lines are shown.
        return cut_below([*_painted(replace(one, lines=0), width)], one.lines, width)
    text = block(one.text, one.limit)
    return paragraph(text, width, one.tone, first=words_line(one.lead), indent=one.indent)


def _table(one: Table, width: int) -> Lines:
    """Return a table. Where room is short, ranked columns go first, then names are cut."""
    width = min(width, one.span or width)
    bare = replace(one, rows=tuple(replace(row, below=()) for row in one.rows))
    lines: Lines = []
    for drawn, below in zip(
        _rows_of(bare, width), [(), *(row.below for row in one.rows)], strict=True
    ):
        lines += drawn
        for quote in below:
            lines += block_lines(quote, width)
    return lines


@lru_cache(64)
def _rows_of(one: Table, width: int) -> list[Lines]:
    """Return the lines of the head and of each row, without what is below them."""
    marks = 2 * one.marked
    grid = []
    for row in one.rows:
        sign = cut(words_line(row.mark or ""), marks)
        cells = [words_line(cell, Tone.MUTED if cell == NONE else Tone.TEXT) for cell in row.cells]
        grid.append([sign.pad_right(marks - sign.cell_length) + cells[0], *cells[1:]])
    heads = [words_line(column.title, Tone.MUTED) for column in one.columns]
    heads[0] = heads[0].pad_left(marks)
    if one.title:
        # Our own words are in capitals, a note is unchanged.
        title = ((inline(span.text), span.tone) for span in spans(one.title))
        heads[0] = line(*((each, ink) if ink else (each.upper(), Tone.HEAD) for each, ink in title))
    kept, sizes, gap = _fit(one, [heads, *grid], width)
    first = one.columns[0]
    names = [row[0][marks:] for row in grid]
    fitting, whole = (cut_apart(names, room - marks, tail=first.tail) for room in (sizes[0], width))
    columns = [one.columns[at] for at in kept]
    found: list[Lines] = []
    head = heads[0][marks:]
    for whole_row, name, longer in zip(
        (heads, *grid), (head, *fitting), (head, *whole), strict=True
    ):
        alone = first.folds and name.plain != longer.plain
        mark = whole_row[0][:marks]
        cells = [Content("") if alone else mark + name, *whole_row[1:]]
        drawn = _row([cells[at] for at in kept], sizes, columns, gap)
        lines = [cut(mark + longer, width)] if alone else []
        lines += _folded(drawn, width) if columns[-1].folds else [cut(drawn, width)]
        if one.stops and found:
            lines[0] = lines[0].stylize(STOP)
        found.append(lines)
    return found


def _fit(
    one: Table, grid: Sequence[Sequence[Content]], width: int
) -> tuple[list[int], list[int], int]:
    """Return the columns that are kept, their widths, and the gap between them."""
    kept = [*range(len(one.columns))]
    longest = []
    for at, column in enumerate(one.columns):
        size = max(column.width, *(row[at].cell_length for row in grid))
        longest.append(min(size, column.most or size))
    marks = 2 * one.marked
    names = min(one.least + marks, longest[0])
    while True:
        sizes = [longest[at] for at in kept]
        gap = 2 if sum(sizes) + 2 * (len(sizes) - 1) <= width and not one.span else 1
        room = width - sum(sizes[1:]) - gap * (len(sizes) - 1)
        last = max(kept, key=lambda at: one.columns[at].rank)
        if room >= names or not one.columns[last].rank:
            break
        kept.remove(last)
    if one.columns[-1].folds and room < names:
        room += max(0, sizes[-1] - _FOLDED)
    sizes[0] = room if one.span else max(min(sizes[0], room), min(_NARROWEST + marks, sizes[0]))
    return kept, sizes, gap


def _folded(row: Content, width: int) -> Lines:
    """Fold a row that is too wide, so that the end of its last cell goes below."""
    below: Lines = []
    while row.cell_length > width and (at := row.plain.rfind(" · ")) > 0:
        below.insert(0, row[at + 1 :])
        row = row[:at]
    found, *rest = paragraph(row, width)
    below[:0] = [Content(" ").join(rest)] if rest else []
    return [found.rstrip(), *(part for one in below for part in paragraph(one, width, indent=4))]


def _row(
    cells: Sequence[Content], sizes: Sequence[int], columns: Sequence[Column], gap: int
) -> Content:
    """Return one line of a table; a text that is too long for its column is cut."""
    made = []
    space = 0
    for whole, size, column in zip(cells, sizes, columns, strict=True):
        cell = whole if column.folds else cut(whole, size)
        left = size - cell.cell_length
        made += [Content(" " * (space + left * column.right)), cell]
        space = gap + left * (not column.right)
    return Content("").join(made)


_PAINTERS: dict[type, Callable[[Any, int], Lines]] = {
    Paragraph: lambda one, width: paragraph(
        words_line(one.text, one.tone), width, first=words_line(one.lead), indent=one.indent
    ),
    Facts: _facts,
    Flow: _flow,
    Table: _table,
    Quote: _quote,
    Gap: lambda _, width: [cut(Content(""), width)],
}
