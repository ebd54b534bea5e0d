"""What the terminal shows, as far as it is known, and what must be sent to change it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from reviewdesk.app.terminal.cells import Cell, CellRun, CellWriter, Look, agreed, runs

_MODES = re.compile(
    r"(?:\x07|\x1b\[\?(?!1049|1047|47)[\d;]+(?:\$p|[hl])|\x1b\[[<>=]\d*u|\x1b\](?!8;)[^\x07\x1b]*\x07)+"
)
"""Sequences that leave the cells as they are: modes, questions, the bell, the clipboard."""
GAP = 6
"""How many cells between two that change are sent too: moving the cursor costs as much."""


class Shown:
    """Keeps the cells that were sent. What it does not know it sends."""

    def __init__(self) -> None:
        """Start with an unknown screen."""
        self._rows: dict[int, list[Cell | None]] = {}
        self._wide: set[int] = set()
        """The rows in which a text of more than a character a cell was drawn."""
        self._cursor: tuple[int, int] | None = None
        self._width: int | None = None

    def forget(self, width: int | None = None) -> None:
        """Send everything anew, to a terminal of so many columns where a width is given."""
        self._width = width or self._width
        self._rows.clear()
        self._wide.clear()
        self._cursor = None

    def changes(self, data: str) -> str:
        """Return a text, often empty, that makes the terminal show the same as ``data`` would."""
        if _MODES.fullmatch(data):
            return data
        drawn = runs(data)
        if drawn is None:
            self.forget()
            return data
        writer = CellWriter()
        for run in drawn:
            self._draw(run, writer)
            if self._width is not None and run.column + len(run.cells) > self._width:
                # Drawn for a wider terminal: what does not fit lands on the last column.
                del self._rows[run.row][self._width - 1 :]
        written = writer.written()
        if not drawn:
            return written
        last = drawn[-1]
        cursor = (last.row, last.column + len(last.cells))
        if written or cursor != self._cursor:
            self._cursor = cursor
            written += f"\x1b[{cursor[0] + 1};{cursor[1] + 1}H"
        return written

    def _draw(self, run: CellRun, writer: CellWriter) -> None:
        """Write what a run changes, and keep its cells."""
        y, x, cells = run.row, run.column, run.cells
        end = x + len(cells)
        row = self._rows.setdefault(y, [])
        row += [None] * (end - len(row))
        before = row[x:end]
        if before == cells:
            return
        row[x:end] = cells
        if not run.plain:
            self._wide.add(y)
        if y not in self._wide:
            _write(writer, run, _spans(before, cells))
            return
        if not agreed(cells):
            # A terminal that takes fewer columns for the text must not leave old signs behind it.
            writer.move(y, x)
            writer.write(Cell(" ", Look(ground=cell.look.ground)) for cell in cells)
        # Where a text is not a character a column, all of it changes.
        split = all(cell is not None and cell.single for cell in (*before, *cells))
        _write(writer, run, _spans(before, cells) if split else [(0, len(cells))])
        # A text cut in two by the run no longer shows as it was.
        if x and cells[0].text and before[0] is not None and not before[0].text:
            _unknown_left(row, x)
        _unknown_right(row, end)
        if not (agreed(before) and agreed(cells)):
            rest = _known(row[end:])
            if rest:
                writer.move(y, end)
                writer.write(rest)


def _write(writer: CellWriter, run: CellRun, spans: Iterable[tuple[int, int]]) -> None:
    for start, stop in spans:
        writer.move(run.row, run.column + start)
        writer.write(run.cells[start:stop])


def _unknown_left(row: list[Cell | None], at: int) -> None:
    """Make the text unknown whose end was overwritten from ``at``."""
    while at:
        at -= 1
        cell, row[at] = row[at], None
        if cell is None or cell.text:
            return


def _unknown_right(row: list[Cell | None], at: int) -> None:
    """Make the end of a text unknown whose start was overwritten up to ``at``."""
    while at < len(row) and (cell := row[at]) is not None and not cell.text:
        row[at] = None
        at += 1


def _known(cells: Sequence[Cell | None]) -> list[Cell]:
    found = []
    for cell in cells:
        if cell is None:
            break
        found.append(cell)
    return found


def _spans(before: Sequence[Cell | None], after: Sequence[Cell]) -> Iterator[tuple[int, int]]:
    """Yield where cells change, with few gaps between."""
    start = stop = -GAP - 1
    for at, (old, new) in enumerate(zip(before, after, strict=True)):
        if old != new:
            if at - stop > GAP:
                if stop > 0:
                    yield start, stop
                start = at
            stop = at + 1
    yield start, stop
