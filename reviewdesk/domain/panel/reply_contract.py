"""The form of a juror's reply: one schema for the prompt, for structured output and for the reader.

The reason comes first, so that a model writes it before it decides, and the nonce last, because it
is the only part that differs from call to call.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from msgspec import Struct

from reviewdesk.domain.jury.label_words import LabelRules

VERSION: Final = 2
"""The version of the contract, which is part of every prompt hash. Version 1 had no ``null``."""


class ReplyKey(Struct, frozen=True):
    """One key of a reply: its JSON types, and the words that ask for it."""

    key: str
    types: tuple[str, ...]
    asked: str
    words: tuple[str, ...] = ()
    """The words that a text may be, if it must be one of some."""

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON Schema of the value.

        Bounds are left out, because some endpoints refuse them; the reader checks them.
        """
        kind = {"type": list(self.types) if len(self.types) > 1 else self.types[0]}
        return kind | ({"enum": [*self.words, None]} if self.words else {})


_REASON = ReplyKey("reason", ("string",), '"one or two sentences"')
_PASS = ReplyKey("pass", ("boolean", "null"), "true or false, or null if you cannot decide")
_ANY_LABEL = '"a label of the rubric"'
_SCORE = ReplyKey("score", ("number", "null"), "a number from 0 to 1, or null if you cannot decide")
_CONFIDENCE = ReplyKey("confidence", ("number",), "a number from 0 to 1")
_NONCE = ReplyKey("nonce", ("string",), '"{nonce}"')


def parts(labels: LabelRules | None = None) -> tuple[ReplyKey, ...]:
    """Return the keys of a reply in order.

    With ``labels``, a label takes the place of the vote; declared ones take that of the score too.
    """
    return _parts(None if labels is None else tuple(labels.labels))


@cache
def _parts(words: tuple[str, ...] | None) -> tuple[ReplyKey, ...]:
    if words is None:
        return (_REASON, _PASS, _SCORE, _CONFIDENCE, _NONCE)
    asked = " or ".join(json.dumps(word, ensure_ascii=False) for word in words)
    asked = f"{asked or _ANY_LABEL}, or null if you cannot decide"
    label = ReplyKey("label", ("string", "null"), asked, words)
    return (_REASON, label, *(() if words else (_SCORE,)), _CONFIDENCE, _NONCE)


def schema(labels: LabelRules | None = None) -> dict[str, Any]:
    """Return the JSON Schema of a reply, for endpoints that make a model follow one."""
    keys = parts(labels)
    return {
        "type": "object",
        "properties": {part.key: part.schema for part in keys},
        "required": [part.key for part in keys],
        "additionalProperties": False,
    }


def shape(nonce: str, labels: LabelRules | None = None) -> str:
    """Write the form of the reply, key by key, as the prompt shows it."""
    *fields, last = (f'"{part.key}": {part.asked}' for part in parts(labels))
    return "{" + ", ".join([*fields, last.replace("{nonce}", nonce)]) + "}"


def breach(reply: Mapping[str, Any], labels: LabelRules | None = None) -> str | None:
    """Return how a decoded reply breaks the schema, or ``None`` if it follows the schema.

    A missing key is no breach here, because a vote without a reason and a score without a vote are
    both answers. The parser rejects a reply that holds neither.
    """
    keys = {part.key: part for part in parts(labels)}
    for key, value in reply.items():
        if key not in keys:
            return "has a key that was not asked for"
        if not any(_has_type(value, name) for name in keys[key].types):
            return f"has no {' or '.join(keys[key].types)} under {key}"
    return None


def _has_type(value: object, name: str) -> bool:
    if name == "number":
        return isinstance(value, int | float) and not isinstance(value, bool)
    kinds: dict[str, type] = {"string": str, "boolean": bool, "null": type(None)}
    return isinstance(value, kinds[name])
