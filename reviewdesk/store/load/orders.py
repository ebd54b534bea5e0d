"""The drawn orders of each run, as the places of its verdicts in the file, some thousand to a row.

They say what the columns ``draw`` and ``mix`` do. An index of those would be written at random
places while a run is loaded, and hold the lock for long in a desk of a million verdicts.
"""

from __future__ import annotations

import sqlite3
import sys
from array import array
from collections.abc import Iterator

LAYOUT = """CREATE TABLE IF NOT EXISTS orders (
            run INTEGER NOT NULL REFERENCES runs(key), name TEXT NOT NULL, first INTEGER NOT NULL,
            places BLOB NOT NULL, PRIMARY KEY (run, name, first))"""
NAMES = ("draw", "mix")
SIZE = 4096
"""The number of places in a row; the last of an order may have fewer."""


def pieces(run: int, name: str, places: array[int]) -> Iterator[tuple[int, str, int, bytes]]:
    """Yield the rows that hold an order."""
    for first in range(0, len(places), SIZE):
        yield run, name, first, _swapped(places[first : first + SIZE]).tobytes()


def put(conn: sqlite3.Connection, rows: list[tuple[int, str, int, bytes]]) -> None:
    """Write rows of ``pieces``, inside the caller's transaction."""
    conn.executemany("INSERT OR REPLACE INTO orders VALUES (?, ?, ?, ?)", rows)


def read(
    conn: sqlite3.Connection, run: int, name: str, start: int = 0, end: int | None = None
) -> array[int]:
    """Return the places of a run's verdicts in one of its orders, from ``start`` up to ``end``."""
    most = sys.maxsize if end is None else end
    rows = conn.execute(
        """SELECT places FROM orders WHERE run = ? AND name = ? AND first > ? AND first < ?
           ORDER BY first""",
        (run, name, start - SIZE, most),
    )
    found = array("i", b"".join(row[0] for row in rows))
    before = start % SIZE
    return _swapped(found[before : before + most - start])


def rebuild(conn: sqlite3.Connection) -> None:
    """Write the orders of every run from the columns of its verdicts, whatever was held."""
    conn.execute("DELETE FROM orders")
    for (run,) in conn.execute("SELECT key FROM runs").fetchall():
        for name in NAMES:
            put(conn, list(pieces(run, name, _sorted(conn, run, name))))


def problems(conn: sqlite3.Connection, run: int) -> Iterator[str]:
    """Say which order of a run is not that of its verdicts."""
    query = "SELECT first FROM orders WHERE run = ? AND name = ? ORDER BY first"
    for name in NAMES:
        starts = [row[0] for row in conn.execute(query, (run, name))]
        held = read(conn, run, name)
        if starts != list(range(0, len(held), SIZE)) or held != _sorted(conn, run, name):
            yield f"its order {name} is not that of its verdicts"


def _sorted(conn: sqlite3.Connection, run: int, name: str) -> array[int]:
    rows = conn.execute(f"SELECT pos FROM verdicts WHERE run = ? ORDER BY {name}", (run,))
    return array("i", (row[0] for row in rows))


def _swapped(places: array[int]) -> array[int]:
    """Return places in the other order of bytes where that of the desk is not the machine's."""
    if sys.byteorder == "big":
        places.byteswap()
    return places
