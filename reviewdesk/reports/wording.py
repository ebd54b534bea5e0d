"""Error messages about a value: its path, what it must be and what was found, but no API key."""

import json
import re
from collections.abc import Sequence
from typing import Any, TypeAlias

from reviewdesk.domain.safetext import show_line

Path: TypeAlias = tuple[str | int, ...]
JsonObject: TypeAlias = dict[str, Any]

_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


class FieldError(ValueError):
    """A value cannot be used: the path to it, the message, and what to do.

    Inside a model, the path starts at the model's value. A check of many values returns the error.
    """

    def __init__(self, path: Sequence[str | int], text: str, hint: str = "") -> None:
        super().__init__(text)
        self.path = tuple(path)
        self.text = text
        self.hint = hint

    def within(self, *steps: str | int) -> "FieldError":
        """Return the error as one of an outer value, in which ``steps`` lead to this value."""
        return FieldError((*steps, *self.path), self.text, self.hint)


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
    """Return a value as shown in errors: shortened JSON on one line, unless it may hold a key."""
    if holds_key(value):
        return "a value that may hold an API key (not shown)"
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        text = type(value).__name__
    return show_line(text, 60)


def must_be(expected: str, value: Any) -> str:
    return f"must be {expected}, found {found(value)}"


_BETWEEN = re.compile(r"[\s\"'`,:;=&?/{}()\[\]<>|#*!…]+")
_PREFIXED = re.compile(
    r"(?:(?:sk|rk|pk|gsk|xai|hf|ghp|nvapi|pplx|r8|key)[-_]|AIza|eyJ)"
    r"(?=[^0-9]*[0-9])[A-Za-z0-9_\-.]{12,}",
    re.IGNORECASE,
)
_RANDOM = re.compile(r"(?=[^0-9]*[0-9])(?=[^a-z]*[a-z])[A-Za-z0-9]{24,}")
"""A long unbroken run of letters and digits, as in the keys of some vendors."""

_SECRET_NAMES = re.compile(
    r"(?:.*_)?(?:(?:api_?)?key|token|secret|password|authorization|bearer)", re.IGNORECASE
)


def keylike(text: str) -> bool:
    """Return True if a word of a text looks like an API key."""
    words = _BETWEEN.split(text)
    return any(_PREFIXED.match(word) or _RANDOM.fullmatch(word) for word in words)


def names_a_secret(name: str) -> bool:
    """Return True if a field has a name that is usual for secrets."""
    return bool(_SECRET_NAMES.fullmatch(re.sub("[- .]", "_", name.strip())))


def holds_key(value: Any) -> bool:
    """Return True if a value, or anything inside it, may be an API key."""
    if isinstance(value, str):
        return keylike(value)
    if isinstance(value, dict):
        return any(
            keylike(str(name)) or names_a_secret(str(name)) or holds_key(one)
            for name, one in value.items()
        )
    return isinstance(value, list) and any(map(holds_key, value))
