"""Files this version does not open: recognised where possible, and refused with what to do."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from reviewdesk.domain.safetext import show_line
from reviewdesk.errors import InputFileError
from reviewdesk.reports.outline import Outline
from reviewdesk.reports.strictjson import Fail

SCHEMA_HINT = 'Add the line "schema": "reviewdesk.report/1" to the outermost object.'
_CONVERT = "Convert it to reviewdesk.report/1 and open that."

_ROOT = re.compile(r"<([A-Za-z_][\w:.-]*)")
_MARKUP = {
    "html": "is an HTML page",
    "testsuites": "is a JUnit XML report, which has no ballots",
    "testsuite": "is a JUnit XML report, which has no ballots",
    "promptfoo": "is a promptfoo XML report",
}
_TABLE_COLUMNS = frozenset({"item", "judge", "score", "id", "juror", "model", "rating", "human"})
_MOST_KEYS = 12


def _has(*keys: str) -> Callable[[Outline], bool]:
    return lambda outline: all(key in outline.keys for key in keys)


def _promptfoo(outline: Outline) -> bool:
    keys = outline.keys
    return "evalId" in keys or {"gradingResult", "testCase", "promptIdx"} <= keys.keys()


def _inspect(outline: Outline) -> bool:
    run = outline.first("eval")
    return "eval" in outline.keys and ("task" in run or "eval_id" in run)


_TOOLS: tuple[tuple[str, Callable[[Outline], bool]], ...] = (
    ("a cross-judge file", _has("query_id", "verdicts", "consensus")),
    ("a promptfoo result", _promptfoo),
    ("an Inspect log", _inspect),
    ("a deepeval test run", _has("testCases", "metricsScores")),
    ("a juried report", lambda outline: outline.keys.get("tool") == "juried"),
    ("a juried label queue", _has("scenario", "criterion", "transcript")),
    ("an lm-council ratings file", _has("judge_model", "pairwise_choice")),
    ("a SARIF log", _has("runs", "$schema")),
    ("a table with one score a line", _has("item", "judge", "score")),
)


def other_tool(outline: Outline, fail: Fail) -> InputFileError | None:
    """The refusal of a file that belongs to another tool or another command."""
    keys = outline.keys
    if "confidence" in keys and "correct" in keys:
        hint = f"Read it with: reviewdesk calibrate {_command_name(fail)}"
        return fail("", "is a calibration labels file, not a report", hint)
    if "truth" in keys and ("id" in keys or "item_hash" in keys):
        hint = f"Read it with: reviewdesk labels import {_command_name(fail)}"
        return fail("", "is a labels file, not a report", hint)
    for name, fits in _TOOLS:
        if fits(outline):
            return fail("", f"is {name}, which is not opened by this version", _CONVERT)
    if "case" in keys and "jurors" in keys:
        first = '{"schema": "reviewdesk.report/1"}'
        what = "has verdicts with jurors, but no report around them"
        return fail("", what, f"As JSON Lines, add this first line: {first}.")
    return None


def without_schema(outline: Outline, fail: Fail) -> InputFileError | None:
    """The refusal of a canonical report whose ``schema`` is nowhere in it."""
    if outline.kind == "object" and isinstance(outline.first("verdicts").get("jurors"), list):
        return fail("$.schema", "is missing, though the file has verdicts with jurors", SCHEMA_HINT)
    return None


def no_jury(outline: Outline, fail: Fail) -> InputFileError:
    """Nothing in the file is a jury; say what is there."""
    names = [f'"{show_line(key, 40)}"' for key in outline.keys]
    more = f" and {len(names) - _MOST_KEYS} more" if len(names) > _MOST_KEYS else ""
    listed = f" (its keys: {', '.join(names[:_MOST_KEYS])}{more})" if names else ""
    where = "list" if outline.kind == "array" else "object"
    return fail(
        "", f"is JSON, but no report this version knows: no jury in the {where}{listed}", _CONVERT
    )


def not_json(text: str, fail: Fail) -> InputFileError:
    """The refusal of a text that is not JSON."""
    text = text.lstrip(" \t\r\n")
    if text.startswith("<"):
        root = _ROOT.search(text.replace("<!DOCTYPE ", "<").replace("<!doctype ", "<"))
        name = root[1] if root else ""
        what = _MARKUP.get(name.lower(), f"is XML with the root element <{show_line(name, 40)}>")
        return fail("", f"{what}, not a report", _CONVERT)
    if text.startswith("evalId:"):
        return fail("", "is a promptfoo result in YAML, not opened by this version", _CONVERT)
    line = text.split("\n", 1)[0].rstrip("\r")
    columns = [column.strip().strip('"').lower() for column in line.split(",")]
    if len(columns) > 1 and _TABLE_COLUMNS & set(columns):
        what = f"is a CSV table with the columns {show_line(', '.join(columns), 80)}"
        return fail("", f"{what}, which is not opened by this version", _CONVERT)
    what = f'is no report: it starts with "{show_line(line, 40)}"'
    return fail("", what, "A report is JSON or JSON Lines in UTF-8.")


def _command_name(fail: Fail) -> str:
    """The file's name as a command would take it."""
    name: Any = fail("", "", "").file
    return str(name)
