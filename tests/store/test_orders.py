"""The drawn orders of a run are kept as pieces, equal to the columns of its verdicts."""

import sqlite3
from array import array
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from reviewdesk.desk.core import Desk
from reviewdesk.store import schema
from reviewdesk.store.load import ingest
from tests.helpers import load, numbered, open_desk, report, traced, verdict

PLACES = array("i", reversed(range(2 * ingest.SIZE + 7)))


@pytest.fixture
def conn() -> sqlite3.Connection:
    conn = sqlite3.connect(":memory:")
    schema.lay_out(conn)
    for run, name in ((1, "draw"), (1, "mix"), (2, "draw")):
        ingest.put(conn, list(ingest.pieces(run, name, PLACES if run == 1 else PLACES[:3])))
    return conn


@pytest.mark.parametrize("start", [0, 1, ingest.SIZE - 1, ingest.SIZE, len(PLACES) - 1])
@pytest.mark.parametrize("count", [0, 1, 5, ingest.SIZE, ingest.SIZE + 1, None])
def test_a_part_of_an_order_is_read(conn: sqlite3.Connection, start: int, count: Any) -> None:
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
    "change", ["DELETE FROM orders WHERE name = 'mix'", "UPDATE orders SET places = zeroblob(160)"]
)
def test_a_changed_order_is_found(tmp_path: Path, change: str) -> None:
    with closing(open_desk(tmp_path / "d.db")) as desk:
        load(desk, numbered(40))
        assert desk.verify().ok
        desk.conn.execute(change)
        problems = desk.verify().problems
        assert any("its order mix is not that of its verdicts" in one for one in problems)


# The threshold is .6 for the mean; e's only juror failed.
PANELS = (
    verdict("a", 0.9, 0.8, 0.7),
    verdict("b", 0.9, 0.1, 0.5, decision="pass"),
    verdict("c", 0.7, 0.7),
    verdict("d", 0.9, 0.2, band="high", agreement={"value": -1.94, "metric": "r_wg"}),
    verdict("e", None, decision="error"),
)
# a moves from .8 to .5 and to .6; c stays; d is judged once here and twice there.
AGAIN = (
    verdict("a", 0.5, 0.5),
    verdict("c", 0.7),
    verdict("d", 0.4),
    {**verdict("d", 0.6), "id": "d again"},
)
THIRD = (verdict("a", 0.6),)


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    with closing(open_desk(tmp_path_factory.mktemp("measured") / "desk.db")) as found:
        load(found, report(*AGAIN, report_id="again"))
        load(found, report(*THIRD, report_id="third"))
        found.remove(load(found, report(verdict("c", 0.1), report_id="gone")))
        load(found, report(*PANELS, report_id="now"))
        yield found


def kept(desk: Desk, text: str = "", order: str = "file") -> str:
    return "".join(row.id for row in desk.rows(desk.queue(desk.run("now"), text, order)))


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("range>=.7", "bd"), ("range=.2", "a"), ("range<.1", "c"), ("!range>=0", "e"),
        # a: .8, .5 and .6 swing by .3. c: .7 twice; the removed run does not count. d: .55 here,
        # and .5 there, which is the mean of .4 and .6. b was judged here alone.
        ("swing=.3", "a"), ("swing=0", "c"), ("swing=.05", "d"), ("!swing>=0", "be"),
    ],
)  # fmt: skip
def test_what_a_filter_keeps(desk: Desk, text: str, ids: str) -> None:
    assert kept(desk, text) == ids


def test_a_column_is_read_once_for_all_filters_and_orders(desk: Desk) -> None:
    text, run = "swing>.1 range>0 !esc|band:low", desk.run("now")
    first = [list(desk.queue(run, text, order)) for order in ("score", "-margin", "agreement")]
    with traced(desk.conn) as seen:
        again = [list(desk.queue(run, text, order)) for order in ("score", "-margin", "agreement")]
    assert again == first
    # Each time the desk is asked which other runs are loaded, and nothing more.
    assert len(seen) == 3
    assert all("FROM runs" in query for query in seen)
