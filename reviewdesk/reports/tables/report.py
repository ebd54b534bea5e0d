"""Open tables as reports: plain tables, and the table exports of tools."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, BinaryIO, TypeAlias

from reviewdesk.domain.safetext import show_line
from reviewdesk.reports.bytes.source import Source
from reviewdesk.reports.bytes.strict_json import ImportTally, failing
from reviewdesk.reports.canonical.writer import FORMAT_NAME
from reviewdesk.reports.dialect import Dialect, FirstLook
from reviewdesk.reports.mapping.foreign import Remarks
from reviewdesk.reports.options import ReadOptions
from reviewdesk.reports.report import Report, ReportVerdict
from reviewdesk.reports.tables.columns import doubled
from reviewdesk.reports.tables.rows import Layout, TableShape, all_columns, layout_of
from reviewdesk.reports.tables.verdict import TableSurvey, read_rows, verdicts

ShapeOf: TypeAlias = Callable[[Layout], TableShape]

USES = frozenset({"models", "pass_labels", "fail_labels", "scale"})
"""The reading options that apply to every table."""

_MOST_LISTED = 20


def open_table(
    source: Source, layout: Layout, options: ReadOptions, format_name: str, shape: TableShape
) -> Report:
    """Open the rows of a table as a report. A first pass finds every syntax error."""
    fail = failing(source)
    survey = TableSurvey(scale_by_judge=bool(shape.producer))
    with source.open() as stream:
        rows = layout.rows(stream, fail, ImportTally(lenient=True))
        for _, key, entry in read_rows(rows, shape.entry, Remarks()):
            survey.add(key, entry)
    if not survey.rows:
        raise fail("", "is a table without rows that say anything of a jury", "Write it again.")

    def items(stream: BinaryIO, tally: ImportTally) -> Iterator[ReportVerdict]:
        yield from verdicts(layout.rows(stream, fail, tally), survey, shape, options, tally)

    header: dict[str, Any] = {"schema": FORMAT_NAME}
    if shape.producer:
        header["producer"] = shape.producer
    return Report(
        source,
        format_name,
        header,
        items,
        total=len(survey.rows),
        skip_bad=options.skip_bad,
        notes=(*shape.notes, *survey.panel_note()),
        lenient=True,
    )


def preset(
    name: str, what: str, fits: Callable[[tuple[str, ...]], bool], shape: ShapeOf
) -> Dialect:
    """Return the dialect of a tool whose table exports are recognised by their columns."""

    def fits_look(look: FirstLook) -> bool:
        layout = layout_of(look)
        return layout is not None and fits(layout.columns)

    def open_export(source: Source, look: FirstLook, options: ReadOptions) -> Report:
        fail = failing(source)
        layout = layout_of(look)
        if layout is None or not fits(layout.columns):
            raise fail("", f"has not the columns of {what}", "Leave out --format.")
        with source.open() as stream:
            layout = all_columns(layout, stream, fail)
        if twice := doubled(layout.columns, set(layout.columns)):
            raise fail("", f'has the column "{show_line(twice, 60)}" twice', "Keep one of them.")
        return open_table(source, layout, options, name, shape(layout))

    return Dialect(name, what, fits_look, open_export, USES, reads_tables=True)


def unread_note(columns: tuple[str, ...], used: set[str]) -> tuple[str, ...]:
    """Return a note that lists the columns that are not read; empty if all are."""
    named = {*columns}
    read = {"", *used, *(column.split(".")[0] for column in used)}
    left = [
        column
        for column in columns
        if column not in read and ("." not in column or column.split(".")[0] not in named)
    ]
    return (f"columns not read: {listed(left)}",) if left else ()


def listed(columns: Sequence[str]) -> str:
    """Return the names of columns, shortened to fit a line."""
    shown = ", ".join(show_line(column, 60) for column in columns[:_MOST_LISTED])
    more = f" and {len(columns) - _MOST_LISTED} more" if len(columns) > _MOST_LISTED else ""
    return f"{shown}{more}"
