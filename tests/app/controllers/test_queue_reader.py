"""Queues are read at the start and for blind review at once, for another filter meanwhile."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from reviewdesk.app.controllers import core
from reviewdesk.app.controllers.jobs import QUEUE
from reviewdesk.desk import Desk
from reviewdesk.domain.records import Run, View
from tests.app.builders import WIDE, open_run, report, verdict
from tests.app.reviewkit import Review

COUNT = 300
Opened = tuple[Desk, Run]


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Opened]:
    desk, run = open_run(tmp_path / "d.db", report([verdict(i) for i in range(1, COUNT + 1)]))
    yield desk, run
    desk.close()


def name(opened: Opened, place: int, order: str = "draw") -> str:
    desk, run = opened
    return desk.rows(desk.queue(run, "", order)[place : place + 1])[0].id


def test_the_whole_queue_is_there_at_the_first_look(opened: Opened) -> None:
    review = Review(*opened, begun=False)
    assert list(review.session.keys) == list(review.desk.queue(review.run))
    assert (review.session.index, review.current) == (0, name(opened, 0))


def test_the_old_queue_stays_until_that_of_the_newest_filter_is_there(opened: Opened) -> None:
    review = Review(*opened)
    before = review.session.keys
    for text in ("id~item/02", "id~item/01"):
        review.controller.run(f"filter {text}")
        review.quietly("item.next")
    assert review.session.keys is before
    assert review.current == name(opened, 2)
    review.finish(QUEUE)
    assert (review.session.view.filter, len(review.session.keys)) == ("id~item/01", 10)
    assert review.notice == "10 verdicts in the queue"
    assert not review.runner.waiting.keys() & {QUEUE}


def test_blind_review_hides_and_takes_its_order_at_once(opened: Opened) -> None:
    review = Review(*opened)
    review.controller.run("filter id~item/01")
    review.quietly()
    first = review.current
    review.controller.handle("blind")
    review.quietly()
    assert review.session.hidden
    # The open queue's order would tell the strata, and so would the queue read before.
    review.finish(QUEUE)
    assert review.current == first
    assert list(review.session.keys) == list(review.desk.queue(review.run, "", "mix"))


def test_a_filter_that_the_desk_cannot_answer_is_dropped(opened: Opened) -> None:
    review = Review(*opened, view=View(filter="run:nowhere"))
    said = "opened without the filter and order you left: filter, column 5: no run 'nowhere'"
    assert review.notice.startswith(said)
    assert (review.session.view.filter, len(review.session.keys)) == ("", COUNT)
    assert review.current == name(opened, 0)


def test_a_filter_of_last_time_is_read_after_the_first_screen_of_a_large_run(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    last = name(opened, 3)
    assert Review(*opened, view=View(filter=f"id~{last}"), begun=False).session.view.filter
    monkeypatch.setattr(core, "FILTERED_AT_ONCE", 0)
    for moves in (0, 1):
        review = Review(*opened, view=View(filter=f"id~{last}", item=last), begun=False)
        review.controller.begin(*WIDE)
        assert review.session.view.filter == ""
        assert review.current == last
        review.controller.settle()
        review.quietly(*["item.next"] * moves)
        review.finish(QUEUE)
        assert [*review.session.keys] == review.desk.queue(review.run, f"id~{last}").tolist()
        assert review.current == last
        assert review.notice.startswith("resumed at item 1 of 1" if not moves else "1 verdict")


def test_a_screen_fetches_its_own_rows_only(opened: Opened) -> None:
    review = Review(*opened)
    seen: list[str] = []
    review.desk.conn.set_trace_callback(seen.append)
    review.controller.review.listed(review.session.keys[:40])
    rows = len(seen)
    review.controller.step(1)
    review.desk.conn.set_trace_callback(None)
    assert rows <= 6
    assert not [query for query in seen if "ORDER BY draw" in query]
