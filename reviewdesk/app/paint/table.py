"""Small tables and lists of facts. Where room is short, the first column shrinks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import zip_longest
from typing import TypeAlias

from rich.cells import cell_len
from textual.content import Content

from reviewdesk.app.paint.styled import (
    Lines,
    Piece,
    cut,
    line,
    pad,
    paragraph,
)
from reviewdesk.app.theme.inks import Ink

Section: TypeAlias = Callable[[int], Lines]
"""A function that draws one section of a page at a width."""

WIDE = 120
"""The sections of a page stand in two columns from this width on."""
_NARROWEST = 8


def number(value: float | None, sign: str = "") -> str:
    """Format a figure with three decimals, or ``-`` if it is undefined."""
    return "-" if value is None else f"{value:{sign}.3f}"


def table(head: Sequence[str], rows: Sequence[Sequence[Piece]], width: int) -> Lines:
    """Return the table. Where room is short, columns close up first, then names are cut."""
    columns = [*zip(*([(name, "") for name in head], *rows), strict=True)]
    widths = [max(cell_len(text) for text, _ in column) for column in columns]
    gap = 2 if sum(widths) + 2 * (len(widths) - 1) <= width else 1
    room = width - sum(widths[1:]) - gap * (len(widths) - 1)
    widths[0] = max(min(widths[0], room), min(_NARROWEST, widths[0]))
    lines = [_row([(name, Ink.MUTED) for name in head], widths, gap, width)]
    return [*lines, *(_row(row, widths, gap, width) for row in rows)]


def _row(cells: Sequence[Piece], widths: Sequence[int], gap: int, width: int) -> Content:
    (name, ink), *figures = cells
    pieces: list[Piece | str] = [(pad(name, widths[0]), ink)]
    for (text, tone), room in zip(figures, widths[1:], strict=True):
        pieces.append((" " * gap + pad(text, room, right=True), tone))
    return cut(line(*pieces), width)


def facts(pairs: Sequence[tuple[str, str]], width: int, column: int = 13) -> Lines:
    """Return names in a column, each with a text that folds behind it."""
    lines: Lines = []
    for name, text in pairs:
        lines += paragraph(text, width, first=[(pad(name, column), Ink.MUTED)], indent=column)
    return lines


def stack(sections: Sequence[Section], width: int) -> Lines:
    """Stack sections with a blank line between. A section that draws nothing leaves no gap."""
    lines: Lines = []
    for section in sections:
        drawn = section(width)
        lines += [*([Content("")] if lines and drawn else []), *drawn]
    return lines


def two_columns(left: Sequence[Section], right: Sequence[Section], width: int) -> Lines:
    """Return two stacks of sections side by side, or all in one stack where room is short."""
    if width < WIDE or not right:
        return stack([*left, *right], width)
    gap = 4
    half = (width - gap) // 2
    pairs = zip_longest(stack(left, half), stack(right, half), fillvalue=Content(""))
    return [
        cut(one.pad_right(half + gap - one.cell_length) + other if other else one, width)
        for one, other in pairs
    ]
