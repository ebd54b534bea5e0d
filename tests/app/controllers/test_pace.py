"""The page of pace: once after each hundred labels, and on demand."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from reviewdesk.app.controllers.requests import PaceForm
from reviewdesk.desk import Desk
from reviewdesk.domain.records import Truth, View
from reviewdesk.settings import Settings
from reviewdesk.views.document import Document, Paragraph, plain
from tests.app.builders import open_run, report, verdict
from tests.app.reviewkit import Review


@contextmanager
def near_hundred(path: Path, given: int = 99, **more: Any) -> Iterator[Review]:
    """A review that lacks one label to a hundred."""
    desk, run = open_run(path / "d.db", report([verdict(i) for i in range(1, 106)]))
    for key in desk.queue(run, "", "draw")[:given]:
        desk.label(key, Truth.PASS, blind=False)
    yield Review(desk, run, **more)
    desk.close()


def page(review: Review) -> PaceForm:
    form = review.dialog
    assert isinstance(form, PaceForm)
    return form


def titles(document: Document) -> list[str]:
    return [section.title for section in document.sections]


def test_the_page_comes_once_for_a_hundred(tmp_path: Path) -> None:
    with near_hundred(tmp_path) as review:
        review.press("label.pass")
        assert page(review).title == "100 labels"
        following = review.current
        review.answer(False)
        # The label was saved, the next item is in view, and undoing the hundredth asks nothing.
        assert review.session.progress.labelled == 100
        assert review.current == following
        review.press("undo", "label.fail")
        assert (review.dialogs, review.session.progress.labelled) == ([], 100)
        review.press("label.pass", "quit")
        again = Desk.open(review.desk.path, reviewer="ann")
        later = Review(again, again.run(), view=again.view(again.run()))
        later.press("undo", "undo", "label.pass", "label.pass")
        assert later.dialogs == []
        again.close()


@pytest.mark.slow
def test_a_label_key_on_the_page_labels_nothing_and_says_so(tmp_path: Path) -> None:
    with near_hundred(tmp_path) as review:
        review.press("label.pass")
        assert {"p", "f", "i", "P"} <= page(review).label_keys
        following = review.current
        # A key that is read before the page is drawn is the page's own.
        review.controller.handle("label.pass")
        assert (review.current, len(review.events())) == (following, 100)
        review.answer(True)
        assert review.notice.startswith("No label was given")
        # A key that is still held gives no label; one that is pressed anew does.
        review.press("label.pass", wait=0.03)
        assert len(review.events()) == 100
        review.press("label.pass")
        assert len(review.events()) == 101


def test_the_setting_turns_it_off(tmp_path: Path) -> None:
    with near_hundred(tmp_path, settings=replace(Settings(), hundreds=False)) as review:
        review.press("label.pass")
        assert review.dialogs == []
        review.command("pace")
        assert titles(page(review).document) == [
            "How it goes", "Pace", "Agreement with yourself", "The last hundred labels moved",
        ]  # fmt: skip


def test_a_blind_page_tells_nothing_of_unlabelled_verdicts(tmp_path: Path) -> None:
    with near_hundred(tmp_path, 20, view=View(blind=True)) as review:
        review.choose("pace")
        moved = page(review).document.sections[-1]
        assert "labelled verdicts" in plain(moved.note)


def test_figures_of_few_labels_are_not_on_the_page(tmp_path: Path) -> None:
    with near_hundred(tmp_path, 19) as review:
        review.command("pace")
        titles = [one.title for one in page(review).document.sections]
        assert titles == ["How it goes", "Pace", "Agreement with yourself"]


def test_a_run_without_labels_has_a_page(tmp_path: Path) -> None:
    with near_hundred(tmp_path, 0) as review:
        review.command("pace")
        first = page(review).document.sections[0].blocks[0]
        assert isinstance(first, Paragraph)
        assert "Nothing says" in plain(first.text)
