"""Read Phoenix exports: annotations of spans, and tables of evaluations.

The annotations of a span by models form one jury. Annotations by people (``HUMAN``) are a human
label, and annotations by programs (``CODE``) are checks.
"""

from __future__ import annotations

from reviewdesk.reports.mapping.foreign import Remarks
from reviewdesk.reports.tables.cells import CellError, name
from reviewdesk.reports.tables.report import preset, unread_note
from reviewdesk.reports.tables.rows import (
    Human,
    Layout,
    TableEntry,
    TableRow,
    TableShape,
    Vote,
    cell,
)

_SPAN = ("span_id", "context.span_id")
_TRACE = ("trace_id", "context.trace_id")
_POSITION = ("document_position", "position")
_NAME = ("annotation_name", "name")
_SCORE = ("result.score", "score")
_LABEL = ("result.label", "label")
_REASON = ("result.explanation", "explanation")
_READ = {*_SPAN, *_TRACE, *_POSITION, *_NAME, *_SCORE, *_LABEL, *_REASON}
_READ |= {"annotator_kind", "identifier", "created_at"}
_UNNAMED = "evaluation"
_UNNAMED_NOTE = 'the evaluation has no name in this file and is called "evaluation"'
_NOTE = "note"
"""The name that Phoenix reserves for comments, which judge nothing."""


def _fits(columns: tuple[str, ...]) -> bool:
    named = set(columns)
    answers = named & {"result", *_SCORE, *_LABEL}
    if "annotator_kind" in named:
        return bool(answers and named & {*_SPAN, *_TRACE})
    return bool(answers and named & set(_SPAN)) and "explanation" in named


def _entry(row: TableRow, remarks: Remarks) -> TableEntry | None:
    kind = str(cell(row, "annotator_kind") or "").upper()
    found = cell(row, *_NAME)
    if found == _NOTE and cell(row, *_SCORE, *_LABEL) is None:
        remarks.count("a note on a span judges nothing and is not read")
        return None
    item = _item(row)
    score, label, reason = cell(row, *_SCORE), cell(row, *_LABEL), cell(row, *_REASON)
    at = cell(row, "created_at")
    if kind == "HUMAN":
        return TableEntry(item, human=Human((label, score), cell(row, "identifier"), at, reason))
    judge = _UNNAMED if found is None else name(found, _NAME[0])
    column = next((column for column in _SCORE if column in row.cells), _SCORE[0])
    cells = {"reason": reason, "at": at, **({} if label is None else {"label": label})}
    vote = Vote(judge, score, column, cells, words=True, check=kind == "CODE")
    return TableEntry(item, votes=(vote,))


def _item(row: TableRow) -> str:
    span = cell(row, *_SPAN)
    position = cell(row, *_POSITION)
    if span is None:
        span = cell(row, *_TRACE)
        if span is None:
            raise CellError("", "names neither a span nor a trace")
    item = name(span, _SPAN[0])
    return item if position is None else f"{item}/{position}"


def _shape(layout: Layout) -> TableShape:
    columns = layout.columns
    notes = () if set(columns) & set(_NAME) else (_UNNAMED_NOTE,)
    return TableShape(
        _entry,
        (*notes, *unread_note(columns, _READ)),
        {"name": "phoenix", "format": "annotations"},
    )


DIALECT = preset("phoenix", "a Phoenix export of annotations", _fits, _shape)
