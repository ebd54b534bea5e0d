"""Read binary tables: Parquet and Feather with pyarrow, workbooks with openpyxl."""

import io
import math
import shlex
import zipfile
from collections.abc import Iterator
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from importlib import import_module
from itertools import dropwhile, islice
from typing import Any, BinaryIO

from reviewdesk.domain.safetext import show_line
from reviewdesk.errors import InputFileError
from reviewdesk.reports.bytes.strict_json import Fail
from reviewdesk.reports.tables.header import (
    column_names,
    is_header,
    judge_above,
    on_a_line,
    section_of,
)

KINDS = ("parquet", "feather", "xlsx")
_NAMES = {"parquet": "a Parquet file", "feather": "a Feather file", "xlsx": "an Excel workbook"}
_MAGIC = {b"PAR1": "parquet", b"ARROW1": "feather"}
_WORKBOOK = "xl/workbook.xml"
_SHEETS = {"content.xml": "an OpenDocument file", "index/document.iwa": "a Numbers document"}
_MOST_BYTES = 1 << 31
"""The most bytes that a workbook may unpack to."""
_BATCH = 1000
_MOST_OF_HEADER = 8
_KEY_AND_VALUE = 2
_LARGE = 1 << 20
"""Workbooks of more bytes are read row by row, without knowing which cells are merged."""


def kind_of(head: bytes, stream: BinaryIO, fail: Fail) -> str:
    """Return the kind of binary table that a file is, or an empty text.

    Raises:
        InputFileError: the file is a spreadsheet of a kind that cannot be read.
    """
    file = shlex.quote(fail("", "", "").file)
    office = f"Save it as .xlsx: soffice --headless --convert-to xlsx {file}"
    for magic, kind in _MAGIC.items():
        if head.startswith(magic):
            return kind
    if head.startswith(b"\xd0\xcf\x11\xe0"):
        raise fail("", "is an Excel workbook of before 2007", office)
    if not head.startswith(b"PK"):
        return ""
    try:
        with zipfile.ZipFile(stream) as archive:
            members = {one.filename.lower(): one.file_size for one in archive.infolist()}
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
        return ""
    for name, what in _SHEETS.items():
        if name in members:
            raise fail("", f"is {what}", office)
    if _WORKBOOK in members and sum(members.values()) > _MOST_BYTES:
        raise fail("", "is an Excel workbook that unpacks to over 2 GiB", "Save it as CSV UTF-8.")
    return "xlsx" if _WORKBOOK in members else ""


_DAMAGE = (OSError, ValueError, ArithmeticError, NotImplementedError)
"""What pyarrow raises for a damaged file."""


def columns(kind: str, stream: BinaryIO, fail: Fail) -> tuple[str, ...]:
    if kind == "xlsx":
        return next(_sheet(stream, fail))[1]
    return tuple(_arrow(kind, stream, fail)[0])


def rows(kind: str, stream: BinaryIO, fail: Fail) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the place and the cells of each row, a few hundred in memory at a time."""
    if kind == "xlsx":
        records = _sheet(stream, fail)
        _, names = next(records)
        for number, cells in records:
            yield f"row {number}", dict(zip(names, map(_plain, cells), strict=False))
        return
    number = 0
    try:
        for batch in _arrow(kind, stream, fail)[1]:
            # Wrong ends of texts in a damaged file would crash the process.
            batch.validate(full=True)
            for cells in batch.to_pylist():
                number += 1
                yield f"row {number}", {name: _plain(cell) for name, cell in cells.items()}
    except _DAMAGE as error:
        raise _damaged(kind, error, fail) from error


def _library(kind: str, module: str, fail: Fail) -> Any:
    try:
        return import_module(module)
    except ImportError as error:
        hint = f"pip install 'reviewdesk[{kind.replace('feather', 'parquet')}]', or save it as CSV."
        raise fail("", f"is {_NAMES[kind]}, which an extra reads", hint) from error


def _arrow(kind: str, stream: BinaryIO, fail: Fail) -> tuple[list[str], Iterator[Any]]:
    module = "pyarrow.parquet" if kind == "parquet" else "pyarrow"
    library = _library(kind, module, fail)
    try:
        if kind == "parquet":
            file = library.ParquetFile(stream)
            return _names(file.schema_arrow), file.iter_batches(batch_size=_BATCH)
        reader = library.ipc.open_file(stream)
        names = _names(reader.schema)
    except _DAMAGE as error:
        raise _damaged(kind, error, fail) from error
    parts = (
        batch.slice(start, _BATCH)
        for batch in map(reader.get_batch, range(reader.num_record_batches))
        for start in range(0, batch.num_rows, _BATCH)
    )
    return names, parts


def _names(schema: Any) -> list[str]:
    """Return the columns; pandas wrote those of its index last, and they name the rows."""
    index = (schema.pandas_metadata or {}).get("index_columns", ())
    return sorted(schema.names, key=lambda name: name not in index)


def _sheet(stream: BinaryIO, fail: Fail) -> Iterator[tuple[int, tuple[Any, ...]]]:
    """Yield the columns of the first sheet, then the rows of it and of each sheet with the same.

    With several such sheets, a row has the name of its sheet as ``@key``.
    """
    library = _library("xlsx", "openpyxl", fail)
    try:
        large = stream.seek(0, io.SEEK_END) > _LARGE
        stream.seek(0)
        book = library.load_workbook(stream, read_only=large, data_only=True)
        headers = [(sheet.title, _header(sheet)) for sheet in book.worksheets]
        found = [(title, *one) for title, one in headers if one]
        wide = [one for one in found if len(one[2]) > _KEY_AND_VALUE] or found
        first = wide[0] if wide else ("", 0, (), 0)
        alike = [one for one in found if one[1:] == first[1:]]
        several = len(alike) > 1
        for title, at, names, lines in alike:
            titles = () if several else islice(book[title].iter_rows(values_only=True), at - 1)
            above = judge_above(
                [["" if one is None else str(one) for one in row] for row in titles]
            )
            keyed = several or bool(above)
            if title == first[0]:
                yield at, ("@key", *names) if keyed else names
            for number, cells in _filled(book[title]):
                texts = ["" if one is None else str(one) for one in cells] if above else []
                if above and number >= at and (named := section_of(texts)):
                    above = named
                    continue
                again = [None if one is None else on_a_line(str(one)) for one in cells]
                if number >= at + lines and any(again) and again != [*names]:
                    yield number, (above or title, *cells) if keyed else cells
    except Exception as error:
        raise _damaged("xlsx", error, fail) from error
    if not found:
        raise fail("", "is an Excel workbook without a row", "Save the sheet that holds the table.")


def _header(sheet: Any) -> tuple[int, tuple[str, ...], int] | None:
    """Return the place of a sheet's header, its names, and how many rows hold them."""
    start: list[tuple[int, list[str]]] = []
    for at, cells in enumerate(sheet.iter_rows(values_only=True), 1):
        row = ["" if one is None else on_a_line(str(one)) for one in cells]
        # Below names without a first one, pandas writes the name of the index alone.
        if sum(map(bool, row)) > 1 or (start and row[0] and not start[-1][1][0]):
            start.append((at, row))
        if len(start) == _MOST_OF_HEADER:
            break
    most = max((sum(map(bool, row)) for _, row in start), default=0)
    start = [*dropwhile(lambda one: not is_header(one[1], most), start)]
    names = column_names([row for _, row in start]) if len(start) > 1 else None
    return (start[0][0], *names) if names else None


def _filled(sheet: Any) -> Iterator[tuple[int, tuple[Any, ...]]]:
    """Yield the rows of a sheet with their numbers; cells merged downwards have their value."""
    merged = {
        (row, area.min_col - 1): (area.min_row, area.min_col - 1)
        for area in getattr(sheet, "merged_cells", ())
        if area.min_col == area.max_col
        for row in range(area.min_row + 1, area.max_row + 1)
    }
    columns = sorted({column for _, column in merged})
    last: dict[tuple[int, int], Any] = {}
    for number, cells in enumerate(sheet.iter_rows(values_only=True), 1):
        filled = [*cells]
        for column in columns:
            if (start := merged.get((number, column))) is not None:
                filled[column] = last.get(start)
            else:
                last[number, column] = filled[column]
        yield number, tuple(filled)


def _damaged(kind: str, error: Exception, fail: Fail) -> InputFileError:
    why = show_line(str(error).split("\n", 1)[0], 80)
    hint = "Write it again, or save it as CSV UTF-8."
    return fail("", f"is {_NAMES[kind]} that cannot be read ({why})", hint)


def _plain(value: Any) -> Any:
    """Return a cell as a JSON value. Numbers that are not finite become texts."""
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, Decimal):
        return _plain(float(value))
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, timedelta):
        return str(value)
    if isinstance(value, dict):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        if value and all(type(one) is tuple and type(one[0]) is str for one in value):
            return {key: _plain(one) for key, one in value}  # Arrow's maps are lists of pairs
        return [_plain(one) for one in value]
    return value
