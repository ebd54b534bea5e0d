"""Lay a document out for a terminal of a given width."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import zip_longest
from typing import Any

from textual.content import Content

from reviewdesk.app.paint.reliability import diagram_lines
from reviewdesk.app.paint.scores import score_plot_lines
from reviewdesk.app.paint.styled import (
    Lines,
    block,
    cut,
    flow,
    heading,
    inline,
    line,
    pad,
    paragraph,
)
from reviewdesk.app.theme.inks import Ink
from reviewdesk.views.document import (
    Block,
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


def document_lines(document: Document, width: int) -> Lines:
    """Return the lines of a document, its sections in two columns where there is room."""
    end = section_lines(Section("", document.end), width)
    if width < WIDE or not document.aside:
        lines = _stack(document.every[: -1 if end else None], width)
    else:
        gap = 4
        half = (width - gap) // 2
        left, right = (
            _stack(sections, half, tall=True) for sections in (document.sections, document.aside)
        )
        lines = [
            cut(one.pad_right(half + gap - one.cell_length) + other if other else one, width)
            for one, other in zip_longest(left, right, fillvalue=Content(""))
        ]
    return [*lines, *([Content("")] if lines and end else []), *end]


def _stack(sections: Sequence[Section], width: int, *, tall: bool = False) -> Lines:
    """Return sections one below the other; one that draws nothing leaves no gap."""
    lines: Lines = []
    for section in sections:
        drawn = section_lines(section, width, tall=tall)
        lines += [*([Content("")] if lines and drawn else []), *drawn]
    return lines


def section_lines(section: Section, width: int, *, tall: bool = False) -> Lines:
    """Return a section with its heading; ``tall`` says that a plot may take many lines."""
    note = inline(plain(section.note), _LONGEST)
    lines: Lines = [heading(section.title.upper(), width, note)] if section.title else []
    for one in section.blocks:
        lines += block_lines(one, width, tall=tall)
    return lines


def block_lines(one: Block, width: int, *, tall: bool = False) -> Lines:
    """Return the lines of one block."""
    if isinstance(one, ReliabilityDiagram):
        return diagram_lines(one.fit, width, tall=tall)
    return _PAINTERS[type(one)](one, width)


def words_line(words: Words, tone: Tone = Tone.TEXT) -> Content:
    """Return a text as one line of any width, made harmless."""
    return line(*((inline(span.text, _LONGEST), span.tone) for span in spans(words, tone)))


def _paragraph(one: Paragraph, width: int) -> Lines:
    text = words_line(one.text, one.tone)
    return paragraph(text, width, first=words_line(one.lead), indent=one.indent)


def _facts(one: Facts, width: int) -> Lines:
    lines: Lines = []
    for fact in one.rows:
        name = line((pad(inline(fact.name, _LONGEST), one.column), fact.tone))
        lines += paragraph(words_line(fact.text), width, first=name, indent=one.column)
    return lines


def _flow(one: Flow, width: int) -> Lines:
    return flow((words_line(group) for group in one.groups), width, one.gap)


def _quote(one: Quote, width: int) -> Lines:
    text = block(one.text, one.limit)
    return paragraph(text, width, one.tone, first=words_line(one.lead), indent=one.indent)


def _table(one: Table, width: int) -> Lines:
    """Return a table. Where room is short, ranked columns go first, then names are cut."""
    width = min(width, one.span or width)
    marks = 2 * one.marked
    grid = [_cells(row, marks) for row in one.rows]
    heads = [line((column.title, Ink.MUTED)) for column in one.columns]
    heads[0] = _title(one.title) if one.title else heads[0].pad_left(marks)
    kept = [*range(len(one.columns))]

    def widths() -> list[int]:
        cells = ([heads[at], *(row[at] for row in grid)] for at in kept)
        return [
            max(one.columns[at].width, *(cell.cell_length for cell in column))
            for at, column in zip(kept, cells, strict=True)
        ]

    while True:
        sizes = widths()
        gap = 2 if sum(sizes) + 2 * (len(sizes) - 1) <= width and not one.span else 1
        room = width - sum(sizes[1:]) - gap * (len(sizes) - 1)
        last = max(kept, key=lambda at: one.columns[at].rank)
        if room >= min(one.least + marks, sizes[0]) or not one.columns[last].rank:
            break
        kept.remove(last)
    sizes[0] = room if one.span else max(min(sizes[0], room), min(_NARROWEST, sizes[0]))
    right = [one.columns[at].right for at in kept]
    return [
        cut(_row([cells[at] for at in kept], sizes, right, gap), width) for cells in [heads, *grid]
    ]


def _cells(row: Row, marks: int) -> list[Content]:
    """Return the cells of a row, the first with its mark in ``marks`` cells before it."""
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


def _row(
    cells: Sequence[Content], sizes: Sequence[int], right: Sequence[bool], gap: int
) -> Content:
    """Return one line of a table; a text that is too long for its column is cut."""
    made = Content("")
    for at, (whole, size) in enumerate(zip(cells, sizes, strict=True)):
        cell = cut(whole, size)
        space = Content(" " * (size - cell.cell_length))
        made += Content(" " * gap * (at > 0)) + (space + cell if right[at] else cell + space)
    return made


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
    left, right = words_line(sides[0]), words_line(sides[1])
    if room < 14 or max(left.cell_length, right.cell_length) > room:
        return [
            cut(differs, width),
            *paragraph(left, width, indent=4, first=[("    ", "")]),
            *paragraph(right, width, indent=4, first=[("  → ", Ink.MUTED)]),
        ]
    sizes = [label + 2, room, room]
    return [_row([differs, left, right], sizes, [False] * 3, 0)]


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
