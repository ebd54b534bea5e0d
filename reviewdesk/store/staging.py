"""Tables of the connection's own, in which rows wait outside of the desk's write lock."""

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
"""What errors name while rows wait: SQLite keeps such tables outside the desk file."""


@contextmanager
def waiting(conn: sqlite3.Connection, tables: Mapping[str, str]) -> Iterator[None]:
    """Temporary tables, each a name with its columns; gone at the end, whatever the end is."""
    try:
        for name, columns in tables.items():
            conn.execute(f"CREATE TEMP TABLE {name} {columns}")
        yield
    finally:
        for name in tables:
            conn.execute(f"DROP TABLE IF EXISTS temp.{name}")


@contextmanager
def apart(conn: sqlite3.Connection) -> Iterator[PutAll]:
    """One transaction over the waiting tables, which takes no lock on the desk.

    Within a transaction of the desk, as a migration is, they are part of that one.
    """
    # Past the connection's own explanation, which would name the desk.
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
