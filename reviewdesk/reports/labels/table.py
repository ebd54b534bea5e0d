"""Labels in the rows of a table: one label a row, or a column of answers for each person."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from reviewdesk.domain.safetext import show_line
from reviewdesk.reports.bytes.source import Source
from reviewdesk.reports.bytes.strict_json import Fail, ImportTally
from reviewdesk.reports.dialect import FirstLook
from reviewdesk.reports.mapping.values import decision
from reviewdesk.reports.tables.cells import blank, likely_number
from reviewdesk.reports.tables.rows import Layout, TableRow, layout_of

Row = dict[str, Any]

_NAMES = {
    "truth": ("truth", "label", "human_label", "human", "gold", "gold_label"),
    "id": (
        "id", "item", "item_id", "verdict", "case_id", "example_id", "question_id", "prompt_id",
        "sample_id", "trace_id", "traceid",
    ),
    "reviewer": ("reviewer", "annotator", "labelled_by", "labeled_by", "human_by", "author", "by"),
    "note": ("note", "comment", "reason", "explanation", "rationale"),
    "time": ("time", "at", "labelled_at", "labeled_at", "human_at", "created_at"),
    "tags": ("tags",),
}  # fmt: skip
"""The columns of each key of a label, the clearest first."""
_FLAGS = ("correct", "adjudicated", "tentative", "blind", "seen")
_NUMBERS = ("confidence", "weight", "pi")
_UNSURE = {"unsure", "can't tell", "cant tell", "cannot tell", "unclear", "not sure", "uncertain"}
_WORDS = {"1": "pass", "0": "fail", "✓": "pass", "✗": "fail", "good": "pass", "bad": "fail"}
_REASONS = re.compile(r"[._ ](?:reason|rationale|explanation|comment|note)\Z", re.IGNORECASE)


def truth_of(value: Any) -> Any:
    """Return ``pass``, ``fail`` or ``unsure`` for what states one; another value is unchanged."""
    if isinstance(value, int | float) and value in {0, 1}:
        return "pass" if value else "fail"
    if not isinstance(value, str):
        return value
    word = value.strip().lower()
    if word in _UNSURE:
        return "unsure"
    if likely_number(word) in {0, 1}:
        word = f"{likely_number(word):g}"
    found = _WORDS.get(word) or decision(word)
    return found if found in {"pass", "fail"} else value


def named(row: Mapping[str, Any]) -> Row:
    """Return a row with ``truth`` and ``time`` where it has ``label`` and ``at``."""
    made = dict(row)
    for key, other in (("truth", "label"), ("time", "at")):
        if key not in made and other in made:
            made[key] = made.pop(other)
    if "truth" in made:
        made["truth"] = truth_of(made["truth"])
    return made


def table_rows(source: Source, look: FirstLook, fail: Fail) -> Iterator[tuple[int, Row]]:
    """Yield the labels of a table, by the first look at it, with their lines.

    A row without an answer has no label.

    Raises:
        InputFileError: no column holds the ids or the answers, or the syntax is wrong.
    """
    layout = layout_of(look)
    if layout is None:
        hint = "Labels are read from CSV, TSV, JSON Lines, JSON and YAML."
        raise fail("", "is no table of labels: its first line names no columns", hint)
    keys = _keys(layout.columns)
    people = () if "truth" in keys or "correct" in keys else _people(layout.columns)
    if "truth" not in keys and "correct" not in keys and not people:
        shown = ", ".join(show_line(column, 40) for column in layout.columns[:12])
        hint = "Name the columns id and truth, or give each person a column such as ann.correct."
        raise fail("", f"has no column of labels; it has {shown}", hint)
    for row in _rows(layout, source, fail):
        line = int(row.place.split()[-1])
        if row.problem:
            raise fail(row.place, row.problem, "")
        told = {key: _written(row.cells[column]) for key, column in keys.items()}
        told = {key: value for key, value in told.items() if not blank(value)}
        if not people:
            if "truth" in told or "correct" in told:
                yield line, named(_converted(told))
            continue
        for person, answer, reasons in people:
            if blank(row.cells[answer]):
                continue
            notes = [row.cells[column] for column in reasons if not blank(row.cells[column])]
            note = {"note": notes[0]} if notes else {}
            yield line, named({**told, "truth": row.cells[answer], "reviewer": person, **note})


def _rows(layout: Layout, source: Source, fail: Fail) -> Iterator[TableRow]:
    with source.open_raw() if layout.is_binary else source.open() as stream:
        yield from layout.rows(stream, fail, ImportTally())


def _written(cell: Any) -> Any:
    """Return a cell of a workbook as CSV has it."""
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    return cell if cell is None else str(cell)


def _keys(columns: Sequence[str]) -> dict[str, str]:
    """Return the column of each key that a row of labels may have."""
    plain = {column.strip().lower().replace(" ", "_"): column for column in reversed(columns)}
    found = {
        key: plain[name]
        for key, names in _NAMES.items()
        if (name := next((name for name in names if name in plain), None))
    }
    more = ("run", "item_hash", "decision", "stratum", "selection", "confidence_source", "test")
    same = (*more, *_FLAGS, *_NUMBERS)
    return found | {name: plain[name] for name in same if name in plain}


def _people(columns: Sequence[str]) -> list[tuple[str, str, list[str]]]:
    """Return each person with the column of answers and those of reasons, the nearest first.

    Such a column is named ``ANN.correct``, and another ``ANN.correct.reason`` or ``ANN.comment``.
    """
    found = []
    for column in columns:
        person, dot, _ = column.partition(".")
        if not dot or _REASONS.search(column):
            continue
        mine = [other for other in columns if other.startswith(f"{person}.") and other != column]
        reasons = [other for other in mine if _REASONS.search(other)]
        if reasons and len(mine) == len(reasons):
            reasons.sort(key=lambda other: not other.startswith(f"{column}."))
            found.append((person, column, reasons))
    return found


def _converted(cells: Mapping[str, Any]) -> Row:
    """Return cells as JSON would have them: numbers, true and false, and a list of tags."""
    made = dict(cells)
    for key in _NUMBERS:
        if key in made and (found := likely_number(made[key])) is not None:
            made[key] = found
    for key in _FLAGS:
        if key in made:
            made[key] = {"true": True, "false": False}.get(str(made[key]).lower(), made[key])
    if "tags" in made:
        made["tags"] = [tag for tag in re.split(r"[\s,;]+", str(made["tags"])) if tag]
    return made
