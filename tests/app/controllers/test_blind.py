"""Blind review: which labels are blind, and when the panel's answers are told."""

from pathlib import Path

import pytest

from reviewdesk.desk.core import Desk
from reviewdesk.desk.review.edits import suggest
from reviewdesk.domain.records import Truth, View
from reviewdesk.settings import Feedback, Settings
from reviewdesk.views.verdict import FIGURES, REASONS
from tests.app.builders import open_run, report, verdict
from tests.app.panekit import item_lines
from tests.app.reviewkit import Review, beside, dialog_events, reviewing


@pytest.mark.parametrize("opened_by", ["reveal", "label.pass"])
def test_a_blind_label_is_blind_until_its_panel_was_seen(blind: Review, opened_by: str) -> None:
    first = blind.current
    blind.press(opened_by)
    if opened_by == "label.pass":
        # Scores 0.9, 0.8, 0.3 against 0.7 pass by quorum; their mean is 0.667.
        assert blind.notice == f"{first}: the panel said pass 0.67 (2 of 3 pass)"
        blind.press("back")
    assert not blind.session.hidden
    blind.press("label.fail")
    details = [event.detail for event in blind.events()]
    assert [detail["blind"] for detail in details] == (
        [False] if opened_by == "reveal" else [True, False]
    )
    assert bool(details[-1].get("revealed_at")) is (opened_by == "reveal")


def test_an_item_seen_open_is_not_blind_afterwards(filed: Review) -> None:
    filed.controller.listed(filed.session.keys[:2])
    filed.press("blind")
    assert filed.session.hidden
    filed.press("label.pass", "label.pass", "label.pass")
    # The first was open, the second had its decision in the list beside it; the third had not.
    assert [event.detail["blind"] for event in filed.events()] == [False, False, True]


def test_rows_of_a_blind_list_tell_nothing(blind: Review) -> None:
    blind.controller.listed(blind.session.keys)
    blind.press("label.pass")
    assert [event.detail["blind"] for event in blind.events()] == [True]


def test_what_was_seen_in_an_earlier_open_session_is_not_blind_later(tmp_path: Path) -> None:
    desk, run = open_run(tmp_path / "d.db", report([verdict(i) for i in range(1, 5)]))
    review = Review(desk, run)
    first = review.current
    review.press("quit")
    assert review.closed
    desk.close()
    again = Desk.open(tmp_path / "d.db", reviewer="ann")
    later = Review(again, run, view=View(blind=True, item=first))
    assert later.current == first
    later.press("label.pass", "label.pass")
    assert [event.detail["blind"] for event in later.events()] == [False, True]


@pytest.mark.parametrize("feedback", list(Feedback))
def test_the_panel_is_told_when_the_settings_say(tmp_path: Path, feedback: Feedback) -> None:
    settings = Settings(feedback=feedback)
    with reviewing(tmp_path, 3, view=View(blind=True), settings=settings) as review:
        review.press("label.pass", "label.fail")
        assert ("the panel said" in review.notice) is (feedback is Feedback.AFTER)
        review.press("back")
        assert review.session.hidden is (feedback is not Feedback.AFTER)
        assert review.session.withheld is (feedback is not Feedback.AFTER)
        review.press("next", "label.fail")
        assert review.session.done
        assert review.session.withheld is (feedback is Feedback.NEVER)
        review.press("back")
        assert review.session.hidden is (feedback is Feedback.NEVER)
        if feedback is Feedback.NEVER:
            review.press("reveal")
            assert not review.session.hidden
        # A label that is given after the answer was told is not blind any more.
        review.press("label.pass")
        blind = [event.detail["blind"] for event in review.events()]
        assert blind == [True, True, True, False]


def test_a_finished_filter_is_not_the_end(tmp_path: Path) -> None:
    settings = Settings(feedback=Feedback.END)
    with reviewing(tmp_path, 3, view=View(blind=True), settings=settings) as review:
        review.command("filter id~001")
        review.press("label.pass")
        assert review.session.done
        assert review.session.withheld
        review.press("back")
        assert review.session.hidden


def test_an_item_that_another_labelled_meanwhile_stays_blind(blind: Review) -> None:
    with beside(blind) as other:
        other.label(blind.item.row.key, Truth.PASS)
    # Neither the panel's answer nor the other label is told before one's own.
    assert blind.session.hidden
    blind.press("label.fail")
    assert [e.detail["blind"] for e in blind.events() if e.author == "ann"] == [True]


def test_what_an_agent_suggests_is_hidden_until_the_persons_own_label(tmp_path: Path) -> None:
    settings = Settings(feedback=Feedback.NEVER)
    with reviewing(tmp_path, view=View(blind=True), settings=settings) as review:
        key, name = review.item.row.key, review.current
        before = review.item
        with beside(review) as other:
            suggest(other, key, Truth.FAIL, "day 31", "checker")
        assert review.current == name
        assert review.session.hidden
        assert painted(review) == "\n".join(
            line.plain for line in item_lines(before, 80, hidden=True)
        )
        review.press("history")
        assert dialog_events(review) == []
        review.answer(None)
        review.press("copy.json")
        assert "day 31" not in review.copied
        review.press("label.pass", "back")
        assert [event.detail["blind"] for event in review.events()] == [True]
        assert "an agent suggests fail: day 31" in painted(review, hidden=False)


def painted(review: Review, *, hidden: bool = True) -> str:
    return "\n".join(line.plain for line in item_lines(review.item, 80, hidden=hidden))


def test_nothing_of_a_hidden_jury_unfolds(blind: Review) -> None:
    for action in ("jury.whole", "what.if"):
        blind.press(action)
        assert "hidden" in blind.state.notice.text
        assert not blind.state.reading.open_sections
    assert not blind.hint("deeper")
    blind.press("reveal", "jury.whole")
    assert blind.state.reading.open_sections == FIGURES | {REASONS}
