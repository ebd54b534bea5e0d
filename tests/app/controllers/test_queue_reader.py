"""A queue that is read in the background: what is shown and what keys do until it is whole."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from reviewdesk.app.controllers.jobs import COLUMNS, QUEUE
from reviewdesk.app.controllers.state import Page
from reviewdesk.desk import Desk
from reviewdesk.desk.review import queue
from reviewdesk.domain.records import Run, Truth, View
from tests.app.builders import open_run, report, verdict
from tests.app.reviewkit import Review

COUNT = queue.PAGE + 44
Opened = tuple[Desk, Run]


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Opened]:
    desk, run = open_run(tmp_path / "d.db", report([verdict(i) for i in range(1, COUNT + 1)]))
    yield desk, run
    desk.close()


def unread(opened: Opened, **view: object) -> Review:
    """A review whose queue is not read yet, except for what came at once."""
    review = Review(*opened, view=View(**view), begun=False)  # type: ignore[arg-type]
    review.controller.begin(160, 48)
    review.quietly()
    return review


def name(opened: Opened, place: int, order: str = "draw") -> str:
    desk, run = opened
    return desk.rows(desk.queue(run, "", order)[place : place + 1])[0].id


def test_the_first_page_is_there_at_once_and_the_rest_follows(opened: Opened) -> None:
    review = unread(opened)
    session = review.session
    assert (len(session.keys), session.whole, session.size) == (queue.PAGE, False, f"{COUNT}")
    assert review.current == name(opened, 0)
    assert session.progress.left == COUNT
    page, item = session.keys, session.item
    review.finish(QUEUE)
    assert review.session.whole
    assert review.session.keys[: queue.PAGE] == page
    assert len(review.session.keys) == COUNT
    assert (review.session.index, review.session.item) == (0, item)
    # The columns of a small run are read once a filter is being typed.
    assert COLUMNS not in review.runner.waiting
    review.quietly("filter")
    assert COLUMNS in review.runner.waiting


def test_moves_in_the_first_page_do_not_wait(opened: Opened) -> None:
    review = unread(opened)
    review.quietly("item.next", "next", "label.pass", "item.previous")
    # One on, one on, a label and so one on, and one back.
    assert review.current == name(opened, 2)
    review.finish(QUEUE)
    assert (review.session.index, review.current) == (2, name(opened, 2))
    assert review.labels.count(Truth.PASS) == 1


def test_a_move_beyond_it_waits_and_so_does_every_key_after_it(opened: Opened) -> None:
    review = unread(opened)
    first = review.current
    review.quietly("last", "item.previous", "label.fail", "mark")
    assert review.current == first
    review.finish(QUEUE)
    # To the end and one back; the label key came before that item was drawn, and gave no label.
    assert review.current == name(opened, COUNT - 2)
    assert not any(review.labels)
    assert review.item.marked


def test_keys_typed_for_a_dialog_that_waits_for_the_queue_do_nothing_else(opened: Opened) -> None:
    review = unread(opened)
    review.quietly("last", "history", "mark", "item.previous")
    assert review.controller.core.review.waiting
    review.finish(QUEUE)
    assert review.current == name(opened, COUNT - 1)
    assert not review.item.marked


def test_a_review_goes_on_at_an_item_of_the_page_behind(opened: Opened) -> None:
    far = name(opened, COUNT - 5)
    review = unread(opened, item=far)
    assert (review.current, review.session.index) == (far, None)
    review.finish(QUEUE)
    assert (review.current, review.session.index) == (far, COUNT - 5)
    assert review.notice == f"resumed at item {COUNT - 4} of {COUNT}; {COUNT} to go"


def test_a_filtered_review_begins_once_its_queue_is_read(opened: Opened) -> None:
    review = unread(opened, filter="id~item/01")
    assert (review.session.page, review.current) == (Page.READING, None)
    assert review.session.size == "…"
    review.quietly("label.pass")
    review.finish(QUEUE)
    assert review.session.page is Page.ITEM
    assert review.current is not None
    assert review.current.startswith("item/01")
    assert not any(review.labels)


def test_the_old_queue_stays_until_the_new_one_is_there(opened: Opened) -> None:
    review = Review(*opened)
    before = review.session.keys
    review.controller.run("filter id~item/01")
    review.quietly()
    review.quietly("item.next")
    assert review.session.keys is before
    assert review.current == name(opened, 1)
    review.finish(QUEUE)
    assert len(review.session.keys) == 10
    assert review.notice == "10 verdicts in the queue"


def test_the_newest_filter_wins(opened: Opened) -> None:
    review = Review(*opened)
    review.controller.run("filter id~item/01")
    review.quietly()
    review.controller.run("filter id~item/02")
    review.quietly()
    review.finish(QUEUE)
    assert review.session.view.filter == "id~item/02"
    assert not review.runner.waiting.keys() & {QUEUE}


def test_blind_review_hides_at_once_and_the_order_follows(opened: Opened) -> None:
    review = Review(*opened)
    review.controller.handle("blind")
    review.quietly()
    assert review.session.hidden
    # The open queue's order would tell the strata.
    assert not review.session.keys
    first = review.current
    review.finish(QUEUE)
    assert review.current == first
    assert list(review.session.keys) == list(review.desk.queue(review.run, "", "mix"))


def test_a_filter_that_the_desk_cannot_answer_is_dropped(opened: Opened) -> None:
    review = unread(opened, filter="run:nowhere")
    review.finish(QUEUE)
    assert review.notice.startswith("opened without the filter: filter, column 5: no run 'nowhere'")
    assert review.session.view.filter == ""
    assert review.current == name(opened, 0)
    review.finish(QUEUE)
    assert len(review.session.keys) == COUNT


def test_a_screen_fetches_its_own_rows_only(opened: Opened) -> None:
    review = Review(*opened)
    seen: list[str] = []
    review.desk.conn.set_trace_callback(seen.append)
    review.controller.rows(review.session.keys[:40])
    rows = len(seen)
    review.controller.step(1)
    review.desk.conn.set_trace_callback(None)
    assert rows <= 6
    assert not [query for query in seen if "ORDER BY draw" in query]
