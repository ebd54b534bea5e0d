"""Lay a document out as plain text, for people and pipes: no colour, no width."""

from collections.abc import Iterator

from reviewdesk.domain.safetext import show, show_line
from reviewdesk.views.document import (
    Block,
    Document,
    Facts,
    Flow,
    Gap,
    Paragraph,
    Quote,
    Section,
    Table,
    Words,
    plain,
)

_LONGEST = 20_000


def document_text(document: Document) -> str:
    """Return a document as text, with a blank line between its sections."""
    return "\n\n".join(text for one in document.every if (text := section_text(one)))


def section_text(section: Section) -> str:
    """Return a section: its title in capitals, its note, and its blocks."""
    note = one_line(section.note)
    head = [f"{section.title.upper()}{'  ' if note else ''}{note}"] if section.title else []
    return "\n".join([*head, *(line for one in section.blocks for line in _lines(one))])


def one_line(words: Words) -> str:
    return show_line(plain(words), _LONGEST)


def _lines(one: Block) -> Iterator[str]:
    """Yield the lines of a block; a figure has none, as a table beside it has its numbers."""
    match one:
        case Paragraph():
            yield f"{one_line(one.lead):{one.indent}}{one_line(one.text)}"
        case Facts():
            names = [("" if fact.mark is None else fact.mark.text) + fact.name for fact in one.rows]
            column = max([one.column, *(len(name) + 2 for name in names)])
            for name, fact in zip(names, one.rows, strict=True):
                yield f"{one_line(name):{column}}{one_line(fact.text)}".rstrip()
        case Flow():
            yield "   ".join(map(one_line, one.groups))
        case Quote():
            # No line of a text from outside begins where ours do.
            indent = one.indent or 2
            text = show(one.text, one.limit).replace("\n", f"\n{' ' * indent}")
            yield f"{one_line(one.lead):{indent}}{text}"
        case Table():
            yield from _table(one)
        case Gap():
            yield ""


def _table(one: Table) -> Iterator[str]:
    heads = [one_line(one.title or one.columns[0].title)]
    heads += [one_line(column.title) for column in one.columns[1:]]
    marks = ["", *("" if row.mark is None else row.mark.text for row in one.rows)]
    grid = [heads, *([one_line(cell) for cell in row.cells] for row in one.rows)]
    sizes = [
        max(column.width, *map(len, cells))
        for column, cells in zip(one.columns, zip(*grid, strict=True), strict=True)
    ]
    below = [(), *(row.below for row in one.rows)]
    for mark, row, quotes in zip(marks, grid, below, strict=True):
        cells = (
            cell.rjust(size) if column.right else cell.ljust(size)
            for cell, size, column in zip(row, sizes, one.columns, strict=True)
        )
        yield (f"{mark:2}" if one.marked else "") + "  ".join(cells).rstrip()
        for quote in quotes:
            yield from _lines(quote)
