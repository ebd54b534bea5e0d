"""A grid of characters to draw a plot on: whatever is put last on a cell shows."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby, pairwise

from reviewdesk.app.paint.styled import Lines, line


class Canvas:
    """Cells over the unit square; column and row 0 are at the left and at the top."""

    def __init__(self, columns: int, rows: int) -> None:
        """Start blank, with at least two columns and two rows."""
        self.columns, self.rows = max(2, columns), max(2, rows)
        self._cells = [[(" ", "")] * self.columns for _ in range(self.rows)]

    def column(self, x: float) -> int:
        """The column nearest to ``x`` of 0..1."""
        return _nearest(x, self.columns)

    def row(self, y: float) -> int:
        """The row nearest to ``y`` of 0..1, which rises from the bottom."""
        return self.rows - 1 - _nearest(y, self.rows)

    def put(self, column: int, row: int, sign: str, ink: str) -> None:
        """Put a sign on a cell."""
        self._cells[row][column] = (sign, ink)

    def fill(self, columns: range, rows: range, sign: str, ink: str) -> None:
        """Put a sign on every cell of a rectangle."""
        for row in rows:
            for column in columns:
                self.put(column, row, sign, ink)

    def steps(self, first: int, rows: Sequence[int], ink: str) -> None:
        """A double line from left to right through one row for each column from ``first`` on."""
        for column, row in enumerate(rows, first):
            self.put(column, row, "═", ink)
        for column, (before, after) in enumerate(pairwise(rows), first + 1):
            if before == after:
                continue
            rises = after < before
            between = range(min(before, after) + 1, max(before, after))
            self.fill(range(column, column + 1), between, "║", ink)
            self.put(column, before, "╝" if rises else "╗", ink)
            self.put(column, after, "╔" if rises else "╚", ink)

    def whisker(self, column: int, top: int, bottom: int, ink: str) -> None:
        """A vertical bar with a cap at either end, as an interval is drawn."""
        self.fill(range(column, column + 1), range(top, bottom + 1), "│", ink)
        self.put(column, top, "┬", ink)
        self.put(column, bottom, "┴", ink)

    def lines(self) -> Lines:
        """What was drawn, row by row."""
        return [
            line(*(("".join(sign for sign, _ in run), ink) for ink, run in groupby(row, _ink)))
            for row in self._cells
        ]


def _ink(cell: tuple[str, str]) -> str:
    return cell[1]


def _nearest(share: float, cells: int) -> int:
    # Python rounds halves to even, which would draw equal steps unequally.
    return min(max(int(share * (cells - 1) + 0.5 + 1e-9), 0), cells - 1)
