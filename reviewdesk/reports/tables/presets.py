"""Table exports of tools, recognised by their columns: Langfuse, LangSmith, Phoenix, Braintrust.

The scores, annotations or feedback on one item form one jury. What people gave is a human label
instead, and what programs gave is a check, where the export tells them apart.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from reviewdesk.domain.safetext import show_line
from reviewdesk.reports.bytes.source import Source
from reviewdesk.reports.bytes.strict_json import failing
from reviewdesk.reports.dialect import Dialect, FirstLook
from reviewdesk.reports.mapping.foreign import Remarks
from reviewdesk.reports.options import ReadOptions
from reviewdesk.reports.report import Report
from reviewdesk.reports.tables.cells import CellError, blank, doubled, mapping, name
from reviewdesk.reports.tables.rows import (
    Human,
    TableEntry,
    TableRow,
    TableShape,
    Vote,
    all_columns,
    cell,
    layout_of,
)
from reviewdesk.reports.tables.table import USES, open_table, unread_note

Columns = tuple[str, ...]


def _preset(
    tool: str,
    what: str,
    fits: Callable[[Columns], bool],
    shape: Callable[[Columns, bool], TableShape],
) -> Dialect:
    """Return a dialect; ``shape`` is given the columns, and whether the table is a CSV."""

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
        made = shape(layout.columns, layout.outline is None)
        return open_table(source, layout, options, tool, made)

    return Dialect(tool, what, fits_look, open_export, USES, reads_tables=True)


def _item(row: TableRow, what: str, *steps: Columns) -> str:
    """Return the ids in the columns of ``steps``, joined; CellError says what the row lacks."""
    found = [(columns[0], cell(row, *columns)) for columns in steps]
    ids = [name(one, column) for column, one in found if one is not None]
    if not ids:
        raise CellError("", f"names neither {what}")
    return "/".join(ids)


# Langfuse: scores of the table, of the API and of a bucket, one in each row.

_TRACE = ("traceId", "trace_id")
_OBSERVATION = ("observationId", "observation_id")
_SESSION = ("sessionId", "session_id", "datasetRunId", "dataset_run_id")
_KIND = ("dataType", "data_type")
_STRING = ("stringValue", "string_value")
_AUTHOR = ("authorUserName", "authorUserId", "author_user_id")
_TEST = ("traceName", "trace_name")
_TAGS = ("traceTags", "trace_tags")
_LANGFUSE_READ = {*_TRACE, *_OBSERVATION, *_SESSION, *_KIND, *_STRING, *_AUTHOR, *_TEST, *_TAGS}
_LANGFUSE_READ |= {"name", "value", "source", "comment", "timestamp"}


def _langfuse_fits(columns: Columns) -> bool:
    named = set(columns)
    ids = named & {*_TRACE, *_OBSERVATION}
    return bool(ids and named & set(_KIND)) and {"name", "value", "source"} <= named


def _langfuse_entry(row: TableRow, remarks: Remarks) -> TableEntry | None:
    kind = str(cell(row, *_KIND) or "").upper()
    if kind in {"TEXT", "CORRECTION"}:
        remarks.count(f"a row of the type {kind}, which is no score, is not read")
        return None
    traced = cell(row, *_TRACE) is not None or cell(row, *_OBSERVATION) is not None
    steps = (_TRACE, _OBSERVATION) if traced else (_SESSION,)
    item = _item(row, "a trace, an observation nor a session", *steps)
    facts = {"test": cell(row, *_TEST), "tags": cell(row, *_TAGS)}
    value = cell(row, "value")
    word = cell(row, *_STRING)
    comment = cell(row, "comment")
    at = cell(row, "timestamp")
    if str(cell(row, "source") or "").upper() == "ANNOTATION":
        words = (word,) if kind == "CATEGORICAL" else (word, value)
        return TableEntry(item, facts=facts, human=Human(words, cell(row, *_AUTHOR), at, comment))
    cells = {"reason": comment, "at": at}
    answer = value if word is None else word
    if kind == "CATEGORICAL":
        # The value is only the number of the category.
        cells["label"] = answer
        value = None
    elif kind == "BOOLEAN":
        cells["pass"] = answer
    vote = Vote(name(cell(row, "name"), "name"), value, "value", cells, words=True)
    return TableEntry(item, facts=facts, votes=(vote,))


def _langfuse_shape(columns: Columns, _is_csv: bool) -> TableShape:
    producer = {"name": "langfuse", "format": "scores"}
    return TableShape(_langfuse_entry, unread_note(columns, _LANGFUSE_READ), producer)


# LangSmith: feedback in rows, and experiments with a column for each feedback key.

_SOURCE = "feedback_source.type"
_USER = ("feedback_source.user_name", "feedback_source.user_id")
_FEEDBACK_MARKS = {"feedback_source", _SOURCE, "session_id", "trace_id"}
_FEEDBACK_READ = {"run_id", "key", "score", "value", "comment", "created_at", _SOURCE, *_USER}
_FEEDBACK = "feedback."
_TEXTS = {"input": "inputs.", "output": "outputs.", "reference": "reference."}


def _feedback_fits(columns: Columns) -> bool:
    named = set(columns)
    return {"run_id", "key"} <= named and bool(
        named & {"score", "value"} and named & _FEEDBACK_MARKS
    )


def _langsmith_fits(columns: Columns) -> bool:
    texts = any(column.startswith(tuple(_TEXTS.values())) for column in columns)
    ids = {"example_id", "id"} & set(columns)
    return _feedback_fits(columns) or (
        bool(ids and texts) and any(column.startswith(_FEEDBACK) for column in columns)
    )


def _feedback_entry(row: TableRow, _remarks: Remarks) -> TableEntry:
    """Read one feedback. A true or false score is a vote; a value that is text is a label."""
    item = name(cell(row, "run_id"), "run_id")
    key = name(cell(row, "key"), "key")
    score = cell(row, "score")
    value = cell(row, "value")
    comment = cell(row, "comment")
    at = cell(row, "created_at")
    if str(cell(row, _SOURCE) or "").lower() == "app":
        return TableEntry(item, human=Human((value, score), cell(row, *_USER), at, comment))
    cells = {"reason": comment, "at": at}
    if isinstance(value, str | bool):
        cells["label"] = value
    elif score is None:
        score = value
    return TableEntry(item, votes=(Vote(key, score, "score", cells, words=True),))


def _experiment_entry(
    keys: Columns, texts: dict[str, Columns], row: TableRow, _remarks: Remarks
) -> TableEntry:
    example = cell(row, "example_id")
    votes = tuple(
        Vote(key.removeprefix(_FEEDBACK), found, key, words=True)
        for key in keys
        if (found := cell(row, key)) is not None
    )
    facts: dict[str, Any] = {"failed": cell(row, "error")}
    for role, columns in texts.items():
        found = {column.removeprefix(_TEXTS[role]): cell(row, column) for column in columns}
        filled = {column: one for column, one in found.items() if one is not None}
        facts[role] = next(iter(filled.values())) if len(filled) == 1 else filled or None
    return TableEntry(
        _item(row, "a run nor an example", ("id", "example_id")),
        name="" if example is None else name(example, "example_id"),
        facts=facts,
        votes=votes,
    )


def _langsmith_shape(columns: Columns, _is_csv: bool) -> TableShape:
    if _feedback_fits(columns):
        producer = {"name": "langsmith", "format": "feedback"}
        return TableShape(_feedback_entry, unread_note(columns, _FEEDBACK_READ), producer)
    keys = _with_prefix(_FEEDBACK, columns)
    texts = {role: _with_prefix(prefix, columns) for role, prefix in _TEXTS.items()}
    read = {"id", "example_id", "error", *keys}.union(*texts.values())
    note = "feedback that people gave cannot be told from the evaluators' in this export"
    return TableShape(
        partial(_experiment_entry, keys, texts),
        (note, *unread_note(columns, read)),
        {"name": "langsmith", "format": "experiment"},
    )


def _with_prefix(prefix: str, columns: Columns) -> Columns:
    return tuple(column for column in columns if column.startswith(prefix))


# Phoenix: annotations of spans, and tables of evaluations.

_SPAN = ("span_id", "context.span_id")
_SPAN_TRACE = ("trace_id", "context.trace_id")
_POSITION = ("document_position", "position")
_NAME = ("annotation_name", "name")
_SCORE = ("result.score", "score")
_LABEL = ("result.label", "label")
_REASON = ("result.explanation", "explanation")
_PHOENIX_READ = {*_SPAN, *_SPAN_TRACE, *_POSITION, *_NAME, *_SCORE, *_LABEL, *_REASON}
_PHOENIX_READ |= {"annotator_kind", "identifier", "created_at"}


def _phoenix_fits(columns: Columns) -> bool:
    named = set(columns)
    answers = named & {"result", *_SCORE, *_LABEL}
    if "annotator_kind" in named:
        return bool(answers and named & {*_SPAN, *_SPAN_TRACE})
    return bool(answers and named & set(_SPAN)) and "explanation" in named


def _phoenix_entry(row: TableRow, remarks: Remarks) -> TableEntry | None:
    kind = str(cell(row, "annotator_kind") or "").upper()
    found = cell(row, *_NAME)
    score = cell(row, *_SCORE)
    label = cell(row, *_LABEL)
    reason = cell(row, *_REASON)
    if found == "note" and score is None and label is None:
        # Phoenix reserves this name for comments.
        remarks.count("a note on a span judges nothing and is not read")
        return None
    item = _item(row, "a span nor a trace", (*_SPAN, *_SPAN_TRACE))
    if (position := cell(row, *_POSITION)) is not None:
        item = f"{item}/{position}"
    at = cell(row, "created_at")
    if kind == "HUMAN":
        return TableEntry(item, human=Human((label, score), cell(row, "identifier"), at, reason))
    judge = "evaluation" if found is None else name(found, _NAME[0])
    column = next((column for column in _SCORE if column in row.cells), _SCORE[0])
    cells = {"reason": reason, "at": at, **({} if label is None else {"label": label})}
    vote = Vote(judge, score, column, cells, words=True, check=kind == "CODE")
    return TableEntry(item, votes=(vote,))


def _phoenix_shape(columns: Columns, _is_csv: bool) -> TableShape:
    unnamed = 'the evaluation has no name in this file and is called "evaluation"'
    notes = () if set(columns) & set(_NAME) else (unnamed,)
    producer = {"name": "phoenix", "format": "annotations"}
    return TableShape(_phoenix_entry, (*notes, *unread_note(columns, _PHOENIX_READ)), producer)


# Braintrust: one row per case, with its scores by the name of the scorer. The rows of the API are
# documented, but the column names of the app's CSV are not: a column ``scores`` with JSON and
# columns ``scores.NAME`` are both read, and a CSV is marked.

_SCORES = "scores."
_MARKS = {"experiment_id", "root_span_id", "span_id", "is_root", "_xact_id", "span_attributes"}
_BRAINTRUST_READ = {"id", "input", "output", "expected", "error", "tags", "scores"}
_BRAINTRUST_READ |= {"span_id", "root_span_id", "is_root"}


def _braintrust_fits(columns: Columns) -> bool:
    named = set(columns)
    if "scores" not in named and not any(column.startswith(_SCORES) for column in columns):
        return False
    return "input" in named and bool(
        named & _MARKS or {"output", "scores"} <= named or {"output", "expected"} <= named
    )


def _is_inner_span(row: TableRow) -> bool:
    """Return True if the row is a span inside a case. The case repeats the span's scores."""
    root = cell(row, "is_root")
    if root is not None:
        return str(root).strip().lower() == "false"
    span = cell(row, "span_id")
    above = cell(row, "root_span_id")
    return span is not None and above is not None and span != above


def _braintrust_entry(columns: Columns, row: TableRow, remarks: Remarks) -> TableEntry | None:
    if _is_inner_span(row):
        remarks.count("a span inside a case is not read; the case has its scores")
        return None
    scores = {column: row.cells.get(column) for column in columns}
    if "scores" in row.cells:
        held = mapping(row.cells.get("scores"), "scores")
        scores = {_SCORES + scorer: found for scorer, found in held.items()}
    votes = tuple(
        Vote(column.removeprefix(_SCORES) or column, found, column, words=True)
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


def _braintrust_shape(columns: Columns, is_csv: bool) -> TableShape:
    unverified = "shape not verified: the column names of this tool's CSV are not documented"
    note = "scores that people gave cannot be told from the scorers' in this export"
    scores = _with_prefix(_SCORES, columns)
    unread = unread_note(columns, {*_BRAINTRUST_READ, *scores})
    return TableShape(
        partial(_braintrust_entry, scores),
        (*((unverified,) if is_csv else ()), note, *unread),
        {"name": "braintrust", "format": "experiment"},
    )


DIALECTS = (
    _preset("langfuse", "a Langfuse export of scores", _langfuse_fits, _langfuse_shape),
    _preset("langsmith", "a LangSmith export of feedback", _langsmith_fits, _langsmith_shape),
    _preset("phoenix", "a Phoenix export of annotations", _phoenix_fits, _phoenix_shape),
    _preset(
        "braintrust", "a Braintrust export of an experiment", _braintrust_fits, _braintrust_shape
    ),
)
