"""Read LangSmith exports: feedback in rows, and experiments with a column per feedback key.

The feedback on a run forms one jury. Feedback that people gave in the app is a human label instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

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

Texts: TypeAlias = Mapping[str, tuple[str, ...]]
"""The columns of each text of an item, by role."""

_MARKS = {"feedback_source", "feedback_source.type", "session_id", "trace_id"}
_SOURCE = "feedback_source.type"
_USER = ("feedback_source.user_name", "feedback_source.user_id")
_READ = {"run_id", "key", "score", "value", "comment", "created_at", _SOURCE, *_USER}
_FEEDBACK = "feedback."
_TEXTS = {"input": "inputs.", "output": "outputs.", "reference": "reference."}
_WIDE_NOTE = "feedback that people gave cannot be told from the evaluators' in this export"


def _feedback_fits(columns: tuple[str, ...]) -> bool:
    named = set(columns)
    return {"run_id", "key"} <= named and bool(named & {"score", "value"} and named & _MARKS)


def _experiment_fits(columns: tuple[str, ...]) -> bool:
    texts = any(name.startswith(tuple(_TEXTS.values())) for name in columns)
    ids = {"example_id", "id"} & set(columns)
    return bool(ids and texts) and any(name.startswith(_FEEDBACK) for name in columns)


def _fits(columns: tuple[str, ...]) -> bool:
    return _feedback_fits(columns) or _experiment_fits(columns)


def _feedback(row: TableRow, _remarks: Remarks) -> TableEntry:
    """Read one feedback. A true or false score is a vote; a value that is text is a label."""
    item, key = name(cell(row, "run_id"), "run_id"), name(cell(row, "key"), "key")
    score, value = cell(row, "score"), cell(row, "value")
    comment, at = cell(row, "comment"), cell(row, "created_at")
    if str(cell(row, _SOURCE) or "").lower() == "app":
        return TableEntry(item, human=Human((value, score), cell(row, *_USER), at, comment))
    cells = {"reason": comment, "at": at}
    if isinstance(value, str | bool):
        cells["label"] = value
    elif score is None:
        score = value
    return TableEntry(item, votes=(Vote(key, score, "score", cells, words=True),))


def _experiment(row: TableRow, keys: tuple[str, ...], texts: Texts) -> TableEntry:
    run, example = cell(row, "id"), cell(row, "example_id")
    if run is None and example is None:
        raise CellError("", "names neither a run nor an example")
    votes = tuple(
        Vote(key.removeprefix(_FEEDBACK), found, key, words=True)
        for key in keys
        if (found := cell(row, key)) is not None
    )
    facts: dict[str, Any] = {
        role: _text(row, _TEXTS[role], columns) for role, columns in texts.items()
    }
    facts["failed"] = cell(row, "error")
    return TableEntry(
        name(example if run is None else run, "id"),
        name="" if example is None else name(example, "example_id"),
        facts=facts,
        votes=votes,
    )


def _text(row: TableRow, prefix: str, columns: tuple[str, ...]) -> Any:
    """Return the only cell under a prefix, or all cells by name, or None."""
    texts = {
        column.removeprefix(prefix): found
        for column in columns
        if (found := cell(row, column)) is not None
    }
    return next(iter(texts.values())) if len(texts) == 1 else texts or None


def _shape(layout: Layout) -> TableShape:
    columns = layout.columns
    if _feedback_fits(columns):
        producer = {"name": "langsmith", "format": "feedback"}
        return TableShape(_feedback, unread_note(columns, _READ), producer)
    keys = _with_prefix(_FEEDBACK, columns)
    texts = {role: _with_prefix(prefix, columns) for role, prefix in _TEXTS.items()}
    read = {"id", "example_id", "error", *keys}.union(*texts.values())
    return TableShape(
        lambda row, _remarks: _experiment(row, keys, texts),
        (_WIDE_NOTE, *unread_note(columns, read)),
        {"name": "langsmith", "format": "experiment"},
    )


def _with_prefix(prefix: str, columns: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(column for column in columns if column.startswith(prefix))


DIALECT = preset("langsmith", "a LangSmith export of feedback", _fits, _shape)
