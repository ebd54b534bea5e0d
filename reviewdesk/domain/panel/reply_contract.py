"""The form of a juror's reply: one schema for the prompt, for structured output and for the reader.

The reason comes first, so that a model writes it before it decides, and the nonce last, because it
is the only part that differs from call to call.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

VERSION: Final = 2
"""The version of the contract, which is part of every prompt hash. Version 1 had no ``null``."""


@dataclass(frozen=True, slots=True)
class ReplyKey:
    """One key of a reply: its JSON types, and the words that ask for it."""

    key: str
    types: tuple[str, ...]
    asked: str

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON Schema of the value.

        Bounds are left out, because some endpoints refuse them; the reader checks them.
        """
        return {"type": list(self.types) if len(self.types) > 1 else self.types[0]}


_REASON = ReplyKey("reason", ("string",), '"one or two sentences"')
_PASS = ReplyKey("pass", ("boolean", "null"), "true or false, or null if you cannot decide")
_LABEL = ReplyKey(
    "label", ("string", "null"), '"a label of the rubric", or null if you cannot decide'
)
_SCORE = ReplyKey("score", ("number", "null"), "a number from 0 to 1, or null if you cannot decide")
_CONFIDENCE = ReplyKey("confidence", ("number",), "a number from 0 to 1")
_NONCE = ReplyKey("nonce", ("string",), '"{nonce}"')


@cache
def parts(*, labels: bool = False) -> tuple[ReplyKey, ...]:
    """Return the keys of a reply in their order; a panel of labels asks for a word, not a vote."""
    return (_REASON, _LABEL if labels else _PASS, _SCORE, _CONFIDENCE, _NONCE)


def schema(*, labels: bool = False) -> dict[str, Any]:
    """Return the JSON Schema of a reply, for endpoints that hold a model to one."""
    asked = parts(labels=labels)
    return {
        "type": "object",
        "properties": {part.key: part.schema for part in asked},
        "required": [part.key for part in asked],
        "additionalProperties": False,
    }


def shape(nonce: str, *, labels: bool = False) -> str:
    """Write the reply that is asked for, key by key, as the prompt shows it."""
    told = (f'"{part.key}": {part.asked}' for part in parts(labels=labels))
    return "{" + ", ".join(told).replace("{nonce}", nonce) + "}"


def breach(said: Mapping[str, Any], *, labels: bool = False) -> str | None:
    """Say what of a decoded reply breaks the schema; ``None`` where it keeps to it.

    A key that is missing is no breach here: a vote without a reason, and a score without a vote,
    are answers, and what holds neither is found by the reader.
    """
    asked = {part.key: part for part in parts(labels=labels)}
    for key, value in said.items():
        if key not in asked:
            return "has a key that was not asked for"
        if not any(_is(value, name) for name in asked[key].types):
            return f"has no {' or '.join(asked[key].types)} under {key}"
    return None


def _is(value: object, name: str) -> bool:
    if name == "number":
        return isinstance(value, int | float) and not isinstance(value, bool)
    kinds: dict[str, type] = {"string": str, "boolean": bool, "null": type(None)}
    return isinstance(value, kinds[name])
