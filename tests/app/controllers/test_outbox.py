"""What is pressed while another process holds the desk's lock: shown as being saved, and saved."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from reviewdesk.app.controllers.jobs import SAVING
from reviewdesk.app.widgets.queue_list import label_mark
from reviewdesk.desk import core
from reviewdesk.desk.review.edits import Edit
from reviewdesk.domain.records import Truth
from reviewdesk.errors import DeskError
from tests import helpers
from tests.app.builders import SMALL
from tests.app.controllers.second_run import second_run
from tests.app.reviewkit import Review, form_of, question_of, reviewing


@contextmanager
def locked(review: Review) -> Iterator[None]:
    """Another connection that holds the lock; then what waits is saved."""
    with helpers.locked(review.desk.path):
        yield
    review.finish(SAVING)
    review.after()


def given(review: Review) -> list[tuple[str, Truth | None]]:
    return [(event.verdict or "", event.label) for event in review.events()]


def test_twenty_labels_wait_in_order_and_all_are_saved(tmp_path: Path) -> None:
    with reviewing(tmp_path, 24, size=SMALL) as review:
        pressed = []
        with locked(review):
            for place in range(20):
                word = ("pass", "fail", "unsure")[place % 3]
                pressed.append((review.current, Truth[word.upper()]))
                review.press(f"label.{word}")
                assert review.state.saved == f"saving {place + 1}"
                assert review.current != pressed[-1][0]
            assert review.events() == []
            # Progress and figures leave out what is not on disk.
            assert review.session.progress.labelled == 0
            at = review.desk.at()
        assert given(review) == pressed
        assert all(event.at <= at for event in review.events())
        assert review.state.saved == f"saved ✓ fail {pressed[-1][0]}"
        assert review.session.progress.labelled == 20
        assert review.desk.verify().ok


def test_the_next_undecided_item_is_none_that_is_being_saved(tmp_path: Path) -> None:
    with reviewing(tmp_path, 3) as review:
        with locked(review):
            first = review.current
            review.press("label.pass", "back")
            assert review.current == first
            assert review.item.row.label is None
            review.press("next", "defer", "label.fail")
            assert review.session.done
            review.press("next")
            assert review.session.done
        review.press("next")
        assert review.item.row.deferred


def test_u_takes_back_what_is_not_saved_and_capital_u_puts_it_back(review: Review) -> None:
    review.press("label.pass")
    with locked(review):
        second = review.current
        review.press("label.fail")
        third = review.current
        review.press("label.fail", "undo")
        assert review.current == third
        assert "before it was saved" in review.notice
        review.press("undo")
        assert review.current == second
        assert review.state.saved == f"saved ✓ pass {given(review)[0][0]}"
        review.press("redo")
        assert review.state.saved == "saving 1"
    assert [label for _, label in given(review)] == [Truth.PASS, Truth.FAIL]
    # The third stays taken back, and comes after the second.
    review.press("redo")
    assert given(review)[2:] == [(third, Truth.FAIL)]
    review.press("undo", "undo", "undo")
    assert review.labels[:3] == [None] * 3


def test_an_undo_of_the_desk_waits_its_turn(review: Review) -> None:
    first = review.current
    review.press("label.pass")
    with locked(review):
        review.press("label.fail", "undo", "undo")
        assert review.state.saved == "saving 1"
        assert "waits" in review.notice
    assert review.current == first
    assert "undo: label pass" in review.notice
    assert review.labels[0] is None
    # What was undone last comes back first.
    review.press("redo", "redo")
    assert review.labels[:2] == [Truth.PASS, Truth.FAIL]


def test_a_new_label_clears_what_was_taken_back(review: Review) -> None:
    with locked(review):
        review.press("label.pass", "undo", "label.fail")
    review.press("redo")
    assert [label for _, label in given(review)] == [Truth.FAIL]
    assert review.notice == "Nothing to redo."


def test_blind_feedback_waits_for_the_label_to_be_saved(blind: Review) -> None:
    first = blind.current
    with locked(blind):
        blind.press("label.pass", "back")
        assert blind.notice == ""
        assert blind.session.hidden
        blind.press("undo", "label.fail")
    assert f"{first}: the panel said" in blind.notice
    # Nothing was told before the second press.
    assert [event.detail["blind"] for event in blind.events()] == [True]


def test_a_reveal_that_waits_makes_the_next_label_not_blind(blind: Review) -> None:
    with locked(blind):
        blind.press("reveal")
        assert not blind.session.hidden
        blind.press("label.pass")
    found = blind.events()[0]
    assert (found.detail["blind"], "revealed_at" in found.detail) == (False, True)
    assert blind.events("reveal")[0].at == found.detail["revealed_at"]


def test_notes_tags_and_marks_of_what_waits_are_shown_and_saved(review: Review) -> None:
    with locked(review):
        first = review.item
        review.press("label.fail", "tags.labelled")
        assert review.state.reasons is not None
        assert review.state.reasons.name == first.verdict.id
        review.typed("tags", "vague, wrong")
        review.press("note.labelled")
        review.answer("because")
        review.press("mark")
        assert (review.item.tags, review.item.row.marked) == (("vague", "wrong"), True)
        review.press("back")
        assert review.item.note == "because"
        assert review.state.saved == "saving 4"
        # The newest of them goes first.
        review.press("undo")
        assert not review.item.row.marked
    assert [event.kind for event in review.desk.item(first.row.key).history] == [
        "label", "note",
    ]  # fmt: skip
    assert review.desk.item(first.row.key).note == "because"
    assert review.item.tags == ("vague", "wrong")


def test_a_draft_that_waits_is_not_lost(review: Review) -> None:
    with locked(review):
        review.press("note")
        form = form_of(review)
        assert "once another process" in str(form.changed("half a tho"))
        form.changed("half a thought")
        assert review.state.saved == ""
        review.leave("half a thought")
        assert "continues it" in review.notice
        review.press("note")
        assert getattr(review.dialog, "value", "") == "half a thought"
        review.leave("half a thought")
    review.press("note")
    assert getattr(review.dialog, "value", "") == "half a thought"


def test_errors_of_no_lock_are_tried_again(review: Review, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_args: object, **_more: object) -> None:
        raise DeskError("the disk is full", "Free some space.")

    with monkeypatch.context() as broken:
        with locked(review):
            review.press("label.pass", "label.fail")
            broken.setattr(Edit, "__call__", full)
        assert "the disk is full" in review.notice
        assert review.state.saved == "not saved 2"
        review.press("undo")
        assert review.state.saved == "not saved 1"
    review.controller.poll()
    review.finish(SAVING)
    review.after()
    assert [label for _, label in given(review)] == [Truth.PASS]
    assert review.state.saved.startswith("saved ✓ pass")


def test_closing_asks_while_something_is_being_saved(review: Review) -> None:
    with locked(review):
        first = review.current
        review.press("label.pass", "quit")
        assert "1 change is not saved" in question_of(review)[0]
        review.answer(False)
        assert review.state.saved == "saving 1"
        review.press("quit")
        review.answer(True)
        assert review.closed
        assert review.controller.flush(0)[0].split(": ")[1].startswith(f"pass {first}. ")
    assert review.controller.flush(1) == []
    assert given(review) == [(first, Truth.PASS)]
    # Where the review stands, which was kept back too.
    kept = review.desk.view(review.run)
    assert kept is not None
    assert kept.item == review.current


def test_a_label_is_saved_for_its_own_run(review: Review, monkeypatch: pytest.MonkeyPatch) -> None:

    other = second_run(review.desk)
    with locked(review):
        first = review.current
        review.press("label.fail")
        # What runs in the background would wait for the lock here.
        monkeypatch.setattr(core, "BUSY_SECONDS", 0.001)
        review.command(f"run {other.name}")
        assert review.session.run.hash == other.hash
        review.press("undo")
        assert (review.session.run.hash, review.current) == (review.run.hash, first)
        review.press("redo")
    assert given(review) == [(first, Truth.FAIL)]


def marks_of(review: Review) -> list[str]:
    """The label of each line of the queue, as it is drawn."""
    return [label_mark(row)[0] for row in review.controller.review.listed(review.session.keys)]


def test_the_lines_of_the_queue_tell_what_is_being_saved(review: Review) -> None:
    with locked(review):
        review.press("label.pass", "label.fail", "defer", "mark")
        assert marks_of(review) == ["p~", "f~", "z~", "·~", "·", "·"]
        assert [row.marked for row in review.controller.review.listed(review.session.keys)][3]
        review.press("undo", "undo")
        assert marks_of(review) == ["p~", "f~", "·", "·", "·", "·"]
    assert marks_of(review) == ["p", "f", "·", "·", "·", "·"]


def test_what_is_not_kept_for_later_says_so_at_once(review: Review) -> None:
    second_run(review.desk)
    with locked(review):
        review.press("screen.runs", "up", "run.remove")
        review.answer(True)
        assert "another process is writing" in review.notice
    assert len(review.desk.runs()) == 2
