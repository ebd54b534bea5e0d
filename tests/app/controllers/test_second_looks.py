"""Second looks: a label in a list of decided items stays in the list and goes to its next row."""

from pathlib import Path

import pytest

from reviewdesk.app.controllers.state import Page
from reviewdesk.domain.records import Truth, View
from reviewdesk.settings import Feedback, Settings
from tests.app.builders import open_run, report, verdict
from tests.app.reviewkit import Review, question_of, reviewing


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
    assert review.session.page is Page.DONE
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
    assert again.session.page is Page.DONE
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
    assert done.session.page is Page.DONE


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
