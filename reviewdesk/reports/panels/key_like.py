"""Texts that may be an API key, so that no error and no screen repeats them."""

from __future__ import annotations

import re

_BETWEEN = re.compile(r"[\s\"'`,:;=&?/{}()\[\]<>|#*!…]+")
_PREFIXED = re.compile(
    r"(?:(?:sk|rk|pk|gsk|xai|hf|ghp|nvapi|pplx|r8|key)[-_]|AIza|eyJ)"
    r"(?=[^0-9]*[0-9])[A-Za-z0-9_\-.]{12,}",
    re.IGNORECASE,
)
_RANDOM = re.compile(r"(?=[^0-9]*[0-9])(?=[^a-z]*[a-z])[A-Za-z0-9]{24,}")
"""Letters and digits without a break, as some vendors draw their keys."""

_SECRET_NAMES = re.compile(
    r"(?:.*_)?(?:(?:api_?)?key|token|secret|password|authorization|bearer)", re.IGNORECASE
)


def keylike(text: str) -> bool:
    """Whether a word of a text looks like a key itself."""
    words = _BETWEEN.split(text)
    return any(_PREFIXED.match(word) or _RANDOM.fullmatch(word) for word in words)


def names_a_secret(name: str) -> bool:
    """Whether a key of a file is called as a secret would be."""
    return bool(_SECRET_NAMES.fullmatch(re.sub("[- .]", "_", name.strip())))
