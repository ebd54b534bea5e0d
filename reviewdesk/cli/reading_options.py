"""Parse the options that state what a report file leaves open."""

from __future__ import annotations

import re
from collections.abc import Iterable

from reviewdesk.errors import UsageError

_NUMBER = r"[-+]?[0-9]*\.?[0-9]+"
_SCALE = re.compile(rf"\s*({_NUMBER})\s*(?:\.\.|,|:|-)\s*({_NUMBER})\s*\Z")


def models_of(texts: Iterable[str]) -> dict[str, str]:
    """Parse texts such as ``critic=model``; raise UsageError if a name has two models."""
    found: dict[str, str] = {}
    for text in texts:
        name, equals, model = (part.strip() for part in text.partition("="))
        if not (name and equals and model):
            raise UsageError(f"--models: {text!r} is no pair", "Write --models critic=model.")
        if found.setdefault(name, model) != model:
            raise UsageError(f"--models: {name!r} is given two models", "Keep one of them.")
    return found


def scale_of(text: str | None) -> tuple[float, float] | None:
    """Parse a scale such as ``1..5`` into its two ends."""
    if text is None:
        return None
    match = _SCALE.match(text)
    if match is None:
        raise UsageError(f"--scale: {text!r} is not a scale", "Write it as 1..5.")
    return float(match[1]), float(match[2])


def columns_of(text: str | None) -> tuple[str, ...]:
    """Parse column names that are separated by commas."""
    if text is None:
        return ()
    names = tuple(dict.fromkeys(name.strip() for name in text.split(",")))
    if not all(names):
        raise UsageError(f"--judge-columns: {text!r} has an empty name", "Write a,b,c.")
    return names
