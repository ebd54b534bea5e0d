"""Make a map of a plain table from the names of its columns and what a person says of them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct, convert
from msgspec.structs import replace

from reviewdesk.domain.safetext import show_line
from reviewdesk.reports.options import ReadOptions
from reviewdesk.reports.tables.cells import (
    BALLOT,
    FACTS,
    REASONS,
    DecidingWords,
    blank,
    is_criterion,
    is_missing,
    likely_number,
    names_models,
    parsed,
    part_of_whole,
    roles_of,
    with_decimal_point,
)
from reviewdesk.reports.tables.rows import Layout, TableRow
from reviewdesk.reports.tables.table_map import TableMap

_MOST_LISTED = 20
_SCORE_MARKS = ("score", "rating", "grade", "verdict", "vote", "value", "label", "pass")
_ERROR_MARKS = ("error", "error_message")
_BETWEEN = ("_", " ", ".", ":", "-", "/")


def listed(columns: Sequence[str]) -> str:
    """Return the names of columns, shortened to fit a line."""
    shown = ", ".join(show_line(column, 60) for column in columns[:_MOST_LISTED])
    more = f" and {len(columns) - _MOST_LISTED} more" if len(columns) > _MOST_LISTED else ""
    return f"{shown}{more}"


class Guess(Struct, frozen=True):
    """A map of a plain table; without ``sure`` a person must say what the columns are."""

    made: TableMap
    judges: tuple[str, ...] = ()
    """The columns that may hold the answers of judges, or to criteria."""
    sure: bool = True
    problem: str = ""
    hint: str = ""


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
        return _long(columns, roles, paths, item, options)
    if inner := _inner(sample):
        problem = f"has the answers of judges inside {show_line(inner['each'], 60)}"
        hint = f"See how they would be read: reviewdesk map {command}"
        made = _map({**paths, "item": item, **inner})
        return Guess(made, (inner["each"],), sure=False, problem=problem, hint=hint)
    return _unsure(columns, roles, paths, item, options, sample, command)


def _inner(sample: Sequence[TableRow]) -> dict[str, str] | None:
    """Return the rule for the first list or object in the rows that holds answers, or None."""
    for column, cell in sample[0].cells.items() if sample else ():
        held = parsed(cell)
        named = isinstance(held, dict)
        elements = [*held.values()] if isinstance(held, dict) else held
        if not isinstance(elements, list) or not elements:
            continue
        rule = {"each": column, **({"judge": "@key"} if named else {})}
        if named and all(map(_is_answer, elements)):
            return {**rule, "score": "@value"}
        if not all(isinstance(one, dict) for one in elements):
            continue
        roles = roles_of(key for one in elements for key in one)
        called = [roles[role] for role in ("judge", "model", "generator") if role in roles]
        judge = next((key for key in (*called[:1], "name", *called) if key in elements[0]), "")
        answers = {"score", "pass", "label"} & roles.keys()
        if answers and (named or judge):
            rule.setdefault("judge", judge)
            kept = {role: roles[role] for role in (*answers, "reason", "error") if role in roles}
            return rule | kept
    return None


def _long(
    columns: tuple[str, ...],
    roles: Mapping[str, str],
    paths: dict[str, Any],
    item: str,
    options: ReadOptions,
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
    if people := _people(columns):
        problem = f"is a table of the labels of people ({show_line(', '.join(people), 60)})"
        hint = f"Read it with: reviewdesk labels import {command}"
        return Guess(made, sure=False, problem=problem, hint=hint)
    if sure:
        return Guess(made, tuple(judges))
    if not judges and "human" in roles:
        hint = f"Read it with: reviewdesk labels import {command}"
        return Guess(made, sure=False, problem="is a labels file, not a report", hint=hint)
    problem = f"has no column that names the judge (its columns: {listed(columns)})"
    hint = 'Add a column "judge", or name the columns that hold one judge\'s scores each'
    named = show_line(shlex.quote(",".join(judges)), 300) if judges else "NAME,NAME"
    if judges:
        hint = "Name the columns that hold one judge's scores each, or with --criteria-columns"
        hint += " those that ask different questions"
    hint += f": reviewdesk open {command} --judge-columns {named}"
    return Guess(made, tuple(judges), sure=False, problem=problem, hint=hint)


def _people(columns: Sequence[str]) -> list[str]:
    """Return the reviewers of a queue's export, who have a column of comments each."""
    found = [one.removesuffix(_COMMENT) for one in columns if one.endswith(_COMMENT)]
    return [one for one in found if any(column.startswith(f"{one}.") for column in columns)]


_COMMENT = ".comment"
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
    return bool(filled) and all(map(_is_answer, filled))


def _is_answer(cell: Any) -> bool:
    return (
        likely_number(cell) is not None
        or part_of_whole(cell) is not None
        or DecidingWords(ReadOptions()).vote(cell) is not None
    )


def _holds_words(rows: Sequence[TableRow], column: str) -> bool:
    """Return True if any cell of a column of labels decides, or if it is empty in the sample."""
    words = DecidingWords(ReadOptions())
    filled = [row.cells.get(column) for row in rows if not blank(row.cells.get(column))]
    strict = column.casefold().strip() in {"reviewer", "expert"}
    return not strict or not filled or any(map(words.human, filled))
