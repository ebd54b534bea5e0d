"""Read and write single rows: one value, a record by its columns, a row by its names."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from msgspec.structs import fields

from reviewdesk.domain.verdict import Decision

T = TypeVar("T")

_PAGE = 900
"""Rows per query, below the oldest limit of SQLite on bound values."""


def value(conn: sqlite3.Connection, query: str, values: Any = ()) -> Any:
    """Return the first column of the only row of a query."""
    return conn.execute(query, values).fetchone()[0]


def record(kind: type[T], row: Mapping[str, Any] | sqlite3.Row, **more: Any) -> T:
    """Build a record from the columns that its fields are named after, and ``more`` fields."""
    names = [one.name for one in fields(kind) if one.name not in more]  # type: ignore[arg-type]
    return kind(**{name: row[name] for name in names}, **more)


def decision(row: sqlite3.Row | Mapping[str, Any]) -> Decision | None:
    """Return the decision in a row, or ``None`` if it has none."""
    return Decision(row["decision"]) if row["decision"] else None


def insert(conn: sqlite3.Connection, table: str, row: Mapping[str, Any]) -> int | None:
    """Insert one row by the names of its columns, and return its key."""
    marks = ", ".join(f":{name}" for name in row)
    query = f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})"
    return conn.execute(query, row).lastrowid


def in_pages(
    conn: sqlite3.Connection, query: str, wanted: Sequence[Any], *before: Any
) -> Iterator[sqlite3.Row]:
    """Yield the rows of a query in which each ``IN (*)`` takes any number of wanted values.

    The values ``before`` are bound before them.
    """
    for start in range(0, len(wanted), _PAGE):
        page = wanted[start : start + _PAGE]
        places = range(len(before) + 1, len(before) + len(page) + 1)
        marks = ", ".join(f"?{place}" for place in places)
        yield from conn.execute(query.replace("IN (*)", f"IN ({marks})"), (*before, *page))


@contextmanager
def waiting(conn: sqlite3.Connection, tables: Mapping[str, str]) -> Iterator[None]:
    """Create temporary tables, given as name and columns, and drop them on exit or error."""
    try:
        for name, columns in tables.items():
            conn.execute(f"CREATE TEMP TABLE {name} {columns}")
        yield
    finally:
        for name in tables:
            conn.execute(f"DROP TABLE IF EXISTS temp.{name}")


def data_version(conn: sqlite3.Connection) -> int:
    """Return a number that changes when another connection writes to the desk."""
    found: int = conn.execute("PRAGMA data_version").fetchone()[0]
    return found
