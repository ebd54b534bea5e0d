"""Recognise texts that may be an API key, so that no error and no screen repeats them."""

from __future__ import annotations

import re
from typing import Any

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
    """Return True if a field has a name that secrets usually have."""
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
