"""A grid of characters to draw a plot on. The sign put on a cell last is the one that shows."""

from __future__ import annotations

from itertools import groupby

from reviewdesk.app.paint.styled import Lines, line


class Canvas:
    """A grid of cells over the unit square. Column 0 is at the left, row 0 at the top."""

    def __init__(self, columns: int, rows: int) -> None:
        """Start blank, with at least two columns and two rows."""
        self.columns, self.rows = max(2, columns), max(2, rows)
        self._cells = [[(" ", "")] * self.columns for _ in range(self.rows)]

    def column(self, x: float) -> int:
        """Return the column nearest to ``x``, a number from 0 to 1."""
        return _nearest(x, self.columns)

    def row(self, y: float) -> int:
        """Return the row nearest to ``y``, a number from 0 at the bottom to 1 at the top."""
        return self.rows - 1 - _nearest(y, self.rows)

    def put(self, column: int, row: int, sign: str, ink: str) -> None:
        """Put a sign on a cell."""
        self._cells[row][column] = (sign, ink)

    def fill(self, columns: range, rows: range, sign: str, ink: str) -> None:
        """Put a sign on every cell of a rectangle."""
        for row in rows:
            for column in columns:
                self.put(column, row, sign, ink)

    def whisker(self, column: int, top: int, bottom: int, ink: str) -> None:
        """Draw an interval: a vertical bar with a cap at either end."""
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
