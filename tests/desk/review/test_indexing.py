"""Building the index: in batches, beside other work, stopped and gone on with."""

from contextlib import closing
from typing import Any

import pytest

from reviewdesk.desk.core import Desk
from reviewdesk.desk.review import filters
from reviewdesk.desk.review.filters import find, index, indexed
from reviewdesk.domain.records import Run, Truth
from reviewdesk.store import search as stored_search
from tests.helpers import load, numbered, open_desk, report, spawn, verdict


@pytest.fixture(autouse=True)
def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filters, "sleep", lambda _: None)


def ids(desk: Desk, run: Run, text: str) -> list[str]:
    return sorted(row.id for row in desk.rows(find(desk, run, text, blind=False)))


class Counts:
    """A progress call that remembers how far it was told the index is."""

    def __init__(self) -> None:
        self.seen: list[int] = []

    def __call__(self, _: float, count: int) -> bool:
        self.seen.append(count)
        return True


def test_the_index_is_built_in_batches(desk: Desk) -> None:
    run = load(desk, numbered(450))
    told: list[tuple[float, int]] = []

    def progress(share: float, count: int) -> bool:
        told.append((share, count))
        assert indexed(desk, run) == share
        return True

    assert indexed(desk, run) == 0
    assert index(desk, run, progress)
    assert told == [(200 / 450, 200), (400 / 450, 400), (1.0, 450)]
    assert indexed(desk, run) == 1
    assert len(find(desk, run, "question", blind=True)) == 450
    # What is complete is left alone.
    before = desk.conn.total_changes
    assert index(desk, run)
    assert desk.conn.total_changes == before


def test_it_stops_when_told_and_goes_on_later(desk: Desk) -> None:
    run = load(desk, numbered(450))
    assert index(desk, run, lambda _, __: False) is False
    assert indexed(desk, run) == 200 / 450
    # What is not indexed is not found yet.
    assert len(find(desk, run, "question", blind=False)) == 200
    with closing(open_desk(desk.path, "ben")) as other:
        counts = Counts()
        assert index(other, run, counts)
        assert counts.seen == [400, 450]
    assert ids(desk, run, "question") == sorted(f"v{n}" for n in range(450))
    # Stopped at the very end it is complete all the same.
    assert index(desk, load(desk, numbered(3, report_id="more")), lambda _, __: False) is True


KILLED = """
import sys
from reviewdesk.desk.core import Desk
from reviewdesk.desk.review import filters as desk_search
from reviewdesk.store import search
desk = Desk.open()
put = search.put
def hanging(conn, run, start, batch):
    put(conn, run, start, batch)
    if start == 200:
        print("ready", flush=True)
        sys.stdin.readline()
search.put = hanging
desk_search.index(desk, desk.run())
"""


def test_a_process_that_is_killed_in_the_middle_of_a_batch(desk: Desk) -> None:
    run = load(desk, numbered(450))
    worker = spawn(KILLED, desk.path, "ben")
    assert worker.stdout is not None
    assert worker.stdout.readline() == "ready\n"
    worker.kill()
    worker.communicate(timeout=60)
    assert indexed(desk, run) == 200 / 450
    assert index(desk, run)
    assert ids(desk, run, "question") == sorted(f"v{n}" for n in range(450))


def test_a_label_is_taken_between_batches(desk: Desk) -> None:
    run = load(desk, numbered(450))
    with closing(open_desk(desk.path, "ben")) as other:
        other.conn.execute("PRAGMA busy_timeout=0")
        key = other.find(run, "v0")
        assert index(desk, run, lambda _, __: bool(other.label(key, Truth.PASS)))
        assert other.verify().events == 4


def test_two_windows_index_a_run_once(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    run = load(desk, numbered(450))
    prepare = stored_search.prepare
    with closing(open_desk(desk.path, "ben")) as other:

        def overtaken(conn: Any, run_key: int, start: int) -> Any:
            found = prepare(conn, run_key, start)
            # The other window writes the same batch, and one more, first.
            monkeypatch.setattr(stored_search, "prepare", prepare)
            index(other, run, lambda _, count: count < 400)
            return found

        monkeypatch.setattr(stored_search, "prepare", overtaken)
        assert index(desk, run)
    rows = desk.conn.execute("SELECT count(*), count(DISTINCT rowid) FROM search").fetchone()
    assert tuple(rows) == (450, 450)
    assert len(find(desk, run, "question", blind=False)) == 450


def test_long_texts_make_small_batches_and_no_verdicts_none(desk: Desk) -> None:
    run = load(desk, report(*(verdict(f"v{n}", input="word " * 80_000) for n in range(4))))
    counts = Counts()
    # 400,000 characters each: the third is the one that passes a million.
    assert index(desk, run, counts)
    assert counts.seen == [3, 4]
    run = load(desk, report())
    assert indexed(desk, run) == 1
    assert index(desk, run)
    assert ids(desk, run, "anything") == []
