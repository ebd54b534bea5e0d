"""Open tables: one ballot per row, or one item per row with a column for each judge."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, BinaryIO

from reviewdesk.domain.safetext import show_line
from reviewdesk.errors import InputFileError
from reviewdesk.reports.bytes.source import Source
from reviewdesk.reports.bytes.strict_json import Fail, ImportTally, failing
from reviewdesk.reports.canonical.writer import FORMAT_NAME
from reviewdesk.reports.dialect import Dialect, FirstLook
from reviewdesk.reports.mapping import values
from reviewdesk.reports.mapping.ballots import unread_keys
from reviewdesk.reports.mapping.foreign import Remarks
from reviewdesk.reports.mcptest import ESCALATE
from reviewdesk.reports.options import ReadOptions
from reviewdesk.reports.report import Report, ReportVerdict
from reviewdesk.reports.tables.cells import (
    BALLOT,
    FACTS,
    ITEM,
    blank,
    doubled,
    likely_number,
    name,
    names_models,
    roles_of,
)
from reviewdesk.reports.tables.rows import (
    Human,
    Layout,
    TableEntry,
    TableRow,
    TableShape,
    Vote,
    all_columns,
    layout_of,
)
from reviewdesk.reports.tables.verdict import TableSurvey, read_rows, verdicts

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


_ITEMS = frozenset({"item", "item_id", "example_id", "question_id", "case_id", "sample_id"})
"""Item columns that make JSON rows a table without a judge column.

The name ``id`` does so too, together with a score, a vote or a label.
"""

_FOREIGN_COLUMNS = frozenset({"truth", "correct", ESCALATE})
"""Columns of other formats: of labels files, which another command reads, and of juries."""

_SAMPLE_ROWS = 20
_REASONS = ("reason", "reasoning", "rationale", "explanation", "comment")


def _open(source: Source, look: FirstLook, options: ReadOptions) -> Report:
    fail = failing(source)
    layout = layout_of(look)
    if layout is None:
        raise fail("", "is no table of rows with named cells", "")
    with source.open() as stream:
        layout = all_columns(layout, stream, fail)
    judges = options.judge_columns
    if missing := [judge for judge in judges if judge not in layout.columns]:
        problem = (
            f'has no column "{show_line(missing[0], 60)}" (its columns: {listed(layout.columns)})'
        )
        raise fail("", problem, "Name its columns in --judge-columns as the file does.")
    roles = roles_of(column for column in layout.columns if column not in judges)
    if "item" not in roles:
        problem = f"has no column that names the items (its columns: {listed(layout.columns)})"
        raise fail("", problem, 'Add a column "item".')
    if judges and "judge" in roles:
        problem = f'has a column "{show_line(roles["judge"], 60)}" with a judge in each row'
        raise fail("", problem, "Leave out --judge-columns.")
    if not judges and "judge" not in roles:
        raise _no_judge_error(source, layout, roles, fail)
    if not judges and not {"score", "pass", "label", "error"} & roles.keys():
        problem = f"has no column with what the judges said (its columns: {listed(layout.columns)})"
        raise fail("", problem, 'Add a column "score", or "pass".')
    shape = _wide(layout.columns, roles, judges) if judges else _long(layout.columns, roles)
    if twice := doubled(layout.columns, {*roles.values(), *judges}):
        raise fail("", f'has the column "{show_line(twice, 60)}" twice', "Keep one of them.")
    return open_table(source, layout, options, "table", shape)


def _long(columns: tuple[str, ...], roles: Mapping[str, str]) -> TableShape:
    score = roles.get("score", "score")
    used = {*roles.values(), score} - {roles.get("reason")}
    answers = [score, *(roles[role] for role in ("pass", "label") if role in roles)]
    of_ballot = {role: column for role, column in roles.items() if role in BALLOT}
    if names_models(roles["judge"]):
        of_ballot["model"] = roles["judge"]

    def entry(row: TableRow, _remarks: Remarks) -> TableEntry:
        cells = row.cells
        human = _human(cells, roles)
        held = {role: cells[column] for role, column in of_ballot.items() if column in cells}
        answer_cells = (cells.get(score), held.get("pass"), held.get("label"), held.get("error"))
        votes: tuple[Vote, ...] = ()
        # A row with only a person's label names no judge.
        if (
            human is None
            or not blank(cells.get(roles["judge"]))
            or not all(map(blank, answer_cells))
        ):
            judge = name(cells.get(roles["judge"]), roles["judge"])
            unread = unread_keys(cells, answers, used) if all(map(blank, answer_cells)) else ()
            votes = (Vote(judge, cells.get(score), score, held, unread=tuple(unread)),)
        return _entry(cells, roles, votes, human)

    return TableShape(entry, unread_note(columns, {*roles.values(), score}))


def _wide(
    columns: tuple[str, ...], roles: Mapping[str, str], judges: tuple[str, ...]
) -> TableShape:
    reasons = {judge: _reason_column(judge, columns) for judge in judges}
    of_item = {role: column for role, column in roles.items() if role in ITEM}
    if "pass" in roles:
        # With a column for each judge, the row's single outcome is the panel's decision.
        of_item.setdefault("decision", roles["pass"])
    if "model" in roles:
        # With several judges in a row, the row's single model wrote the output.
        of_item.setdefault("generator", roles["model"])

    def entry(row: TableRow, _remarks: Remarks) -> TableEntry:
        cells = row.cells
        votes = tuple(
            Vote(
                judge,
                cells.get(judge),
                judge,
                {
                    "reason": _role_cell(cells, reasons, judge),
                    "repeat": _role_cell(cells, roles, "repeat"),
                },
            )
            for judge in judges
        )
        return _entry(cells, of_item, votes, _human(cells, roles))

    return TableShape(entry, unread_note(columns, {*of_item.values(), *judges, *reasons.values()}))


def _entry(
    cells: Mapping[str, Any], roles: Mapping[str, str], votes: tuple[Vote, ...], human: Human | None
) -> TableEntry:
    rubric = _role_cell(cells, roles, "rubric")
    return TableEntry(
        name(cells.get(roles["item"]), roles["item"]),
        "" if blank(rubric) else (values.text(rubric) or "").strip(),
        facts={role: cells.get(column) for role, column in roles.items() if role in FACTS},
        votes=votes,
        human=human,
    )


def _human(cells: Mapping[str, Any], roles: Mapping[str, str]) -> Human | None:
    word = _role_cell(cells, roles, "human")
    if blank(word):
        return None
    return Human(
        (word,), _role_cell(cells, roles, "human_by"), _role_cell(cells, roles, "human_at")
    )


def _role_cell(cells: Mapping[str, Any], columns: Mapping[str, str], role: str) -> Any:
    """Return the cell of a role, or None if the table has no named column for it."""
    column = columns.get(role)
    return cells.get(column) if column else None


def _reason_column(judge: str, columns: tuple[str, ...]) -> str:
    """Return the column of a judge's reasons, found by its name; empty if there is none."""
    wanted = {f"{judge}{mark}{word}".casefold() for mark in "_ .:" for word in _REASONS}
    return next((column for column in columns if column.casefold() in wanted), "")


def _no_judge_error(
    source: Source, layout: Layout, roles: Mapping[str, str], fail: Fail
) -> InputFileError:
    known = {column for role, column in roles.items() if role != "score"}
    rest = [name for name in dict.fromkeys(layout.columns) if name and name not in known]
    with source.open() as stream:
        sample = list(islice(layout.rows(stream, fail, ImportTally(lenient=True)), _SAMPLE_ROWS))
    judges = [name for name in rest if "," not in name and _holds_numbers(sample, name)]
    problem = f"has no column that names the judge (its columns: {listed(layout.columns)})"
    hint = 'Add a column "judge", or name the columns that hold one judge\'s scores each'
    named = show_line(shlex.quote(",".join(judges)), 300) if judges else "NAME,NAME"
    return fail("", problem, f"{hint}: --judge-columns {named}")


def _holds_numbers(rows: list[TableRow], column: str) -> bool:
    filled = [row.cells.get(column) for row in rows if not blank(row.cells.get(column))]
    return bool(filled) and all(likely_number(value) is not None for value in filled)


def _fits(look: FirstLook) -> bool:
    layout = layout_of(look)
    if layout is None:
        return False
    roles = roles_of(layout.columns)
    answer_roles = {"score", "pass", "label"} & roles.keys()
    if look.kind == "text":
        return "item" in roles or bool("judge" in roles and answer_roles)
    first = look.outline.first(layout.key) if layout.key else look.outline.keys
    texts = {roles[role] for role in FACTS & roles.keys()}
    scalar = all(
        not isinstance(value, dict | list) for key, value in first.items() if key not in texts
    )
    if {"item", "judge"} <= roles.keys() and answer_roles:
        return scalar
    several = look.outline.goes_on or look.outline.kind == "array"
    rows = roles.get("item") in _ITEMS or (roles.get("item") == "id" and bool(answer_roles))
    other = not _FOREIGN_COLUMNS.isdisjoint(layout.columns)
    return several and scalar and rows and not other and len(layout.columns) > 1


DIALECT = Dialect(
    "table", "a table of ratings", _fits, _open, USES | {"judge_columns"}, reads_tables=True
)
