"""The rows of a table in CSV, in JSON Lines or in a JSON list, and what one row says.

CSV is as in RFC 4180, with quoted line ends and three delimiters.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, BinaryIO, TypeAlias

from msgspec import Struct, field

from reviewdesk.domain.safetext import show_line
from reviewdesk.errors import InputFileError
from reviewdesk.reports.bytes.outline import Outline
from reviewdesk.reports.bytes.strict_json import MAX_ITEM, Fail, ImportTally
from reviewdesk.reports.bytes.window import decode_utf8
from reviewdesk.reports.dialect import FirstLook
from reviewdesk.reports.mapping.foreign import Remarks
from reviewdesk.reports.mapping.records import records
from reviewdesk.reports.tables.cells import blank, roles_of
from reviewdesk.reports.wording import must_be, spell_path

_LISTS = ("data", "events", "rows")
"""Keys that hold the rows in a service's response."""

_MOST_COLUMNS = 1000
_DELIMITERS = (",", ";", "\t")
_SYNTAX_ERRORS = {
    "unexpected end": ("opens a quote that does not end", 'Write a quote inside quotes as "".'),
    "new-line char": ("holds a carriage return outside quotes", "End lines with LF or CRLF."),
    "field larger": ("holds a field of over 8 MiB", ""),
}

_NOTHING: Mapping[str, Any] = MappingProxyType({})


class TableRow(Struct, frozen=True):
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


class Layout(Struct, frozen=True):
    """The format of a table. ``key`` names the list of rows inside one JSON object."""

    columns: tuple[str, ...]
    delimiter: str = ""
    outline: Outline | None = None
    key: str = ""

    def rows(self, stream: BinaryIO, fail: Fail, tally: ImportTally) -> Iterator[TableRow]:
        """Yield every row in the order of the file. Raise InputFileError at a syntax error."""
        if self.outline is None:
            for line, cells, problem in _csv_records(stream, self.columns, self.delimiter, fail):
                yield TableRow(f"line {line}", cells, problem)
            return
        lists = (self.key,) if self.key else ()
        for record in records(stream, self.outline, fail, tally, lists, "table"):
            place = f"line {record.line}" if record.line else spell_path(record.path)
            is_row = isinstance(record.value, dict)
            problem = "" if is_row else must_be("an object", record.value)
            yield TableRow(place, record.value if is_row else {}, problem)


def layout_of(look: FirstLook) -> Layout | None:
    """Return the layout that a file's start shows, or None if it is not a table.

    The columns of JSON are the keys of its first row.
    """
    if look.kind == "text":
        return _csv_layout(look.text)
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
    for row in layout.rows(stream, fail, ImportTally(lenient=True)):
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


def _csv_layout(text: str) -> Layout | None:
    """Return the layout that the header at the start of a text shows, or None.

    The delimiter is the one that gives most known roles, then most columns.
    """
    found: list[tuple[int, int, Layout]] = []
    for delimiter in _DELIMITERS:
        lines = (f"{line}\n" for line in text.split("\n"))
        try:
            names = next((record for record in _reader(lines, delimiter) if any(record)), [])
        except csv.Error:
            continue
        columns = tuple(name.strip() for name in names)
        if len(columns) > 1:
            found.append((len(roles_of(columns)), len(columns), Layout(columns, delimiter)))
    return max(found, key=lambda one: one[:2])[2] if found else None


def _csv_records(
    stream: BinaryIO, columns: tuple[str, ...], delimiter: str, fail: Fail
) -> Iterator[tuple[int, dict[str, Any], str]]:
    """Yield each record after the header: its line, its cells by column, and its problem."""
    lines = _Lines(stream, fail)
    reader = _reader(lines, delimiter)
    header = True
    while True:
        lines.held = 0
        start = lines.number + 1
        try:
            fields = next(reader, None)
        except csv.Error as error:
            raise _syntax_error(error, start, fail) from error
        if fields is None:
            return
        if not any(fields):
            continue
        if header:
            header = False
            if tuple(map(str.strip, fields)) != columns:
                raise fail(f"line {start}", "is a header of over 64 KiB", "")
            continue
        problem = ""
        if len(fields) < len(columns) or any(map(str.strip, fields[len(columns) :])):
            problem = f"has {len(fields)} cells where the header has {len(columns)}"
        yield start, dict(zip(columns, fields, strict=False)), problem


class _Lines:
    """Decodes lines; ``held`` counts the bytes of one record, which may have many lines."""

    def __init__(self, stream: BinaryIO, fail: Fail) -> None:
        self._stream = stream
        self._fail = fail
        self._offset = 0
        self.number = self.held = 0

    def __iter__(self) -> _Lines:
        return self

    def __next__(self) -> str:
        raw = self._stream.readline(MAX_ITEM + 1)
        if not raw:
            raise StopIteration
        self.number += 1
        self.held += len(raw)
        where = f"line {self.number}"
        if self.held > MAX_ITEM:
            raise self._fail(where, "is part of a record of over 8 MiB", "")
        if b"\0" in raw:
            raise self._fail(where, "holds a NUL byte and is no text", "")
        text = decode_utf8(raw, self._offset, self._fail, where)
        self._offset += len(raw)
        return text


def _reader(lines: Iterator[str], delimiter: str) -> Iterator[list[str]]:
    # The limit of the csv module holds for the whole process, so it is never lowered here.
    if csv.field_size_limit() < MAX_ITEM:
        csv.field_size_limit(MAX_ITEM)
    return csv.reader(lines, delimiter=delimiter, strict=True)


def _syntax_error(error: csv.Error, line: int, fail: Fail) -> InputFileError:
    for start, (problem, hint) in _SYNTAX_ERRORS.items():
        if str(error).startswith(start):
            return fail(f"line {line}", problem, hint)
    problem = f"is not CSV: {show_line(str(error), 60)}"
    return fail(f"line {line}", problem, 'Write a quote inside quotes as "".')


class Vote(Struct, frozen=True):
    """One judge's ballot, as the cells of a row hold it."""

    judge: str
    score: Any = None
    column: str = "score"
    """The column of the score, for error messages."""
    cells: Mapping[str, Any] = field(default_factory=lambda: _NOTHING)
    """Other cells by role, such as ``reason``. An empty ``pass`` means no vote."""
    words: bool = False
    """Whether the score may be any word, because no other cell can hold a label."""
    unread: tuple[str, ...] = ()
    """Columns that may hold the answer, if the usual columns for an answer are empty."""
    check: bool = False
    """Whether this is a program's check rather than a juror's ballot."""


class Human(Struct, frozen=True):
    """A person's label in a row. The first of ``words`` that is a label counts."""

    words: tuple[Any, ...]
    by: Any = None
    at: Any = None
    note: Any = None


class TableEntry(Struct, frozen=True):
    """One row: facts on an item, with the ballots, checks or human label in the row."""

    item: str
    rubric: str = ""
    name: str = ""
    """The item's name on the desk, if ``item`` is an id that only groups the rows."""
    facts: Mapping[str, Any] = field(default_factory=lambda: _NOTHING)
    votes: tuple[Vote, ...] = ()
    human: Human | None = None

    @property
    def key(self) -> tuple[str, str]:
        """The key of the verdict: rows with the same key form one verdict."""
        return self.item, self.rubric


EntryOf: TypeAlias = Callable[[TableRow, Remarks], TableEntry | None]
"""Reads a row; returns None if the row has nothing to do with a jury.

Raises:
    CellError: the row cannot be read.
"""


class TableShape(Struct, frozen=True):
    """The rules for reading the rows of one kind of table."""

    entry: EntryOf
    notes: tuple[str, ...] = ()
    producer: Mapping[str, str] = field(default_factory=lambda: _NOTHING)
    """The tool that wrote the table; empty for a plain table.

    In a tool's table each judge has a separate scale, because judges measure different things, and
    one judge may rate an item twice; the second ballot is ``#2``.
    """
