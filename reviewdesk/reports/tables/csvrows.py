"""Read CSV as in RFC 4180, record by record, with quoted line ends and three delimiters."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

from reviewdesk.domain.safetext import show_line
from reviewdesk.errors import InputFileError
from reviewdesk.reports.bytes.strict_json import MAX_ITEM, Fail
from reviewdesk.reports.bytes.window import decode_utf8
from reviewdesk.reports.tables.columns import roles_of

_DELIMITERS = (",", ";", "\t")
_SYNTAX_ERRORS = {
    "unexpected end": ("opens a quote that does not end", 'Write a quote inside quotes as "".'),
    "new-line char": ("holds a carriage return outside quotes", "End lines with LF or CRLF."),
    "field larger": ("holds a field of over 8 MiB", ""),
}


@dataclass(frozen=True, slots=True)
class Header:
    """The first record of a table and the delimiter of its columns."""

    delimiter: str
    columns: tuple[str, ...]


def header_of(text: str) -> Header | None:
    """Return the header at the start of a text, or None.

    The delimiter is the one that gives most known roles, then most columns.
    """
    found: list[tuple[int, int, Header]] = []
    for delimiter in _DELIMITERS:
        lines = (f"{line}\n" for line in text.split("\n"))
        try:
            names = next((record for record in _reader(lines, delimiter) if any(record)), [])
        except csv.Error:
            continue
        columns = tuple(name.strip() for name in names)
        if len(columns) > 1:
            found.append((len(roles_of(columns)), len(columns), Header(delimiter, columns)))
    return max(found, key=lambda one: one[:2])[2] if found else None


def records(
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
        self._stream, self._fail = stream, fail
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
