"""Temporary tables of one connection, in which rows wait without taking the desk's write lock."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from reviewdesk.store.connect import explained

PutAll = Callable[[str, Iterable[tuple[Any, ...]]], object]

_TEMPORARY = Path("the temporary folder")
"""The place that errors name while rows wait, as SQLite keeps such tables outside the desk file."""


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


@contextmanager
def staging_transaction(conn: sqlite3.Connection) -> Iterator[PutAll]:
    """Open a transaction over the temporary tables, which takes no lock on the desk.

    Inside a transaction of the desk, such as a migration, the writes become part of that one.
    """
    # Bypasses the connection's own error text, which would name the desk.
    put = partial(sqlite3.Connection.executemany, conn)
    with explained(_TEMPORARY):
        if conn.in_transaction:
            yield put
            return
        with _transaction(conn):
            yield put


@contextmanager
def _transaction(conn: sqlite3.Connection) -> Iterator[None]:
    conn.execute("BEGIN")
    try:
        yield
        conn.execute("COMMIT")
    except BaseException:
        if conn.in_transaction:
            conn.execute("ROLLBACK")
        raise
