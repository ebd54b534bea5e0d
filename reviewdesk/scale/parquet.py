"""Report parts in Parquet: a row for each verdict, a column for each key of its body.

Keys that hold objects or lists are nested columns, or texts of JSON. The header of the report is
JSON in the file's own metadata, under ``reviewdesk``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

MAGIC = b"PAR1"
HEADER = b"reviewdesk"
_ROWS = 256
"""Rows decoded at a time."""
_NESTED = frozenset(
    {
        "case", "jurors", "generator", "agreement", "trim", "checks", "human", "provenance", "meta",
        "reruns", "labels", "reference", "escalation_reasons",
    }
)  # fmt: skip
"""The keys that may come as texts of JSON; a reference may also be a text itself."""
_SCHEMA = "reviewdesk.report/1"


def is_parquet(path: Path) -> bool:
    """Return True if a file begins as Parquet does."""
    with path.open("rb") as file:
        return file.read(len(MAGIC)) == MAGIC


def as_lines(path: Path, out: BinaryIO) -> None:
    """Write the rows of a Parquet file as a report in JSON Lines, some rows at a time.

    Raises:
        ValueError: the file is not Parquet, or has a value that JSON cannot represent.
    """
    from pyarrow import parquet  # type: ignore[import-untyped]

    with parquet.ParquetFile(path) as found:
        stated = (found.schema_arrow.metadata or {}).get(HEADER)
        header = {"schema": _SCHEMA} if stated is None else json.loads(stated)
        out.write(_line(header))
        for batch in found.iter_batches(batch_size=_ROWS):
            for row in batch.to_pylist():
                line = {key: _value(key, one) for key, one in row.items()}
                out.write(_line(line))


def _line(value: Any) -> bytes:
    text = json.dumps(_without_nulls(value), ensure_ascii=False, separators=(",", ":"))
    return text.encode() + b"\n"


def _value(key: str, found: Any) -> Any:
    """Return the value of a column; one that is a text of JSON is decoded."""
    is_json = isinstance(found, str) and found.lstrip()[:1] in {"{", "["}
    if key not in _NESTED or not is_json:
        return found
    try:
        return json.loads(found)
    except ValueError:
        return found


def _without_nulls(value: Any) -> Any:
    """Remove keys that a row does not have; a nested column has every key in every row."""
    if isinstance(value, Mapping):
        return {key: _without_nulls(one) for key, one in value.items() if one is not None}
    if isinstance(value, list):
        return [_without_nulls(one) for one in value]
    return value
