"""``:ask`` in the console: what comes next, what the foot says, and closing."""

from itertools import groupby
from pathlib import Path

import pytest

from reviewdesk.app.paint.frame import strip_lines
from reviewdesk.desk.core import Access, Desk
from reviewdesk.desk.figures.question import answer, asked_keys
from tests.app.appkit import open_run, report, verdict
from tests.app.reviewkit import Review


@pytest.fixture
def review(tmp_path: Path) -> Review:
    bodies = [verdict(at, (0.9, 0.8, 0.9), escalate_for_review=at % 3 == 0) for at in range(1, 41)]
    return Review(*open_run(tmp_path / "d.db", report(bodies)))


def foot(review: Review) -> str:
    state = review.state
    return strip_lines(state.session, state.figures, "", 120)[0].plain.strip()


@pytest.mark.slow
def test_the_next_items_are_those_that_the_question_has_drawn(review: Review) -> None:
    review.command("ask accuracy >= 0.7")
    assert foot(review).startswith("accuracy >= 0.7? not yet · between 0.000 and 1.000")
    review.press("label.pass")
    for _ in range(30):
        asked = answer(review.desk, review.session.run)
        assert asked is not None
        (row,) = review.desk.rows([review.state.session.keys[review.state.session.index or 0]])
        assert row.stratum.startswith(("flagged", "rest"))
        assert asked.waiting <= 1  # the item that was open when the question was asked
        review.press("label.pass")
    found = answer(review.desk, review.session.run)
    assert found is not None
    assert found.look.labels >= 30
    assert "you may stop" in foot(review)
    review.command("ask close")
    assert "labels" in foot(review)
    review.desk.close()


@pytest.mark.slow
def test_criteria_are_asked_one_by_one_and_those_of_a_response_together(tmp_path: Path) -> None:
    bodies = [
        verdict(at, (0.9, 0.8, 0.9), id=f"r{at} / {name}", rubric=f"Does it have {name}?",
                case={"test": f"test {at}", "dimension": name})
        for name in ("clarity", "tone") for at in range(1, 13)
    ]  # fmt: skip
    review = Review(*open_run(tmp_path / "d.db", report(bodies)))
    review.command("ask accuracy >= 0.7")
    asked = answer(review.desk, review.session.run)
    assert asked is not None
    # Each criterion of each response is an item of its own.
    assert (asked.size, len(asked.drawn)) == (24, 10)
    order = [*asked_keys(review.desk, review.session.run)]
    given: list[str] = []
    while review.current is not None and len(given) < 24:
        given.append(review.current)
        review.press("label.pass")
    found = answer(review.desk, review.session.run)
    assert found is not None
    assert (found.look.labels, found.waiting, found.look.low) == (24, 0, 1.0)
    # Those that the first block draws come first, after the item that was open.
    first = {row.id for row in review.desk.rows(order)}
    assert set(given[: len(first) + 1]) >= first
    responses = [one.split()[0] for one in given if one in first]
    assert len([*groupby(responses)]) == len(set(responses))
    review.desk.close()


def test_a_filter_shows_what_it_keeps_all_the_same(review: Review) -> None:
    review.command("ask accuracy >= 0.7")
    review.command("filter esc")
    review.press("label.pass")
    (row,) = review.desk.rows([review.state.session.keys[review.state.session.index or 0]])
    assert row.stratum.startswith("flagged")
    review.desk.close()


def test_a_blind_session_is_told_no_interval(review: Review) -> None:
    review.press("blind")
    review.command("ask accuracy >= 0.7")
    for told in (review.notice, foot(review)):
        assert told == "accuracy >= 0.7? 0 labels counted · not yet"


def test_nobody_asks_on_a_desk_that_is_only_read(review: Review, tmp_path: Path) -> None:
    review.desk.close()
    desk = Desk.open(tmp_path / "d.db", reviewer="ben", access=Access.READ)
    reader = Review(desk, desk.run())
    reader.command("ask accuracy >= 0.7")
    assert "nothing can be saved" in reader.notice or "read" in reader.notice
    assert answer(desk, desk.run()) is None
    desk.close()
