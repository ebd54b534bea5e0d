"""Read the cells of a table: numbers, names, and words that decide."""

from __future__ import annotations

import json
import math
import re
from typing import Any

from reviewdesk.domain.verdict import folded
from reviewdesk.reports.bytes.strict_json import ImportTally, NonStandardJsonError, decode_whole
from reviewdesk.reports.mapping.foreign import LabelWords
from reviewdesk.reports.tables.rows import blank
from reviewdesk.reports.wording import must_be

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
        self.column, self.problem = column, problem


def number(value: Any, column: str) -> float | int | None:
    """Return a finite number, or None for a cell without one. Raise CellError on anything else.

    NaN, N/A and the like mean that there is no number, as an empty cell does. A text of up to 15
    digits becomes an ``int``. Booleans do not count as numbers.
    """
    if is_missing(value):
        return None
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value
    text = value.strip() if isinstance(value, str) else ""
    if text.lower() in _NOT_FINITE:
        raise CellError(column, must_be("a finite number or empty", text))
    if not _NUMBER.match(text):
        raise CellError(column, must_be("a number or empty", value))
    if _DIGITS.match(text):
        return int(text)
    found = float(text)
    if not math.isfinite(found):
        raise CellError(column, must_be("a finite number or empty", text))
    return found


def is_missing(value: Any) -> bool:
    """Return True if a cell is empty, or holds what tools write for a number that is missing."""
    return blank(value) or (isinstance(value, str) and value.strip().lower() in _NO_VALUE)


def likely_number(value: Any) -> float | int | None:
    """Return the number in a cell, or None if there is none."""
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
