"""Read values of a canonical body in a form that is safe to calculate with."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any


def number(value: object) -> float | None:
    """Return the value as a float, or ``None`` if it is a boolean, not a number, or not finite."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)


def own_facts(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the block ``meta.reviewdesk``, or an empty mapping if there is none.

    Reports of this program state in it what the format has no field for.
    """
    own = (body.get("meta") or {}).get("reviewdesk")
    return own if isinstance(own, Mapping) else {}


def own_word(body: Mapping[str, Any], key: str) -> str | None:
    """Return a text of ``own_facts`` by its key, or ``None`` if it is absent or not a text."""
    word = own_facts(body).get(key)
    return word if isinstance(word, str) else None
