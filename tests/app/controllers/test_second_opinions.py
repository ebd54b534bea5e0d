"""What another labelled: asked for again, or decided, and told only after one's own label."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from reviewdesk.cli.plain import document_text
from reviewdesk.desk.core import Desk
from reviewdesk.desk.review.filters import vocabulary
from reviewdesk.desk.review.runs import overview
from reviewdesk.desk.team.agreement import disagreements, team_page
from reviewdesk.domain.records import Truth, View
from reviewdesk.settings import Settings, Share
from reviewdesk.views.document import Document
from tests.app.reviewkit import Review, beside, dialog_page, reviewing
from tests.helpers import load, numbered, open_desk

FILE = View(order="file")


@pytest.fixture
def single(tmp_path: Path) -> Iterator[Review]:
    """A review of items of which each is for one reviewer."""
    with reviewing(tmp_path, view=FILE, claims=True) as made:
        yield made


@pytest.fixture
def double(tmp_path: Path) -> Iterator[Review]:
    """A review of items of which each is for two reviewers."""
    with reviewing(tmp_path, view=FILE, settings=Settings(double=Share(1)), claims=True) as made:
        yield made


def keys_of(review: Review) -> list[int]:
    return [*review.desk.queue(review.run, "", "file")]


def test_an_item_for_two_stays_undecided_for_the_second(double: Review) -> None:
    first = keys_of(double)[0]
    with beside(double) as bob:
        bob.label(first, Truth.FAIL, note="wrong date", tags=["dates"])
    assert double.session.progress.labelled == 0
    assert double.session.progress.left == 6
    row = double.controller.review.listed([first])[0]
    assert (row.label, row.decided, row.noted_by_others) == (None, False, False)
    assert double.item.history == ()
    assert double.item.other_tags == ()
    assert "dates" not in vocabulary(double.desk, double.run).tags
    assert [len(double.desk.queue(double.run, text)) for text in FOUND] == [6, 0, 0, 0, 0]
    assert double.state.figures.calibration is not None
    assert double.state.figures.calibration.labelled.n == 0
    assert double.current == "item/001"
    target = double.desk.path.with_name("labels.csv")
    double.command(f"export {target}")
    assert "would hold 1 label of others" in double.notice
    double.press("label.pass")
    double.command(f"export {target}")
    assert len(target.read_text(encoding="utf-8").splitlines()) == 3
    double.press("blind")
    double.command(f"export {target.with_suffix('.html')}")
    assert "which blind review hides" in double.notice
    double.press("blind")
    # Both labels are kept, told, and differ; the item is nobody's any more.
    assert double.current == "item/002"
    assert double.session.progress.labelled == 1
    assert double.desk.rows([first])[0].label is Truth.DISPUTED
    item = double.desk.item(first)
    assert [(event.author, event.label) for event in item.history] == [
        ("bob", Truth.FAIL), ("ann", Truth.PASS)
    ]  # fmt: skip
    assert item.other_tags == ("dates",)
    assert [len(double.desk.queue(double.run, text)) for text in FOUND] == [5, 0, 1, 1, 1]


FOUND = ("label:none", "label:fail", "label:disputed", "tag:dates", "note")


def test_an_item_for_one_leaves_the_queue_of_the_others(single: Review) -> None:
    second = keys_of(single)[1]
    with beside(single) as bob:
        bob.label(second, Truth.FAIL, note="wrong date", tags=["dates"])
    assert single.session.progress.labelled == 1
    row = single.controller.review.listed([second])[0]
    assert (row.label, row.labelled_by_other, row.noted_by_others) == (None, True, False)
    assert [len(single.desk.queue(single.run, text)) for text in FOUND] == [5, 0, 0, 0, 0]
    single.press("label.pass")
    assert single.current == "item/003"
    single.press("item.previous")
    assert not single.item.history
    assert single.hint("reveal")
    single.press("reveal")
    assert single.item.row.label is Truth.FAIL
    assert [event.author for event in single.item.history] == ["bob", "ann"]
    assert [len(single.desk.queue(single.run, text)) for text in FOUND] == [4, 1, 0, 1, 1]
    single.press("label.fail")
    newest = single.desk.item(second).history[-1]
    assert (newest.author, bool(newest.detail["revealed_at"])) == ("ann", True)


def test_the_share_of_a_desk_holds_for_everybody_who_opens_it(tmp_path: Path) -> None:
    for settings in (Settings(double=Share(0.4), opinions=3), Settings()):
        with reviewing(tmp_path, settings=settings) as review:
            assert (review.desk.double, review.desk.opinions) == (0.4, 3)


def test_an_item_for_three_waits_for_the_third(tmp_path: Path) -> None:
    settings = Settings(double=Share(1), opinions=3)
    with reviewing(tmp_path, view=FILE, settings=settings, claims=True) as review:
        first = keys_of(review)[0]
        for name, truth in (("bob", Truth.PASS), ("cy", Truth.FAIL)):
            with beside(review, name) as other:
                other.label(first, truth)
            assert review.controller.review.listed([first])[0].label is None
            assert review.item.history == ()
            assert disagreements(review.desk, review.run) == []
            assert overview(review.desk)[0].labelled == 0
        review.press("label.pass")
        assert len(disagreements(review.desk, review.run)) == 1
        assert review.desk.rows([first])[0].label is Truth.DISPUTED
        assert len(review.desk.item(first).history) == 3
        # Three others have labelled it: for a fourth it is decided, and told.
        dan = Desk.open(review.desk.path, reviewer="dan")
        dan.double, dan.opinions = 1.0, 3
        assert dan.rows([first])[0].label is Truth.DISPUTED
        dan.close()


def test_three_opinions_count_every_pair_and_give_the_test_of_the_panel(tmp_path: Path) -> None:
    desk = open_desk(tmp_path / "desk.db")
    run = load(desk, numbered(30))
    for name in ("ann", "bob", "cy"):
        desk.reviewer = name
        for at, row in enumerate(desk.rows(desk.queue(run, "", "file"))):
            right = Truth(row.decision or "")
            wrong = Truth.FAIL if right is Truth.PASS else Truth.PASS
            desk.label(row.key, wrong if name == "cy" and at < 6 else right)
    found = team_page(desk, run)
    assert found.error is not None
    # On 6 of 30 items two of the three pairs differ: d = 6·(2/3)/30, e = (1 - √(1 - 2d))/2.
    assert found.error.disagreement.estimate == pytest.approx(4 / 30)
    assert found.error.rate.estimate == pytest.approx((1 - (1 - 8 / 30) ** 0.5) / 2)
    # The panel is alike with ann and bob on all items: it may stand in for each of the three.
    assert [one.items for one in found.alternative.reviewers] == [30, 30, 30]
    assert found.alternative.passed
    desk.close()


def test_an_undone_label_of_another_is_not_told(single: Review) -> None:
    with beside(single) as bob:
        bob.label(keys_of(single)[0], Truth.FAIL)
        bob.undo()
    assert single.item.history == ()


def test_the_shell_hides_nothing(double: Review) -> None:
    first = keys_of(double)[0]
    with beside(double) as bob:
        bob.label(first, Truth.FAIL)
    plain = Desk.open(double.desk.path, reviewer="ann")
    assert plain.rows([first])[0].label is Truth.FAIL
    assert plain.item(first).history
    plain.close()


_TRUTHS = Truth.FAIL, Truth.PASS


@pytest.fixture
def review(tmp_path: Path) -> Iterator[Review]:
    """A review after ann passed the first two items, of which bob failed the first."""
    with reviewing(tmp_path, view=FILE, claims=True) as review:
        review.press("label.pass", "label.pass")
        with beside(review) as bob:
            for key, truth in zip(bob.queue(bob.run(), "", "file")[:2], _TRUTHS, strict=True):
                bob.label(key, truth)
        review.command("go 1")
        yield review


def label(review: Review) -> Truth | None:
    return review.item.row.label


def test_an_adjudication_keeps_every_label_and_is_one_undo(review: Review) -> None:
    assert label(review) is Truth.DISPUTED
    assert review.hint("adjudicate")
    review.press("adjudicate")
    assert {key: dialog_page(review).answers[key] for key in "pfi"} == {"p": 0, "f": 1, "i": 2}
    assert "ann pass, bob fail" in dialog_page(review).title
    review.answer(1)
    review.answer("too late")
    assert label(review) is Truth.FAIL
    assert "every label is kept" in review.notice
    newest = review.item.history[-1]
    assert (newest.kind, newest.label, newest.detail) == (
        "adjudicate", Truth.FAIL, {"note": "too late"}
    )  # fmt: skip
    assert len(review.events()) == 4
    assert review.session.progress.disputed == 0
    review.press("undo")
    assert label(review) is Truth.DISPUTED


def test_a_dialog_left_adjudicates_nothing(review: Review) -> None:
    review.press("adjudicate")
    review.answer(None)
    review.press("adjudicate")
    review.answer(0)
    review.leave()
    assert review.item.row.label is Truth.DISPUTED
    assert not review.events("adjudicate")


def test_there_must_be_something_to_adjudicate(review: Review) -> None:
    review.press("item.next", "adjudicate")
    assert not review.dialogs
    assert "nothing to adjudicate" in review.notice


def test_the_page_leads_to_the_disputed(review: Review) -> None:
    review.command("team")
    page = dialog_page(review)
    assert isinstance(page.document, Document)
    assert page.answers == {"enter": True}
    text = document_text(page.document)
    assert "Krippendorff's alpha" in text
    assert "panel" in text
    review.answer(True)
    assert review.session.view.filter == "label:disputed"
    assert review.current == "item/001"


def test_blind_the_page_tells_no_panel(tmp_path: Path) -> None:
    with reviewing(tmp_path, view=View(order="file", blind=True), claims=True) as review:
        review.press("label.pass")
        with beside(review) as bob:
            bob.label(bob.queue(bob.run(), "", "file")[0], Truth.FAIL)
        review.command("team")
        found = dialog_page(review).document
        assert isinstance(found, Document)
        assert "panel" not in document_text(found)
