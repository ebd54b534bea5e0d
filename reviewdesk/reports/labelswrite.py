"""Labels files as text: JSON Lines, and CSV that a spreadsheet will not run."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from typing import Any

from reviewdesk.domain.safetext import show_line

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def as_jsonl(rows: Sequence[Mapping[str, Any]]) -> str:
    """One object per line, in plain ASCII."""
    lines = (json.dumps(row, allow_nan=False).replace("\x7f", "\\u007f") for row in rows)
    return "".join(f"{line}\n" for line in lines)


def as_csv(rows: Sequence[Mapping[str, Any]]) -> str:
    """A table with a header; text that a spreadsheet would run as a formula is quoted off."""
    if not rows:
        return ""
    out = io.StringIO()
    writer = csv.DictWriter(out, fieldnames=list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: _cell(value) for name, value in row.items()} for row in rows)
    return out.getvalue()


def _cell(value: object) -> object:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        value = " ".join(map(str, value))
    if not isinstance(value, str):
        return value
    text = show_line(value, 20_000)
    return f"'{text}" if text.startswith(_FORMULA) else text
