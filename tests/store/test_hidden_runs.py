"""A run that is being loaded: nobody sees it, and a load that died is gone on with or swept."""

import os
from contextlib import closing, suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from reviewdesk.desk import loading
from reviewdesk.desk.core import Desk
from reviewdesk.desk.loading import LoadOptions
from reviewdesk.domain.records import Truth
from reviewdesk.domain.run import window
from reviewdesk.errors import Cancelled, DeskError
from reviewdesk.store.load import hidden_runs
from reviewdesk.store.load.hidden_runs import process_start
from tests.helpers import contents, load, numbered, open_desk, report, source, spawn, verdict

BIG = numbered(1100, report_id="big", generator={"model": "gpt-4o"})
STORED = ("verdicts", "bodies", "packed", "measures", "strata", "case_tags")


@pytest.fixture
def desk(desk: Desk) -> Desk:
    load(desk, numbered(40))
    return desk


def refuse(*_: object) -> None:
    raise DeskError("the process is gone")


def leave(
    desk: Desk, data: bytes, calls: int, monkeypatch: pytest.MonkeyPatch, **options: Any
) -> None:
    """Leave a run half loaded, as a kill does after so many calls of progress."""
    told: list[int] = []

    def progress(_: float, count: int) -> bool:
        told.append(count)
        return len(told) < calls

    with monkeypatch.context() as then:
        then.setattr(hidden_runs.Hold, "sweep", refuse)
        # 500 rows in every step, however slow the disk is.
        then.setattr(hidden_runs.LockPace, "took", lambda *_: None)
        with suppress(Cancelled):
            desk.load(source(data), LoadOptions(**options), progress)
    assert len(told) == calls


def stored(desk: Desk) -> dict[str, Any]:
    """What a load leaves, but for the times at which it did."""
    found = {name: lines for name, lines in contents(desk).items() if name in STORED}
    rows = desk.conn.execute("SELECT name, seed, content, notes, flagged, audit FROM runs")
    return {**found, "runs": [tuple(row) for row in rows]}


# What a transaction holds


@pytest.mark.parametrize("count", [240, 480])
def test_a_transaction_changes_a_bounded_number_of_rows(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    monkeypatch.setattr(window, "SIZE", 40)
    monkeypatch.setattr(hidden_runs.LockPace, "took", lambda *_: None)
    changes: list[int] = []

    def trace(statement: str) -> None:
        if statement in {"BEGIN IMMEDIATE", "COMMIT"}:
            changes.append(desk.conn.total_changes)

    tagged = (
        verdict(f"v{n}", case={"test": "t", "tags": ["a", "b"]}, output=f"{n}")
        for n in range(count)
    )
    data = report(*tagged, report_id="tagged")
    desk.conn.set_trace_callback(trace)
    load(desk, data)
    desk.conn.set_trace_callback(None)
    most = max(end - start for start, end in pairwise(changes))
    # A window of 40 bodies, 80 tags, its packed columns and the place; 500 rows of verdicts and the
    # place. Twice as many verdicts make more transactions, not longer ones.
    assert most <= 501
    assert sum(end > start for start, end in pairwise(changes)) >= count / 40


@pytest.mark.slow
def test_large_bodies_make_more_transactions(desk: Desk) -> None:
    before = desk.conn.total_changes
    begun: list[str] = []
    desk.conn.set_trace_callback(
        lambda statement: begun.append(statement) if statement == "BEGIN IMMEDIATE" else None
    )
    load(desk, report(*(verdict(f"v{n}", output=f"{n}" * 500_000) for n in range(10, 20))))
    desk.conn.set_trace_callback(None)
    # Ten outputs of a million characters. A transaction ends with the body that reaches 2 MiB, so
    # with the third: four; and one each to claim the run, for its orders, for its rows, to show it.
    assert len(begun) == 8
    assert desk.conn.total_changes > before


def test_the_pace_follows_the_time_that_the_lock_is_held() -> None:
    slept: list[float] = []
    clock = iter([0, 0.005, 0.006, 0.106, 0.107, 10, 10.001])
    pace = hidden_runs.LockPace(lambda: next(clock), slept.append)
    with pace.timed():
        pass
    assert pace.rows == 750
    pace.turn()
    assert slept == []
    with pace.timed():
        pass
    assert pace.rows == 500
    # Held for 105 ms in all: the others get 5 ms, one of which has gone by.
    pace.turn()
    assert slept == [pytest.approx(0.004)]
    with pace.timed():
        pass
    pace.turn()
    assert len(slept) == 1


@pytest.mark.slow
def test_the_log_of_a_load_is_folded_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(window, "SIZE", 10)
    monkeypatch.setattr(hidden_runs.LockPace, "took", lambda pace, _: setattr(pace, "rows", 10))
    path, sizes = tmp_path / "long.db", []

    def progress(*_: float) -> bool:
        sizes.append(path.with_name("long.db-wal").stat().st_size)
        return True

    with closing(open_desk(path)) as desk:
        desk.load(source(numbered(2000)), LoadOptions(), progress)
    # 200 transactions of bodies and 150 of rows, each of which writes some pages of 16 KB. After 32
    # of them the log begins anew, and would else grow tenfold; those of rows write a few more.
    assert len(sizes) >= 349
    assert sizes[-1] == max(sizes) < 2 * sizes[31]


# Killed

KILL = """
import os, sys
from pathlib import Path
from reviewdesk.desk.core import Desk
from reviewdesk.domain.run import window
from tests.helpers import numbered, source

window.SIZE = 20

def load(path, commits):
    desk = Desk.open(path)
    left = commits
    def trace(statement):
        nonlocal left
        if statement == "COMMIT":
            if not left:
                os._exit(9)
            left -= 1
    desk.conn.set_trace_callback(trace)
    desk.load(source(numbered(50, report_id="big")))
    os._exit(0)

sys.stdin.readline()
commits = 0
while True:
    path = Path(os.environ["REVIEWDESK_DESK"]).with_name(f"{commits}.db")
    child = os.fork()
    if not child:
        load(path, commits)
    if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0:
        break
    commits += 1
print(commits)
"""


@pytest.mark.slow
@pytest.mark.parametrize("again", ["the same", "another"])
def test_killed_at_any_commit_the_next_load_ends_as_if_it_were_the_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, again: str
) -> None:
    worker = spawn(KILL, tmp_path / "desk.db", "ann")
    out, problems = worker.communicate("go\n", timeout=120)
    assert worker.returncode == 0, problems
    monkeypatch.setattr(window, "SIZE", 20)
    data = numbered(50, report_id="big" if again == "the same" else "other")
    with closing(open_desk(tmp_path / "whole.db")) as desk:
        load(desk, data)
        whole = stored(desk)
    reached = []
    # At least: the claim, three windows, the orders, the rows, the last step.
    assert int(out) >= 7
    for commits in range(int(out)):
        with closing(open_desk(tmp_path / f"{commits}.db")) as desk:
            assert desk.runs() == []
            left = hidden_runs.hidden_runs(desk.conn)
            assert not any(one.held for one in left)
            reached += [(one.bodies, one.rows) for one in left]
            assert desk.load(source(data)).new
            assert stored(desk) == whole
            assert hidden_runs.hidden_runs(desk.conn) == []
            assert desk.verify() == desk.verify()
            assert desk.verify().ok
    assert set(reached) == {(0, 0), (20, 0), (40, 0), (50, 0), (50, 50)}


def test_a_load_goes_on_where_another_stopped(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    leave(desk, BIG, 4, monkeypatch)
    (left,) = hidden_runs.hidden_runs(desk.conn)
    assert (left.bodies, left.rows, left.held) == (1100, 500, False)
    wrote: list[str] = []
    desk.conn.set_trace_callback(
        lambda text: wrote.append(text) if text.startswith("INSERT INTO bodies") else None
    )
    run = load(desk, BIG)
    desk.conn.set_trace_callback(None)
    assert wrote == []
    assert desk.queue(run, order="file")[0] == left.first
    assert desk.verify().ok


@pytest.mark.slow
@pytest.mark.parametrize("calls", [1, 3, 4, 5])
@pytest.mark.parametrize("options", [{}, {"seed": "another"}, {"audit_share": 0.5}], ids=str)
def test_what_is_left_is_used_only_if_it_would_be_the_same(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, calls: int, options: dict[str, Any]
) -> None:
    leave(desk, BIG, calls, monkeypatch)
    load(desk, BIG, **options)
    with closing(open_desk(tmp_path / "whole.db")) as fresh:
        load(fresh, numbered(40))
        load(fresh, BIG, **options)
        assert stored(desk) == stored(fresh)
    assert desk.verify().ok


@pytest.mark.parametrize("calls", [1, 3, 4, 5])
def test_cancelling_leaves_nothing(desk: Desk, monkeypatch: pytest.MonkeyPatch, calls: int) -> None:
    monkeypatch.setattr(hidden_runs.LockPace, "took", lambda *_: None)
    desk.label(desk.find(desk.run(), "v1"), Truth.PASS)
    before, told = contents(desk), []

    def progress(share: float, _: int) -> bool:
        told.append(share)
        return len(told) < calls

    # Items that the run has too: what is kept of a label beside its verdicts goes with them.
    with pytest.raises(Cancelled):
        desk.load(source(BIG), LoadOptions(), progress)
    assert told == sorted(told)
    assert 0 <= told[0] <= told[-1] <= 1
    assert desk.verify().ok
    assert contents(desk) == before
    assert [desk.conn.execute(f"PRAGMA {name}").fetchone()[0] for name in hidden_runs.PRAGMAS] == [
        1, 1000, -2000,
    ]  # fmt: skip


# Two at once


def test_a_second_load_waits_for_the_first(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    leave(desk, BIG, 2, monkeypatch)
    (left,) = hidden_runs.hidden_runs(desk.conn)
    # As if it were still at work in this process.
    with monkeypatch.context() as then:
        then.setattr(hidden_runs, "_held", {left.token})
        seen: list[tuple[float, int]] = []

        def progress(share: float, count: int) -> bool:
            seen.append((share, count))
            return False

        with pytest.raises(Cancelled):
            desk.load(source(BIG), LoadOptions(), progress)
        assert seen == [(left.share, 1000)]
        assert hidden_runs.hidden_runs(desk.conn) == [left]
        # Another report does not wait, and does not touch it.
        load(desk, numbered(3, report_id="short"))
        assert hidden_runs.hidden_runs(desk.conn) == [left]
        assert desk.verify().loading == (left.sentence,)
    assert load(desk, BIG).verdicts == 1100
    assert desk.verify().ok


def test_a_load_whose_run_another_has_taken_over_writes_no_more(desk: Desk) -> None:
    def progress(*_: float) -> bool:
        desk.conn.execute("UPDATE loads SET token = 'theirs'")
        return True

    with pytest.raises(DeskError, match="another process has continued the load"):
        desk.load(source(BIG), LoadOptions(), progress)
    (left,) = hidden_runs.hidden_runs(desk.conn)
    assert left.bodies == 500


def test_a_process_number_given_again_frees(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    leave(desk, BIG, 1, monkeypatch)
    # Process 1 runs, and was not started then.
    desk.conn.execute("UPDATE loads SET pid = 1, started = 'earlier'")
    assert [one.held for one in hidden_runs.hidden_runs(desk.conn)] == [False]


def test_a_load_waits_for_no_idle_process(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    leave(desk, BIG, 1, monkeypatch)
    query = "UPDATE loads SET pid = ?, started = ?"
    desk.conn.execute(query, (os.getppid(), process_start(os.getppid())))
    monkeypatch.setattr(loading, "_STILL", 0)
    with pytest.raises(DeskError, match="loads it without progress"):
        load(desk, BIG)


PLANTED = {
    "a run that is there": "1, 'x', 'f', 1, '', 1, '1', '', 40, 40, 0.5",
    "verdicts of a run": "9, 'x', 'f', 1, '', 1, '1', '', 40, 40, 0.5",
    "rows without end": "9, 'x', 'f', 1, '', 1, '1', '', 1000000000000, 1000000000000, 0.5",
    "a share beyond all": "9, 'x', 'f', 99, '', 1, '1', '', 0, 0, 1e300",
    "no number": "9, 'x', 'f', 'a', '', 'b', '1', '', 'c', 'd', 'e'",
}


@pytest.mark.parametrize("name", PLANTED)
def test_a_load_that_claims_what_is_not_its_own_deletes_nothing(desk: Desk, name: str) -> None:
    before = stored(desk)
    desk.conn.execute(f"INSERT INTO loads VALUES ({PLANTED[name]})")
    said = "the load of f claims rows that it did not write"
    found = desk.verify()
    assert said in found.problems
    assert found.loading == ()
    with pytest.raises(DeskError, match=said):
        load(desk, BIG)
    assert stored(desk) == before
