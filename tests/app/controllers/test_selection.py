"""Verdicts that are selected and labelled together: what is asked, written and taken back."""

import json
from contextlib import closing
from pathlib import Path

import pytest

from reviewdesk.app.controllers import labels as selection
from reviewdesk.desk.core import Desk
from reviewdesk.desk.review import unsaved
from reviewdesk.domain.records import Truth, View
from reviewdesk.errors import DeskError
from tests.app.builders import open_run, report, verdict
from tests.app.reviewkit import Review, question_of, reviewing
from tests.helpers import locked


def test_a_label_is_given_to_all_that_are_selected_and_taken_back_at_once(review: Review) -> None:
    review.press("select", "select", "item.next", "select")
    assert len(review.session.chosen) == 3
    assert review.hint("label.fail") == "fail 3"
    review.press("label.fail")
    assert review.labels == [None] * 6
    assert question_of(review)[0] == "Label 3 verdicts fail?"
    review.answer(True)
    fail = Truth.FAIL
    assert review.labels == [fail, fail, None, fail, None, None]
    assert not review.session.chosen
    # The current item, the fifth, was not selected.
    assert review.session.index == 4
    assert review.state.saved == "saved ✓ fail, 3 verdicts"
    review.press("undo")
    assert review.labels == [None] * 6
    assert review.notice.startswith("undo: 3 labels")
    review.press("redo")
    assert review.labels == [fail, fail, None, fail, None, None]


def test_no_leaves_all_as_it_was_and_another_queue_has_no_selection(review: Review) -> None:
    review.press("select", "label.pass")
    review.answer(False)
    assert review.labels == [None] * 6
    assert len(review.session.chosen) == 1
    review.press("select.all")
    review.command("order file")
    assert not review.session.chosen


def test_a_range_and_the_whole_queue(tmp_path: Path) -> None:
    with reviewing(tmp_path, 8) as review:
        review.press("select.range")
        assert review.notice == "select the first item with v, and then go to the last one"
        review.press("item.next", "select", "item.next", "item.next", "select.range")
        # From the second, which v was pressed on, to the fifth.
        assert review.session.chosen == frozenset(review.session.keys[1:5])
        review.press("select.all")
        assert review.session.chosen == frozenset(review.session.keys)
        review.press("select.all")
        assert not review.session.chosen


def test_v_takes_out_and_escape_forgets_the_selection_first(small: Review) -> None:
    small.press("select.all", "select")
    assert small.session.keys[0] not in small.session.chosen
    assert small.state.panes.current == "item"
    small.press("shallower")
    assert not small.session.chosen
    assert small.state.panes.current == "item"
    small.press("shallower")
    assert small.state.panes.current == "queue"


def test_what_was_not_read_is_said_and_recorded(tmp_path: Path) -> None:
    with reviewing(tmp_path, 3) as review:
        review.press("label.pass", "first", "select", "select.all", "label.fail")
        assert question_of(review)[1] == (
            "1 of them has a label already. 2 were not read, and the labels say so."
            " u takes all back at once."
        )
        review.answer(True)
        given = [event for event in review.events() if event.label is Truth.FAIL]
        assert sorted(event.detail["seen"] for event in given) == [False, False, True]
        assert {event.detail["together"] for event in given} == {3}
        assert len({event.action for event in given}) == 1


def test_only_what_was_read_and_not_seen_is_given_blind(tmp_path: Path) -> None:
    with reviewing(tmp_path, 3, view=View(blind=True)) as review:
        review.press("select", "select.all", "label.pass")
        review.answer(True)
        assert sorted(event.detail["blind"] for event in review.events()) == [False, False, True]


def test_verdicts_of_one_content_get_one_label(tmp_path: Path) -> None:
    same = {**verdict(1), "id": "again"}
    desk, run = open_run(tmp_path / "d.db", report([verdict(1), same, verdict(2)]))
    with closing(desk):
        review = Review(desk, run)
        review.press("select.all", "label.pass")
        review.answer(True)
        assert review.labels == [Truth.PASS] * 3
        (first, second) = {event.key: event for event in review.events()}.values()
        assert first.item_hash != second.item_hash


def test_too_many_are_refused(review: Review, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selection, "MOST", 4)
    review.press("select.all")
    assert not review.session.chosen
    assert review.notice == "at most 4 can be labelled together: filter the queue first"


def test_chosen_by_name_it_asks_once(review: Review) -> None:
    review.press("select")
    review.choose("label.pass")
    review.answer(True)
    assert review.labels[0] is Truth.PASS
    assert review.dialogs == []


def kept(tmp_path: Path) -> Path:
    """End a review whose label of three waits for another process's lock; its file."""
    with reviewing(tmp_path, 4) as review:
        with locked(review.desk.path):
            review.press("select", "select", "select", "label.pass")
            review.answer(True)
            rows = review.desk.rows(review.session.keys)
            assert [row.saving for row in rows if row.label] == []
            shown = review.controller.review.listed(review.session.keys)
            assert [row.saving for row in shown] == [True, True, True, False]
            assert review.session.index == 3
            review.controller.flush(0)
        assert review.state.kept_file is not None
        return review.state.kept_file


def test_what_waits_is_kept_whole_and_saved_once(tmp_path: Path) -> None:
    path = kept(tmp_path)
    text = path.read_bytes()
    for _ in range(2):
        with closing(Desk.open(tmp_path / "d.db", reviewer="ann")) as desk:
            unsaved.save(desk, list(unsaved.waiting(desk)))
            keys = desk.queue(desk.run(), "", "draw")
            labels = [row.label for row in desk.rows(keys)]
            assert labels == [Truth.PASS] * 3 + [None]
            count = "SELECT count(*) FROM label_events WHERE kind = 'label'"
            assert desk.conn.execute(count).fetchone()[0] == 3
        # As after a kill between saving and deleting.
        path.write_bytes(text)
        path.chmod(0o600)


def test_edits_that_no_key_gives_together_are_refused(tmp_path: Path) -> None:
    path = kept(tmp_path)
    found = json.loads(path.read_text())
    edit = found["edits"][0]
    edit["others"][0] = {**edit["others"][0], "kind": "defer", "label": None, "facts": {}}
    path.write_text(json.dumps(found))
    refused = pytest.raises(DeskError, match="contains a group of edits that no key makes")
    with closing(Desk.open(tmp_path / "d.db", reviewer="ann")) as desk, refused:
        unsaved.read(desk, path)
