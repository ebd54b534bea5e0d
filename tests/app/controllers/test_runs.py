"""The runs: listed, compared by their panels, turned to and removed."""

import json
from pathlib import Path
from typing import Any

from reviewdesk.app.controllers.pages import RunsController
from reviewdesk.app.paint.document import document_lines
from reviewdesk.desk.core import Desk
from reviewdesk.domain.records import Run, View
from reviewdesk.reports.bytes.source import Source
from reviewdesk.settings import Feedback, Settings
from reviewdesk.views.document import Document
from reviewdesk.views.run import run
from tests.app.builders import open_run, report, verdict
from tests.app.controllers.second_run import second_run
from tests.app.reviewkit import Review, dialog_lines, dialog_page, question_of, reviewing
from tests.helpers import SAMPLES


def other(desk: Desk, bodies: list[dict[str, Any]], name: str) -> Run:
    body = {**report(bodies), "report_id": name}
    return desk.load(Source.from_bytes(f"{name}.json", json.dumps(body).encode())).run


def shown(review: Review) -> Document:
    found = dialog_page(review).document
    assert isinstance(found, Document)
    return found


def test_a_comparison_leads_to_the_items_that_were_decided_otherwise(review: Review) -> None:
    again = second_run(review.desk)
    review.press("screen.runs")
    review.command(f"compare {again.name}")
    assert dialog_page(review).title == f"run against {again.name}"
    review.answer(True)
    assert dialog_lines(review)[0] == "    2  decided otherwise in again   flip:again"
    review.answer(0)
    assert (review.state.where, review.session.view.filter) == ("review", "flip:again")
    assert len(review.session.keys) == 2


def test_the_run_under_review_is_not_compared_with_itself(review: Review) -> None:
    review.command("compare")
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


def test_a_comparison_calls_a_missing_decision_by_one_name(review: Review) -> None:
    other(review.desk, [{**verdict(1), "decision": "inconclusive"}, verdict(2)], "open")
    review.command("compare open")
    drawn = " ".join(" ".join(one.plain for one in document_lines(shown(review), 100)).split())
    assert "pass there no decision there" in drawn
    assert "inconclusive" not in drawn


def test_nothing_is_compared_while_answers_are_kept_back(tmp_path: Path) -> None:
    settings = Settings(feedback=Feedback.NEVER)
    with reviewing(tmp_path, view=View(blind=True), settings=settings) as review:
        second_run(review.desk)
        review.command("compare again")
        assert review.notice.startswith("the panels' answers are kept back")
        assert review.dialogs == []


def page(review: Review) -> RunsController:
    assert isinstance(review.state.page, RunsController)
    return review.state.page


def details(review: Review) -> str:
    found = page(review).details
    assert found is not None
    return " ".join(line.plain for line in document_lines(run(found), 79))


def test_runs_are_listed_and_switched_with_all_state_kept(review: Review) -> None:
    other = second_run(review.desk)
    review.press("item.next", "item.next")
    review.typed("filter", "id~00")
    left = review.current
    review.press("screen.runs")
    # The newest stands first; the cursor on the run under review.
    assert [line.run.name for line in page(review).runs] == ["again", "run"]
    assert page(review).cursor == 1
    review.press("up", "run.open")
    assert review.session.run.hash == other.hash
    assert review.session.view.filter == ""
    review.press("label.pass")
    assert review.desk.progress(other).labelled == 1
    review.press("screen.runs", "down", "run.open")
    assert review.session.run.hash == review.run.hash
    assert review.session.view.filter == "id~00"
    # The label that was given in the other run stands on the content, so here as well.
    assert review.session.progress.labelled == 1
    assert review.current == left or review.session.item is not None


def test_another_run_starts_without_the_figures_of_the_first(review: Review) -> None:
    second_run(review.desk)
    review.press("label.pass")
    assert review.state.saved
    review.press("screen.runs", "up")
    review.clock.wait(1)
    review.controller.handle("run.open")
    assert review.state.saved == ""
    assert review.state.figures.calibration is None
    review.after()
    assert review.state.figures.calibration is not None


def test_a_run_left_blind_is_blind_again_and_says_so(review: Review) -> None:
    second_run(review.desk)
    review.press("blind")
    review.command("run again")
    assert review.session.view.blind
    review.press("blind")
    review.command("run run")
    assert review.session.view.blind
    assert review.notice == "blind, as this run was left"


def test_an_unknown_run_or_verdict_leaves_the_review_as_it_is(review: Review) -> None:
    before = review.session
    review.command("run nothing-of-the-kind")
    assert review.session is before
    assert "nothing-of-the-kind" in review.notice


def test_moves_stay_within_the_list_and_a_click_chooses(review: Review) -> None:
    second_run(review.desk)
    review.press("screen.runs", "down", "last", "page.down")
    assert page(review).cursor == 1
    review.press("first")
    assert page(review).cursor == 0
    review.controller.choose_row(7)  # below the list
    assert page(review).cursor == 0
    review.controller.choose_row(1)
    assert page(review).cursor == 1


def test_details_follow_the_cursor_and_tell_import_notes(review: Review) -> None:
    loaded = review.desk.load(Source.from_path(SAMPLES / "release-notes.json")).run
    assert loaded.notes
    review.press("screen.runs", "up")
    assert loaded.hash in details(review)
    assert "shape" in details(review)


def test_details_that_cannot_be_read_are_one_line(review: Review) -> None:
    second_run(review.desk)
    review.press("screen.runs")
    review.desk.conn.execute("DROP TABLE measures")
    review.press("up", "down", "up")
    assert "no such table" in review.notice
    assert page(review).details is None


def test_a_run_is_removed_after_a_question_but_never_the_one_under_review(review: Review) -> None:
    second_run(review.desk)
    review.press("screen.runs", "run.remove")
    assert review.notice == "this run is under review: switch to another one first"
    review.press("up", "run.remove")
    assert question_of(review)
    review.answer(None)
    assert len(review.desk.runs()) == 2
    review.press("run.remove")
    review.answer(True)
    assert [found.name for found in review.desk.runs()] == ["run"]
    assert review.notice == "removed again; its labels are kept"
    assert len(page(review).runs) == 1


def test_a_finished_index_reads_the_list_anew(tmp_path: Path) -> None:
    desk, run = open_run(tmp_path / "d.db", report([verdict(1)]))
    review = Review(desk, run, begun=False, view=View())
    review.controller.begin(80, 24)
    review.controller.settle()
    review.controller.look_around()
    review.controller.handle("screen.runs")
    assert len(page(review).runs) == 1
    second_run(desk)
    review.after()
    assert len(page(review).runs) == 2
