"""Read values of foreign files as canonical values; values that do not fit become None."""

import json
import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

from reviewdesk.domain.values import label_decision
from reviewdesk.reports.canonical.rules import is_time
from reviewdesk.reports.wording import JsonObject

_FRACTION = re.compile(r"\s*(\d{1,9})\s*/\s*(\d{1,9})\s*\Z", re.ASCII)

_NUMBERS = frozenset({int, float})
_DECISIONS = {
    "passed": "pass", "ok": "pass", "failed": "fail", "inconclusive": "inconclusive",
    "tie": "inconclusive", "error": "error", "errored": "error",
}  # fmt: skip
"""Words for decisions, beside those of labels."""


def first(record: Mapping[str, Any], keys: Iterable[str]) -> Any:
    """Return the first value that is neither absent nor null, or None."""
    for key in keys:
        if (value := record.get(key)) is not None:
            return value
    return None


def number(value: Any) -> float | int | None:
    """Return the value if it is a number. Booleans do not count as numbers."""
    return value if type(value) in _NUMBERS else None


def unit(value: Any) -> float | int | None:
    """Return the value if it is a number from 0 to 1, else None."""
    found = number(value)
    return found if found is not None and 0 <= found <= 1 else None


def quorum(value: Any) -> float | int | str | None:
    """Return a share above 0 and at most 1, or a fraction such as ``2/3``; else None."""
    if isinstance(value, str):
        match = _FRACTION.match(value)
        fits = match is not None and 0 < int(match[1]) <= int(match[2])
        return f"{match[1]}/{match[2]}" if match is not None and fits else None
    found = unit(value)
    return found or None


def decision(value: Any) -> str | None:
    """Return the decision that a boolean or a word states, or None; the words of labels count."""
    if isinstance(value, bool):
        return "pass" if value else "fail"
    if not isinstance(value, str):
        return None
    word = value.strip().lower()
    found = label_decision(word)
    return _DECISIONS.get(word) or (found.value if found else None)


def text(value: Any) -> str | None:
    """Return a text unchanged, the texts of a tool result joined, or else indented JSON."""
    if value is None or isinstance(value, str):
        return value
    content = value.get("content") if isinstance(value, dict) else value
    if isinstance(content, list) and content:
        parts = [part.get("text") if isinstance(part, dict) else None for part in content]
        texts = [part for part in parts if isinstance(part, str)]
        if len(texts) == len(parts):
            return "\n".join(texts)
    return json.dumps(value, ensure_ascii=False, indent=2)


def listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def record(value: Any) -> JsonObject:
    return value if isinstance(value, dict) else {}


def without_nulls(record: Mapping[str, Any], *keep: str) -> JsonObject:
    """Return the record without its nulls, except those under the keys in ``keep``."""
    return {key: value for key, value in record.items() if value is not None or key in keep}


def filled(value: Any) -> str | None:
    return value if isinstance(value, str) and value.strip() else None


def label(value: Any) -> str | None:
    """Return a text that is not blank, or a whole number as a text; else None."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return filled(value)


def amount(value: Any, factor: float = 1) -> float | int | None:
    """Return the number times ``factor``, or None unless the value is a number, 0 or more."""
    found = number(value)
    if found is None or found < 0:
        return None
    if factor == 1:
        return found
    made = round(found * factor, 6)
    return made if math.isfinite(made) else None


def count(value: Any) -> int | None:
    """Return the value if it is a whole number, 0 or more; else None."""
    found = number(value)
    return found if isinstance(found, int) and found >= 0 else None


def time(value: Any) -> str | None:
    """Return the value if it is a time in the form of canonical reports, else None."""
    return value if isinstance(value, str) and is_time(value) else None


def dialogue(turns: Any) -> list[str]:
    """Return the turns of a conversation as ``role: text``; anything else is left out."""
    turn_texts = [
        (turn.get("role"), text(turn.get("content")))
        for turn in listed(turns)
        if isinstance(turn, dict)
    ]
    return [f"{label(role) or 'turn'}: {text}" for role, text in turn_texts if text is not None]


def unused(name: str, taken: dict[str, int]) -> str:
    """Return the name, with a counter if it is taken: the second of equal names ends in ``#2``.

    ``taken`` counts the requests for each name, so that many equal names stay cheap.
    """
    count = taken.get(name, 0) + 1
    found = name if count == 1 else f"{name}#{count}"
    while found in taken:
        count += 1
        found = f"{name}#{count}"
    taken[name] = count
    taken.setdefault(found, 1)
    return found
