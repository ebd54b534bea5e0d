"""The criteria of one response: each has its own label, and they are labelled together."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from reviewdesk.desk.review.items import criteria
from reviewdesk.domain.records import Truth, View
from reviewdesk.settings import Feedback, Settings
from tests.app.builders import SMALL, WIDE, open_run, report, verdict
from tests.app.controllers.test_label_cost import cost
from tests.app.reviewkit import Review
from tests.helpers import mostly_slow

NAMES = ("clarity", "tone", "safety")
LONG = "\n".join(f"line {number}" for number in range(1, 101))


def judged(response: int, name: str | None, **more: Any) -> dict[str, Any]:
    case = {"test": f"test {response}"} | ({} if name is None else {"dimension": name})
    made = {
        "id": f"r{response} / {name}", "case": case, "output": f"answer {response}\n{LONG}",
        "rubric": f"Does it have {name}?",
    }  # fmt: skip
    return verdict(response, **made | more)


@contextmanager
def reviewed(path: Path, verdicts: list[dict[str, Any]], **more: Any) -> Iterator[Review]:
    desk, run = open_run(path / "d.db", report(verdicts))
    yield Review(desk, run, size=SMALL, **{"view": View(order="file"), **more})
    desk.close()


def apart(responses: int = 3) -> list[dict[str, Any]]:
    """Verdicts whose file has all responses by one criterion, then all by the next."""
    return [judged(response, name) for name in NAMES for response in range(1, responses + 1)]


def line(review: Review) -> str:
    """The criteria in view with their labels, the current one in brackets."""
    rows = [(one.name, one.row.label, one.current) for one in review.state.criteria]
    return " ".join(
        f"[{name}]" if here else f"{name}={label}" if label else name for name, label, here in rows
    )


def read(review: Review) -> None:
    for _ in range(12):
        review.scroll(10)


@pytest.mark.parametrize("blind", [False, True])
def test_label_leads_to_next_criterion_and_then_to_the_queue(tmp_path: Path, blind: bool) -> None:
    settings = Settings(feedback=Feedback.NEVER)
    view = View(order="file", blind=blind)
    with reviewed(tmp_path, apart(), view=view, settings=settings) as review:
        assert (review.current, line(review)) == ("r1 / clarity", "[clarity] tone safety")
        read(review)
        review.press("label.pass")
        assert (review.current, line(review)) == ("r1 / tone", "clarity=pass [tone] safety")
        review.press("label.fail")
        assert (review.current, line(review)) == ("r1 / safety", "clarity=pass tone=fail [safety]")
        review.press("label.pass")
        # Not r2 / safety, which stands behind it in the file: the queue was left at the first.
        assert (review.current, line(review)) == ("r2 / clarity", "[clarity] tone safety")
        rows = review.desk.rows(review.desk.queue(review.run, "", "file"))
        given = {row.id: row.label for row in rows if row.label}
        assert given == {
            "r1 / clarity": Truth.PASS, "r1 / tone": Truth.FAIL, "r1 / safety": Truth.PASS,
        }  # fmt: skip
        assert [one.detail["blind"] for one in review.events()] == [blind] * 3


def test_the_text_stays_where_it_is_and_counts_as_seen(tmp_path: Path) -> None:
    with reviewed(tmp_path, apart()) as review:
        read(review)
        top = review.pane.layout.place(review.pane.top)
        assert top.part == "output"
        review.press("label.pass")
        assert review.current == "r1 / tone"
        assert review.pane.layout.place(review.pane.top) == top
        # Another response is met at its start, and is not seen yet.
        review.press("label.pass", "label.pass")
        assert (review.current, review.pane.top) == ("r2 / clarity", 0)
        review.press("label.pass")
        assert review.current == "r2 / clarity"
        assert "not seen enough" in review.notice


def test_undo_goes_back_and_the_queue_still_goes_on_from_where_it_was_left(tmp_path: Path) -> None:
    with reviewed(tmp_path, apart()) as review:
        read(review)
        review.press("label.pass", "label.pass", "label.pass")
        assert review.current == "r2 / clarity"
        review.press("undo")
        assert (review.current, line(review)) == ("r1 / safety", "clarity=pass tone=pass [safety]")
        review.press("label.fail")
        assert review.current == "r2 / clarity"


def test_a_step_to_the_next_item_leaves_the_response(tmp_path: Path) -> None:
    with reviewed(tmp_path, apart()) as review:
        review.press("next")
        assert review.current == "r2 / clarity"
        read(review)
        review.press("label.pass")
        assert review.current == "r2 / tone"
        # Both criteria that are left are stepped over, and not only the one in view.
        review.press("next")
        assert review.current == "r3 / clarity"
        review.press("back")
        assert review.current == "r2 / tone"


def test_a_deferred_criterion_is_passed_by(tmp_path: Path) -> None:
    with reviewed(tmp_path, apart(1)) as review:
        read(review)
        review.press("defer")
        assert review.current == "r1 / tone"
        review.press("label.pass")
        assert review.current == "r1 / safety"
        review.press("label.pass")
        # All that is left is what was deferred.
        assert review.current == "r1 / clarity"
        review.press("label.pass")
        assert review.current is None


def test_what_a_filter_leaves_out_is_told_but_not_gone_to(tmp_path: Path) -> None:
    view = View(order="file", filter="!id~tone")
    with reviewed(tmp_path, apart(), view=view) as review:
        assert line(review) == "[clarity] tone safety"
        read(review)
        review.press("label.pass")
        assert review.current == "r1 / safety"


def test_a_claim_with_a_label_is_for_what_comes_next(tmp_path: Path) -> None:
    with reviewed(tmp_path, apart()) as review:
        keys = {row.id: row.key for row in review.desk.rows(review.session.keys)}
        assert review.controller.review.ahead() == keys["r1 / tone"]


@pytest.mark.parametrize(
    "other",
    [
        judged(1, "tone", output="another answer"),
        judged(1, "tone", input="another question"),
        judged(1, "tone", case={"test": "another test", "dimension": "tone"}),
        judged(1, None),
        judged(2, "tone", output=judged(1, "tone")["output"]),
    ],
    ids=["output", "input", "test", "no dimension", "id"],
)
def test_a_verdict_on_anything_else_is_no_criterion(tmp_path: Path, other: dict[str, Any]) -> None:
    with reviewed(tmp_path, [judged(1, "clarity"), other]) as review:
        assert review.state.criteria == ()


def test_ids_without_a_criterion_in_them_are_found_near_each_other(tmp_path: Path) -> None:
    verdicts = [judged(1, name, id=f"v{number}") for number, name in enumerate(NAMES)]
    with reviewed(tmp_path, verdicts) as review:
        assert line(review) == "[clarity] tone safety"


@pytest.mark.parametrize("name", mostly_slow(["r{} / {}", "{}{}"]), ids=["by id", "by place"])
def test_criteria_are_found_as_fast_in_a_larger_run(tmp_path: Path, name: str) -> None:
    found = []
    for count in (60, 600):
        verdicts = [
            judged(at, one, id=name.format(at, one)) for at in range(count) for one in NAMES
        ]
        desk, run = open_run(tmp_path / f"{count}.db", report(verdicts))
        item = desk.item(desk.queue(run, "", "file")[90])
        steps: list[int] = []
        desk.conn.set_progress_handler(partial(steps.append, 1), 1)
        assert len(criteria(desk, item)) == 3
        desk.conn.set_progress_handler(None, 1)
        found.append(len(steps))
        desk.close()
    # Reading the whole run would take ten times the steps.
    assert found[1] <= found[0] + 60


def test_a_response_judged_twice_by_a_criterion_shows_the_one_in_view(tmp_path: Path) -> None:
    verdicts = [judged(1, "tone"), judged(1, "clarity"), judged(1, "tone", id="r1 / tone#2")]
    with reviewed(tmp_path, verdicts) as review:
        assert line(review) == "[tone] clarity"
        review.press("item.next", "item.next")
        assert (review.current, line(review)) == ("r1 / tone#2", "[tone] clarity")


def test_a_response_without_a_text_is_labelled_by_itself(tmp_path: Path) -> None:
    verdicts = [judged(1, name, output=None) for name in NAMES]
    with reviewed(tmp_path, verdicts) as review:
        assert review.state.criteria == ()


@pytest.mark.parametrize("size", [SMALL, WIDE])
def test_criteria_cost_one_statement_a_response_and_nothing_without_dimensions(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    found = []
    for names in (NAMES, (None,)):
        path = tmp_path / str(len(names))
        path.mkdir()
        verdicts = [judged(at, name, id=f"r{at} / {name}") for at in range(1, 9) for name in names]
        with reviewed(path, verdicts) as review:
            review.resize(size)
            statements: list[str] = []
            review.desk.conn.set_trace_callback(statements.append)
            review.press(*["item.next"] * 3 * len(names), "item.previous")
            review.desk.conn.set_trace_callback(None)
            found.append(sum("'$.case.dimension'" in one for one in statements))
            read(review)
            review.press("mark")  # the first write of a session looks at the desk's tables
            assert cost(review, "label.pass")[0] <= 20
    # Nine steps lead to three more responses: each is looked up once for its three criteria.
    assert found == [3, 0]
