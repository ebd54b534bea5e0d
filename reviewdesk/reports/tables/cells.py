"""Read the columns and cells of a table: roles, numbers, names, and words that decide."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any

from reviewdesk.domain.verdict import folded
from reviewdesk.reports.bytes.strict_json import ImportTally, NonStandardJsonError, decode_whole
from reviewdesk.reports.mapping.foreign import LabelWords
from reviewdesk.reports.wording import must_be

_SPELLINGS: Mapping[str, tuple[str, ...]] = {
    "judge": (
        "judge", "juror", "critic", "rater", "annotator", "evaluator", "judge_name", "judge_id",
        "model_judge", "judge_model",
    ),
    "score": ("score", "rating", "value", "grade"),
    "item": (
        "item", "item_id", "example_id", "question_id", "case_id", "sample_id", "case", "example",
        "sample", "id",
    ),
    "model": ("judge_model", "juror_model", "model"),
    "vendor": ("judge_vendor", "vendor"),
    "pass": ("pass", "passed", "verdict", "decision", "vote"),
    "label": ("label",),
    "decision": (
        "decision", "consensus", "final_decision", "final_verdict", "panel_decision",
        "panel_verdict", "majority",
    ),
    "reason": ("reason", "reasoning", "rationale", "explanation", "comment", "justification"),
    "repeat": ("repeat", "epoch", "trial", "replicate", "iteration"),
    "confidence": ("confidence",),
    "weight": ("weight",),
    "error": ("error", "error_message"),
    "status": ("status",),
    "at": ("at", "timestamp", "created_at"),
    "latency_ms": ("latency_ms",),
    "cost_usd": ("cost_usd",),
    "tokens_in": ("tokens_in",),
    "tokens_out": ("tokens_out",),
    "rubric": ("rubric", "criterion", "criteria"),
    "test": ("test", "test_name", "name"),
    "suite": ("suite", "dataset"),
    "tags": ("tags",),
    "threshold": ("threshold",),
    "input": ("input", "prompt", "question", "query", "instruction"),
    "output": ("output", "response", "answer", "completion", "text"),
    "alternative": ("alternative",),
    "reference": ("reference", "expected", "expected_output", "reference_answer", "ground_truth"),
    "generator": ("generator", "generator_model", "output_model", "model"),
    "human": ("human", "human_label", "truth", "gold", "gold_label"),
    "human_by": ("human_by", "labelled_by", "labeled_by"),
    "human_at": ("human_at", "labelled_at", "labeled_at"),
}  # fmt: skip
"""The column names of each role, the clearest first. A column fills only one role."""

_LAST_RESORT = "test"
"""The role that names the items if no column does."""

_SEPARATORS = re.compile(r"[\s\-]+")

BALLOT = frozenset({
    "model", "vendor", "pass", "label", "reason", "repeat", "confidence", "weight", "error",
    "status", "at", "latency_ms", "cost_usd", "tokens_in", "tokens_out",
})  # fmt: skip
"""The roles that describe one ballot."""

FACTS = frozenset({
    "test", "suite", "tags", "threshold", "decision", "input", "output", "alternative", "reference",
    "generator",
})  # fmt: skip
"""The roles that describe an item."""

ITEM = FACTS | {"item", "rubric", "repeat", "human", "human_by", "human_at"}
"""The roles that have one cell in a row, even with a column for each judge."""


def roles_of(columns: Iterable[str]) -> dict[str, str]:
    """Return the roles that the table's columns fill, each with its column."""
    named: dict[str, str] = {}
    for column in columns:
        named.setdefault(_plain(column), column)
    roles: dict[str, str] = {}
    for role, spellings in _SPELLINGS.items():
        if spelling := next((spelling for spelling in spellings if spelling in named), None):
            roles[role] = named.pop(spelling)
    if "item" not in roles and _LAST_RESORT in roles:
        roles["item"] = roles.pop(_LAST_RESORT)
    return roles


def doubled(columns: Sequence[str], used: Container[str]) -> str | None:
    """Return a used column that the header names twice, or None."""
    counts = Counter(columns)
    return next((name for name in columns if name and name in used and counts[name] > 1), None)


def names_models(column: str) -> bool:
    """Return True if the judge column's name says that it holds models."""
    return _plain(column) in {"model_judge", "judge_model"}


def _plain(column: str) -> str:
    return _SEPARATORS.sub("_", column.strip().casefold())


_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?\Z", re.ASCII | re.IGNORECASE)
_DIGITS = re.compile(r"[-+]?\d{1,15}\Z", re.ASCII)
_NO_VALUE = frozenset({
    "nan", "-nan", "n/a", "#n/a", "na", "#na", "<na>", "null", "none",
})  # fmt: skip
"""Texts for a missing number, in lower case, as pandas reads them."""
_NOT_FINITE = frozenset({
    "inf", "+inf", "-inf", "infinity", "+infinity", "-infinity",
})  # fmt: skip

_VOTES = {"passed": True, "accepted": True, "1": True, "1.0": True}
_VOTES |= {"failed": False, "rejected": False, "0": False, "0.0": False}
"""Words for a vote in tables, beside those that decide in every report."""

_PLAIN = frozenset({
    "pass", "passed", "yes", "true", "1", "1.0", "fail", "failed", "no", "false", "0", "0.0",
})  # fmt: skip
_UNSURE = frozenset({"unsure", "unknown", "unclear"})
_LONGEST_WORD = 60
_FAILURES = {"error": "error", "parse_fail": "parse_fail"}


class CellError(ValueError):
    """A cell cannot be read, so its verdict is bad; ``column`` names the cell's column."""

    def __init__(self, column: str, problem: str) -> None:
        """Keep column and problem apart, so that the row can name the place."""
        super().__init__(problem)
        self.column = column
        self.problem = problem


def number(value: Any, column: str) -> float | int | None:
    """Return a finite number, or None for a cell without one. Raise CellError on anything else.

    NaN, N/A and the like mean that there is no number, as an empty cell does. A text of up to 15
    digits becomes an ``int``. Booleans do not count as numbers.
    """
    if value is None or type(value) in {int, float}:
        return value  # type: ignore[no-any-return]
    text = value.strip() if isinstance(value, str) else ""
    if not _NUMBER.match(text):
        if is_missing(value):
            return None
        kind = "a finite number" if text.lower() in _NOT_FINITE else "a number"
        shown = text if kind == "a finite number" else value
        raise CellError(column, must_be(f"{kind} or empty", shown))
    if _DIGITS.match(text):
        return int(text)
    found = float(text)
    if not math.isfinite(found):
        raise CellError(column, must_be("a finite number or empty", text))
    return found


def is_missing(value: Any) -> bool:
    """Return True if a cell is empty, or holds what tools write for a number that is missing."""
    if isinstance(value, str):
        text = value.strip()
        return not text or text.lower() in _NO_VALUE
    return value is None


def likely_number(value: Any) -> float | int | None:
    """Return the number in a cell, or None if there is none."""
    if value is None:
        return None
    try:
        return number(value, "")
    except CellError:
        return None


def name(value: Any, column: str) -> str:
    """Return the name of an item or a judge. Raise CellError unless it is text or an integer."""
    if isinstance(value, str) and value.strip():
        return value.strip()
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    raise CellError(column, must_be("a text that is not empty", value))


def mapping(value: Any, column: str) -> dict[str, Any]:
    """Return the object in a cell; in CSV it is JSON text, and an empty cell is an empty object.

    Raises:
        CellError: the cell holds anything else.
    """
    if blank(value):
        return {}
    found = value
    if isinstance(value, str):
        try:
            found = decode_whole(value, ImportTally())
        except (json.JSONDecodeError, NonStandardJsonError) as error:
            raise CellError(column, must_be("an object in JSON", value)) from error
    if not isinstance(found, dict):
        raise CellError(column, must_be("an object", value))
    return found


def names(value: Any) -> list[str]:
    """Return the tags in a list, in JSON text, or in a text with commas or semicolons."""
    listed = value
    if isinstance(value, str):
        try:
            listed = decode_whole(value, ImportTally())
        except (json.JSONDecodeError, NonStandardJsonError):
            listed = None
        if not isinstance(listed, list):
            listed = re.split("[,;]", value)
    if not isinstance(listed, list):
        return []
    return [tag.strip() for tag in listed if isinstance(tag, str) and tag.strip()]


class DecidingWords(LabelWords):
    """The words that mean pass or fail in a table, which has some more than other files."""

    def vote(self, value: Any) -> bool | None:
        """Return True for a pass, False for a fail, None for a value that decides nothing."""
        if isinstance(value, bool):
            return value
        if not isinstance(value, str | int | float):
            return None
        vote = super().vote(str(value))
        return _VOTES.get(folded(str(value))) if vote is None else vote

    def human(self, value: Any) -> str | None:
        """Return a person's label (``pass``, ``fail`` or ``unsure``), or None."""
        vote = self.vote(value)
        if vote is not None:
            return "pass" if vote else "fail"
        return "unsure" if isinstance(value, str) and folded(value) in _UNSURE else None

    def failure(self, value: Any) -> str | None:
        """Return the status for a word that means that a juror failed to answer, else None."""
        if not isinstance(value, str) or self.vote(value) is not None:
            return None
        return _FAILURES.get(folded(value))


def is_plain(word: str) -> bool:
    """Return True if a word only means pass or fail, so that it need not be kept as a label."""
    return folded(word) in _PLAIN


def is_word(value: Any) -> bool:
    """Return True if a text looks like a label rather than a malformed number."""
    text = value.strip() if isinstance(value, str) else ""
    known = _NOT_FINITE | _NO_VALUE
    return text[:1].isalpha() and len(text) <= _LONGEST_WORD and text.lower() not in known


def blank(value: Any) -> bool:
    """Return True if a cell is null or only white space."""
    return value is None or (isinstance(value, str) and not value.strip())
