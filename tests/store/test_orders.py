"""The drawn orders of a run are kept as pieces, equal to the columns of its verdicts."""

from __future__ import annotations

import sqlite3
from array import array
from contextlib import closing
from pathlib import Path

import pytest

from reviewdesk.store.load import ingest
from tests.helpers import load, numbered, open_desk

PLACES = array("i", reversed(range(2 * ingest.SIZE + 7)))


@pytest.fixture
def conn() -> sqlite3.Connection:
    conn = sqlite3.connect(":memory:")
    conn.execute(ingest.LAYOUT)
    for run, name in ((1, "draw"), (1, "mix"), (2, "draw")):
        ingest.put(conn, list(ingest.pieces(run, name, PLACES if run == 1 else PLACES[:3])))
    return conn


@pytest.mark.parametrize("start", [0, 1, ingest.SIZE - 1, ingest.SIZE, len(PLACES) - 1])
@pytest.mark.parametrize("count", [0, 1, 5, ingest.SIZE, ingest.SIZE + 1, None])
def test_a_part_of_an_order_is_read(
    conn: sqlite3.Connection, start: int, count: int | None
) -> None:
    end = None if count is None else start + count
    assert ingest.read(conn, 1, "draw", start, end) == PLACES[start:end]
    assert ingest.read(conn, 2, "draw", start, end) == PLACES[:3][start:end]


@pytest.mark.parametrize("name", ingest.NAMES)
def test_a_load_keeps_the_orders_of_its_verdicts(tmp_path: Path, name: str) -> None:
    with closing(open_desk(tmp_path / "d.db")) as desk:
        load(desk, numbered(3))
        run = load(desk, numbered(40), seed="7")
        query = f"SELECT key FROM verdicts WHERE run = ? ORDER BY {name}"
        keys = array("q", [row[0] for row in desk.conn.execute(query, (run.key,))])
        assert desk.queue(run, "", name) == keys
        assert desk.queue(run, "", f"-{name}") == keys[::-1]
        # From columns in memory, as a filter needs them.
        assert desk.queue(run, "label:none", name) == keys
        assert not list(ingest.problems(desk.conn, run.key))
        held = desk.conn.execute("SELECT * FROM orders ORDER BY run, name").fetchall()
        ingest.rebuild(desk.conn)
        assert desk.conn.execute("SELECT * FROM orders ORDER BY run, name").fetchall() == held


@pytest.mark.parametrize(
    "change",
    ["DELETE FROM orders WHERE name = 'mix'", "UPDATE orders SET places = zeroblob(160)"],
)
def test_a_changed_order_is_found(tmp_path: Path, change: str) -> None:
    with closing(open_desk(tmp_path / "d.db")) as desk:
        load(desk, numbered(40))
        assert desk.verify().ok
        desk.conn.execute(change)
        problems = desk.verify().problems
        assert any("its order mix is not that of its verdicts" in one for one in problems)
