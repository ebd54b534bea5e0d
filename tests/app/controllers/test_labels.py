"""Labels, deferrals, undo and redo: what counts, what is written, and where it leads."""

import sqlite3
from pathlib import Path

import pytest

from reviewdesk.app.controllers.jobs import UNDO
from reviewdesk.app.controllers.state import FieldInput
from reviewdesk.app.keys.actions import GIVES_LABEL
from reviewdesk.desk.figures.calibration import calibration_page
from reviewdesk.desk.labels.transfer import import_labels
from reviewdesk.desk.review.edits import Edit
from reviewdesk.domain.records import Truth, View
from reviewdesk.errors import DeskError
from reviewdesk.settings import Feedback, Settings
from tests.app.builders import WIDE, open_run, report, verdict
from tests.app.controllers.second_run import second_run
from tests.app.reviewkit import Review, beside, question_of, reviewing
from tests.domain.labels.test_strip import close, same
from tests.helpers import label_row


def test_a_label_is_saved_marked_and_moves_on(review: Review) -> None:
    first = review.current
    review.press("label.pass")
    assert review.current != first
    assert review.labels[0] is Truth.PASS
    assert review.state.saved == f"saved ✓ pass {first}"
    review.press("label.fail", "label.unsure", "label.fail")
    assert review.labels[:4] == [Truth.PASS, Truth.FAIL, Truth.UNSURE, Truth.FAIL]
    review.press("back")
    assert review.session.index == 3
    review.press("undo", "undo")
    assert review.notice.startswith("undo: label can't tell on ")


def test_the_label_is_on_disk_when_its_mark_is_shown(tmp_path: Path, review: Review) -> None:
    first = review.current
    review.clock.wait(1)
    review.controller.handle("label.pass")
    assert review.state.saved == f"saved ✓ pass {first}"
    with sqlite3.connect(tmp_path / "d.db") as conn:
        query = "SELECT label FROM label_events WHERE kind = 'label'"
        assert conn.execute(query).fetchall() == [("pass",)]
    conn.close()
    # The figures that count the label are read afterwards.
    review.after()
    found = review.state.figures.calibration
    assert found is not None
    assert found.labelled.n == 1


def test_a_stray_key_keeps_a_paste_from_labelling(review: Review) -> None:
    review.clock.wait(1)
    review.controller.guard.stray()
    review.press("label.pass", wait=0.01)
    assert not any(review.labels)


def test_no_key_counts_before_the_item_has_been_drawn(tmp_path: Path) -> None:
    with reviewing(tmp_path, begun=False) as review:
        controller = review.controller
        controller.begin(*WIDE)
        for _ in range(3):
            # However long the first look takes to be drawn.
            review.clock.wait(5)
            controller.handle("label.pass")
            assert not any(review.labels)
            assert "ignored: too soon" in review.notice
        review.after()
        review.press("label.pass", wait=0.2)
        assert review.labels.count(Truth.PASS) == 1
        # The next item is in the state, and not on screen.
        review.clock.wait(5)
        controller.handle("label.fail")
        review.clock.wait(5)
        controller.handle("label.fail")
        assert sum(label is not None for label in review.labels) == 2
        review.after()


def test_a_key_is_judged_by_when_it_was_pressed(review: Review) -> None:
    review.clock.wait(1)
    # Handled a second after it was pressed, which was before the item came on screen.
    review.controller.late = 1.1
    review.controller.handle("label.pass")
    assert not any(review.labels)
    review.clock.wait(1)
    review.controller.late = 0.5
    review.controller.handle("label.fail")
    assert sum(label is not None for label in review.labels) == 1


def test_a_dialog_closed_starts_the_wait_anew(review: Review) -> None:
    review.press("filter")
    review.leave()
    review.press("label.pass", wait=0.01)
    assert not any(review.labels)
    review.press("label.pass")
    assert review.labels.count(Truth.PASS) == 1


def test_keys_below_a_dialog_do_nothing(review: Review) -> None:
    review.press("note", *sorted(GIVES_LABEL), "undo", "screen.runs", "defer")
    assert not any(review.labels)
    assert review.state.where == "review"
    assert len(review.dialogs) == 1


def test_a_label_is_given_where_the_item_can_be_read(small: Review) -> None:
    small.press("shallower", "label.pass")
    # The key opens the item, which then has just come into view.
    assert small.notice == "The item is open. Press p to label it pass."
    assert small.state.panes.current == "item"
    assert not any(small.labels)
    small.press("label.pass", wait=0.01)
    assert not any(small.labels)
    small.press("label.pass")
    assert small.labels.count(Truth.PASS) == 1


def test_a_tiny_terminal_takes_no_label_and_its_growth_starts_the_wait(review: Review) -> None:
    review.resize((39, 24))
    review.press("label.pass", "defer", "undo")
    assert not any(review.labels)
    review.clock.wait(5)
    review.resize(WIDE)
    review.press("label.pass", wait=0.01)
    assert not any(review.labels)
    review.press("label.pass")
    assert review.labels.count(Truth.PASS) == 1


def test_a_failing_desk_keeps_the_item(review: Review, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_args: object, **_more: object) -> None:
        raise DeskError("the desk is locked by another program", "Try again.")

    first = review.current
    monkeypatch.setattr(Edit, "__call__", broken)
    review.press("label.pass")
    assert "the desk is locked" in review.notice
    assert review.current == first
    assert review.state.saved == ""
    review.press("note")
    review.answer("x")
    review.press("note")
    assert getattr(review.dialog, "value", None) == "x"


def test_a_desk_that_was_deleted_saves_nothing_and_says_so(tmp_path: Path) -> None:
    with reviewing(tmp_path, 2) as review:
        for file in tmp_path.glob("d.db*"):
            file.unlink()
        first = review.current
        review.clock.wait(1)
        review.controller.handle("label.pass")
        assert "deleted or replaced" in review.notice
        assert review.state.saved == ""
        assert review.current == first
        review.controller.handle("note")
        review._take()
        review.dialogs.pop().then(FieldInput("kept", given=True))
        review.controller.asking = False
        review.controller.handle("note")
        review._take()
        assert getattr(review.dialog, "value", None) == "kept"
        assert not (tmp_path / "d.db").exists()


def test_a_label_chosen_by_name_asks_and_no_is_the_default(review: Review) -> None:
    review.choose("label.fail")
    assert question_of(review) == (f"Label {review.current} fail?", "u takes it back.")
    review.answer(False)
    assert not any(review.labels)
    review.choose("label.fail")
    review.answer(True)
    assert review.labels[0] is Truth.FAIL


def test_a_label_by_name_from_another_screen_only_goes_to_the_item(review: Review) -> None:
    for name in sorted(GIVES_LABEL):
        review.press("screen.runs")
        review.choose(name)
        assert review.state.where == "review"
        assert "read the item first" in review.notice
    assert not any(review.labels)


def test_a_confirmed_label_is_given_though_another_window_wrote_meanwhile(review: Review) -> None:
    key = review.item.row.key
    review.choose("label.fail")
    with beside(review) as other:
        other.note(key, "seen")
    review.answer(True)
    assert review.desk.item(key).row.label is Truth.FAIL


def test_a_confirmed_label_is_not_given_to_an_item_that_moved_in(review: Review) -> None:
    review.choose("label.fail")
    # A finished load turned to another item below the dialog.
    review.controller.review.step(1)
    review.answer(True)
    assert not any(review.labels)


def test_a_deferred_item_comes_back_last(tmp_path: Path) -> None:
    with reviewing(tmp_path, 3) as review:
        first = review.current
        review.press("defer")
        assert review.notice == f"deferred {first}: it comes back last"
        assert review.state.saved == "saved ✓ defer"
        assert review.current != first
        review.press("label.pass", "label.pass")
        assert review.current == first
        review.press("label.pass")
        assert review.session.done


def test_undo_and_redo_go_to_the_item_and_name_it(review: Review) -> None:
    first = review.current
    review.press("label.pass", "label.fail", "undo", "undo")
    assert review.current == first
    assert not any(review.labels)
    assert review.notice == f"undo: label pass on {first}"
    review.press("redo")
    assert review.labels[0] is Truth.PASS
    review.press("redo", "redo")
    assert review.notice == "Nothing to redo."
    review.press("undo", "undo", "undo")
    assert review.notice == "Nothing to undo."


def test_undo_goes_to_the_other_run(review: Review) -> None:
    other = second_run(review.desk)
    review.desk.label(review.desk.queue(other)[0], Truth.FAIL)
    review.press("undo")
    assert review.session.run.hash == other.hash
    assert review.notice.startswith("undo: label fail on item/")
    assert review.state.saved == "saved ✓ undo"
    assert review.desk.progress(other).labelled == 0


def test_undo_in_a_removed_run_says_so_and_stays(review: Review) -> None:
    other = second_run(review.desk)
    review.desk.label(review.desk.queue(other)[0], Truth.FAIL)
    review.desk.remove(other)
    before = review.current
    review.press("undo")
    assert (review.session.run.hash, review.current) == (review.run.hash, before)
    assert "in a run that was removed" in review.notice


def test_the_done_page_offers_no_item(tmp_path: Path) -> None:
    with reviewing(tmp_path, 2) as review:
        review.press("defer", "label.pass", "label.unsure")
        assert review.session.done
        for action, notice in (
            ("label.pass", "No item to label here."),
            ("defer", "No item to defer here."),
            ("mark", "No item to mark here."),
        ):
            review.press(action)
            assert review.notice == notice
        assert "label.pass" not in review.state.hints
        assert review.session.progress.unsure == 1
        review.press("item.next", "next", "back")
        assert review.current is not None


def test_a_filter_that_drops_the_labelled_item_keeps_the_queue_whole(review: Review) -> None:
    review.command("filter label:none")
    review.press("label.pass")
    # The list is as it was asked for; the next item is the one after the labelled.
    assert review.session.index == 1
    assert len(review.session.keys) == 6
    review.command("filter label:none")
    assert len(review.session.keys) == 5
    assert review.session.item is not None


@pytest.mark.parametrize("blind", [False, True])
def test_each_label_moves_the_figures_that_are_kept(tmp_path: Path, blind: bool) -> None:
    with reviewing(tmp_path, view=View(blind=blind)) as review:
        for action in ("label.pass", "label.fail", "undo", "label.pass", "label.pass"):
            review.press(action)
            figures = review.state.figures
            assert figures.calibration is not None
            page = calibration_page(review.desk, review.run, jurors=False)
            same(figures.calibration, page.calibration)
            close(figures.alone, page.alone.metrics)
        # Four labels, and the second of them was taken back.
        assert page.labelled == 3


def test_figures_that_cannot_be_read_are_one_line(review: Review) -> None:
    review.controller.recalibrate()
    job = review.runner.waiting.pop("calibration")
    review.press("screen.runs")
    review.controller.safely(lambda: job.ended(None, DeskError("no figures: gone")))
    # It is told where the figures stand.
    assert review.notice == ""
    review.press("leave")
    assert review.notice == "no figures: gone"


def test_an_import_is_taken_back_in_the_background(tmp_path: Path) -> None:
    with reviewing(tmp_path, 301) as review:
        rows = [label_row(f"item/{n:03}", "ann", Truth.PASS) for n in range(1, 301)]
        import_labels(review.desk, review.run, rows)
        for key, left in (("undo", 0), ("redo", 300)):
            review.quietly(key)
            # One transaction is done by the key: the rest is no work of the screen's thread.
            assert review.desk.progress(review.run).labelled == (200 if key == "undo" else 100)
            assert "in the background" in review.notice
            assert f"{UNDO} 0%" in review.state.jobs.text
            review.quietly("undo")
            assert "Wait for its end" in review.notice
            review.after()
            assert review.notice.startswith(f"{key}: import of 300 labels")
            assert review.session.progress.labelled == left
        review.quietly("undo")
        review.command("stop")
        assert review.notice == f"stopped: {UNDO}"
        review.press("undo")
        assert review.session.progress.labelled == 0
        assert review.desk.verify().ok


def shown(review: Review) -> list[str]:
    return [row.id for row in review.desk.rows(review.session.keys)]


def at(review: Review, row: int) -> None:
    review.controller.choose_row(row)
    review.after()


FILTERS = ["wrong", "wrong:pass", "label:fail", "tag:x", "(wrong|label:fail)"]


@pytest.mark.parametrize("text", FILTERS)
def test_a_label_goes_to_the_next_row_and_its_own_row_stays(review: Review, text: str) -> None:
    # The panel passes all six; three are labelled against it, and two have no label.
    for _ in range(3):
        review.typed("tags", "x")
        review.press("label.fail")
    review.press("label.pass")
    review.command(f"filter {text}")
    rows = shown(review)
    assert len(rows) == 3
    assert review.current == rows[0]
    review.press("label.pass")
    # The new label does not fit a filter of mistakes any more; its row stays all the same.
    assert (shown(review), review.current) == (rows, rows[1])
    review.press("undo")
    assert (shown(review), review.current) == (rows, rows[0])
    # Undone further, the item has no label at all: it is still one of a list to look through.
    review.press("undo", "undo", "undo", "undo", "undo", "undo")
    at(review, 0)
    assert review.item.row.label is None
    review.press("label.pass", "label.pass")
    assert review.current == rows[2]
    # After the last row the two undecided items of the run are not in the list: it is done.
    review.press("label.fail")
    assert review.session.done
    review.press("back")
    assert review.current == rows[2]


def test_the_next_of_a_mixed_list_depends_on_when_the_item_was_decided(review: Review) -> None:
    review.press("label.pass", "label.pass", "label.fail")
    review.command("filter decision:pass")
    rows = shown(review)
    at(review, 0)
    # Decided before the list was read: a second look, which goes on row by row.
    review.press("label.fail")
    assert review.current == rows[1]
    # Decided in this pass and corrected: back to where the work is.
    at(review, 3)
    review.press("label.pass", "back", "label.fail")
    assert review.current == rows[4]


def test_the_whole_queue_goes_to_the_next_undecided_while_there_is_one(review: Review) -> None:
    rows = shown(review)
    review.press(*["label.pass"] * 5)
    again = Review(review.desk, review.run)
    at(again, 0)
    again.press("label.fail")
    assert again.current == rows[5]
    again.press("label.pass")
    assert again.session.done
    # All decided: going through them once more is not thrown out after each label.
    last = Review(review.desk, review.run)
    at(last, 0)
    last.press("label.pass")
    assert last.current == rows[1]


def test_a_filter_of_decided_items_opens_on_them(tmp_path: Path) -> None:
    desk, run = open_run(tmp_path / "desk.db", report([verdict(i) for i in range(1, 5)]))
    keys = desk.queue(run)
    for key in keys:
        desk.label(key, Truth.FAIL)
    names = [row.id for row in desk.rows(keys)]
    # Asked for anew, left at an item, and left at one that a new label took out of the list.
    desk.label(keys[3], Truth.PASS)
    assert Review(desk, run, view=View(filter="wrong")).current == names[0]
    assert Review(desk, run, view=View(filter="wrong", item=names[1])).current == names[1]
    assert Review(desk, run, view=View(filter="wrong", item=names[3])).current == names[0]
    # A filter of work to do that is done says so.
    done = Review(desk, run, view=View(filter="decision:pass", item=names[1]))
    assert done.session.done


def test_second_looks_are_asked_about_when_blind_and_their_labels_are_not(tmp_path: Path) -> None:
    settings = Settings(feedback=Feedback.NEVER)
    with reviewing(tmp_path, 3, view=View(blind=True), settings=settings) as review:
        review.press("label.fail")
        assert review.events()[-1].detail["blind"] is True
        review.command("filter wrong")
        assert "hides" in question_of(review)[0]
        review.answer(True)
        review.press("label.pass")
        assert review.events()[-1].detail["blind"] is False
