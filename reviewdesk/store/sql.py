"""Ad hoc looks at a desk: what it holds, and a person's own SQL on a file opened read-only."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import Any

from msgspec import Struct

from reviewdesk.errors import DeskError, ReviewDeskError, UsageError
from reviewdesk.store.audit import refuse_harmful
from reviewdesk.store.connect import connect_read_only, is_read_only
from reviewdesk.store.events import desk_id
from reviewdesk.store.explain import BUSIEST, explained, interruption, was_stopped
from reviewdesk.store.load.hidden_runs import hidden_runs
from reviewdesk.store.rows import value

_DESCRIBING = frozenset(
    {"table_info", "table_xinfo", "index_list", "index_info", "index_xinfo", "foreign_key_list"}
)
"""Pragmas whose argument names what they describe; with one, any other pragma sets something."""
_STEPS = 100_000
"""Steps of SQLite's machine between two looks at the clock, and at whether ctrl+c was pressed."""
_BATCH = 200


def facts(conn: sqlite3.Connection, path: Path) -> dict[str, Any]:
    """Return the desk's path, id, size in bytes, schema version, journal mode, counts and loads."""
    from sqlite_utils import Database

    database = Database(conn, execute_plugins=False)
    size = sum(
        file.stat().st_size for file in (path, path.with_name(f"{path.name}-wal")) if file.exists()
    )
    hidden = hidden_runs(conn)
    counts = {name: database[name].count for name in ("runs", "verdicts", "label_events")}
    return {
        "path": str(path),
        "desk_id": desk_id(conn),
        "bytes": size,
        "schema": value(conn, "PRAGMA user_version"),
        "journal": value(conn, "PRAGMA journal_mode"),
        "writable": not is_read_only(conn),
        "runs": counts["runs"],
        "verdicts": counts["verdicts"] - sum(one.rows for one in hidden),
        "events": counts["label_events"],
        "loading": [one.sentence for one in hidden],
    }


class QueryRows(Struct, frozen=True):
    """The columns of a query by name, and its rows in batches as they are read."""

    columns: tuple[str, ...]
    batches: Iterator[list[tuple[Any, ...]]]

    def object_keys(self) -> list[str]:
        """Return the names of the columns as keys of an object: a second ``id`` is ``id_2``."""
        from sqlite_utils.utils import dedupe_keys

        return dedupe_keys(self.columns)


@contextmanager
def query(path: Path, sql: str, values: Mapping[str, str]) -> Iterator[QueryRows]:
    """Run one statement on a desk file without writing anything, and yield its rows.

    ``values`` are the named parameters of the statement.

    Raises:
        UsageError: the statement is wrong, would write, or returns no rows.
        DeskError: the file is not a desk or cannot be read, holds views or triggers that are not
            ours, or the statement ran for too long without a row.
        KeyboardInterrupt: the user pressed ctrl+c while the statement ran.
    """
    with connect_read_only(path, sqlite3.Connection) as conn:
        with explained(path):
            refuse_harmful(conn, path)
        conn.execute("PRAGMA query_only=ON")
        conn.text_factory = _decode
        conn.set_authorizer(_authorize)
        end = [monotonic() + BUSIEST]
        conn.set_progress_handler(lambda: monotonic() > end[0], _STEPS)

        def batch() -> list[tuple[Any, ...]]:
            end[0] = monotonic() + BUSIEST
            return cursor.fetchmany(_BATCH)

        try:
            cursor = conn.execute(sql, values)
            if cursor.description is None:
                raise UsageError("SQL: the statement returns no rows", "Write a SELECT.")
            columns = tuple(column[0] for column in cursor.description)
            yield QueryRows(columns, iter(batch, []))
        except sqlite3.Error as error:
            if was_stopped(error) and monotonic() <= end[0]:
                raise interruption() from error
            raise _explained(path, error) from error
        except UnicodeEncodeError as error:
            raise UsageError("SQL: holds bytes that are not UTF-8", "Give it in UTF-8.") from error


def _decode(text: bytes) -> str:
    """Decode a stored text; bytes that are not UTF-8 become replacement characters."""
    return text.decode("utf-8", "replace")


def _authorize(action: int, what: str | None, value: str | None, *_: str | None) -> int:
    """Refuse other files, extensions, and pragmas that set something."""
    refused = (
        action in {sqlite3.SQLITE_ATTACH, sqlite3.SQLITE_DETACH}
        or (action == sqlite3.SQLITE_FUNCTION and value == "load_extension")
        or (action == sqlite3.SQLITE_PRAGMA and value is not None and what not in _DESCRIBING)
    )
    return sqlite3.SQLITE_DENY if refused else sqlite3.SQLITE_OK


def _explained(path: Path, error: sqlite3.Error) -> ReviewDeskError:
    """Return the error of a statement with what to do, or that of a file that cannot be read."""
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
    text = str(error).rstrip(".")
    if code in {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_AUTH} or text.startswith("not authorized"):
        return UsageError("SQL: desk query only reads, and this does more", "Write a SELECT.")
    if isinstance(error, sqlite3.ProgrammingError):
        return UsageError(f"SQL: {text}", "Write :NAME in one statement, and give -p NAME VALUE.")
    if code in {sqlite3.SQLITE_ERROR, sqlite3.SQLITE_MISMATCH, sqlite3.SQLITE_TOOBIG}:
        hint = "List the tables: reviewdesk desk query 'SELECT name, sql FROM sqlite_master'."
        return UsageError(f"SQL: {text}", hint)
    try:
        with explained(path):
            raise error
    except DeskError as named:
        return named
