"""Read labels files: rows of confidence and correctness, or rows of a reviewer's labels.

A table has one label per row, or a column of answers for each person.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal, TypeAlias, TypeVar, get_type_hints

from msgspec import Struct
from pydantic import (
    ConfigDict,
    ValidationError,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    create_model,
    field_validator,
)

from reviewdesk.domain.gates.join import LabelRow
from reviewdesk.domain.records import Truth
from reviewdesk.domain.safetext import show_line, with_formula
from reviewdesk.errors import LabelsFileError, ReportError, SuiteError
from reviewdesk.reports.bytes.source import Source
from reviewdesk.reports.bytes.strict_json import Fail, ImportTally, failing
from reviewdesk.reports.bytes.window import decode_utf8
from reviewdesk.reports.canonical.rules import is_time
from reviewdesk.reports.options import ReadOptions
from reviewdesk.reports.report import FirstLook, read_objects
from reviewdesk.reports.tables.cells import DecidingWords, blank, likely_number
from reviewdesk.reports.tables.rows import layout_of
from reviewdesk.reports.validation import Amount, Strict, Unit, Wanted, validated
from reviewdesk.reports.wording import FieldError, must_be

Row: TypeAlias = dict[str, Any]

_FLAGS = ("correct", "adjudicated", "blind", "seen")
_NUMBERS = ("confidence", "weight", "pi")
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
    **{
        key: (key,)
        for key in (
            "run", "item_hash", "decision", "stratum", "selection", "confidence_source", "test",
            *_FLAGS, *_NUMBERS,
        )
    },
}  # fmt: skip
"""The columns of each key of a label, the clearest first."""
_UNSURE = {"unsure", "can't tell", "cant tell", "cannot tell", "unclear", "not sure", "uncertain"}
_USUAL = DecidingWords(ReadOptions(pass_labels=("good",), fail_labels=("bad",)))
"""The words of tables, and two that people write for a label."""
_REASONS = re.compile(r"[._ ](?:reason|rationale|explanation|comment|note)\Z", re.IGNORECASE)


def truth_of(value: Any) -> Any:
    """Return ``pass``, ``fail`` or ``unsure`` if the value states one, else the value unchanged."""
    if isinstance(value, int | float) and value in {0, 1}:
        return "pass" if value else "fail"
    if not isinstance(value, str):
        return value
    word = value.strip().lower()
    if word in _UNSURE:
        return "unsure"
    if likely_number(word) in {0, 1}:
        word = f"{likely_number(word):g}"
    vote = _USUAL.vote(word)
    return value if vote is None else "pass" if vote else "fail"


def named(row: Mapping[str, Any]) -> Row:
    """Return a row with ``label`` and ``at`` renamed to ``truth`` and ``time``."""
    made = dict(row)
    for key, other in (("truth", "label"), ("time", "at")):
        if key not in made and other in made:
            made[key] = made.pop(other)
    if "truth" in made:
        made["truth"] = truth_of(made["truth"])
    return made


def table_rows(source: Source, look: FirstLook, fail: Fail) -> Iterator[tuple[int, Row]]:
    """Yield the labels of a table with their lines; a row without an answer has no label.

    Raise InputFileError if no column holds the ids or the answers, or the syntax is wrong.
    """
    layout = layout_of(look)
    if layout is None:
        hint = "Labels are read from CSV, TSV, JSON Lines, JSON and YAML."
        raise fail("", "is not a table of labels: its first line names no columns", hint)
    columns = reversed(layout.columns)
    plain = {column.strip().lower().replace(" ", "_"): column for column in columns}
    keys = {
        key: plain[one] for key, names in _NAMES.items() for one in reversed(names) if one in plain
    }
    people = () if "truth" in keys or "correct" in keys else _people(layout.columns)
    if "truth" not in keys and "correct" not in keys and not people:
        shown = ", ".join(show_line(column, 40) for column in layout.columns[:12])
        hint = "Name the columns id and truth, or give each person a column such as ann.correct."
        raise fail("", f"has no column of labels; it has {shown}", hint)
    for row in layout.read(source, fail, ImportTally()):
        line = int(row.place.split()[-1])
        if row.problem:
            raise fail(row.place, row.problem, "")
        told = {
            # A cell of a workbook is read as it would be in CSV.
            key: str(int(cell))
            if isinstance(cell, float) and cell.is_integer()
            else with_formula(str(cell))
            for key, column in keys.items()
            if (cell := row.cells[column]) is not None
        }
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


def _people(columns: Sequence[str]) -> list[tuple[str, str, list[str]]]:
    """Return each person with the column of answers and the columns of reasons, nearest first.

    The columns are named ``ANN.correct``, and ``ANN.correct.reason`` or ``ANN.comment``.
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


_Model = TypeVar("_Model", bound=Strict)

_PAIR = ("confidence", "correct")

MAX_YAML = 1 << 19
"""512 KiB: some fourteen thousand rows, read in about four seconds."""

_HEAD = 1 << 16
_TABLES = (b"PK", b"PAR1", b"ARROW1")
_COMMENTS = re.compile(rb"(?:\s|#[^\n]*(?:\n|\Z))*")
_BLOCK = re.compile(rb"-(?:\s|\Z|--)|%")
_FLOW = re.compile(rb"\[\s*(?:#|\{\s*[^\s\"}])")
"""A list in brackets whose first row has a bare key, which is YAML and not JSON."""


class ScoreFile(Struct, frozen=True):
    """The rows of a file, and the stated mapping that their confidences came from, if any."""

    rows: tuple[LabelRow, ...]
    source: str | None
    unanswered: tuple[LabelRow, ...] = ()
    """The rows of drawn verdicts that nobody answered; they have no ``correct``."""


class _Checked(Strict):
    """A row, of whose keys each reader needs some; a wrong value of another is left out."""

    model_config = ConfigDict(extra="ignore")

    @field_validator("*", mode="wrap")
    @classmethod
    def _if_needed(
        cls, value: Any, check: ValidatorFunctionWrapHandler, about: ValidationInfo
    ) -> Any:
        try:
            return check(value)
        except ValidationError:
            if about.field_name in (about.context or ()):
                raise
            return None


_KINDS = get_type_hints(LabelRow) | {
    "confidence": Unit,
    "weight": Amount,
    "pi": Unit,
    "truth": Literal["pass", "fail", "unsure"] | None,
    "tags": Annotated[list[str], Wanted("a list of texts")] | None,
    "half": Literal["tuning"] | None,
}
_DECLARED = {name: (kind, None) for name, kind in _KINDS.items() if name != "line"}
_Row: type[_Checked] = create_model("_Row", __base__=_Checked, **_DECLARED)  # type: ignore[call-overload]
"""The keys of ``LabelRow``, as they are checked."""
_OF_JUDGES = frozenset({"confidence", "correct", "weight", "confidence_source"})
_OF_PEOPLE = frozenset({
    "truth", "id", "run", "item_hash", "note", "reviewer", "time", "tags", "adjudicated", "blind",
    "seen",
})  # fmt: skip
_KNOWN = {
    *_Row.model_fields,
    # A tentative label of an older export counts like any other.
    *("head", "origin", "question", "asked_at", "labelled_before", "tentative"),
}


def label_rows(
    source: Source, fail: Fail, needed: frozenset[str]
) -> Iterator[tuple[frozenset[str], LabelRow]]:
    """Yield the rows of a labels file with the keys that each has, checked if they are needed."""
    for line, row in label_file_rows(source, fail):
        # The rows of a long file are held as records, which are far smaller than models.
        stated = checked_row(_Row, row, line, fail, needed).model_dump()
        truth = Truth(stated["truth"]) if stated["truth"] else None
        tags = None if stated["tags"] is None else tuple(stated["tags"])
        yield frozenset(row), LabelRow(line=line, **stated | {"truth": truth, "tags": tags})


def read_scores(source: Source) -> ScoreFile:
    """Read the calibration rows of a file; full rows with an unsure label are left out.

    Raise LabelsFileError if a line is no calibration row, or rows name several confidence sources.
    """
    fail = failing(source, LabelsFileError)
    rows: list[LabelRow] = []
    lacking: list[LabelRow] = []
    sources: dict[str | None, int] = {}
    for keys, row in label_rows(source, fail, _OF_JUDGES):
        where = f"line {row.line}"
        if unknown := keys - _KNOWN:
            key = show_line(min(unknown), 60)
            raise fail(where, f'has the key "{key}", which labels files do not have', "")
        if row.correct is None and "correct" in keys and len(keys) > len(_PAIR):
            lacking.append(row)
            continue
        for key in _PAIR:
            if getattr(row, key) is None:
                hint = "Each row needs confidence and correct."
                raise fail(where, f'has no "{key}"', hint)
        rows.append(row)
        sources.setdefault(row.confidence_source, row.line)
        if len(named := [name for name in sources if name is not None]) > 1:
            problem = f'confidence_source is "{show_line(named[1], 40)}", but earlier rows say '
            problem += f'"{show_line(named[0], 40)}"'
            raise fail(where, problem, "Calibrate each source in a file of its own.")
    source_name = next(iter(sources)) if len(sources) == 1 else None
    return ScoreFile(tuple(rows), source_name, tuple(_unanswered(rows, lacking)))


def _unanswered(rows: Sequence[LabelRow], lacking: Sequence[LabelRow]) -> Iterator[LabelRow]:
    """Yield each verdict once whose content has labels that are neither all pass nor all fail."""
    known = {row.item_hash for row in rows}
    truths: dict[str | None, set[Truth | None]] = {}
    for row in lacking:
        truths.setdefault(row.item_hash, set()).add(row.truth)
    for row in {(one.item_hash, one.id): one for one in reversed(lacking)}.values():
        said = truths[row.item_hash]
        if row.item_hash not in known and (Truth.UNSURE in said or len(said) > 1):
            yield row


def read_labels(source: Source) -> list[LabelRow]:
    """Read the labels of a full export; LabelsFileError if a line is not a label of a verdict."""
    fail = failing(source, LabelsFileError)
    found = []
    needed = "Each row needs truth and id or item_hash."
    for keys, row in label_rows(source, fail, _OF_PEOPLE):
        where = f"line {row.line}"
        if row.truth is None and keys >= {*_PAIR}:
            hint = f"Read it with: reviewdesk calibrate {source.shown_name}"
            raise fail(where, "is a calibration row, which names no verdict", hint)
        if row.truth is None:
            raise fail(where, 'has no "truth"', needed)
        if not row.id and not row.item_hash:
            raise fail(where, "names no verdict: neither id nor item_hash", needed)
        if row.time is not None and not is_time(row.time):
            problem = f"time {must_be('a time such as 2025-01-31T12:00:00Z', row.time)}"
            raise fail(where, problem, "")
        found.append(row)
    return found


def label_file_rows(source: Source, fail: Fail) -> Iterator[tuple[int, Row]]:
    """Yield objects with their line, from JSON Lines, a JSON array, a YAML list or a table."""
    try:
        for line, row in _values(source, fail):
            if not isinstance(row, dict):
                raise fail(f"line {line}", must_be("an object", row), "")
            yield line, named(row)
    except ReportError as error:
        # The readers of bytes raise errors about reports; this is a labels file.
        raise LabelsFileError(error.file, error.where, error.problem, error.hint) from error


def _values(source: Source, fail: Fail) -> Iterator[tuple[int, Any]]:
    with source.open() as stream:
        head = stream.read(_HEAD)
    if head.startswith(_TABLES):
        from reviewdesk.reports.sniff import binary_table

        if look := binary_table(head, source, fail):
            yield from table_rows(source, look, fail)
            return
    if _is_yaml(head):
        yield from _yaml_values(source, fail)
        return
    if head.strip() and head.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] not in b"{[":
        text = head.decode("utf-8", "replace")
        if len(head) < _HEAD:
            text = decode_utf8(head, 0, fail, "line 1")
        yield from table_rows(source, FirstLook("text", text), fail)
        return
    yield from read_objects(source, fail, "Fix the line or remove it.")


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

    hint = "Write it as JSON Lines, which may be longer."
    form = Form("a labels file", MAX_YAML, hint, "Write [] for an empty list.")
    try:
        root = read_yaml(source, form)
    except SuiteError as error:
        place = f"line {error.line}" if error.line else ""
        raise fail(place, error.problem, error.hint) from error
    if not isinstance(root.value, tuple):
        raise fail(f"line {root.line}", must_be("a list of rows", root.plain()), "")
    yield from ((node.line, node.plain()) for node in root.value)


def checked_row(
    model: type[_Model], row: Row, line: int, fail: Fail, context: object = None
) -> _Model:
    """Return a row as its model; raise the error of ``fail`` at the first wrong value."""
    try:
        return validated(model, row, context)
    except FieldError as error:
        problem = f"{error.path[0]} {error.text}"
        raise fail(f"line {line}", problem, "") from None
