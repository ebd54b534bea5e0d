"""An import is many short transactions and one undo; a kill between two of them loses nothing."""

from datetime import datetime

import pytest

from reviewdesk.desk import Desk
from reviewdesk.desk.labels.transfer import BATCH, import_labels
from reviewdesk.desk.review import edits
from reviewdesk.domain.records import Truth
from reviewdesk.errors import Cancelled
from tests.helpers import label_row, load, numbered, report, verdict

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

    done = edits.rest(desk, first, labels)
    assert done.detail["count"] == COUNT
    assert labelled(desk) == 1
    assert desk.undo() is not None
    assert labelled(desk) == 0
