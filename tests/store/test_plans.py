"""How SQLite goes about the queries of every move and every label."""

import re

import pytest

from reviewdesk.desk.core import Desk
from reviewdesk.domain.records import Truth
from tests.helpers import load, mark, numbered, tag, traced


@pytest.fixture
def desk(desk: Desk) -> Desk:
    run = load(desk, numbered(6))
    desk.label(desk.find(run, "v1"), Truth.PASS)
    desk.defer(desk.find(run, "v2"))
    return desk


def scans(desk: Desk, query: str) -> list[str]:
    """The tables that are read from end to end for each row of something else."""
    plan = desk.conn.execute(f"EXPLAIN QUERY PLAN {query}").fetchall()
    repeated: set[int] = set()
    found = []
    for row in plan:
        if row["parent"] in repeated or row["detail"].startswith("CORRELATED"):
            repeated.add(row["id"])
            if row["detail"].startswith("SCAN"):
                found.append(row["detail"])
    return found


def run_queries(desk: Desk) -> list[str]:
    """The reads behind the queue's lines, an item, a label, a tag, a mark and the next item."""
    run = desk.run()
    keys = desk.queue(run)
    with traced(desk.conn) as queries:
        desk.rows(keys)
        desk.item(keys[0])
        desk.label(keys[0], Truth.FAIL, tags=["a"])
        tag(desk, keys[1], ["b"])
        mark(desk, keys[2], on=True)
        desk.undo()
        desk.redo()
        desk.next_undecided(run, keys, 0)
    return [query for query in queries if query.lstrip().startswith("SELECT")]


def test_nothing_is_read_whole_for_each_row(desk: Desk) -> None:
    queries = run_queries(desk)
    views = ("item_tags", "truths", "replayed_events", "standing_events")
    assert all(any(view in query for query in queries) for view in views)
    assert [(query, found) for query in queries if (found := scans(desk, query))] == []


def test_the_labels_of_one_item_are_looked_up_and_no_table_is_read(desk: Desk) -> None:
    of_item = [query for query in run_queries(desk) if "item IN (" in query or "item = " in query]
    assert len(of_item) > 10
    for query in of_item:
        plan = [row["detail"] for row in desk.conn.execute(f"EXPLAIN QUERY PLAN {query}")]
        # A view that one item is looked up in may be scanned: it holds that item only.
        tables = [line for line in plan if line.startswith(("SCAN label_events", "SCAN verdicts"))]
        tables += [line for line in plan if re.match(r"SCAN (c|d|e|l|current_events|v)\b", line)]
        assert (query, tables) == (query, [])


def test_a_label_is_one_short_transaction(desk: Desk) -> None:
    key, found = desk.find(desk.run(), "v3"), list[str]()
    desk.conn.set_trace_callback(found.append)
    desk.label(key, Truth.PASS, blind=False, seen=True)
    desk.conn.set_trace_callback(None)
    # A statement with a trigger is traced twice.
    words = [query.split()[0] for query in dict.fromkeys(found) if not query.startswith("--")]
    # How long it waits for the lock is set around BEGIN.
    words = [word for word in words if word != "PRAGMA"]
    assert (words[0], words[-1]) == ("BEGIN", "COMMIT")
    # Read: the verdict, the end of the chain with the desk's id and the highest counter, the item's
    # state as it was and as the log has it, its truth, and their window.
    # Written: event, state and window. No table that is hashed is read, as none is written.
    assert (words.count("SELECT"), words.count("INSERT"), len(words)) == (5, 3, 10)


def test_a_scan_for_each_row_would_be_found(desk: Desk) -> None:
    slow = """SELECT item FROM standing_events d WHERE d.kind = 'defer'
              AND d.item NOT IN (SELECT item FROM labels WHERE author = d.reviewer)"""
    assert scans(desk, slow)
