"""Hashes of the small tables that no event covers: drafts, filters, views, choices, and ``meta``.

Each transaction of the desk renews them, unless they did not fit before it: damage stays visible.
They find damage and not tampering, as anybody can compute them anew.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256

from reviewdesk.errors import DeskError

KEY = "hashes"
"""The key of the hashes in ``meta``."""
_COLUMNS = {
    "drafts": "item, reviewer, text",
    "filters": "reviewer, name, text",
    "kept_settings": "reviewer, name, value",
    "meta": "key, value",
    "migrations": "name, at",
    "runs": "key, opened",
    "views": "run, reviewer, state",
}
_WHERE = {"meta": f"key <> '{KEY}'"}


def _query() -> str:
    """Return the statement that reads all of it at once, as it is run with each label."""
    parts = []
    for table, columns in _COLUMNS.items():
        cells = " || ".join(f"typeof({one}) || hex({one})" for one in columns.split(", "))
        rows = f"SELECT {cells} AS cells FROM {table} WHERE {_WHERE.get(table, 1)} ORDER BY 1"
        parts.append(f"(SELECT CAST(group_concat(cells) AS BLOB) FROM ({rows}))")
    return f"SELECT {', '.join(parts)}"


_READ = _query()


def hashes(conn: sqlite3.Connection) -> dict[str, str]:
    """Return the hash of each table, by its name; empty if one is not there or cannot be read."""
    try:
        texts = conn.execute(_READ).fetchone()
    except (DeskError, sqlite3.Error):
        return {}
    return {
        table: sha256(text or b"").hexdigest()[:16]
        for table, text in zip(_COLUMNS, texts, strict=True)
    }


def problems(conn: sqlite3.Connection) -> Iterator[str]:
    """Name the tables that are not as the last transaction of a reviewdesk left them."""
    stated = json.loads(_stated(conn) or "{}")
    made = hashes(conn)
    yield from (
        f"{table} is not as it was written"
        for table in sorted(stated.keys() | made.keys() if stated else ())
        if stated.get(table) != made.get(table)
    )


@contextmanager
def renewed(conn: sqlite3.Connection) -> Iterator[None]:
    """Renew the hashes at the end of a block inside a transaction, if they fit before it.

    Where a table cannot be read the hashes stay, as a label does not need those tables.
    """
    before = hashes(conn)
    stated = _stated(conn) if before else ""
    yield
    after = hashes(conn) if stated in {"", json.dumps(before)} else {}
    if after and (after != before or not stated):
        conn.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (KEY, json.dumps(after)))


def _stated(conn: sqlite3.Connection) -> str:
    row = conn.execute("SELECT value FROM meta WHERE key = ?", (KEY,)).fetchone()
    return "" if row is None else str(row[0])
