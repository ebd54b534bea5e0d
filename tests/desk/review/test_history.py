"""The pace of what a reviewer did, and the last label."""

from contextlib import closing
from datetime import timedelta

import pytest

from reviewdesk.desk import Desk
from reviewdesk.desk.labels.transfer import import_labels
from reviewdesk.desk.review.items import PaceReader, last_label
from reviewdesk.domain.records import Pace, Truth
from tests.helpers import Clock, label_row, load, mark, numbered, open_desk, report, verdict


@pytest.fixture
def desk(desk: Desk) -> Desk:
    load(desk, numbered(6))
    return desk


def wait(desk: Desk, seconds: int) -> None:
    """Let time pass; the clock itself goes on by a second with each event."""
    assert isinstance(desk.clock, Clock)
    desk.clock.time += timedelta(seconds=seconds)


def test_the_pace_of_a_sitting(desk: Desk) -> None:
    run = desk.run()
    assert PaceReader().pace(desk, run) == Pace(None, 0)
    keys = {name: desk.find(run, name) for name in ("v0", "v1", "v2", "v3", "v4")}
    desk.label(keys["v0"], Truth.PASS, blind=False)
    wait(desk, 9)
    desk.label(keys["v1"], Truth.PASS, blind=False)
    wait(desk, 8)
    desk.note(keys["v2"], "n")
    wait(desk, 10)
    desk.label(keys["v2"], Truth.FAIL, blind=False)
    desk.undo()
    wait(desk, 8)
    desk.label(keys["v2"], Truth.PASS, blind=False)
    wait(desk, 300)
    desk.label(keys["v3"], Truth.PASS, blind=False)
    # v1 took 9 + 1 s; v2 (8 + 1) + (10 + 1), then 1 to undo and 8 + 1 to label again, 30 s in all;
    # v3 came after 301 s, which is an absence. 2 / 40 * 3600 = 180.
    assert PaceReader().pace(desk, run) == Pace(180.0, 2)


def test_an_import_is_no_work(desk: Desk) -> None:
    run = desk.run()
    desk.label(desk.find(run, "v0"), Truth.PASS, blind=False)
    wait(desk, 2)
    names = ("v2", "v3", "v4")
    import_labels(desk, run, [label_row(name, "ann", Truth.PASS) for name in names])
    wait(desk, 3)
    desk.label(desk.find(run, "v1"), Truth.PASS, blind=False)
    # One second to write each of the three rows, 2 + 3 waited, and one for the label itself.
    assert PaceReader().pace(desk, run) == Pace(3600 / 9, 1)
    with closing(open_desk(desk.path, "ben")) as ben:
        assert PaceReader().pace(ben, run) == Pace(None, 0)


def test_labels_from_a_shell_take_nobodys_time(desk: Desk) -> None:
    run = desk.run()
    for name in ("v0", "v1", "v2"):
        desk.label(desk.find(run, name), Truth.PASS)
    assert PaceReader().pace(desk, run) == Pace(None, 0)


def test_the_last_label_is_the_reviewers_own_in_the_run_and_by_hand(desk: Desk) -> None:
    run = desk.run()
    assert last_label(desk, run) is None
    desk.label(desk.find(run, "v1"), Truth.PASS)
    desk.label(desk.find(run, "v2"), Truth.FAIL)
    mark(desk, desk.find(run, "v3"), on=True)
    with closing(open_desk(desk.path, "ben")) as ben:
        ben.label(ben.find(run, "v4"), Truth.FAIL)
    import_labels(desk, run, [label_row("v5", "ann", Truth.PASS)])
    found = last_label(desk, run)
    assert found is not None
    assert (found.verdict, found.undone) == ("v2", False)
    # An import and the mark go first.
    for _ in range(3):
        desk.undo()
    found = last_label(desk, run)
    assert found is not None
    assert (found.verdict, found.undone) == ("v2", True)
    other = load(desk, report(verdict("z"), report_id="other"))
    assert last_label(desk, other) is None
