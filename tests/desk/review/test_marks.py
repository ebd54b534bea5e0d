"""Tags, marks and pace, one example per rule; the model of undo walks through them at random."""

from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from reviewdesk.desk.core import Desk
from reviewdesk.desk.labels.transfer import import_labels
from reviewdesk.desk.review.filters import known_tags, own_tags, tag_counts
from reviewdesk.desk.review.items import PaceReader, last_label
from reviewdesk.domain.records import Event, Pace, Run, Truth
from reviewdesk.errors import NotFoundError, UsageError
from tests.helpers import Clock, label_row, load, mark, numbered, open_desk, report, tag, verdict


@pytest.fixture
def desk(desk: Desk) -> Desk:
    load(desk, numbered(6))
    return desk


def key(desk: Desk, name: str) -> int:
    return desk.find(desk.run(), name)


def tagged(desk: Desk, name: str, *tags: str) -> Event | None:
    return tag(desk, key(desk, name), tags)


def test_what_changes_nothing_or_is_no_tag_is_no_event(desk: Desk) -> None:
    assert tagged(desk, "v1") is None
    tagged(desk, "v1", "a", "b")
    before = desk.verify()
    assert tagged(desk, "v1", "b", "A ", "a") is None
    assert desk.verify() == before
    before = desk.verify()
    with pytest.raises(UsageError, match="comma"):
        tagged(desk, "v1", "fine", "not,one")
    with pytest.raises(UsageError, match="comma"):
        desk.label(key(desk, "v1"), Truth.PASS, tags=["not,one"])
    with pytest.raises(NotFoundError):
        tag(desk, 10**6, ["a"])
    with pytest.raises(NotFoundError):
        mark(desk, 10**6, on=True)
    assert desk.verify() == before


def test_a_label_adds_its_tags_in_the_one_event(desk: Desk) -> None:
    tagged(desk, "v1", "a")
    assert desk.label(key(desk, "v1"), Truth.PASS, tags=["B", "a"]).detail["tags"] == ["a", "b"]
    assert "tags" not in desk.label(key(desk, "v1"), Truth.FAIL).detail
    assert desk.item(key(desk, "v1")).tags == ("a", "b")
    assert desk.verify().events == 4


def test_the_tags_of_others_stand_apart(desk: Desk) -> None:
    tagged(desk, "v1", "a", "b")
    with closing(open_desk(desk.path, "ben")) as ben:
        tagged(ben, "v1", "c", "b")
        assert (ben.item(key(ben, "v1")).tags, ben.item(key(ben, "v1")).other_tags) == (
            ("c", "b"),
            ("a", "b"),
        )
    import_labels(desk, desk.run(), [label_row("v1", "cara", Truth.PASS, ("D", "b"))])
    found = desk.item(key(desk, "v1"))
    assert (found.tags, found.other_tags) == (("a", "b"), ("c", "b", "d"))


def test_undo_and_redo_name_what_they_turn(desk: Desk) -> None:
    tagged(desk, "v1", "wrong-policy", "tone")
    tagged(desk, "v1")
    mark(desk, key(desk, "v2"), on=True)
    mark(desk, key(desk, "v2"), on=False)
    desk.label(key(desk, "v3"), Truth.PASS, tags=["x"])
    names = ["label pass", "unmark", "mark", "tags cleared", "tags wrong-policy, tone"]
    undone = [desk.undo() for _ in names]
    assert [event.detail["was"] for event in undone if event] == names
    assert desk.undo() is None
    redone = [desk.redo() for _ in names]
    assert [event.detail["was"] for event in redone if event] == names[::-1]
    assert desk.redo() is None
    assert desk.verify().ok


def test_undone_tags_and_marks_are_told_as_undone(desk: Desk) -> None:
    tagged(desk, "v1", "a")
    mark(desk, key(desk, "v1"), on=True)
    desk.undo()
    found = desk.item(key(desk, "v1"))
    assert [(event.kind, event.undone) for event in found.history] == [
        ("tags", False),
        ("mark", True),
        ("undo", False),
    ]


def counted(desk: Desk, run: Run) -> list[tuple[str, int]]:
    return [(one.tag, one.count) for one in tag_counts(desk, run)]


def test_items_are_counted_once_per_tag_and_within_a_run(tmp_path: Path) -> None:
    same = {name: verdict("a")[name] for name in ("input", "output", "rubric")}
    first = report(verdict("a"), {**verdict("twin"), **same}, verdict("b"), report_id="first")
    second = report(verdict("a"), verdict("z"), report_id="second")
    with closing(open_desk(tmp_path / "desk.db")) as desk:
        one, two = load(desk, first), load(desk, second)
        tag(desk, desk.find(one, "twin"), ["tone", "policy"])
        tag(desk, desk.find(one, "b"), ["policy", "gone"])
        desk.undo()
        tag(desk, desk.find(one, "b"), ["policy"])
        tag(desk, desk.find(two, "z"), ["tone", "alone"])
        with closing(open_desk(desk.path, "ben")) as ben:
            tag(ben, ben.find(two, "a"), ["policy", "ben-s"])
        # The content of a, twin and the second a is one item, tagged by ann and ben.
        assert counted(desk, one) == [("policy", 2), ("ben-s", 1), ("tone", 1)]
        assert counted(desk, two) == [("tone", 2), ("alone", 1), ("ben-s", 1), ("policy", 1)]
        assert known_tags(desk) == ["policy", "tone", "alone", "ben-s"]
        # ann's policy is on two contents, her tone too: that of a, and b or z.
        assert own_tags(desk) == ["policy", "tone", "alone"]
        with closing(open_desk(desk.path, "ben")) as ben:
            assert own_tags(ben) == ["ben-s", "policy"]


def test_a_file_may_not_leave_a_tag_that_cannot_be_named(desk: Desk) -> None:
    rows = [
        label_row("v1", "cara", Truth.PASS, ("Wrong Policy", "a,b", "", "\x1b[31m")),
        label_row("v2", "cara", Truth.FAIL, ("!no",)),
    ]
    done = import_labels(desk, desk.run(), rows)
    assert (done.new, done.unusable_tags) == (2, 4)
    assert desk.item(key(desk, "v1")).other_tags == ("wrong-policy",)
    assert desk.item(key(desk, "v2")).other_tags == ()
    assert desk.rows([key(desk, "v2")])[0].label is Truth.FAIL


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
    assert last_label(desk, load(desk, report(verdict("z"), report_id="other"))) is None
