"""Errors for files this version does not open: what the file is, if known, and what to do."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Collection
from typing import Any

from reviewdesk.domain.safetext import show_line
from reviewdesk.errors import InputFileError
from reviewdesk.reports.bytes.outline import Outline
from reviewdesk.reports.bytes.strict_json import Fail

SCHEMA_HINT = 'Add the line "schema": "reviewdesk.report/1" to the outermost object.'
_CONVERT = "Convert it to reviewdesk.report/1 and open that."

_PROMPTFOO = "Export it again as JSON: promptfoo export eval EVAL_ID -o results.json."
_PROMPTFOO_COLUMN = "grader reason"
_PROMPTFOO_PAGE = re.compile(r'<promptfoo>|<testsuites [^>]*name="promptfoo"|>Promptfoo<')

_ROOT = re.compile(r"<([A-Za-z_][\w:.-]*)")
_MARKUP = {
    "html": "is an HTML page",
    "testsuites": "is a JUnit XML report, which has no ballots",
    "testsuite": "is a JUnit XML report, which has no ballots",
    "promptfoo": "is a promptfoo result in XML, whose lists and numbers cannot be told apart",
}
_MOST_KEYS = 12


def _has(*keys: str) -> Callable[[Outline], bool]:
    return lambda outline: all(key in outline.keys for key in keys)


_TOOLS: tuple[tuple[str, Callable[[Outline], bool], str], ...] = (
    ("a SARIF log", _has("runs", "$schema"), ""),
    (
        "a samples file of lm-eval",
        lambda outline: "doc_id" in outline.keys and "filtered_resps" in outline.keys,
        "{item: .doc_id, judge: .metrics[0], score: .[.metrics[0]]}",
    ),
    (
        "a log of OpenAI evals",
        lambda outline: {"completion_fns", "eval_name"} <= outline.first("spec").keys(),
        'select(.type == "match") | {item: .sample_id, judge: .type, pass: .data.correct}',
    ),
)
"""Other tools' files: name, test of the outline, and the jq program for a table of ratings."""


def _are_of_case(keys: Collection[str]) -> bool:
    # Imported here because models take long to build.
    from reviewdesk.reports.panels.cases_file import KEYS

    return set(keys) <= KEYS


def other_tool(outline: Outline, fail: Fail) -> InputFileError | None:
    """Return the error for a file of another tool or another command, or None if it is neither."""
    keys = outline.keys
    if "confidence" in keys and "correct" in keys:
        hint = f"Read it with: reviewdesk calibrate {_command_name(fail)}"
        return fail("", "is a calibration labels file, not a report", hint)
    if "truth" in keys and ("id" in keys or "item_hash" in keys):
        hint = f"Read it with: reviewdesk labels import {_command_name(fail)}"
        return fail("", "is a labels file, not a report", hint)
    if {"id", "output"} <= keys.keys() and _are_of_case(keys.keys()):
        hint = f"Ask a panel: reviewdesk judge {_command_name(fail)} --panel PANEL -o REPORT"
        return fail("", "is a file of cases that nobody has judged yet", hint)
    for name, fits, program in _TOOLS:
        if fits(outline):
            jq_hint = f"Make a table: jq -c '{program}' {_command_name(fail)} > ratings.jsonl"
            what = f"is {name}, which is not opened by this version"
            return fail("", what, jq_hint if program else _CONVERT)
    seats = keys.get("jurors")
    if outline.kind == "object" and isinstance(seats, list) and _are_asked(seats):
        return own_file(["jurors"], fail)
    if "case" in keys and "jurors" in keys:
        first = '{"schema": "reviewdesk.report/1"}'
        what = "has verdicts with jurors, but no report around them"
        return fail("", what, f"As JSON Lines, add this first line: {first}.")
    return None


_COMMENTS = re.compile(r"^(?:#.*|---)?\n", re.MULTILINE)
_TOP_KEY = re.compile(r"^(?:- |\[\[?)?([A-Za-z_]+)(?:\]|\s*[:=])", re.MULTILINE)
_OWN_FILES = (
    ({"jurors"}, "is a panel file", "Ask it: reviewdesk judge CASES --panel {file} -o REPORT"),
    ({"jury", "calibration"}, "is a suite of gates", "Run it: reviewdesk gate {file}"),
    ({"columns", "each", "ballots", "judge"}, "is a map of tables",
     "Open a table by it: reviewdesk open TABLE --map {file}"),
    ({"truth"}, "is a labels file",
     "Read it with: reviewdesk labels import {file}"),
)  # fmt: skip
"""Files of ours by one of their outermost keys: what they are, and what takes them."""


def own_file(keys: Collection[str], fail: Fail) -> InputFileError | None:
    """Return the error for a file that another command takes, by its outermost keys, or None."""
    for marks, what, use in _OWN_FILES:
        if not marks.isdisjoint(keys):
            hint = use.format(file=shlex.quote(_command_name(fail)))
            return fail("", f"{what}, not a report", hint)
    return None


def _are_asked(seats: list[Any]) -> bool:
    """Return True if the jurors of a panel have models to ask, and have not answered."""
    known = {"model", "provider", "prompt", "name", "id", "weight", "temperature", "base_url"}
    return bool(seats) and all(
        isinstance(one, str) or (isinstance(one, dict) and "model" in one and one.keys() <= known)
        for one in seats
    )


def without_schema(outline: Outline, fail: Fail) -> InputFileError | None:
    """Return the error for a canonical report without ``schema``, or None for any other file."""
    if outline.kind == "object" and isinstance(outline.first("verdicts").get("jurors"), list):
        return fail("$.schema", "is missing, though the file has verdicts with jurors", SCHEMA_HINT)
    return None


def no_jury(outline: Outline, fail: Fail) -> InputFileError:
    """Return the error for JSON without a jury; it lists the keys that are there."""
    # Imported here because only a file that is refused needs them.
    from reviewdesk.reports.dialect import FirstLook
    from reviewdesk.reports.options import ReadOptions
    from reviewdesk.reports.tables.guess import guess
    from reviewdesk.reports.tables.map_file import unclear_table
    from reviewdesk.reports.tables.rows import TableRow, layout_of

    layout = layout_of(FirstLook("json", outline=outline))
    if layout is not None and (layout.key or outline.goes_on or outline.kind == "array"):
        first = outline.first(layout.key) if layout.key else outline.keys
        sample = [TableRow("", first)]
        found = guess(layout, sample, ReadOptions(), shlex.quote(_command_name(fail)))
        if found.judges:
            return unclear_table(fail, layout.columns, found)
    names = [f'"{show_line(key, 40)}"' for key in outline.keys]
    more = f" and {len(names) - _MOST_KEYS} more" if len(names) > _MOST_KEYS else ""
    listed = f" (its keys: {', '.join(names[:_MOST_KEYS])}{more})" if names else ""
    where = "list" if outline.kind == "array" else "object"
    return fail(
        "", f"is JSON, but no report this version knows: no jury in the {where}{listed}", _CONVERT
    )


def archive(fail: Fail) -> InputFileError:
    """Return the error for a zip archive that is not opened as an Inspect log."""
    return fail("", "is a zip archive", "Only an Inspect .eval log is opened as one.")


def not_json(text: str, fail: Fail) -> InputFileError:
    """Return the error for a text that is not JSON; it names the kind of markup or table."""
    from reviewdesk.reports.dialect import FirstLook
    from reviewdesk.reports.tables.guess import Guess
    from reviewdesk.reports.tables.map_file import unclear_table
    from reviewdesk.reports.tables.rows import layout_of
    from reviewdesk.reports.tables.table_map import TableMap

    text = text.lstrip(" \t\r\n")
    if text.startswith("<"):
        root = _ROOT.search(text.replace("<!DOCTYPE ", "<").replace("<!doctype ", "<"))
        name = root[1] if root else ""
        what = _MARKUP.get(name.lower(), f"is XML with the root element <{show_line(name, 40)}>")
        hint = _PROMPTFOO if _PROMPTFOO_PAGE.search(text) else _CONVERT
        return fail("", f"{what}, not a report", hint)
    line = text.split("\n", 1)[0].rstrip("\r")
    stated = _COMMENTS.sub("", text)
    if _TOP_KEY.match(stated) and (own := own_file(_TOP_KEY.findall(stated), fail)):
        return own
    columns = [column.strip().strip('"').lower() for column in line.split(",")]
    if _PROMPTFOO_COLUMN in columns:
        what = "is a promptfoo table, in which the jurors' votes and reasons are missing"
        return fail("", what, _PROMPTFOO)
    if "\r" in text.rstrip() and "\n" not in text:
        what = "ends its lines with a carriage return alone, as old Macs did"
        return fail("", what, "End lines with LF or CRLF.")
    if {"confidence", "correct"} <= set(columns):
        hint = f"Read it with: reviewdesk calibrate {_command_name(fail)}"
        return fail("", "is a calibration labels file, not a report", hint)
    if (parts := _columns(text)) is not None:
        file = shlex.quote(_command_name(fail))
        what = f"is a table, but no column is known to hold a judge ({show_line(parts, 80)})"
        hint = f"Name those that do: reviewdesk open {file} --judge-columns NAME,NAME"
        layout = layout_of(FirstLook("text", text))
        names = () if layout is None else layout.columns
        return unclear_table(fail, names, Guess(TableMap(), problem=what, hint=hint))
    what = f'is no report: it starts with "{show_line(line, 40)}"'
    return fail("", what, "A report is JSON or JSON Lines in UTF-8.")


def _columns(text: str) -> str | None:
    """Return the columns of a text whose first lines have as many cells each, or None."""
    lines = [line for line in text.splitlines()[:5] if line.strip()]
    for mark in (",", ";", "\t", "|"):
        if len(lines) > 1 and lines[0].count(mark) and len({one.count(mark) for one in lines}) == 1:
            return lines[0].replace(mark, ", ")
    return None


def _command_name(fail: Fail) -> str:
    name: Any = fail("", "", "").file
    return str(name)
