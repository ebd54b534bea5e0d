"""Lay a document out for a terminal of a given width."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import zip_longest
from typing import Any

from textual.content import Content

from reviewdesk.app.paint.plots import score_plot_lines
from reviewdesk.app.paint.styled import (
    Lines,
    block,
    cut,
    cut_apart,
    cut_below,
    flow,
    fold,
    heading,
    inline,
    line,
    pad,
    paragraph,
)
from reviewdesk.app.theme.inks import STOP, Ink
from reviewdesk.views.document import (
    Block,
    Column,
    Comparison,
    Document,
    Facts,
    Flow,
    Gap,
    Paragraph,
    Quote,
    ReliabilityDiagram,
    Row,
    ScorePlot,
    Section,
    Table,
    Tone,
    Words,
    plain,
    spans,
)
from reviewdesk.views.words import NONE

WIDE = 120
"""The sections of a document stand in two columns from this width on."""
_LONGEST = 20_000
_NARROWEST = 8
"""The least width of names where no column of the table may be left out."""
_BIG = {Tone.BIG_PASS, Tone.BIG_FAIL, Tone.BIG_WARN}
_FOLDED = 13
"""The cells that a folding column keeps before names get less than their least width."""


def document_lines(document: Document, width: int) -> Lines:
    """Return the lines of a document, its sections in two columns where there is room.

    What it begins with, if it has no title, is of both columns and stands above them.
    """
    end = section_lines(Section("", document.end), width)
    if width < WIDE or not document.aside:
        lines = _stack(document.every[: -1 if end else None], width)
    else:
        gap = 4
        half = (width - gap) // 2
        at = 1 if len(document.sections) > 1 and not document.sections[0].title else 0
        above = _stack(document.sections[:at], width)
        left, right = (
            _stack(sections, half, tall=True)
            for sections in (document.sections[at:], document.aside)
        )
        lines = [*above, *([Content("")] if above else [])]
        lines += [
            cut(one.pad_right(half + gap - one.cell_length) + other if other else one, width)
            for one, other in zip_longest(left, right, fillvalue=Content(""))
        ]
    return [*lines, *([Content("")] if lines and end else []), *end]


def _stack(sections: Sequence[Section], width: int, *, tall: bool = False) -> Lines:
    """Return sections one below the other; those that draw nothing, or are folded, leave no gap."""
    lines: Lines = []
    folded = False
    for section in sections:
        drawn = section_lines(section, width, tall=tall)
        gap = lines and drawn and not (folded and not section.blocks)
        lines += [*([Content("")] if gap else []), *drawn]
        folded = not section.blocks
    return lines


def section_lines(section: Section, width: int, *, tall: bool = False) -> Lines:
    """Return a section with its heading; ``tall`` says that a plot may take many lines.

    A note for which the heading has no room goes on below it.
    """
    note = inline(plain(section.note), _LONGEST)
    title = section.title.upper()
    lines: Lines = []
    if title and line(title, note).cell_length + 3 > width:
        lead = [(f"{title}  ", Ink.HEAD)]
        lines = paragraph(note, width, Ink.MUTED, first=lead, indent=2)
    elif title:
        lines = [heading(title, width, note)]
    for one in section.blocks:
        lines += block_lines(one, width, tall=tall)
    return lines


def block_lines(one: Block, width: int, *, tall: bool = False) -> Lines:
    """Return the lines of one block."""
    if isinstance(one, ReliabilityDiagram):
        from reviewdesk.app.paint.plots import diagram_lines

        return diagram_lines(one.fit, width, tall=tall)
    return _PAINTERS[type(one)](one, width)


def words_line(words: Words, tone: Tone = Tone.TEXT) -> Content:
    """Return a text as one line of any width, made harmless."""
    pieces = ((inline(span.text, _LONGEST), span.tone) for span in spans(words, tone))
    return line(*((f" {text} " if ink in _BIG else text, ink) for text, ink in pieces))


def _paragraph(one: Paragraph, width: int) -> Lines:
    text = words_line(one.text, one.tone)
    return paragraph(text, width, first=words_line(one.lead), indent=one.indent)


def _facts(one: Facts, width: int) -> Lines:
    lines: Lines = []
    names = [
        ("" if fact.mark is None else fact.mark.text) + inline(fact.name, _LONGEST)
        for fact in one.rows
    ]
    column = max([one.column, *(line(name).cell_length + 1 for name in names)])
    for shown, fact in zip(names, one.rows, strict=True):
        name = line((pad(shown, column), fact.tone))
        rows = paragraph(words_line(fact.text), width, first=name, indent=column)
        lines += cut_below(rows, one.lines, width)
    return lines


def _flow(one: Flow, width: int) -> Lines:
    groups = [words_line(group) for group in one.groups]
    return (
        _few_lines(groups, words_line(one.short), width, one.lines)
        if one.lines
        else flow(groups, width, one.gap)
    )


def _few_lines(groups: list[Content], short: Content, width: int, most: int) -> Lines:
    """Return the groups on at most so many lines, without those before the last that do not fit."""
    between = line((" · ", Ink.MUTED))
    for every in (groups, [*groups[:-1], short] if short else groups):
        kept = list(every)
        while len(rows := fold(between.join(kept), width)) > most and len(kept) > 3:
            del kept[-2]
        if len(rows) <= most:
            return rows
    return cut_below(rows, most, width)


def _quote(one: Quote, width: int) -> Lines:
    text = block(one.text, one.limit)
    rows = paragraph(text, width, one.tone, first=words_line(one.lead), indent=one.indent)
    return cut_below(rows, one.lines, width)


def _table(one: Table, width: int) -> Lines:
    """Return a table. Where room is short, ranked columns go first, then names are cut."""
    width = min(width, one.span or width)
    marks = 2 * one.marked
    grid = [_cells(row, marks) for row in one.rows]
    heads = [words_line(column.title, Tone.MUTED) for column in one.columns]
    heads[0] = _title(one.title) if one.title else heads[0].pad_left(marks)
    kept, sizes, gap = _fit(one, [heads, *grid], width)
    if one.columns[0].tail:
        room = sizes[0] - marks
        names = cut_apart([row[0][marks:] for row in grid], room)
        grid = [[row[0][:marks] + name, *row[1:]] for row, name in zip(grid, names, strict=True)]
    columns = [one.columns[at] for at in kept]
    lines: Lines = []
    for cells, below in zip([heads, *grid], [(), *(row.below for row in one.rows)], strict=True):
        row = _row([cells[at] for at in kept], sizes, columns, gap)
        if one.stops and lines:
            row = row.stylize(STOP)
        lines += _folded(row, width) if columns[-1].folds else [cut(row, width)]
        for quote in below:
            lines += _quote(quote, width)
    return _halves(lines, width) if one.halves else lines


def _fit(
    one: Table, grid: Sequence[Sequence[Content]], width: int
) -> tuple[list[int], list[int], int]:
    """Return the columns that are kept, their widths, and the gap between them."""
    kept = [*range(len(one.columns))]
    longest = [
        max(column.width, *(row[at].cell_length for row in grid))
        for at, column in enumerate(one.columns)
    ]
    longest = [
        min(size, column.most or size) for size, column in zip(longest, one.columns, strict=True)
    ]
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


def _cells(row: Row, marks: int) -> list[Content]:
    sign = cut(words_line(row.mark or ""), marks)
    cells = [words_line(cell, Tone.MUTED if cell == NONE else Tone.TEXT) for cell in row.cells]
    return [sign.pad_right(marks - sign.cell_length) + cells[0], *cells[1:]]


def _title(title: Words) -> Content:
    """Return a title as the head of a table: our own words in capitals, a note as it is."""
    pieces = (
        (inline(span.text), span.tone) if span.tone else (inline(span.text).upper(), Ink.HEAD)
        for span in spans(title)
    )
    return line(*pieces)


def _halves(whole: Lines, width: int) -> Lines:
    """Return the rows of a table in two halves side by side, if they fit."""
    middle = len(whole) // 2
    half = max(row.cell_length for row in whole)
    if 2 * half + 4 > width:
        return whole
    left = whole[: middle + 1]
    right = [whole[0], *whole[middle + 1 :]]
    return [
        row.pad_right(half + 4 - row.cell_length) + other
        for row, other in zip_longest(left, right, fillvalue=Content(""))
    ]


def _folded(row: Content, width: int) -> Lines:
    """Fold a row that is too wide, so that the end of its last cell goes below."""
    below: Lines = []
    while row.cell_length > width and (at := row.plain.rfind(" · ")) > 0:
        below.insert(0, line("    ") + row[at + 1 :])
        row = row[:at]
    return [part.rstrip() for whole in (row, *below) for part in fold(whole, width)]


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


def _comparison(one: Comparison, width: int) -> Lines:
    """Return facts of both sides, one below the other where columns would be too narrow."""
    lines = _pair("", one.heads, width, mark=False)
    for name, left, right in one.rows:
        lines += _pair(name, (left, right), width, mark=plain(left) != plain(right))
    return lines


def _pair(name: Words, sides: tuple[Words, Words], width: int, *, mark: bool) -> Lines:
    differs = line(("≠ " if mark else "  ", Ink.WARN)) + words_line(name, Tone.MUTED)
    label = min(16, width // 4)
    room = (width - label - 2) // 2
    left = words_line(sides[0])
    right = words_line(sides[1])
    if room < 14 or max(left.cell_length, right.cell_length) > room:
        return [
            cut(differs, width),
            *paragraph(left, width, indent=4, first=[("    ", "")]),
            *paragraph(right, width, indent=4, first=[("  → ", Ink.MUTED)]),
        ]
    columns = [Column("", right=False)] * 3
    return [_row([differs, left, right], [label + 2, room, room], columns, 0)]


_PAINTERS: dict[type, Callable[[Any, int], Lines]] = {
    Paragraph: _paragraph,
    Facts: _facts,
    Flow: _flow,
    Table: _table,
    Quote: _quote,
    Comparison: _comparison,
    ScorePlot: lambda one, width: score_plot_lines(one.seats, one.threshold, width),
    Gap: lambda _, width: [cut(Content(""), width)],
}
