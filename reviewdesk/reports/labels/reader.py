"""Read labels files: rows of confidence and correctness, or rows of a reviewer's labels."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from reviewdesk.domain.safetext import show_line
from reviewdesk.errors import InputFileError, LabelsFileError, ReportError, SuiteError
from reviewdesk.reports.bytes.source import Source
from reviewdesk.reports.bytes.strict_json import Fail, ImportTally, failing
from reviewdesk.reports.bytes.window import Window, read_lines
from reviewdesk.reports.canonical.rules import is_time
from reviewdesk.reports.wording import must_be

Row: TypeAlias = dict[str, Any]

_PAIR = frozenset({"confidence", "correct"})
_FULL = _PAIR | frozenset(
    [
        "id",
        "run",
        "item_hash",
        "decision",
        "truth",
        "stratum",
        "pi",
        "weight",
        "selection",
        "blind",
        "reviewer",
        "time",
        "note",
        "tags",
        "tentative",
        "confidence_source",
        "head",
    ]
)
_FACTS = ("run", "decision", "pi", "selection", "stratum")
_KEPT = ("pi", "weight", "selection", "stratum")
_TRUTHS = ("pass", "fail", "unsure")

MAX_YAML = 1 << 19
"""512 KiB: some fourteen thousand rows, read in about four seconds."""

_HEAD = 1 << 16
_COMMENTS = re.compile(rb"(?:\s|#[^\n]*(?:\n|\Z))*")
_BLOCK = re.compile(rb"-(?:\s|\Z|--)|%")
_FLOW = re.compile(rb"\[\s*(?:#|\{\s*[^\s\"}])")
"""A list in brackets whose first row has a bare key, which is YAML and not JSON."""


@dataclass(frozen=True, slots=True)
class ScoreRow:
    """One calibration row: the confidence of a judge and whether it was right."""

    line: int
    confidence: float
    correct: bool
    weight: float | None
    facts: Row = field(default_factory=dict)
    """Further facts of a full export, unchecked: the run, the decision and the draw."""


@dataclass(frozen=True, slots=True)
class ScoreFile:
    """The rows of a file and the mapping that their confidences came from, if it is stated."""

    rows: tuple[ScoreRow, ...]
    source: str | None


@dataclass(frozen=True, slots=True)
class LabelRow:
    """One label of a full export; ``kept`` holds sampling facts that are never used."""

    line: int
    id: str | None
    run: str | None
    item_hash: str | None
    truth: str
    tentative: bool
    note: str | None
    reviewer: str | None
    time: str | None
    tags: tuple[str, ...]
    blind: bool | None
    kept: dict[str, Any]


def read_scores(source: Source) -> ScoreFile:
    """Read the calibration rows of a file; full rows with an unsure label are left out.

    Raises:
        LabelsFileError: a line is not a calibration row, or rows name different confidence sources.
    """
    fail = failing(source, LabelsFileError)
    rows: list[ScoreRow] = []
    sources: dict[str | None, int] = {}
    for line, row in _rows(source, fail):
        if unknown := row.keys() - _FULL:
            key = show_line(min(unknown), 60)
            raise fail(f"line {line}", f'has the key "{key}", which labels files do not have', "")
        if row.get("correct", False) is None and len(row) > len(_PAIR):
            continue
        rows.append(_score_row(line, row, fail))
        stated = _text(row, "confidence_source", line, fail)
        sources.setdefault(stated, line)
        if len(named := [name for name in sources if name is not None]) > 1:
            problem = f'confidence_source is "{show_line(named[1], 40)}", but earlier rows say '
            problem += f'"{show_line(named[0], 40)}"'
            raise fail(f"line {line}", problem, "Calibrate each source in a file of its own.")
    return ScoreFile(tuple(rows), next(iter(sources)) if len(sources) == 1 else None)


def read_labels(source: Source) -> list[LabelRow]:
    """Read the labels of a full export; ``truth`` and ``id`` or ``item_hash`` are required.

    Raises:
        LabelsFileError: a line is not a label row.
    """
    fail = failing(source, LabelsFileError)
    return [_label_row(line, row, fail) for line, row in _rows(source, fail)]


def _rows(source: Source, fail: Fail) -> Iterator[tuple[int, Row]]:
    """Yield objects with their line, from JSON Lines, a JSON array or a YAML list."""
    try:
        for line, row in _values(source, fail):
            if not isinstance(row, dict):
                raise fail(f"line {line}", must_be("an object", row), "")
            yield line, row
    except ReportError as error:
        # The readers of bytes raise errors about reports; this is a labels file.
        raise LabelsFileError(error.file, error.where, error.problem, error.hint) from error


def _values(source: Source, fail: Fail) -> Iterator[tuple[int, Any]]:
    with source.open() as stream:
        head = stream.read(_HEAD)
    if _is_yaml(head):
        yield from _yaml_values(source, fail)
        return
    with source.open() as stream:
        if head.lstrip()[:1] != b"[":
            yield from read_lines(stream, fail, ImportTally())
            return
        window = Window(stream, fail, ImportTally())
        for index in window.elements():
            window.peek()
            line = window.line
            yield line, window.value(f"$[{index}]")
        if window.peek():
            raise fail(f"line {window.line}", "holds something behind the end of the list", "")


def _is_yaml(head: bytes) -> bool:
    """Return True if a file starts as a YAML list; JSON has no comments before a list."""
    found = _COMMENTS.match(head)
    start = found.end() if found else 0
    if _BLOCK.match(head, start) or _FLOW.match(head, start):
        return True
    commented = head.lstrip().startswith(b"#")
    return commented and head[start : start + 1] in {b"", b"["}


def _yaml_values(source: Source, fail: Fail) -> Iterator[tuple[int, Any]]:
    # Imported here, because most labels files are JSON Lines and need no YAML parser.
    from reviewdesk.reports.bytes.yaml_nodes import Form, read_yaml

    form = Form(
        "a labels file",
        MAX_YAML,
        "Write it as JSON Lines, which may be longer.",
        "Write [] for an empty list.",
    )
    try:
        root = read_yaml(source, form)
    except SuiteError as error:
        place = f"line {error.line}" if error.line else ""
        raise fail(place, error.problem, error.hint) from error
    if not isinstance(root.value, tuple):
        raise fail(f"line {root.line}", must_be("a list of rows", root.plain()), "")
    yield from ((node.line, node.plain()) for node in root.value)


def _score_row(line: int, row: Row, fail: Fail) -> ScoreRow:
    for key in ("confidence", "correct"):
        if key not in row:
            raise fail(f"line {line}", f'has no "{key}"', "Each row needs confidence and correct.")
    confidence, correct = row["confidence"], row["correct"]
    if not _is_number(confidence) or not 0 <= confidence <= 1:
        raise _value_error(line, "confidence", "a number from 0 to 1", confidence, fail)
    if not isinstance(correct, bool):
        raise _value_error(line, "correct", "true or false", correct, fail)
    weight = row.get("weight")
    if weight is not None and (not _is_number(weight) or weight < 0):
        raise _value_error(line, "weight", "a number, 0 or more", weight, fail)
    heavy = None if weight is None else float(weight)
    facts = {key: row[key] for key in _FACTS if key in row}
    return ScoreRow(line, float(confidence), correct, heavy, facts)


def _label_row(line: int, row: Row, fail: Fail) -> LabelRow:
    if "truth" not in row:
        if row.keys() >= _PAIR:
            name = fail("", "", "").file
            hint = f"Read it with: reviewdesk calibrate {name}"
            raise fail(f"line {line}", "is a calibration row, which names no verdict", hint)
        raise fail(f"line {line}", 'has no "truth"', "Each row needs truth and id or item_hash.")
    if row["truth"] not in _TRUTHS:
        raise _value_error(line, "truth", '"pass", "fail" or "unsure"', row["truth"], fail)
    texts = {
        key: _text(row, key, line, fail)
        for key in ("id", "run", "item_hash", "note", "reviewer", "time")
    }
    if not texts["id"] and not texts["item_hash"]:
        problem = "names no verdict: neither id nor item_hash"
        raise fail(f"line {line}", problem, "Each row needs truth and id or item_hash.")
    if texts["time"] is not None and not is_time(texts["time"]):
        raise _value_error(line, "time", "a time such as 2025-01-31T12:00:00Z", texts["time"], fail)
    return LabelRow(
        line=line,
        truth=row["truth"],
        tentative=bool(_flag(row, "tentative", line, fail)),
        tags=_tags(row, line, fail),
        blind=_flag(row, "blind", line, fail),
        kept={key: row[key] for key in _KEPT if key in row},
        **texts,
    )


def _text(row: Row, key: str, line: int, fail: Fail) -> str | None:
    value = row.get(key)
    if value is not None and not isinstance(value, str):
        raise _value_error(line, key, "a text", value, fail)
    return value


def _flag(row: Row, key: str, line: int, fail: Fail) -> bool | None:
    value = row.get(key)
    if value is not None and not isinstance(value, bool):
        raise _value_error(line, key, "true or false", value, fail)
    return value


def _tags(row: Row, line: int, fail: Fail) -> tuple[str, ...]:
    tags = row.get("tags")
    if tags is None:
        return ()
    if not isinstance(tags, list) or not all(isinstance(tag, str) for tag in tags):
        raise _value_error(line, "tags", "a list of texts", tags, fail)
    return tuple(tags)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _value_error(line: int, key: str, expected: str, value: Any, fail: Fail) -> InputFileError:
    return fail(f"line {line}", f"{key} {must_be(expected, value)}", "")
