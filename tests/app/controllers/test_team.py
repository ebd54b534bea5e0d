"""The page of the reviewers, and what settles an item on which they differ."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from reviewdesk.cli.plain import document_text
from reviewdesk.domain.records import Truth, View
from reviewdesk.views.document import Document
from tests.app.reviewkit import Review, beside, dialog_page, reviewing

FILE = View(order="file")
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
