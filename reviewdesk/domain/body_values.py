"""Values of a canonical body as they may be counted with."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any


def number(value: object) -> float | None:
    """A finite number, or ``None``: NaN and infinity never enter."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)


def own_facts(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a report of this program says of a verdict beyond the format, under its own name."""
    own = (body.get("meta") or {}).get("reviewdesk")
    return own if isinstance(own, Mapping) else {}


def own_word(body: Mapping[str, Any], key: str) -> str | None:
    """Return a word of ``own_facts``."""
    word = own_facts(body).get(key)
    return word if isinstance(word, str) else None
