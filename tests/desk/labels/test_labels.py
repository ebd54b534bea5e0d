"""Labels, undo and the walk, one example per rule; imports are short transactions and one undo."""

from array import array
from contextlib import closing
from datetime import datetime
from pathlib import Path

import pytest

from reviewdesk.desk.core import Desk
from reviewdesk.desk.labels.transfer import BATCH, import_labels
from reviewdesk.desk.review import edits
from reviewdesk.domain.records import Event, Truth, View
from reviewdesk.errors import Cancelled
from tests.helpers import Clock, label_row, load, numbered, open_desk, report, verdict


@pytest.fixture
def desk(desk: Desk) -> Desk:
    load(desk, numbered(12))
    return desk


def key(desk: Desk, name: str) -> int:
    return desk.find(desk.run(), name)


def label(desk: Desk, name: str, said: Truth = Truth.PASS) -> Event:
    return desk.label(key(desk, name), said)


def test_an_event_says_who_when_and_what(desk: Desk) -> None:
    event = label(desk, "v1")
    assert (event.kind, event.seq, event.action, event.target) == ("label", 1, 1, None)
    assert (event.reviewer, event.author, event.run) == ("ann", "ann", desk.run().hash)
    assert isinstance(desk.clock, Clock)
    assert event.at == desk.clock.time.isoformat(timespec="milliseconds")
    assert label(desk, "v1").at > event.at


def test_an_undone_label_may_be_repeated_items(desk: Desk) -> None:
    label(desk, "v1", Truth.FAIL)
    desk.undo()
    label(desk, "v1", Truth.PASS)
    item = desk.item(key(desk, "v1"))
    assert item.row.label is Truth.PASS
    assert [event.undone for event in item.history if event.kind == "label"] == [True, False]
    assert item.labelled_before


def test_one_label_serves_one_content_in_every_run(tmp_path: Path) -> None:
    same = {name: verdict("a")[name] for name in ("input", "output", "rubric")}
    first = report(verdict("a"), {**verdict("b", 0.1), **same}, verdict("c"), report_id="first")
    second = report({**verdict("z", 0.2), **same}, report_id="second")
    with closing(open_desk(tmp_path / "desk.db")) as desk:
        one, two = load(desk, first), load(desk, second)
        desk.label(desk.find(one, "b"), Truth.PASS)
        assert [row.label for row in desk.rows(desk.queue(one, order="file"))] == [
            Truth.PASS,
            Truth.PASS,
            None,
        ]
        assert desk.rows(desk.queue(two))[0].label is Truth.PASS
        assert desk.item(desk.find(one, "a")).same_content == 2
        done = desk.progress(one)
        # Two contents in three verdicts.
        assert (done.labelled, done.verdicts, done.left) == (1, 2, 1)
        assert desk.progress(two).labelled == 1


def test_the_walk_skips_what_is_decided_and_ends_with_what_was_put_off(desk: Desk) -> None:
    run = desk.run()
    keys = desk.queue(run)
    desk.defer(keys[3])
    desk.defer(keys[1])
    desk.label(keys[2], Truth.UNSURE)
    walked: list[int] = []
    place: int | None = desk.next_undecided(run, keys, -1)
    while place is not None and len(walked) < len(keys):
        walked.append(place)
        desk.label(keys[place], Truth.PASS)
        place = desk.next_undecided(run, keys, place)
    assert walked == [0, 4, 5, 6, 7, 8, 9, 10, 11, 3, 1]
    assert desk.next_undecided(run, array("q"), -1) is None


def test_the_counts_of_progress(desk: Desk) -> None:
    run = desk.run()
    # v0, v4 and v8 are flagged; the other nine are all audited, being fewer than thirty.
    label(desk, "v0")
    label(desk, "v1", Truth.UNSURE)
    desk.defer(key(desk, "v2"))
    found = desk.progress(run)
    assert (found.verdicts, found.flagged, found.audit) == (12, 3, 9)
    assert (found.labelled, found.flagged_done, found.audit_done) == (2, 1, 1)
    assert (found.unsure, found.deferred) == (1, 1)


def test_a_view_is_kept_with_its_label_and_across_a_restart(desk: Desk) -> None:
    run, view = desk.run(), View("esc", "-score", blind=True, item="v2")
    assert desk.view(run) is None
    desk.label(key(desk, "v1"), Truth.PASS, view=view)
    with closing(open_desk(desk.path)) as again:
        assert again.view(run) == view
    with closing(open_desk(desk.path, "ben")) as ben:
        assert ben.view(run) is None


def test_a_change_by_another_is_noticed(desk: Desk) -> None:
    assert not desk.changed()
    label(desk, "v1")
    assert not desk.changed()
    with closing(desk.reader()) as other:
        label(other, "v2")
    assert desk.changed()
    assert not desk.changed()


COUNT = 2 * BATCH + 1
HUMAN = report(*(verdict(f"v{n}", input=f"q{n}", human={"label": "pass"}) for n in range(COUNT)))


def labelled(desk: Desk) -> int:
    return desk.progress(desk.run()).labelled


def batch_sizes(desk: Desk) -> list[int]:
    """How many events of the log each action has: one action is one transaction."""
    query = "SELECT count(*) FROM label_events WHERE reviewer = 'ann' GROUP BY action"
    return [row[0] for row in desk.conn.execute(query)]


def test_human_labels_are_one_undo_of_short_transactions(desk: Desk) -> None:
    run = load(desk, HUMAN, import_labels=True)
    assert labelled(desk) == run.human_labels == COUNT
    assert batch_sizes(desk) == [BATCH, BATCH, 1]
    undone = desk.undo()
    assert undone is not None
    assert undone.detail["was"] == f"import of {COUNT} labels"
    assert labelled(desk) == 0
    assert desk.undo() is None
    desk.redo()
    assert labelled(desk) == COUNT
    assert desk.verify().ok


class Killed(BaseException):
    """The process ends here."""


def test_a_killed_import_of_human_labels_is_taken_up_again(desk: Desk) -> None:
    load(desk, HUMAN)
    clock, calls = desk.clock, 0

    def killing() -> datetime:
        nonlocal calls
        # Each label takes its time within its transaction.
        calls += 1
        if calls > BATCH + 50:
            raise Killed
        return clock()

    desk.clock = killing
    with pytest.raises(Killed):
        load(desk, HUMAN, import_labels=True)
    desk.clock = clock
    assert labelled(desk) == BATCH
    load(desk, HUMAN, import_labels=True)
    assert labelled(desk) == COUNT
    assert desk.verify().ok


@pytest.mark.slow
@pytest.mark.parametrize("batches", [1, 2])
def test_an_undo_that_was_killed_goes_on_with_the_next(desk: Desk, batches: int) -> None:
    run = load(desk, numbered(COUNT + 1))
    desk.label(desk.find(run, f"v{COUNT}"), Truth.FAIL)
    import_labels(desk, run, [label_row(f"v{n}", "ann", Truth.PASS) for n in range(COUNT)])
    for kind, all_of_it in (("undo", 1), ("redo", COUNT + 1)):
        first = edits.Turn(kind)(desk)
        assert first is not None
        assert edits.is_import(desk, first)
        told: list[float] = []

        def stopped(share: float, told: list[float] = told) -> bool:
            told.append(share)
            return len(told) <= batches

        with pytest.raises(Cancelled):
            edits.rest(desk, first, stopped)
        assert told == sorted(told)
        assert labelled(desk) not in {1, COUNT + 1}
        assert edits.whole(desk, kind) is not None
        assert labelled(desk) == all_of_it
    assert desk.verify().ok


def test_what_is_labelled_meanwhile_stays(desk: Desk) -> None:
    run = load(desk, numbered(COUNT + 1))
    import_labels(desk, run, [label_row(f"v{n}", "ann", Truth.PASS) for n in range(COUNT)])
    first = edits.Turn("undo")(desk)
    assert first is not None

    def labels(share: float) -> bool:
        if not share:
            desk.label(desk.find(run, f"v{COUNT}"), Truth.FAIL)
        return True

    assert edits.rest(desk, first, labels).detail["count"] == COUNT
    assert labelled(desk) == 1
    assert desk.undo() is not None
    assert labelled(desk) == 0
