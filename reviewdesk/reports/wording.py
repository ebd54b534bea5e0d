"""Error messages about a value: its path, what it must be, what was found."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from reviewdesk.domain.safetext import show_line

if TYPE_CHECKING:
    from pydantic import ValidationError

Path: TypeAlias = tuple[str | int, ...]

_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_FOUND_LENGTH = 60

_UNIT = "a number from 0 to 1"
_SHARE = "a number from 0 up to, but not including, 0.5"
_COUNT = "a whole number, 0 or more"

_BY_KEY = {
    "score": _UNIT,
    "threshold": _UNIT,
    "confidence": _UNIT,
    "quorum": 'a number above 0 and at most 1, or a fraction such as "2/3"',
    "trim_fraction": _SHARE,
    "fraction": _SHARE,
    "per_side": _COUNT,
    "tokens_in": _COUNT,
    "tokens_out": _COUNT,
    "epoch": "a whole number, 1 or more",
    "weight": "a number above 0",
    "weights": "an object of numbers above 0",
    "latency_ms": "a number, 0 or more",
    "cost_usd": "a number, 0 or more",
    "raw_score": "a finite number",
    "temperature": "a finite number",
    "scale": "a list of two finite numbers",
    "value": "a finite number, at most 1",
    "pass": "true, false or null",
    "reference": "a text or a list of texts",
}
"""What the value must be, for keys that have one meaning in the whole format."""

_BY_TYPE = {
    "string_type": "a text",
    "string_unicode": "a text",
    "string_too_short": "a text that is not empty",
    "bool_type": "true or false",
    "list_type": "a list",
    "dict_type": "an object",
    "model_type": "an object",
    "model_attributes_type": "an object",
    "float_type": "a number",
    "finite_number": "a finite number",
}


@dataclass(frozen=True)
class FieldProblem:
    """A problem in a value: the path to it and the message."""

    path: Path
    text: str


def spell_path(path: Sequence[str | int], root: str = "$") -> str:
    """Return a JSON path such as ``$.verdicts[3].score``, safe to print."""
    parts = [root]
    for step in path:
        if isinstance(step, int):
            parts.append(f"[{step}]")
        elif _PLAIN_KEY.match(step):
            parts.append(f".{step}")
        else:
            parts.append(f'["{show_line(step, 60)}"]')
    return "".join(parts)


def found(value: Any) -> str:
    """Return a value as errors show it: JSON on one line, shortened."""
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        text = type(value).__name__
    return show_line(text, _FOUND_LENGTH)


def must_be(expected: str, value: Any) -> str:
    """Return the message ``must be ..., found ...`` for a value."""
    return f"must be {expected}, found {found(value)}"


def first_problem(error: ValidationError) -> FieldProblem:
    """Return the validator's first error in the words of our messages."""
    # Imported here, because most users of this module do not need the models.
    from reviewdesk.reports.canonical.models import FailedJurorError

    details = error.errors(include_url=False)[0]
    path = tuple(details["loc"])
    kind = details["type"]
    if kind == "missing":
        return FieldProblem(path, "is missing")
    if kind == "extra_forbidden":
        return FieldProblem(path, "is not a key of this format (free data belongs under meta)")
    cause = details.get("ctx", {}).get("error")
    if isinstance(cause, FailedJurorError):
        key = cause.key
        value = details["input"].get(key) if isinstance(details["input"], dict) else None
        text = f"must be null where the juror has an error, found {found(value)}"
        return FieldProblem((*path, key), text)
    return FieldProblem(path, must_be(_expected_text(details, path), details["input"]))


def _expected_text(details: Mapping[str, Any], path: Path) -> str:
    kind, context = details["type"], details.get("ctx", {})
    key = next((step for step in reversed(path) if isinstance(step, str)), "")
    if kind == "literal_error":
        return _choices(str(context["expected"]))
    if kind == "string_too_long":
        return f"a text of at most {context['max_length']} characters"
    if len(path) > 1 and path[-2] == "weights":
        return "a number above 0"
    if kind in _BY_TYPE and key not in _BY_KEY:
        return _BY_TYPE[kind]
    return _BY_KEY.get(key, _BY_TYPE.get(kind, "a value this format allows"))


def _choices(expected: str) -> str:
    """Return ``'low' or 'high'`` as ``"low" or "high"``, and ``None`` as ``null``."""
    return expected.replace("'", '"').replace("None", "null")
