"""Two panels compared: from the runs screen or a command, to the verdicts behind it, blind too."""

import json
from pathlib import Path
from typing import Any

from reviewdesk.desk import Desk
from reviewdesk.domain.records import Run, View
from reviewdesk.reports.bytes.source import Source
from reviewdesk.settings import Feedback, Settings
from reviewdesk.views.document import Document, Section
from tests.app.builders import report, verdict
from tests.app.controllers.second_run import second_run
from tests.app.reviewkit import Review, dialog_lines, dialog_page, question_of, reviewing


def other(desk: Desk, bodies: list[dict[str, Any]], name: str) -> Run:
    body = {**report(bodies), "report_id": name}
    return desk.load(Source.from_bytes(f"{name}.json", json.dumps(body).encode())).run


def shown(review: Review) -> Document:
    found = dialog_page(review).document
    assert isinstance(found, Document)
    return found


def test_the_chosen_run_is_compared_with_the_one_under_review(review: Review) -> None:
    again = second_run(review.desk)
    review.press("screen.runs", "first")
    assert review.hint("run.compare")
    review.press("run.compare")
    assert dialog_page(review).title == f"run against {again.name}"
    review.answer(True)
    assert dialog_lines(review)[0] == "    2  decided otherwise in again   flip:again"
    review.answer(0)
    assert (review.state.where, review.session.view.filter) == ("review", "flip:again")
    assert len(review.session.keys) == 2


def test_from_the_run_under_review_the_newest_of_the_same_items_is_compared(review: Review) -> None:
    again = second_run(review.desk)
    review.press("screen.runs")
    assert review.hint("run.compare")
    review.press("run.compare")
    assert dialog_page(review).title == f"run against {again.name}"


def test_the_run_under_review_is_not_compared_with_itself(review: Review) -> None:
    review.press("screen.runs")
    assert review.hint("run.compare") is False
    review.press("run.compare")
    assert review.notice.startswith("no other loaded run judged these items")
    review.command("compare run")
    assert review.notice.startswith("run cannot be compared with itself")
    assert review.dialogs == []


def test_a_command_compares_with_the_newest_run_of_the_same_items(review: Review) -> None:
    review.command("compare")
    assert review.notice.startswith("no other loaded run judged these items")
    second_run(review.desk)
    other(review.desk, [verdict(99)], "alone")
    review.command("compare")
    assert dialog_page(review).title == "run against again"
    review.answer(False)
    review.command("compare alone")
    assert dialog_page(review).title == "run against alone"
    review.answer(False)
    assert review.dialogs == []


def test_a_blind_session_compares_the_labelled_items_alone(blind: Review) -> None:
    second_run(blind.desk)
    blind.press("label.pass", "label.fail")
    blind.command("compare again")
    titles = [one.title for one in shown(blind).every]
    assert titles == ["", "Right by the labels"]
    blind.answer(True)
    assert len(dialog_lines(blind)) == 2
    blind.answer(0)
    # What differs tells the panels' answers: that is asked about, as any filter is.
    assert question_of(blind)


def test_unlabelled_items_change_nothing_that_a_blind_comparison_says(tmp_path: Path) -> None:
    pages: list[tuple[Section, ...]] = []
    for scores in ((0.9, 0.8, 0.3), (0.1, 0.2, 0.3)):
        with reviewing(tmp_path / str(scores[0]), view=View(blind=True)) as review:
            review.press("label.pass", "label.fail")
            labelled = {event.verdict for event in review.events()}
            bodies = [verdict(i) for i in range(1, 7)]
            bodies = [
                body if body["id"] in labelled else verdict(i, scores)
                for i, body in enumerate(bodies, start=1)
            ]
            other(review.desk, bodies, "twin")
            review.command("compare twin")
            pages.append(shown(review).every)
    assert pages[0] == pages[1]
    assert len(pages[0]) == 2


def test_a_blind_comparison_without_labels_does_not_count_the_decisions(tmp_path: Path) -> None:
    pages = []
    failed = [{"id": "judge-0", "score": None, "error": {"message": "timeout"}}]
    twins: tuple[dict[str, Any], ...] = ({}, {"jurors": failed})
    for more in twins:
        with reviewing(tmp_path / str(len(more)), view=View(blind=True)) as review:
            other(review.desk, [verdict(i, **more) for i in range(1, 7)], "twin")
            review.command("compare twin")
            pages.append(shown(review).every)
    assert pages[0] == pages[1]


def test_nothing_is_compared_while_answers_are_kept_back(tmp_path: Path) -> None:
    settings = Settings(feedback=Feedback.NEVER)
    with reviewing(tmp_path, view=View(blind=True), settings=settings) as review:
        second_run(review.desk)
        review.command("compare again")
        assert review.notice.startswith("the panels' answers are kept back")
        assert review.dialogs == []
