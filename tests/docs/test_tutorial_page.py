"""The tutorial's ten steps, done as the page says them, on its sample."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from reviewdesk.app.controllers.state import PageForm
from reviewdesk.desk import Desk
from reviewdesk.domain.assessment.result import Flag
from reviewdesk.domain.records import Truth
from reviewdesk.reports.bytes.source import Source
from tests.app.reviewkit import Review
from tests.docs.pages import DOCS
from tests.helpers import SAMPLES, Clock

PAGE = DOCS / "tutorial.md"
RUN, SECOND = "support-bot.jsonl", "support-bot-second-panel.jsonl"


@pytest.fixture
def review(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Review]:
    """The sample, opened as step 1 opens it, from a folder that looks like a clone."""
    shutil.copytree(SAMPLES, tmp_path / "sample_runs")
    monkeypatch.chdir(tmp_path)
    desk = Desk.open(tmp_path / "desk.db", reviewer="ada", clock=Clock())
    yield Review(desk, desk.load(Source.from_path(Path("sample_runs", RUN))).run)
    desk.close()


def label(review: Review, action: str) -> str:
    """Press a label key until it labels: it scrolls to a response that was not on screen."""
    item = review.item
    for _ in range(20):
        review.press(action, wait=1)
        if review.desk.item(item.row.key).row.label is not None:
            return item.verdict.id
    raise AssertionError(f"{item.verdict.id} takes no label: {review.notice}")


def test_labels_are_given_taken_back_and_brought_back(review: Review) -> None:
    assert review.current == "insurance-excess"
    first = label(review, "label.pass")
    assert review.current != first
    review.press("undo")
    assert (review.current, any(review.labels)) == (first, False)
    review.press("redo")
    assert review.labels.count(Truth.PASS) == 1
    review.press("next", "back")
    assert review.labels.count(Truth.PASS) == 1


def test_trimmed_dissents_and_words_are_found(review: Review) -> None:
    every = len(review.session.keys)
    review.typed("filter", "trim")
    assert 0 < len(review.session.keys) < every
    assert all(Flag.TRIMMED_DISSENT in row.flags for row in review.desk.rows(review.session.keys))
    review.command("filter")
    assert len(review.session.keys) == every
    review.typed("search", "sorry")
    before = review.current
    review.press("search.next")
    assert review.current != before


def test_what_went_wrong_is_tagged_and_found_again(review: Review) -> None:
    label(review, "label.fail")
    review.typed("tags", "wrong-policy, tone")
    tagged = review.current
    review.press("mark")
    # The report has a tag of that name, too.
    for wanted, most in (("tag:tone", 10), ("tag:wrong-policy", 1), ("mark", 1)):
        review.command(f"filter {wanted}")
        assert review.current == tagged
        assert len(review.session.keys) <= most


def test_a_second_panel_is_compared_and_labels_are_taken_away(
    review: Review, tmp_path: Path
) -> None:
    label(review, "label.fail")
    review.command(f"open sample_runs/{SECOND}")
    assert review.session.run.name == SECOND.removesuffix(".jsonl")
    review.command("compare")
    assert isinstance(review.dialog, PageForm)
    review.answer(None)
    review.command(f"run {RUN.removesuffix('.jsonl')}")
    review.command("export labels.jsonl")
    (row,) = (tmp_path / "labels.jsonl").read_text(encoding="utf-8").splitlines()
    assert json.loads(row).keys() == {"confidence", "correct"}


def test_the_page_says_what_is_done_here() -> None:
    text = " ".join(PAGE.read_text(encoding="utf-8").split())
    for said in (
        f"`:open sample_runs/{SECOND}`", "`:compare`", "`:export labels.jsonl`", "`:filter`",
        "type `trim`", "`/` then `sorry`", "`wrong-policy, tone`", "`tag:tone` or `mark`",
    ):  # fmt: skip
        assert said in text
