"""How a value or a word that was not understood is told to a person."""

from __future__ import annotations

import json
from collections.abc import Iterable
from difflib import get_close_matches


def near(word: str, known: Iterable[str], otherwise: str) -> str:
    """A hint for a word that is not known: the one that was probably meant, where one is near."""
    close = get_close_matches(word, list(known), n=1)
    return f"Did you mean {close[0]}?" if close else otherwise


def quoted(text: str) -> str:
    """A word in quotes, cut where it is long."""
    quoted = json.dumps(text, ensure_ascii=False)
    return quoted if len(quoted) <= 60 else f'{quoted[:58]}…"'


def said(value: object) -> str:
    """A value as the file would write it, or what it is."""
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return "a table"
    return "a list" if isinstance(value, list) else str(value)[:60]
