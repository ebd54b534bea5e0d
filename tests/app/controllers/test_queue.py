"""Filters, orders, blind review, search and jumps: what the queue then holds, and what is told."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from reviewdesk.app.controllers.jobs import QUEUE
from reviewdesk.app.controllers.queue import mode_notice
from reviewdesk.desk.core import Desk
from reviewdesk.desk.review import filters
from reviewdesk.domain.query.filter import EXAMPLE, RULE
from reviewdesk.domain.records import Run, Truth, View
from reviewdesk.errors import UsageError
from tests.app.builders import open_run, refunds, report, verdict
from tests.app.reviewkit import Review, beside, form_of, question_of, reviewing

Opened = tuple[Desk, Run]


@pytest.fixture
def opened(tmp_path: Path) -> Opened:
    return open_run(tmp_path / "desk.db", report(refunds()))


def walked(review: Review, presses: int, action: str = "search.next") -> set[str | None]:
    found = {review.current}
    for _ in range(presses):
        review.press(action)
        found.add(review.current)
    return found


def test_a_filter_is_checked_applied_and_cleared(tmp_path: Path) -> None:
    with reviewing(tmp_path, 30) as review:
        review.press("filter")
        form = form_of(review)
        assert form.rule.startswith(f"{RULE}\n{EXAMPLE} keeps (esc or bias) and not")
        assert form.replaces
        assert form.complete is not None
        assert [option.text for option in form.complete("label:n", 7).options] == ["label:none"]
        with pytest.raises(UsageError) as error:
            form.check("esc zz")
        # Four characters before the word that is wrong.
        assert getattr(error.value, "column", None) == 4
        review.answer("id~zz")
        assert review.session.item is None
        review.press("label.pass", "defer", "note", "item.next", "next", "reveal", "back")
        assert review.current is None
        review.typed("filter", "")
        assert len(review.session.keys) == 30
        assert review.notice == ""
        assert review.current is not None


def test_the_order_is_asked_for_and_applied(review: Review) -> None:
    first = review.current
    review.typed("order", "file")
    assert review.session.view.order == "file"
    # The order begins with its first item, and the one that was in view is one key away.
    assert review.session.index == 0
    assert review.current != first
    review.press("back")
    assert review.current == first
    # The order in force changes nothing.
    review.command("order file")
    assert review.current == first


def test_a_hidden_filter_in_a_blind_session_asks_once_and_no_is_the_default(blind: Review) -> None:
    blind.typed("filter", "esc")
    assert question_of(blind)
    blind.answer(None)
    assert blind.session.view.filter == ""
    assert blind.notice == "kept as it was"
    blind.typed("filter", "esc")
    blind.answer(True)
    assert blind.session.view.filter == "esc"
    blind.press("label.pass")
    assert blind.events()[0].detail["blind"] is False
    blind.command("order agreement")
    assert blind.dialogs == []


def test_turning_blind_says_what_it_comes_too_late_for(review: Review) -> None:
    assert mode_notice(True, 0) == "blind: the panel's answers are hidden until you label"
    # The items of other runs are not counted.
    exposure = review.controller.review.exposure
    assert (exposure.seen(review.session.keys), exposure.seen([-1])) == (1, 0)
    for seen, items in ((1, "1 item"), (2, "2 items"), (12_000, "12,000 items")):
        found = mode_notice(True, seen)
        assert f"labels on {items} seen before are not blind" in found
        # Whole on the narrowest usual terminal, behind the space in front.
        assert len(found) < 80
    review.press("blind")
    assert review.notice == mode_notice(True, 1)
    review.press("blind")
    assert review.notice == "open: the panel's answers are in view"


@pytest.mark.parametrize(
    "view",
    [View(filter="zz:zz"), View(filter="share>.1"), View(order="share"), View(filter="run:no")],
)
def test_view_that_cannot_be_asked_does_not_keep_run_closed(tmp_path: Path, view: View) -> None:
    with reviewing(tmp_path, view=replace(view, item="item/003")) as review:
        assert review.current == "item/003"
        assert review.notice.startswith("opened without the filter and order you left: ")
        assert (review.session.view.filter, len(review.session.keys)) == ("", 6)


def test_it_resumes_where_it_was_left(review: Review) -> None:
    review.press("label.pass", "item.next", "item.next")
    left = review.current
    review.press("quit")
    assert review.closed
    view = review.desk.view(review.run)
    assert view == View(item=left)
    later = Review(review.desk, review.run, view=view, notice="answers still shown")
    assert later.current == left
    assert later.notice == "answers still shown"


def test_the_state_is_what_a_label_means_also_where_the_view_is_not_kept(opened: Opened) -> None:
    review = Review(*opened, view=View(order="file"))
    review.desk.conn.execute("DROP TABLE views")
    review.typed("filter", "id~item/008")
    assert review.current == "item/008"
    assert "no such table" in review.notice


def test_another_writer_is_followed(tmp_path: Path) -> None:
    with reviewing(tmp_path, 2) as review:
        start, rows = review.state.start, review.state.fetches
        with beside(review) as other:
            other.label(review.session.keys[1], Truth.FAIL)
        figures = review.state.figures.calibration
        assert figures is not None
        assert figures.labelled.n == 1
        # The list is fetched again, and no text leaves where it was scrolled to.
        assert (review.state.start, review.state.fetches) == (start, rows + 1)
        review.controller.poll()
        assert review.state.fetches == rows + 1


def test_a_desk_that_cannot_be_looked_at_is_one_line_on_the_review(review: Review) -> None:
    review.press("screen.runs")
    review.desk.conn.execute("DROP TABLE label_events")
    review.controller.poll()
    assert review.notice == ""
    review.press("leave")
    assert "no such table" in review.notice


def test_search_goes_through_what_it_found_and_round(opened: Opened) -> None:
    review = Review(*opened, view=View(order="file"))
    review.typed("search", "refund")
    assert review.state.seek == 1
    assert walked(review, 2) == {"item/003", "item/005", "item/007"}
    assert review.notice == "3 of 3 with refund"
    assert review.state.reading.find == ("refund",)
    last = review.current
    review.press("search.next", "search.previous")
    assert review.current == last
    assert not any(review.labels)
    review.typed("search", "")
    assert review.notice == "no search text was given"


def test_blind_search_knows_nothing_of_reasons(opened: Opened) -> None:
    review = Review(*opened, view=View(blind=True, order="file"))
    review.typed("search", "refund")
    assert walked(review, 3) == {"item/003", "item/007"}
    assert "of 2 with refund" in review.notice


def test_what_was_found_in_the_open_is_forgotten_in_a_blind_session(opened: Opened) -> None:
    review = Review(*opened)
    review.typed("search", "policy")
    assert review.current == "item/005"
    review.press("blind", "search.next")
    assert review.notice == "no search yet: / searches"


def test_nothing_found_says_so_and_what_is_outside_the_filter_is_counted(opened: Opened) -> None:
    review = Review(*opened)
    review.typed("search", "zebra")
    assert review.notice == "nothing found for zebra"
    review.typed("filter", "id~003")
    review.typed("search", "refund")
    assert review.notice == "1 of 1 with refund · 2 outside this filter"


def test_the_index_is_built_in_the_background_and_told_of(opened: Opened) -> None:
    desk, run = opened
    assert filters.indexed(desk, run) < 1
    review = Review(desk, run, begun=False)
    review.controller.begin(80, 24)
    review.controller.settle()
    review.controller.look_around()
    review.runner.waiting["indexing"].heard(0.5)
    assert review.state.jobs.text == "indexing 50%"
    review.typed("search", "refund")
    assert filters.indexed(desk, run) == 1
    assert review.state.jobs.text == ""


def test_jumps_by_row_and_by_id(opened: Opened) -> None:
    review = Review(*opened, view=View(order="file"))
    review.command("4")
    assert review.current == "item/004"
    review.command("go item/009")
    assert review.current == "item/009"
    # A part of one id is enough; one of several ids says how many have it.
    review.command("go 007")
    assert review.current == "item/007"
    review.command("go item/00")
    assert "9 ids have 'item/00' in them" in review.notice
    review.command("go item/009")
    review.command("go 99")
    assert "The queue has 10 rows" in review.notice
    assert review.current == "item/009"


def test_moves_stay_within_the_queue(opened: Opened) -> None:
    review = Review(*opened, view=View(order="file"))
    review.press("item.previous")
    assert review.session.index == 0
    review.press("last")
    assert review.session.index == 9
    review.press("down", "item.next")
    assert review.session.index == 9
    review.press("up", "half.up")
    assert review.session.index == 3
    review.press("first", "back")
    assert review.session.index == 3
    review.controller.choose_row(4)
    assert review.session.index == 4


def test_the_way_back_ends(review: Review) -> None:
    review.press("back")
    assert review.notice == "No item was seen before this one."


@pytest.mark.parametrize(("count", "filter_"), [(0, ""), (3, "label:pass")], ids=["run", "filter"])
def test_an_empty_queue_has_no_label_advice(tmp_path: Path, count: int, filter_: str) -> None:
    advice = "Read, then p pass, f fail, i can't tell."
    with reviewing(tmp_path, count, view=View(filter=filter_), notice=advice) as review:
        assert review.notice == ""
        assert not any(review.state.hints.get(f"label.{word}") for word in ("pass", "fail"))
    with reviewing(tmp_path / "b", 3, notice=advice) as review:
        assert review.notice == advice


COUNT = 300


@pytest.fixture
def opened_desk(tmp_path: Path) -> Iterator[Opened]:
    desk, run = open_run(tmp_path / "d.db", report([verdict(i) for i in range(1, COUNT + 1)]))
    yield desk, run
    desk.close()


def name(opened_desk: Opened, place: int, order: str = "draw") -> str:
    desk, run = opened_desk
    return desk.rows(desk.queue(run, "", order)[place : place + 1])[0].id


def test_the_old_queue_stays_until_that_of_the_newest_filter_is_there(opened_desk: Opened) -> None:
    review = Review(*opened_desk)
    before = review.session.keys
    for text in ("id~item/02", "id~item/01"):
        review.controller.run(f"filter {text}")
        review.quietly("item.next")
    assert review.session.keys is before
    assert review.current == name(opened_desk, 2)
    review.finish(QUEUE)
    assert (review.session.view.filter, len(review.session.keys)) == ("id~item/01", 10)
    assert not review.runner.waiting.keys() & {QUEUE}


def test_blind_review_hides_and_takes_its_order_at_once(opened_desk: Opened) -> None:
    review = Review(*opened_desk)
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


def test_a_screen_fetches_its_own_rows_only(opened_desk: Opened) -> None:
    review = Review(*opened_desk)
    seen: list[str] = []
    review.desk.conn.set_trace_callback(seen.append)
    review.controller.review.listed(review.session.keys[:40])
    rows = len(seen)
    review.controller.step(1)
    review.desk.conn.set_trace_callback(None)
    assert rows <= 6
    assert not [query for query in seen if "ORDER BY draw" in query]
