"""The pages of calibration: when each is read, what a blind one hides, where a figure leads."""

from pathlib import Path

import pytest

from reviewdesk.app.controllers.pages import PAGES, CalibrationController
from reviewdesk.app.paint.document import document_lines
from reviewdesk.domain.records import Truth, View
from reviewdesk.domain.stats.figures import Target
from reviewdesk.errors import DeskError
from reviewdesk.settings import Feedback, Settings
from tests.app.builders import open_run, report, verdict
from tests.app.reviewkit import Review, dialog_lines, reviewing

NAMES = [page.name for page in PAGES]


def page(review: Review) -> CalibrationController:
    assert isinstance(review.state.page, CalibrationController)
    return review.state.page


def text(review: Review) -> str:
    return "\n".join(line.plain for line in document_lines(page(review).document(), 79))


def options(review: Review) -> list[str]:
    return dialog_lines(review)


def reads(review: Review) -> list[str]:
    return [name for name in review.runner.started if name.startswith("page ")]


def test_the_pages_turn_both_ways_and_around_and_each_is_read_once(review: Review) -> None:
    review.press("screen.calibration")
    assert reads(review) == ["page figures"]
    seen = []
    for action in ("section.next", "section.next", "section.next", "section.previous"):
        review.press(action)
        seen.append(NAMES[page(review).at])
        following = NAMES[(page(review).at + 1) % len(NAMES)]
        assert review.hint("section.next") == following
    assert seen == ["reliability", "jurors", "what-if", "jurors"]
    review.press("section.next", "section.next")
    assert NAMES[page(review).at] == "figures"
    # The diagram is drawn from what the figures were.
    assert reads(review) == ["page figures", "page jurors", "page what-if"]


def test_enter_shows_all_figures(review: Review) -> None:
    # All six pass by the panel with mean 0.667; two of four labels say so.
    review.press("label.pass", "label.fail", "label.pass", "label.fail", "screen.calibration")
    assert text(review).endswith("Figures show after 2 more labels.")
    assert review.hint("drill") == "all figures"
    review.press("drill")
    for words in ("HOW RIGHT?", "WHICH ITEMS?", "WHICH GATES?", "0.500", "FAIL  ece"):
        assert words in text(review)


def test_a_page_says_that_it_is_being_worked_out(review: Review) -> None:
    review.controller.handle("screen.calibration")
    for start in ("reading", "reading", "working out", "working out"):
        assert text(review).startswith(start)
        review.controller.handle("section.next")
    review.controller.handle("what.if")
    assert page(review).page.name == "what-if"


def test_an_answer_that_comes_after_the_screen_was_left_is_dropped(review: Review) -> None:
    review.controller.handle("screen.calibration")
    job = review.runner.waiting["page figures"]
    review.controller.handle("leave")
    review.controller.safely(lambda: job.ended(None, DeskError("late")))
    assert review.notice == ""
    review.press("screen.calibration")
    assert page(review).found is not None


def test_an_error_of_a_page_is_one_line_that_goes_as_the_page_is_turned(review: Review) -> None:
    review.controller.handle("screen.calibration")
    job = review.runner.waiting.pop("page figures")
    review.controller.safely(lambda: job.ended(None, DeskError("gone")))
    assert review.notice == "gone"
    review.press("drill")
    assert review.notice == "there are no figures yet"
    review.press("section.next", "section.next")
    assert review.notice == ""


def test_a_confusion_cell_leads_to_its_verdicts(review: Review) -> None:
    review.press("label.pass", "label.fail", "label.fail", "screen.calibration")
    review.press("drill", "drill")
    place = next(i for i, o in enumerate(options(review)) if "wrong:pass" in o)
    review.answer(place)
    assert review.state.where == "review"
    assert review.session.view.filter == "wrong:pass"
    assert len(review.session.keys) == 2
    review.press("screen.calibration", "drill", "drill")
    review.answer(None)
    assert review.state.where == "calibration"


def test_a_bin_leads_to_its_verdicts(tmp_path: Path) -> None:
    # Of three scores the mean is the panel's: .9 .8 .3 is .667 and passes, .1 .2 .3 fails with .8.
    bodies = [verdict(i, (0.9, 0.8, 0.3) if i < 4 else (0.1, 0.2, 0.3)) for i in range(1, 7)]
    desk, run = open_run(tmp_path / "desk.db", report(bodies))
    for number, truth in ((1, "pass"), (2, "fail"), (4, "fail"), (5, "unsure")):
        desk.label(desk.find(run, f"item/{number:03d}"), Truth(truth), blind=False)
    review = Review(desk, run)
    review.press("screen.calibration", "section.next", "drill")
    assert options(review) == [
        "    2  right 0.50   label:pass|label:fail confidence>=.6 confidence<.7",
        "    1  right 1.00   label:pass|label:fail confidence>=.8 confidence<.9",
    ]
    review.answer(0)
    assert review.session.view.filter.endswith("confidence>=.6 confidence<.7")
    assert len(review.session.keys) == 2


def test_only_the_figures_lead_to_verdicts(review: Review) -> None:
    review.press("screen.calibration", "section.next", "drill")
    assert review.notice == "no pass or fail labels yet: no verdict is behind it"
    review.press("leave", "label.pass", "screen.calibration", "section.next", "section.next")
    assert review.hint("drill") is False
    review.press("drill")
    assert review.dialogs == []


def test_intervals_switch_between_the_run_and_such_items(review: Review) -> None:
    review.press("screen.calibration")
    assert review.hint("target.switch") == Target.ITEMS.value
    review.press("target.switch")
    assert page(review).target is Target.ITEMS
    review.press("target.switch")
    assert page(review).target is Target.RUN


def test_what_if_counts_and_marks(review: Review) -> None:
    review.press("label.pass", "label.fail", "screen.calibration", "section.previous")
    found = text(review)
    for words in ("WHAT IF", "RULE", "TRIMMED MEAN", "QUORUM", "THRESHOLD", "JUROR LEFT OUT"):
        assert words in found
    # 0.9 0.8 0.3 pass a quorum of half; by the lowest all six of them fail.
    assert "● quorum" in found
    lowest = next(line for line in found.splitlines() if "lowest" in line)
    assert lowest.split()[lowest.split().index("lowest") + 1] == "6"


def test_the_palette_brings_a_page_from_anywhere(review: Review) -> None:
    review.choose("section.next")
    assert (review.state.where, NAMES[page(review).at]) == ("calibration", "reliability")


def test_the_screen_starts_anew_with_figures_of_its_own(review: Review) -> None:
    review.press("screen.calibration", "section.next", "section.next")
    review.command("run run")
    review.press("screen.calibration")
    assert NAMES[page(review).at] == "figures"
    assert list(page(review).results) == [PAGES[0].read]


def test_a_blind_session_reads_nothing_of_other_rules_and_lists_no_bins(blind: Review) -> None:
    blind.press("label.pass", "screen.calibration", "section.previous")
    assert "verdicts that have no label" in " ".join(text(blind).split())
    assert "page what-if" not in reads(blind)
    blind.press("section.next", "section.next")
    assert "RELIABILITY" in text(blind)
    assert blind.hint("drill") is False
    blind.press("drill")
    assert "would show the panel" in blind.notice
    assert blind.dialogs == []


@pytest.mark.parametrize(
    ("feedback", "told"),
    [(Feedback.NEVER, "kept back"), (Feedback.END, "when the queue is done")],
)
def test_withheld_figures_are_not_even_read(tmp_path: Path, feedback: Feedback, told: str) -> None:
    settings = Settings(feedback=feedback)
    with reviewing(tmp_path, view=View(blind=True), settings=settings) as review:
        review.press("screen.calibration")
        for _ in PAGES:
            assert told in text(review)
            assert review.hint("drill") is False
            review.press("section.next")
        assert reads(review) == []
