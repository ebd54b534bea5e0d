"""The runs: their list and details, turning from one to another, removing one."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from reviewdesk.app.controllers.pages import RunsController
from reviewdesk.app.paint.document import document_lines
from reviewdesk.desk import Desk, LoadOptions
from reviewdesk.domain.records import Run, Truth, View
from reviewdesk.reports.bytes.source import Source
from reviewdesk.views.run import run
from tests.app.builders import open_run, report, verdict
from tests.app.controllers.second_run import second_run
from tests.app.reviewkit import Review, question_of
from tests.helpers import SAMPLES


def page(review: Review) -> RunsController:
    assert isinstance(review.state.page, RunsController)
    return review.state.page


def details(review: Review, *, blind: bool = False) -> str:
    found = page(review).details
    assert found is not None
    return " ".join(line.plain for line in document_lines(run(found, blind=blind), 79))


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
    assert review.notice == "resumed at item 2 of 6; 6 to go; blind, as this run was left"


def test_an_unknown_run_or_verdict_leaves_the_review_as_it_is(review: Review) -> None:
    before = review.session
    review.command("run nothing-of-the-kind")
    assert review.session is before
    assert "nothing-of-the-kind" in review.notice


def test_a_run_that_was_removed_meanwhile_is_one_line(tmp_path: Path, review: Review) -> None:
    second_run(review.desk)
    review.press("screen.runs", "up")
    other = Desk.open(tmp_path / "d.db", reviewer="bob")
    other.remove(other.run("again"))
    other.close()
    review.command("run again")
    assert review.session.run.hash == review.run.hash
    assert "again" in review.notice


def test_moves_stay_within_the_list_and_a_click_chooses(review: Review) -> None:
    second_run(review.desk)
    review.press("screen.runs", "down", "last", "page.down")
    assert page(review).cursor == 1
    review.press("first")
    assert page(review).cursor == 0
    review.controller.choose_row(7)
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


# the human labels of a file

HUMAN = {"label": "fail", "by": "dr smith", "at": "2024-02-03T04:05:06Z"}


def labelled(path: Path, *, taken: bool) -> tuple[Desk, Run]:
    """Two verdicts that a person labelled in the file, and one without; the desk is ann's."""
    desk = Desk.open(path, reviewer="ann", clock=lambda: datetime(2025, 1, 31, 12, tzinfo=UTC))
    bodies = [verdict(1, human=HUMAN), verdict(2, human=HUMAN), verdict(3)]
    source = Source.from_bytes("run.json", json.dumps(report(bodies)).encode())
    return desk, desk.load(source, LoadOptions(import_labels=taken)).run


@pytest.mark.parametrize(
    ("taken", "told"), [(False, "--import-labels takes them"), (True, "none left to take")]
)
def test_the_details_offer_the_labels_of_the_file(tmp_path: Path, taken: bool, told: str) -> None:
    review = Review(*labelled(tmp_path / "d.db", taken=taken))
    review.press("screen.runs")
    assert "2 human labels in the file" in details(review)
    assert told in details(review)
    assert "human" not in details(review, blind=True)


def test_what_is_left_to_take_is_counted(tmp_path: Path) -> None:
    review = Review(*labelled(tmp_path / "d.db", taken=False))
    review.desk.label(review.desk.find(review.run, "item/001"), Truth.PASS)
    review.press("screen.runs")
    assert "--import-labels takes 1 of 2" in details(review)


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
