"""A list of records without a document of its own: its first rows, as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from reviewdesk.views.document import (
    Column,
    Document,
    Paragraph,
    Section,
    Tone,
    Words,
    outside,
    table,
)
from reviewdesk.views.words import NONE

FIRST = 10
"""How many rows of a list are shown."""
_LEFT_OUT = {"run", "item_hash"}
"""Keys that say the same in every row, or nothing to a person."""


def records(rows: Sequence[Mapping[str, Any]], total: int, what: str) -> Document:
    """Return the first records of ``total``, without the columns that are empty in all of them."""
    found = rows[:FIRST]
    count = f"{what}: {total:,}" + f", of which the first {len(found)}" * (total > len(found))
    keys = [key for key in (found[0] if found else ()) if key not in _LEFT_OUT]
    names = [key for key in keys if any(_is_shown(row[key]) for row in found)]
    heads = [Column(name, right=any(_is_number(row[name]) for row in found)) for name in names]
    cells = [[_cell(row[name]) for name in names] for row in found]
    blocks = (table(heads, cells),) if names else ()
    return Document((Section("", (Paragraph(count, Tone.MUTED), *blocks)),))


def _is_shown(value: object) -> bool:
    return value not in (None, "", [], ()) and not isinstance(value, Mapping)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _cell(value: object) -> Words:
    if value is None:
        return NONE
    if isinstance(value, float):
        return f"{value:.4g}"
    return outside(", ".join(map(str, value)) if isinstance(value, list) else value, 120)
