"""Why a juror gave no answer, as far as the words of a foreign file tell."""

from __future__ import annotations

import re
from typing import Any

_STATUSES = (
    ("parse_fail", re.compile(r"parse[_ ]?fail|invalid json|not return a json", re.IGNORECASE)),
    ("empty", re.compile(r"empty[_ ]response", re.IGNORECASE)),
    ("timeout", re.compile(r"timeout|timed out", re.IGNORECASE)),
    ("missing_key", re.compile(r"missing api[_ ]key|api[_ ]key .{0,40}missing", re.IGNORECASE)),
)
_LOOKED_AT = 2000


def failure(message: str, status: str | None = None) -> dict[str, Any]:
    """The ``error`` and ``status`` of a ballot that failed; the words decide where nothing does."""
    head = message[:_LOOKED_AT]
    found = next((name for name, words in _STATUSES if words.search(head)), "error")
    return {"status": status or found, "error": {"message": message or "the juror failed"}}
