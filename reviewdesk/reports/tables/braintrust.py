"""Read Braintrust experiments: one row per case, with its scores by the name of the scorer.

The rows of the API are documented, but the column names of the app's CSV are not. So both a column
``scores`` with JSON and columns ``scores.NAME`` are read, and a CSV is marked "shape not verified".
"""

from __future__ import annotations

from typing import Any

from reviewdesk.reports.mapping.foreign import Remarks
from reviewdesk.reports.tables.cells import mapping, name
from reviewdesk.reports.tables.report import preset, unread_note
from reviewdesk.reports.tables.rows import (
    Layout,
    TableEntry,
    TableRow,
    TableShape,
    Vote,
    blank,
    cell,
)

_PREFIX = "scores."
_MARKS = {"experiment_id", "root_span_id", "span_id", "is_root", "_xact_id", "span_attributes"}
_READ = {"id", "input", "output", "expected", "error", "tags", "scores", "span_id", "root_span_id"}
_READ |= {"is_root"}
_CSV_NOTE = "shape not verified: the column names of this tool's CSV are not documented"
_NOTE = "scores that people gave cannot be told from the scorers' in this export"


def _fits(columns: tuple[str, ...]) -> bool:
    named = set(columns)
    if "scores" not in named and not any(column.startswith(_PREFIX) for column in columns):
        return False
    return "input" in named and bool(
        named & _MARKS or {"output", "scores"} <= named or {"output", "expected"} <= named
    )


def _is_inner_span(row: TableRow) -> bool:
    """Return True if the row is a span inside a case. The case repeats the span's scores."""
    root = cell(row, "is_root")
    if root is not None:
        return str(root).strip().lower() == "false"
    span, above = cell(row, "span_id"), cell(row, "root_span_id")
    return span is not None and above is not None and span != above


def _entry(row: TableRow, remarks: Remarks, columns: tuple[str, ...]) -> TableEntry | None:
    if _is_inner_span(row):
        remarks.count("a span inside a case is not read; the case has its scores")
        return None
    if "scores" in row.cells:
        scores = _score_cells(row)
    else:
        scores = {column: row.cells.get(column) for column in columns}
    votes = tuple(
        Vote(column.removeprefix(_PREFIX) or column, found, column, words=True)
        for column, found in scores.items()
        # Null is a scorer that gave no answer, but an empty cell may be one that never ran.
        if not blank(found) or "scores" in row.cells
    )
    facts = {
        "input": cell(row, "input"),
        "output": cell(row, "output"),
        "reference": cell(row, "expected"),
        "tags": cell(row, "tags"),
        "failed": cell(row, "error"),
    }
    found = cell(row, "id", "span_id")
    item = row.place if found is None else name(found, "id")
    return TableEntry(item, facts=facts, votes=votes)


def _score_cells(row: TableRow) -> dict[str, Any]:
    held = mapping(row.cells.get("scores"), "scores")
    return {_PREFIX + scorer: found for scorer, found in held.items()}


def _shape(layout: Layout) -> TableShape:
    columns = layout.columns
    scores = tuple(column for column in columns if column.startswith(_PREFIX))
    notes = (_CSV_NOTE,) if layout.outline is None else ()
    return TableShape(
        lambda row, remarks: _entry(row, remarks, scores),
        (*notes, _NOTE, *unread_note(columns, {*_READ, *scores})),
        {"name": "braintrust", "format": "experiment"},
    )


DIALECT = preset("braintrust", "a Braintrust export of an experiment", _fits, _shape)
