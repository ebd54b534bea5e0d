"""Single rows of the desk: values, records by their columns, and any number of wanted values."""

from __future__ import annotations

import sqlite3
from contextlib import closing

from msgspec import Struct

from reviewdesk.store.rows import in_pages, insert, record, value


class Pair(Struct, frozen=True):
    """Two columns."""

    a: int
    b: str


def test_any_number_of_values_may_be_wanted() -> None:
    with closing(sqlite3.connect(":memory:")) as conn:
        conn.execute("CREATE TABLE t (a, b)")
        conn.executemany("INSERT INTO t VALUES (?, ?)", [(n, n % 2) for n in range(2500)])
        # Two pages of 900 and one of 500; half of them are even.
        query = "SELECT a FROM t WHERE b = ? AND a IN (*)"
        assert [row[0] for row in in_pages(conn, query, range(2300), 0)] == [*range(0, 2300, 2)]
        assert list(in_pages(conn, query, [], 0)) == []


def test_a_record_is_read_as_it_was_inserted() -> None:
    with closing(sqlite3.connect(":memory:")) as conn:
        conn.row_factory = sqlite3.Row
        conn.execute("CREATE TABLE t (key INTEGER PRIMARY KEY, a, b)")
        assert insert(conn, "t", {"b": "x", "a": 3}) == 1
        assert value(conn, "SELECT b FROM t WHERE a = ?", (3,)) == "x"
        row = conn.execute("SELECT * FROM t").fetchone()
        assert record(Pair, row) == Pair(3, "x")
        assert record(Pair, row, b="y") == Pair(3, "y")
