"""Open tables: plain ones by what their columns are called, and those of tools by a map."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, BinaryIO

from msgspec import Struct, convert
from msgspec.structs import replace

from reviewdesk.domain.safetext import show_line
from reviewdesk.reports import maps
from reviewdesk.reports.bytes.source import Source
from reviewdesk.reports.bytes.strict_json import Fail, ImportTally, failing
from reviewdesk.reports.canonical.writer import FORMAT_NAME
from reviewdesk.reports.dialect import Dialect, FirstLook
from reviewdesk.reports.mapping.foreign import Remarks
from reviewdesk.reports.mcptest import ESCALATE
from reviewdesk.reports.options import ReadOptions
from reviewdesk.reports.report import Report, ReportVerdict
from reviewdesk.reports.tables.cells import (
    BALLOT,
    FACTS,
    REASONS,
    DecidingWords,
    blank,
    doubled,
    is_criterion,
    is_missing,
    likely_number,
    names_models,
    part_of_whole,
    roles_of,
    with_decimal_point,
)
from reviewdesk.reports.tables.entries import MapReader, TableMap
from reviewdesk.reports.tables.rows import Layout, TableRow, all_columns, layout_of
from reviewdesk.reports.tables.verdict import TableShape, TableSurvey, read_rows, verdicts

USES = frozenset({"models", "pass_labels", "fail_labels", "scale"})
"""The reading options that apply to every table."""

_MOST_LISTED = 20
_SAMPLE_ROWS = 20
_SCORE_MARKS = ("score", "rating", "grade", "verdict", "vote", "value", "label", "pass")
_ERROR_MARKS = ("error", "error_message")
_BETWEEN = ("_", " ", ".", ":", "-", "/")


def open_table(
    source: Source, layout: Layout, options: ReadOptions, made: TableMap, notes: Sequence[str] = ()
) -> Report:
    """Open the rows of a table as a report, by a map. A first pass finds every syntax error."""
    fail = failing(source)
    options = _with_words(options, made)
    reading = MapReader(
        made,
        layout.columns,
        comma=layout.delimiter in (";", "\t"),
        criteria=frozenset(options.criteria_columns),
        judges=frozenset(options.judge_columns),
    )
    if twice := doubled(layout.columns, reading.used):
        raise fail("", f'has the column "{show_line(twice, 60)}" twice', "Keep one of them.")
    survey = TableSurvey(scale_by_judge=bool(made.name))
    with source.open_raw() if layout.is_binary else source.open() as stream:
        rows = layout.rows(stream, fail, ImportTally(lenient=True))
        for _, key, entry in read_rows(rows, reading.entries, Remarks()):
            survey.add(key, entry)
    if not survey.rows:
        raise fail("", "is a table without rows that say anything of a jury", "Write it again.")
    shape = TableShape(reading.entries, repeats=bool(made.name))

    def items(stream: BinaryIO, tally: ImportTally) -> Iterator[ReportVerdict]:
        yield from verdicts(layout.rows(stream, fail, tally), survey, shape, options, tally)

    header: dict[str, Any] = {"schema": FORMAT_NAME}
    if made.name:
        header["producer"] = {"name": made.name, "format": made.what or made.name}
    unread = unread_note(layout.columns, reading.used)
    return Report(
        source,
        made.name or "table",
        header,
        items,
        total=len(survey.rows),
        skip_bad=options.skip_bad,
        notes=(*notes, *made.notes, *unread, *survey.panel_note()),
        lenient=True,
        raw=layout.is_binary,
    )


def _with_words(options: ReadOptions, made: TableMap) -> ReadOptions:
    """Return the options, with the words and the scale of a map where they say nothing."""
    given = {*options.pass_labels, *options.fail_labels}
    passes, fails = (
        tuple(word for word in made.words.get(key, ()) if word not in given)
        for key in ("pass", "fail")
    )
    scale = options.scale
    if scale is None and made.scale is not None and len(made.scale) == 2:
        scale = (made.scale[0], made.scale[1])
    return replace(
        options,
        pass_labels=(*options.pass_labels, *passes),
        fail_labels=(*options.fail_labels, *fails),
        scale=scale,
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

_OTHER_FILES = frozenset({"grader reason", "grader\u00a0reason"})


class Guess(Struct, frozen=True):
    """A map of a plain table; without ``sure`` a person must say what the columns are."""

    made: TableMap
    judges: tuple[str, ...] = ()
    """The columns that may hold the answers of judges, or to criteria."""
    sure: bool = True
    problem: str = ""
    hint: str = ""


def _sample(source: Source, layout: Layout, fail: Fail) -> list[TableRow]:
    with source.open_raw() if layout.is_binary else source.open() as stream:
        return list(islice(layout.rows(stream, fail, ImportTally(lenient=True)), _SAMPLE_ROWS))


def guess(
    layout: Layout, sample: Sequence[TableRow], options: ReadOptions, command: str = "FILE"
) -> Guess:
    """Return the map of a plain table, from the names of its columns and what a person said."""
    columns = tuple(dict.fromkeys(name for name in layout.columns if name))
    given = (*options.judge_columns, *options.criteria_columns)
    singles = tuple(filter(None, (options.item_column, options.output_column)))
    if missing := [one for one in (*given, *singles) if one not in columns]:
        problem = f'has no column "{show_line(missing[0], 60)}" (its columns: {listed(columns)})'
        return Guess(
            TableMap(), sure=False, problem=problem, hint="Name its columns as the file does."
        )
    roles = roles_of(one for one in columns if one not in (*given, *singles))
    if "human" in roles and not _holds_words(sample, roles["human"]):
        del roles["human"]
    paths = {role: roles[role] for role in (*FACTS, "rubric", "human", "human_by", "human_at")
             if role in roles}  # fmt: skip
    if options.output_column:
        paths["output"] = options.output_column
    item = options.item_column or roles.get("item") or ""
    if given and "judge" not in roles:
        return Guess(_wide(columns, roles, paths, item, options), given)
    if options.judge_columns:
        problem = f'has a column "{show_line(roles["judge"], 60)}" with a judge in each row'
        hint = f"Open it as it is: reviewdesk open {command}"
        return Guess(TableMap(), sure=False, problem=problem, hint=hint)
    if "judge" in roles or "dimension" in roles:
        if not item and "input" in roles:
            item = roles["input"]
        return _long(columns, roles, paths, item, options, sample)
    return _unsure(columns, roles, paths, item, options, sample, command)


def _long(
    columns: tuple[str, ...],
    roles: Mapping[str, str],
    paths: dict[str, Any],
    item: str,
    options: ReadOptions,
    sample: Sequence[TableRow],
) -> Guess:
    made = dict(paths)
    problem = hint = ""
    if not item:
        problem = f"has no column that names the items (its columns: {listed(columns)})"
        hint = "Say which it is: --item-column NAME"
    if not {"score", "pass", "label", "error"} & roles.keys() and not options.criteria_columns:
        problem = f"has no column with what the judges said (its columns: {listed(columns)})"
        hint = 'Add a column "score", or "pass".'
    made |= {"item": item, "judge": roles.get("judge", roles.get("dimension", ""))}
    made |= {_MAP_NAMES.get(role, role): roles[role] for role in BALLOT & roles.keys()}
    made.setdefault("score", roles.get("score", "score"))
    if names_models(made["judge"]):
        made["model"] = roles.get("judge", "")
    if "dimension" in roles:
        made["dimension"] = roles["dimension"]
    del sample
    if "decision" in made and made.get("pass") == made["decision"]:
        del made["decision"]
    return Guess(_map(made), sure=not problem, problem=problem, hint=hint)


_MAP_NAMES = {"repeat": "epoch"}


def _map(made: Mapping[str, Any]) -> TableMap:
    return convert(made, TableMap)


def _wide(
    columns: tuple[str, ...],
    roles: Mapping[str, str],
    paths: dict[str, Any],
    item: str,
    options: ReadOptions,
) -> TableMap:
    made = {**paths, "item": item}
    if "pass" in roles:
        # With a column for each judge, the row's single outcome is the panel's decision.
        made.setdefault("decision", roles["pass"])
    if "model" in roles:
        # With several judges in a row, the row's single model wrote the output.
        made.setdefault("generator", roles["model"])
    if "repeat" in roles:
        made["epoch"] = roles["repeat"]
    groups = [(options.judge_columns, {}), (options.criteria_columns, {"dimension": "=*"})]
    made["ballots"] = [
        {**_columns_rule(columns, named, options.reason_suffix), **more}
        for named, more in groups
        if named
    ]
    return _map(made)


def _columns_rule(
    columns: tuple[str, ...], named: Sequence[str], reason_suffix: str | None
) -> dict[str, Any]:
    """Return the rule of a wide table for columns, with those beside them that go with them."""
    mark = _shared_mark(named)
    stems = [one.removesuffix(mark) for one in named]
    words = [reason_suffix] if reason_suffix else []
    ends = [*words, *(f"{between}{word}" for between in _BETWEEN for word in REASONS)]
    ends += [f"{mark}{end}" for end in ends] if mark else []
    why = _beside(columns, stems, ends)
    failed = _beside(
        columns, stems, [f"{between}{word}" for between in _BETWEEN for word in _ERROR_MARKS]
    )
    rule: dict[str, Any] = {"columns": stems, "score": f"*{mark}"}
    if why:
        rule["reason"] = "|".join(f"*{end}" for end in why)
    if failed:
        rule["error"] = "|".join(f"*{end}" for end in failed)
    return rule


def _shared_mark(named: Sequence[str]) -> str:
    """Return the end, such as ``_score``, that all judges' columns have behind their names."""
    for between in _BETWEEN:
        for word in _SCORE_MARKS:
            mark = f"{between}{word}"
            if all(one.casefold().endswith(mark) and len(one) > len(mark) for one in named):
                end = named[0][-len(mark) :]
                return end if all(one.endswith(end) for one in named) else ""
    return ""


def _beside(columns: tuple[str, ...], stems: Sequence[str], ends: Sequence[str]) -> list[str]:
    """Return the ends with which some judge's name is a column, as the table spells them."""
    known = {column.casefold(): column for column in columns}
    found = {
        known[name.casefold()][len(stem) :]: None
        for end in ends
        for stem in stems
        if (name := f"{stem}{end}").casefold() in known
    }
    return list(found)


def _unsure(
    columns: tuple[str, ...],
    roles: Mapping[str, str],
    paths: dict[str, Any],
    item: str,
    options: ReadOptions,
    sample: Sequence[TableRow],
    command: str,
) -> Guess:
    """Return the guess at a table without a column of judges' names."""
    known = {column for role, column in roles.items() if role not in {"score", "label"}}
    rest = [one for one in columns if one not in (*known, item) and _answers(sample, one)]
    judges = [one for one in rest if "," not in one and not _SERIAL.search(one)]
    criteria = [one for one in judges if is_criterion(one.removesuffix(_shared_mark([one])))]
    sure = bool(judges) and (criteria == judges or all(map(_JUDGE.search, judges)))
    kind = "criteria_columns" if judges and criteria == judges else "judge_columns"
    chosen = replace(options, **{kind: tuple(judges)})
    made = _wide(columns, roles, paths, item, chosen)
    if sure:
        return Guess(made, tuple(judges))
    problem = f"has no column that names the judge (its columns: {listed(columns)})"
    hint = 'Add a column "judge", or name the columns that hold one judge\'s scores each'
    named = show_line(shlex.quote(",".join(judges)), 300) if judges else "NAME,NAME"
    if judges:
        hint = "Name the columns that hold one judge's scores each, or with --criteria-columns"
        hint += " those that ask different questions"
    hint += f": reviewdesk open {command} --judge-columns {named}"
    return Guess(made, tuple(judges), sure=False, problem=problem, hint=hint)


_JUDGE = re.compile(r"judge|juror|critic|grader|evaluator", re.IGNORECASE)
_SERIAL = re.compile(
    r"(?:^|[_ .-])(?:idx|index|no|nr|num|number|count|tokens?|cost|latency|duration|time|length"
    r"|seed|turns?|words|chars|year|version|temperature)$",
    re.IGNORECASE,
)
"""Columns of numbers that are no scores."""


def _answers(rows: Sequence[TableRow], column: str) -> bool:
    """Return True if a column holds numbers, votes or marks, as answers of judges do."""
    cells = [row.cells.get(column) for row in rows]
    filled = [with_decimal_point(cell) for cell in cells if not is_missing(cell)]
    words = DecidingWords(ReadOptions())
    return bool(filled) and all(
        likely_number(cell) is not None
        or part_of_whole(cell) is not None
        or words.vote(cell) is not None
        for cell in filled
    )


def _holds_words(rows: Sequence[TableRow], column: str) -> bool:
    """Return True if any cell of a column of labels decides, or if it is empty in the sample."""
    words = DecidingWords(ReadOptions())
    filled = [row.cells.get(column) for row in rows if not blank(row.cells.get(column))]
    strict = column.casefold().strip() in {"reviewer", "expert"}
    return not strict or not filled or any(map(words.human, filled))


def _open(source: Source, look: FirstLook, options: ReadOptions) -> Report:
    return _open_as(source, look, options, None)


def _open_as(source: Source, look: FirstLook, options: ReadOptions, tool: str | None) -> Report:
    """Open a table by the map that a person names, or that fits, or by its columns' names."""
    fail = failing(source)
    layout = layout_of(look)
    named = maps.read_map(options.map) if options.map else None
    if layout is not None and named and named.rows and layout.outline is not None:
        layout = replace(layout, key=named.rows, orient="")
    if layout is None:
        raise fail("", "is no table of rows with named cells", "")
    if tool is not None and not maps.fitting(layout.columns, tool):
        what = next(one["what"] for one in maps.packaged().values() if one["name"] == tool)
        raise fail("", f"has not the columns of {what}", "Leave out --format.")
    if layout.outline is not None:
        with source.open() as stream:
            layout = all_columns(layout, stream, fail)
    if named is not None:
        return open_table(source, layout, options, named)
    said = (*options.judge_columns, *options.criteria_columns)
    own = bool(said) and all(name in layout.columns for name in said)
    fits = [] if own or options.format == "table" else maps.fitting(layout.columns, tool)
    if len(fits) > 1:
        hint = f"Say which it is: --map {fits[0]}"
        raise fail("", f"has the columns of {' and of '.join(fits)}", hint)
    if fits:
        return open_table(source, layout, options, maps.packaged_map(fits[0]))
    command = shlex.quote(source.name)
    found = guess(layout, _sample(source, layout, fail), options, show_line(command, 200))
    if not found.sure:
        raise fail("", found.problem, found.hint)
    return open_table(source, layout, options, found.made)


def _fits(look: FirstLook) -> bool:
    layout = layout_of(look)
    if layout is None:
        return False
    if layout.is_binary or layout.orient:
        return True
    roles = roles_of(layout.columns)
    answer_roles = {"score", "pass", "label"} & roles.keys()
    if look.kind != "json":
        plain = {column.strip().casefold() for column in layout.columns}
        if plain & _OTHER_FILES or {"confidence", "correct"} <= plain:
            return False
        asked = {"item", "input"} & roles.keys() and len(layout.columns) > 1
        return bool(asked or ("judge" in roles and answer_roles))
    first = look.outline.first(layout.key) if layout.key else look.outline.keys
    needed = {roles[role] for role in ("item", "judge", *answer_roles) if role in roles}
    if {"item", "judge"} <= roles.keys() and answer_roles:
        return not any(isinstance(first.get(column), dict | list) for column in needed)
    texts = {roles[role] for role in FACTS & roles.keys()}
    scalar = all(
        not isinstance(value, dict | list) for key, value in first.items() if key not in texts
    )
    several = look.outline.goes_on or look.outline.kind == "array" or bool(layout.key)
    other = not _FOREIGN_COLUMNS.isdisjoint(layout.columns)
    if not several or not scalar or other or len(layout.columns) < 2:
        return False
    if roles.get("item") in _ITEMS or (roles.get("item") == "id" and answer_roles):
        return True
    rest = [value for key, value in first.items() if key not in roles.values()]
    return bool({"item", "input"} & roles.keys()) and any(
        isinstance(value, bool | int | float) for value in rest
    )


TABLE_OPTIONS = frozenset({
    "judge_columns", "criteria_columns", "item_column", "output_column", "reason_suffix", "map",
})  # fmt: skip


def _of_tool(tool: str, what: str) -> Dialect:
    def fits(look: FirstLook) -> bool:
        layout = layout_of(look)
        return layout is not None and bool(maps.fitting(layout.columns, tool))

    def open_export(source: Source, look: FirstLook, options: ReadOptions) -> Report:
        return _open_as(source, look, options, tool)

    return Dialect(tool, what, fits, open_export, USES | TABLE_OPTIONS, reads_tables=True)


TOOLS = tuple(
    _of_tool(tool, what)
    for tool, what in {one["name"]: one["what"] for one in maps.packaged().values()}.items()
)
"""The tools whose tables are read by a map of the package."""

DIALECT = Dialect(
    "table", "a table of ratings", _fits, _open, USES | TABLE_OPTIONS, reads_tables=True
)
