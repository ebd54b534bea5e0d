"""Read Langfuse scores: exports of the scores table, of the API and of a bucket.

All of these have one score per row. The scores of a trace, or of an observation in it, form one
jury. Scores that people gave (``ANNOTATION``) are a human label instead.
"""

from __future__ import annotations

from typing import Any

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

_TRACE = ("traceId", "trace_id")
_OBSERVATION = ("observationId", "observation_id")
_SESSION = ("sessionId", "session_id", "datasetRunId", "dataset_run_id")
_KIND = ("dataType", "data_type")
_STRING = ("stringValue", "string_value")
_AUTHOR = ("authorUserName", "authorUserId", "author_user_id")
_TEST = ("traceName", "trace_name")
_TAGS = ("traceTags", "trace_tags")
_READ = {*_TRACE, *_OBSERVATION, *_SESSION, *_KIND, *_STRING, *_AUTHOR, *_TEST, *_TAGS}
_READ |= {"name", "value", "source", "comment", "timestamp"}
_NO_SCORES = ("TEXT", "CORRECTION")


def _fits(columns: tuple[str, ...]) -> bool:
    named = set(columns)
    ids = named & {*_TRACE, *_OBSERVATION}
    return bool(ids and named & set(_KIND)) and {"name", "value", "source"} <= named


def _entry(row: TableRow, remarks: Remarks) -> TableEntry | None:
    kind = str(cell(row, *_KIND) or "").upper()
    if kind in _NO_SCORES:
        remarks.count(f"a row of the type {kind}, which is no score, is not read")
        return None
    item = _item(row)
    facts = {"test": cell(row, *_TEST), "tags": cell(row, *_TAGS)}
    value, word = cell(row, "value"), cell(row, *_STRING)
    if str(cell(row, "source") or "").upper() == "ANNOTATION":
        by, at, note = cell(row, *_AUTHOR), cell(row, "timestamp"), cell(row, "comment")
        human = Human((word,) if kind == "CATEGORICAL" else (word, value), by, at, note)
        return TableEntry(item, facts=facts, human=human)
    return TableEntry(item, facts=facts, votes=(_vote(row, kind, value, word),))


def _item(row: TableRow) -> str:
    trace, observation = cell(row, *_TRACE), cell(row, *_OBSERVATION)
    if trace is None and observation is None:
        found = cell(row, *_SESSION)
        if found is None:
            raise CellError("", "names neither a trace, an observation nor a session")
        return name(found, _SESSION[0])
    ids = [(_TRACE[0], trace), (_OBSERVATION[0], observation)]
    return "/".join(name(found, column) for column, found in ids if found is not None)


def _vote(row: TableRow, kind: str, value: Any, word: Any) -> Vote:
    cells = {"reason": cell(row, "comment"), "at": cell(row, "timestamp")}
    if kind == "CATEGORICAL":
        # The value is only the number of the category.
        cells["label"] = value if word is None else word
        value = None
    elif kind == "BOOLEAN":
        cells["pass"] = value if word is None else word
    return Vote(name(cell(row, "name"), "name"), value, "value", cells, words=True)


def _shape(layout: Layout) -> TableShape:
    return TableShape(
        _entry,
        unread_note(layout.columns, _READ),
        {"name": "langfuse", "format": "scores"},
    )


DIALECT = preset("langfuse", "a Langfuse export of scores", _fits, _shape)
