"""Format values and words for messages about settings that were not understood."""

from __future__ import annotations

import json
from collections.abc import Iterable
from difflib import get_close_matches


def near(word: str, known: Iterable[str], otherwise: str) -> str:
    """Return a hint for an unknown word: the most similar known word, or ``otherwise``."""
    close = get_close_matches(word, list(known), n=1)
    return f"Did you mean {close[0]}?" if close else otherwise


def quoted(text: str) -> str:
    """Return a word in quotes, cut to 60 characters."""
    quoted = json.dumps(text, ensure_ascii=False)
    return quoted if len(quoted) <= 60 else f'{quoted[:58]}…"'


def toml_text(value: object) -> str:
    """Return a value as TOML writes it; for a table or a list, its type."""
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return "a table"
    if isinstance(value, list):
        plain = value and not any(isinstance(one, dict) for one in value)
        return json.dumps(value, ensure_ascii=False, default=str)[:60] if plain else "a list"
    return str(value)[:60]
