"""Read the rows of a table in CSV, in JSON Lines or in a JSON list."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO

from reviewdesk.domain.safetext import show_line
from reviewdesk.reports.bytes.outline import Outline
from reviewdesk.reports.bytes.strict_json import Fail, ImportTally
from reviewdesk.reports.dialect import FirstLook
from reviewdesk.reports.mapping.records import records
from reviewdesk.reports.tables import csvrows as tablecsv
from reviewdesk.reports.wording import must_be, spell_path

_LISTS = ("data", "events", "rows")
"""Keys that hold the rows in a service's response."""

_MOST_COLUMNS = 1000


@dataclass(frozen=True, slots=True)
class TableRow:
    """One row: its cells by column, and its place for error messages."""

    place: str
    cells: Mapping[str, Any]
    problem: str = ""
    """Why this is not a row of the table; empty if it is one."""

    def at(self, column: str) -> str:
        """Return the place of a cell for error messages: a JSON path, or line and column."""
        if self.place.startswith("$"):
            return spell_path(tuple(column.split(".")), self.place)
        return f'{self.place}, column "{show_line(column, 60)}"'


@dataclass(frozen=True, slots=True)
class Layout:
    """The format of a table. ``key`` names the list of rows inside one JSON object."""

    columns: tuple[str, ...]
    delimiter: str = ""
    outline: Outline | None = None
    key: str = ""

    def rows(self, stream: BinaryIO, fail: Fail, tally: ImportTally) -> Iterator[TableRow]:
        """Yield every row in the order of the file. Raise InputFileError at a syntax error."""
        if self.outline is None:
            for line, cells, problem in tablecsv.records(
                stream, self.columns, self.delimiter, fail
            ):
                yield TableRow(f"line {line}", cells, problem)
            return
        lists = (self.key,) if self.key else ()
        for record in records(stream, self.outline, fail, tally, lists, "table"):
            place = f"line {record.line}" if record.line else spell_path(record.path)
            if isinstance(record.value, dict):
                yield TableRow(place, record.value)
            else:
                yield TableRow(place, {}, must_be("an object", record.value))


def layout_of(look: FirstLook) -> Layout | None:
    """Return the layout that a file's start shows, or None if it is not a table.

    The columns of JSON are the keys of its first row.
    """
    if look.kind == "text":
        header = tablecsv.header_of(look.text)
        return Layout(header.columns, header.delimiter) if header else None
    if look.kind != "json":
        return None
    outline = look.outline
    if outline.kind == "object" and not outline.goes_on:
        for key in _LISTS:
            if first := outline.first(key):
                return Layout(flat_names(first), outline=outline, key=key)
    return Layout(flat_names(outline.keys), outline=outline) if outline.keys else None


def all_columns(layout: Layout, stream: BinaryIO, fail: Fail) -> Layout:
    """Return the layout with the keys of every row as columns. A CSV layout is unchanged."""
    if layout.outline is None:
        return layout
    names: dict[str, None] = {}
    inner: dict[str, None] = {}
    for row in layout.rows(stream, fail, ImportTally()):
        names.update(dict.fromkeys(row.cells))
        if len(names) > _MOST_COLUMNS:
            raise fail("", f"has more than {_MOST_COLUMNS} different keys in its rows", "")
        # Objects with free data may have different keys in every row.
        if len(inner) < _MOST_COLUMNS:
            inner.update(dict.fromkeys(flat_names(row.cells)))
    columns = (*names, *(name for name in inner if name not in names))
    return Layout(columns, outline=layout.outline, key=layout.key)


def flat_names(cells: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the names of cells; for an object in a cell also ``CELL.KEY`` for its keys."""
    names = []
    for name, value in cells.items():
        names.append(name)
        if isinstance(value, dict):
            names += [f"{name}.{inner}" for inner in value]
    return tuple(names)


def cell(row: TableRow, *columns: str) -> Any:
    """Return the first cell that is not blank; ``a.b`` also finds ``b`` in an object ``a``."""
    for column in columns:
        value = row.cells.get(column)
        if value is None and "." in column:
            outer, inner = column.split(".", 1)
            held = row.cells.get(outer)
            value = held.get(inner) if isinstance(held, dict) else None
        if not blank(value):
            return value
    return None


def blank(value: Any) -> bool:
    """Return True if a cell is null or only white space."""
    return value is None or (isinstance(value, str) and not value.strip())
