"""Read rows from CSV, from JSON in the shapes that people and pandas write, and binary tables."""

import csv
import dataclasses
import io
import re
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from itertools import chain, islice, zip_longest
from typing import Any, BinaryIO, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from reviewdesk.domain.safetext import show_line
from reviewdesk.reports.bytes.source import Source
from reviewdesk.reports.bytes.strict_json import MAX_ITEM, Fail, ImportTally
from reviewdesk.reports.bytes.window import Outline, Window, not_utf8
from reviewdesk.reports.mapping.foreign import LateFactError
from reviewdesk.reports.report import FirstLook, records
from reviewdesk.reports.tables import binary
from reviewdesk.reports.tables.cells import (
    Cells,
    flat_names,
    is_answer,
    likely_number,
    parsed,
    roles_of,
)
from reviewdesk.reports.tables.header import (
    column_names,
    count_up,
    is_header,
    judge_above,
    named_apart,
    on_a_line,
    section_of,
    without_totals,
)
from reviewdesk.reports.wording import Path, must_be, spell_path

_LISTS = ("data", "events", "rows", "results", "items", "records", "cases", "test_results")
"""Keys that hold the rows in a document, such as a service's response."""
_WRAPS = ("_source", "row", "node", "fields")
"""Keys under which Elasticsearch, Hugging Face's viewer, GraphQL and Airtable put each row."""
_CELLS_OF = frozenset({"individual_scores", "scores", "values"})
"""Keys of the cells of a column, which is named by the key around them."""
_TEXTS = frozenset({"input", "output", "human", "reference"})
"""Roles that tell the names of columns from those of rows."""
_SAYS = frozenset({"score", "pass", "label", "error"})
"""Roles of what a judge said."""
_MOST_COLUMNS = 1000
_MANY = 7
"""More names than this, which each of fewer objects has, are those of items and not of judges."""
_BLOCK = 1 << 18
_DELIMITERS = (",", ";", "\t", "|", "^", "~", "\x01", "\x1f")
_SYNTAX_ERRORS = {
    "unexpected end": ("opens a quote that does not end", 'Write a quote inside quotes as "".'),
    "new-line char": ("contains a carriage return outside quotes", "End lines with LF or CRLF."),
    "field larger": ("contains a field of over 8 MiB", ""),
}


_Found: TypeAlias = tuple[int | str | Path, Cells, str]


class TableRow(Struct, frozen=True):
    """One row: its cells by column, and its place for error messages."""

    found: int | str | Path
    """The number of its line, its place in words, or its path in a document."""
    cells: Cells
    problem: str = ""
    """The reason why this is not a row of the table; empty if it is a row."""
    number: int = 0
    """The row's number, from 1."""

    @property
    def place(self) -> str:
        """The place of the row for error messages."""
        if isinstance(self.found, tuple):
            return spell_path(self.found)
        return f"line {self.found}" if isinstance(self.found, int) else self.found

    def at(self, column: str) -> str:
        """Return the place of a cell for error messages: a JSON path, or line and column."""
        if self.place.startswith("$"):
            return spell_path(tuple(column.split(".")), self.place)
        return f'{self.place}, column "{show_line(column, 60)}"'


class Layout(Struct, frozen=True):
    """The format of a table, and its columns. ``outline`` is that of JSON.

    ``key`` names the list of rows inside one JSON object; ``a.b`` is the list ``b`` in ``a``, or in
    each of its elements, and a row has the objects around it under ``^``. ``orient`` is the form in
    which pandas wrote a table as one object: ``split``, ``columns``, ``index`` or ``lists``.
    ``named`` is an object with a row under each name; the row holds that name as ``@key``.
    """

    columns: tuple[str, ...]
    delimiter: str = ""
    headers: int = 1
    """The number of lines that name the columns of CSV."""
    above: str = ""
    """The judge whom a line above the header names; a row holds the name as ``@key``."""
    outline: Outline | None = None
    key: str = ""
    orient: str = ""
    typed: bool = False
    """Whether values are those of MongoDB, such as ``{"$numberDouble": "0.5"}``."""
    kind: str = "text"
    closed: bool = False
    """Whether a row with a key that is not a column is a LateFactError."""

    @property
    def is_binary(self) -> bool:
        return self.kind in binary.KINDS

    def rows(self, stream: BinaryIO, fail: Fail, tally: ImportTally) -> Iterator[TableRow]:
        """Yield every row in the order of the file. Raise InputFileError at a syntax error."""
        held = self._rows(stream, fail, tally)
        if self.delimiter or self.kind == "xlsx":
            held = without_totals(held, tally)
        known = frozenset((*self.columns, "^"))
        for number, (found, cells, problem) in enumerate(held, 1):
            if self.closed:
                inner = dict in map(type, cells.values())
                if not known.issuperset(flat_names(cells) if inner else cells):
                    raise LateFactError  # a key of a row, or of an object in it, is no column
            yield TableRow(found, cells, problem, number)

    def read(self, source: Source, fail: Fail, tally: ImportTally) -> Generator[TableRow]:
        """Yield every row of a file, which is open until the last one."""
        with source.open_raw() if self.is_binary else source.open() as stream:
            yield from self.rows(stream, fail, tally)

    def _rows(self, stream: BinaryIO, fail: Fail, tally: ImportTally) -> Iterator[_Found]:
        if self.is_binary:
            for place, cells in binary.rows(self.kind, stream, fail):
                yield place, cells, ""
        elif self.outline is None:
            yield from _csv_records(stream, self, fail)
        elif self.orient:
            yield from self._rows_by_name(Window(stream, fail, tally))
        else:
            yield from self._rows_of_records(self.outline, stream, fail, tally)

    def _rows_of_records(
        self, outline: Outline, stream: BinaryIO, fail: Fail, tally: ImportTally
    ) -> Iterator[_Found]:
        first, *inner = self.key.split(".")
        one = outline.kind == "object" and not outline.goes_on
        listed = one and isinstance(outline.keys.get(first), list)
        steps = inner if listed or not first else [first, *inner]
        lists = (first,) if listed else ()
        names: Sequence[str] = ()
        for record in records(stream, outline, fail, tally, lists, "table"):
            held = record.value
            if outline.around and isinstance(held, dict):
                if held == outline.around:
                    continue
                held = {**held, "^": outline.around}
            if isinstance(held, list) and not self.key:
                if not names and all(isinstance(one, str) for one in held) and roles_of(held):
                    names = held
                    continue
                names = names or [str(number) for number in range(1, len(held) + 1)]
                held = dict(zip(names, held, strict=False))
            if self.typed:
                held = _without_types(held)
            if isinstance(held, dict) and not steps:
                yield record.line or record.path, held, ""
                continue
            place = f"line {record.line}" if record.line else spell_path(record.path)
            yield from _rows_inside(held, steps, place, outline.keys)

    def _rows_by_name(self, window: Window) -> Iterator[_Found]:
        rows: Iterator[tuple[str, Any]]
        if self.orient in {"index", "named"}:
            rows = ((name, window.value(spell_path((name,)))) for name in window.members())
            if outer := self.key.partition("*")[0].rstrip("."):
                rows = chain.from_iterable(one.items() for key, one in rows if key == outer)
        else:
            rows = _oriented(window.value("$"), self.orient)
        for name, value in rows:
            step = self.key.rpartition("*.")[2]
            inner = value.get(step, value) if isinstance(value, dict) else value
            for cells in inner if isinstance(inner, list) else (inner,):
                problem = "" if isinstance(cells, dict) else must_be("an object", cells)
                held = {} if problem else cells
                if self.orient == "named":
                    held = {"@key": name, **held}
                yield f"row {show_line(name, 60)}", held, problem


def _rows_inside(value: Any, steps: Sequence[str], place: str, around: Cells) -> Iterator[_Found]:
    """Yield a value as a row, or the rows of the lists inside it with the objects around them."""
    if not isinstance(value, dict):
        yield place, {}, must_be("an object", value)
        return
    if not steps:
        yield place, value, ""
        return
    listed = value.get(steps[0])
    if isinstance(listed, dict) and (len(steps) > 1 or steps[0] in _WRAPS):
        inner = {**listed, "^": value} if steps[0] in _WRAPS else listed
        yield from _rows_inside(inner, steps[1:], f"{place}.{steps[0]}", around)
        return
    if not isinstance(listed, list):
        yield f"{place}.{steps[0]}", {}, must_be("a list", listed)
        return
    outer = {**value, "^": around}
    for index, one in enumerate(listed):
        where = f"{place}.{steps[0]}[{index}]"
        inner = {**one, "^": outer} if isinstance(one, dict) and len(steps) == 1 else one
        yield from _rows_inside(inner, steps[1:], where, outer)


def _without_types(value: Any) -> Any:
    """Return a value of MongoDB's extended JSON as plain JSON."""
    if isinstance(value, list):
        return [*map(_without_types, value)]
    if not isinstance(value, dict):
        return value
    if len(value) == 1 and (kind := next(iter(value))).startswith("$"):
        held = _without_types(value[kind])
        return likely_number(held) if kind.startswith("$number") else held
    return {key: _without_types(one) for key, one in value.items()}


def layout_of(look: FirstLook) -> Layout | None:
    """Return the layout that a file's start shows, by its first row, or None if it is no table."""
    if look.kind in binary.KINDS:
        return Layout(look.columns, kind=look.kind)
    if look.kind != "json":
        return _csv_layout(look.text) if look.kind == "text" else None
    outline = _with_heading(look)
    if outline.kind == "object" and not outline.goes_on:
        if found := _columns_layout(outline):
            return found
        for key in _LISTS:
            if not isinstance(outline.keys.get(key), dict) and outline.first(key):
                # Items may stand in one list, and their ballots in another.
                rows = next((one for one, held in outline.keys.items() if _is_jury(held)), key)
                return _unwrapped(rows, outline.first(rows), outline)
    several = outline.kind == "array" or outline.goes_on
    return _unwrapped("", outline.keys, outline, several=several) if outline.keys else None


def _with_heading(look: FirstLook) -> Outline:
    """Return the outline of JSON Lines by the second one, if the first is about all others."""
    outline = look.outline
    if outline.goes_on and outline.kind == "object" and not _SAYS & roles_of(outline.keys).keys():
        second = parsed("".join(look.text.split("\n")[1:2]))
        apart = isinstance(second, dict) and outline.keys.keys().isdisjoint(second)
        if apart and {"item"} < roles_of(second).keys() & {"item", *_SAYS}:
            return dataclasses.replace(outline, keys=second, around=outline.keys)
    return outline


def _columns_layout(outline: Outline) -> Layout | None:
    """Return the layout of a table that one object holds by its columns, or None."""
    orient = _orient(outline.keys)
    lists = {key: one for key, one in outline.keys.items() if isinstance(one, list) and one}
    lengths = {outline.lengths.get(key, 0) for key in lists}
    rest = [one for key, one in outline.keys.items() if key not in lists]
    if not orient and len(lengths) == 1 and len(lists) > 1 and lengths.pop() > 1:
        flat = [one for one in lists.values() if not isinstance(one[0], dict | list)]
        # Facts on the whole table may stand beside the lists of a question and its answers.
        said = any(all(map(is_answer, one)) for one in flat)
        texts = any(" " in str(one[0]) for one in flat)
        plain = said and texts and not any(isinstance(one, dict | list) for one in rest if one)
        orient = "lists" if len(flat) > 1 and (plain or not rest) else ""
    if orient not in {"", "named"}:
        first = next((cells for _, cells in _oriented(outline.keys, orient)), {})
        return Layout(flat_names(first), outline=outline, orient=orient)
    first = {name: one[0] for name, one in _parallel(outline.keys, outline.lengths).items()}
    return Layout(flat_names(first), outline=outline, orient="lists") if first else None


def _parallel(document: Cells, lengths: Mapping[str, int] | None = None) -> dict[str, list[Any]]:
    """Return the lists of one length in objects of a document that are columns, one of answers."""
    found: dict[str, list[Any]] = {}
    counts: set[int] = set()
    bare: list[bool] = []

    def add(name: str, value: Any, count: int | None, depth: int) -> None:
        if isinstance(value, list) and value and isinstance(value[0], dict) and not depth:
            bare.append(all(map(is_answer, value[0].values())))
            for key in value[0]:
                column = [one.get(key) if isinstance(one, dict) else None for one in value]
                add(key, column, count or len(value), 1)
        elif isinstance(value, list) and value:
            known = name in found or isinstance(value[0], dict)
            counts.add(-1 if known else count or len(value))
            found[name] = value
        for key, one in value.items() if isinstance(value, dict) and depth < 4 else ():
            add(name if key in _CELLS_OF else key, one, None, depth + 1)

    for key, one in document.items():
        add(key, one, (lengths or {}).get(key), 0)
    about = roles_of(key for key, one in document.items() if isinstance(one, str | int))
    within = (
        len(bare) > 1 if any(bare) else not bare and any(name not in document for name in found)
    )
    said = any(all(map(is_answer, one)) for one in found.values())
    apart = counts & {-1, 1} or {"item", "input", "output"} & about.keys()
    return found if within and said and len(counts) == 1 < len(found) and not apart else {}


def _unwrapped(key: str, first: Cells, outline: Outline, *, several: bool = True) -> Layout:
    """Return the layout of rows such as the first one; each may be inside an object."""
    for wrap in _WRAPS if several else ():
        rest = [one for key, one in first.items() if key != wrap and isinstance(one, dict | list)]
        if isinstance(inner := first.get(wrap), dict) and not (any(rest) and wrap == "fields"):
            return Layout(flat_names(inner), outline=outline, key=f"{key}.{wrap}".lstrip("."))
    held = [one for one in first.values() if isinstance(one, dict)]
    typed = any(next(iter(one), "").startswith("$") for one in held)
    names = flat_names(_without_types(first) if typed else first)
    return Layout(names, outline=outline, key=key, typed=typed)


def inside(layout: Layout) -> Layout:
    """Return the layout of the rows in a document: in its first list, or under its keys (``*``)."""
    outline = layout.outline
    if outline is None or layout.key or layout.orient:
        return layout
    if outline.kind == "array" or outline.goes_on:
        found = _rows_within(outline.keys)
        return _unwrapped(*found, outline) if found else layout
    roles = roles_of(outline.keys)
    texts = (outline.keys.get(roles.get(role, "")) for role in ("input", "output"))
    if "conversation" in roles or any(isinstance(text, str) for text in texts):
        return layout
    objects = {"": outline.keys}
    objects |= {key: one for key, one in outline.keys.items() if isinstance(one, dict)}
    named = [key for key, one in objects.items() if _orient(one) == "named"]
    found = _list_inside(outline.keys)
    if found and not {"", found[0].split(".")[0]} & {*named}:
        if within := _rows_within(found[1]):
            found = f"{found[0]}.{within[0]}", within[1]
        return _unwrapped(*found, outline)
    if named and (named[0] == "" or "item" not in roles):
        rows = [*objects[named[0]].values()]
        first = rows[0]
        within = _rows_within(first) if isinstance(first, dict) else ("", first[0])
        if within and isinstance(first, dict) and "name" in within[1]:
            said = [[str(one.get("name")) for one in row.get(within[0], ())] for row in rows]
            within = None if len(rows) > 1 and {*said[0]} == {*said[1]} else within
        key, first = within or ("", first)
        key = f"{named[0]}.*.{key}".strip(".")
        return Layout(("@key", *flat_names(first)), outline=outline, key=key, orient="named")
    return layout


def _rows_within(row: Cells) -> tuple[str, dict[str, Any]] | None:
    """Return the key and the first one of the responses, items or turns in a row, or None."""
    around = roles_of(row).keys()
    for key, held in row.items():
        first = held[0] if isinstance(held, list) and held else None
        if not isinstance(first, dict):
            continue
        roles = roles_of(first)
        # A short response, such as "Yes", is no answer of a judge.
        if not _holds_answers({one: first[one] for one in first if one != roles.get("output")}):
            continue
        if "turn" in first and not {"user", "assistant", "agent"}.isdisjoint(first):
            return key, first
        if any(map(_is_jury, first.values())):
            return key, first
        if role := next((one for one in ("output", "item") if one in roles), ""):
            # Texts around a list, and a judge or a question beside a name, are those of ballots.
            texts = role == "item" and {"input", "output"} & around
            flat = "status" in roles and not any(
                isinstance(one, dict | list) for one in first.values()
            )
            named = roles.get("item") == "name" and ({"judge", "dimension"} & roles.keys() or flat)
            return None if role in around or texts or named else (key, first)
    return None


def _is_jury(held: Any) -> bool:
    """Return True if a value is a list of objects that each name a judge and its answer."""
    first = held[0] if isinstance(held, list) and held else None
    roles = roles_of(first).keys() if isinstance(first, dict) else {}
    return "judge" in roles and not {"score", "pass", "label"}.isdisjoint(roles)


def _holds_answers(cells: Cells, depth: int = 3) -> bool:
    inner = [one[0] if isinstance(one, list) and one else one for one in cells.values()]
    within = [one for one in inner if isinstance(one, dict)] if depth else []
    return any(map(is_answer, inner)) or any(_holds_answers(one, depth - 1) for one in within)


def _list_inside(document: Cells, depth: int = 3) -> tuple[str, dict[str, Any]] | None:
    """Return the path and the first element of the first list of objects inside objects."""
    for key, value in document.items():
        if isinstance(value, list) and value and isinstance(value[0], dict):
            return key, value[0]
        if isinstance(value, dict) and depth and (found := _list_inside(value, depth - 1)):
            return f"{key}.{found[0]}", found[1]
    return None


def _orient(document: Cells) -> str:
    """Return how one object holds a table, or ""; in one that is ``named`` each key names a row."""
    data = document.get(_data_key(document))
    if isinstance(data, list) and data and isinstance(data[0], list):
        # The values of a sheet, as Google's API gives them, begin with the header.
        named = document.get("columns", all(isinstance(one, str) for one in data[0]))
        return "split" if isinstance(named, list) or named is True else ""
    rows = list(document.values())
    lists = [one[0] for one in rows if isinstance(one, list) and one and isinstance(one[0], dict)]
    if len(lists) == len(rows) and all(lists):
        alike = len(rows) > 1 and all(one.keys() == lists[0].keys() for one in lists)
        return "named" if alike else ""
    if len(rows) < 2 or not all(isinstance(one, dict) and one for one in rows):
        return ""
    if count_up([*document]):
        return "index"
    many = len(rows[0]) > max(_MANY, 2 * len(rows)) and all(map(is_answer, rows[0].values()))
    texts = _TEXTS & roles_of(document).keys() and not _TEXTS & roles_of(rows[0]).keys()
    if many or texts or all(map(str.isdecimal, rows[0])):
        return "columns"
    return "" if any(rows[0].keys().isdisjoint(one) for one in rows) else "named"


def _data_key(document: Cells) -> str:
    return next((key for key in ("data", "rows", "values") if key in document), "")


def _oriented(document: Cells, orient: str) -> Iterator[tuple[str, dict[str, Any]]]:
    if orient == "split":
        data = document[_data_key(document)]
        columns = ["_".join(map(str, one)) if isinstance(one, list) else str(one)
                   for one in document.get("columns", data[0])]  # fmt: skip
        index = document.get("index")
        labels = index if isinstance(index, list) and index[:2] not in ([0], [0, 1]) else ()
        for number, cells in enumerate(data if "columns" in document else data[1:], 1):
            values: Sequence[Any] = cells if isinstance(cells, list) else ()
            named = {"@key": labels[number - 1]} if number <= len(labels) else {}
            yield str(number), named | dict(zip_longest(columns, values[: len(columns)]))
    elif orient == "lists":
        lists = {key: one for key, one in document.items() if isinstance(one, list) and one}
        lists = _parallel(document) or lists
        for number, values in enumerate(zip(*lists.values(), strict=False), 1):
            yield str(number), dict(zip(lists, values, strict=True))
    else:
        rows = document
        if orient == "columns":
            whole = {key: one for key, one in document.items() if isinstance(one, dict)}
            found = dict.fromkeys(name for cells in whole.values() for name in cells)
            rows = {name: {key: one.get(name) for key, one in whole.items()} for name in found}
        counted = orient == "index" or count_up([*rows])
        for name, one in rows.items():
            yield name, one if counted else {"@key": name, **one}


def with_columns(layout: Layout, rows: Iterable[TableRow], fail: Fail) -> Layout:
    """Return the layout with the keys of some rows as columns."""
    names: dict[str, None] = {}
    inner: dict[str, None] = {}
    for row in rows:
        names.update(dict.fromkeys(name for name in row.cells if name != "^"))
        if len(names) > _MOST_COLUMNS:
            raise fail("", f"has more than {_MOST_COLUMNS} different keys in its rows", "")
        # Objects with free data may have different keys in every row.
        if len(inner) < _MOST_COLUMNS:
            inner.update(dict.fromkeys(flat_names(row.cells)))
    return replace(layout, columns=(*names, *(name for name in inner if name not in names)))


@lru_cache(maxsize=2)
def _csv_layout(text: str) -> Layout | None:
    """Return the layout by the delimiter with most known roles, or None; each tool asks for it."""
    found: list[tuple[int, int, Layout]] = []
    tabs = {line.count("\t") for line in text.split("\n")[:8] if line}
    # Texts seldom hold a tab, and often commas: as many in every line make a table.
    likely = _DELIMITERS + (" ",) * text.startswith('"')
    for delimiter in "\t" if len(tabs) == 1 and tabs != {0} else likely:
        lines = (f"{line}\n" for line in text.split("\n"))
        start: list[list[str]] = []
        with suppress(csv.Error):
            # A quote may end behind the start of the file.
            start += islice(filter(any, _reader(lines, delimiter)), 8)
        most = max((sum(map(bool, record)) for record in start), default=0)
        titles: list[list[str]] = []
        while start and not is_header(start[0], most):
            titles.append(start.pop(0))
        if len(start) > 1 and start[0][0].startswith("#") and len(start[0]) != len(start[1]):
            titles.append(start.pop(0))
        if len(start) > 2 and {len(start[0]) + 1} == {*map(len, start[1:])}:
            start[0].insert(0, "")  # R writes no name above those of rows
        if start and len(start[0]) > 1:
            columns, headers = column_names([[*map(on_a_line, record)] for record in start])
            above = judge_above(titles)
            columns = ("@key", *columns) if above else columns
            layout = Layout(columns, delimiter, headers, above=above)
            found.append((len(roles_of(columns)), len(columns), layout))
    return max(found, key=lambda one: one[:2])[2] if found else None


_RULE = re.compile(r"\s*:?-{3,}[-+:]*\s*\Z")
"""A cell of the line under the header of a table in Markdown, or of one that psql prints."""


def _csv_records(stream: BinaryIO, layout: Layout, fail: Fail) -> Iterator[_Found]:
    columns, delimiter = layout.columns[bool(layout.above) :], layout.delimiter
    lines = _Lines(stream, fail)
    reader = _reader(chain.from_iterable(lines), delimiter)
    width = len(columns)
    header = layout.headers
    above = layout.above
    top: list[str] = []
    start = 1
    try:
        for fields in reader:
            lines.held = 0
            place = start
            start = reader.line_num + 1
            if above and not header and (named := section_of(fields)):
                above = named
                continue
            empty = not fields or not (fields[0].strip() or any(map(str.strip, fields)))
            ruled = delimiter == "|" and not header and all(map(_RULE.match, filter(None, fields)))
            # Files that were put together repeat the header; a line with a # may be a comment.
            again = fields == top
            if empty or ruled or again or (len(fields) != width and fields[0].startswith("#")):
                continue
            if header:
                if header < layout.headers or is_header(fields, sum(map(bool, columns))):
                    header -= 1
                    names = named_apart([*map(on_a_line, fields)])
                    if layout.headers == 1 and names[1 - width :] != columns[1:]:
                        raise fail(f"line {place}", "is a header of over 64 KiB", "")
                    top = fields
                continue
            problem = ""
            if len(fields) != width and (
                len(fields) < width or any(map(str.strip, fields[width:]))
            ):
                problem = f"has {len(fields)} cells where the header has {width}"
            padded = map(str.strip, fields) if delimiter == "|" else fields
            cells = dict(zip(columns, padded, strict=False))
            yield place, {"@key": above, **cells} if above else cells, problem
    except csv.Error as error:
        said = (one for key, one in _SYNTAX_ERRORS.items() if str(error).startswith(key))
        problem = f"is not CSV: {show_line(str(error), 60)}"
        problem, hint = next(said, (problem, 'Write a quote inside quotes as "".'))
        raise fail(f"line {start}", problem, hint) from error


class _Lines:
    """Decodes blocks of lines; ``held`` counts the bytes read since it was set to 0."""

    def __init__(self, stream: BinaryIO, fail: Fail) -> None:
        self._stream = stream
        self._fail = fail
        self.held = 0

    def __iter__(self) -> Iterator[Iterable[str]]:
        number = offset = 0
        rest = b""
        while block := self._stream.read(_BLOCK):
            self.held += len(block)
            end = block.rfind(b"\n") + 1
            line = len(rest) + (block.find(b"\n") if end else len(block))
            if max(line, self.held - _BLOCK) > MAX_ITEM or b"\0" in block:
                held = rest + block
                zero = held.find(b"\0")
                bad = number + 1 + held.count(b"\n", 0, max(zero, 0))
                what = "contains a NUL byte and is not text"
                if zero < 0:
                    what = "is part of a record of over 8 MiB"
                raise self._fail(f"line {bad}", what, "")
            data = rest + block[:end]
            rest = block[end:] if end else rest + block
            if end:
                yield self._text_lines(data, number, offset)
                number += data.count(b"\n")
                offset += len(data)
        if rest:
            yield self._text_lines(rest, number, offset)

    def _text_lines(self, data: bytes, number: int, offset: int) -> Iterable[str]:
        try:
            return io.StringIO(data.decode(), newline="\n")
        except UnicodeDecodeError as error:
            line = number + 1 + data.count(b"\n", 0, error.start)
            raise not_utf8(self._fail, f"line {line}", offset + error.start) from error


def _reader(lines: Iterator[str], delimiter: str) -> Any:
    # The limit of the csv module applies to the whole process, so it is never lowered here.
    if csv.field_size_limit() < MAX_ITEM:
        csv.field_size_limit(MAX_ITEM)
    return csv.reader(lines, delimiter=delimiter, strict=True)
