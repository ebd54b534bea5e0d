"""The way from the figures to an adopted panel, by keys: split, candidates, try, adoption."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from reviewdesk.app.controllers.state import FieldInput, PageForm
from reviewdesk.domain.records import Truth
from reviewdesk.views.document import plain
from tests.app.reviewkit import Review, dialog_lines, dialog_page
from tests.helpers import load, open_desk, report, verdict

COUNT = 64
PANEL = """name: panel
strategy: mean
threshold: 0.6
jurors:
  - {name: j1, model: m, vendor: custom, base_url: "http://127.0.0.1:9/v1"}
  - {name: j2, model: m, vendor: custom, base_url: "http://127.0.0.1:9/v1"}
  - {name: j3, model: m, vendor: custom, base_url: "http://127.0.0.1:9/v1"}
"""


def body(n: int) -> dict[str, Any]:
    """The panel passes every item; of each fourth, which should fail, the mean is 0.633."""
    made = verdict(f"v{n}", 0.9, 0.9, 0.1 if n % 4 == 0 else 0.9)
    for seat in made["jurors"]:
        seat["model"] = "m"
    return made


@contextmanager
def labelled(folder: Path, *, blind: bool) -> Iterator[Review]:
    """A review beside a panel file; every item has the label that it should have."""
    (folder / "panel.yaml").write_text(PANEL, encoding="utf-8")
    with closing(open_desk(folder / "desk.db")) as desk:
        run = load(desk, report(*map(body, range(COUNT))))
        for key in list(desk.queue(run)):
            bad = int(desk.item(key).verdict.id[1:]) % 4 == 0
            desk.label(key, Truth.FAIL if bad else Truth.PASS, blind=blind)
        yield Review(desk, run)


@pytest.fixture
def review(tmp_path: Path) -> Iterator[Review]:
    with labelled(tmp_path, blind=True) as made:
        yield made


def step(review: Review, name: str, at: int = 1) -> None:
    lines = dialog_lines(review, at)
    place = next(n for n, text in enumerate(lines) if text.startswith(name))
    review.answer(dialog_page(review, at).choices[place].answer)


def key(review: Review, name: str, at: int = 0) -> None:
    review.answer(dialog_page(review, at).answers[name])


def opened(review: Review, folder: Path) -> None:
    review.press("screen.calibration")
    review.typed("improve", str(folder / "panel.yaml"))


def test_a_file_that_is_no_panel_is_not_kept_as_the_panel(review: Review, tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text("jurors: 3\n", encoding="utf-8")
    review.press("screen.calibration")
    review.typed("improve", str(tmp_path / "bad.yaml"))
    assert review.dialogs == []
    assert "bad.yaml:1: $.jurors: must be a list" in review.notice
    review.typed("improve", str(tmp_path / "panel.yaml"))
    assert "No split yet" in str(dialog_page(review).document)


@pytest.mark.slow
def test_from_the_figures_to_an_adopted_panel(review: Review, tmp_path: Path) -> None:
    opened(review, tmp_path)
    assert "No split yet" in str(dialog_page(review).document)
    key(review, "s")
    # Half of the 16 that should fail are in the tuning half.
    assert "Wrong on 8 of 32 items" in str(dialog_page(review).document)
    assert any("right: 32 of 32  no calls" in one for one in dialog_lines(review, 1))
    step(review, "write threshold=0.7")
    assert "+threshold: 0.7" in str(dialog_page(review).document)
    review.answer(None)
    candidate = tmp_path / "panel+threshold-0.7.yaml"
    assert candidate.is_file()
    assert review.notice == f"written: {candidate}"
    step(review, f"try {candidate.name}")
    assert "nobody: the stored ballots are enough" in str(dialog_page(review).document)
    review.answer(None)
    assert review.notice == "nothing was sent"
    review.press("improve")
    step(review, f"try {candidate.name}")
    assert dialog_page(review).acts["y"](0) is None  # nobody can have read it yet
    review.clock.wait(1)
    assert isinstance(review.dialog, PageForm)
    review.dialog.drawn()
    review.clock.wait(1)
    review.answer(dialog_page(review).acts["y"](0))
    # 8 of the holdout's 32 are gained and none is lost: p is a half to the 9th power.
    assert review.notice == f"{candidate.name}: better"
    step(review, f"adopt {candidate.name}")
    assert dialog_page(review).title == "Question"
    review.answer(True)
    assert (tmp_path / "panel.yaml").read_bytes() == candidate.read_bytes()
    review.answer(None)
    assert isinstance(review.dialog, PageForm)
    assert review.dialog.at == 0
    assert "1.000" in str(dialog_page(review).document)


def test_the_holdout_is_marked_and_not_among_wrong_items(review: Review, tmp_path: Path) -> None:
    assert review.state.half == ""
    opened(review, tmp_path)
    key(review, "s")
    review.answer(None)
    review.press("drill", "drill")
    titles = [plain(one.text) for one in dialog_page(review).choices]
    assert any("    8  wrong passes" in one and "wrong:pass label:tuning" in one for one in titles)
    review.answer(0)
    assert (review.session.size, review.state.half) == ("8", "tuning")
    review.typed("filter", "wrong:pass|esc")
    assert review.session.size == "8"
    assert "8 items of the holdout are left out" in review.notice
    review.typed("filter", "label:holdout")
    assert (review.session.size, review.state.half) == (str(COUNT // 2), "holdout")
    review.typed("filter", "!label:holdout !label:tuning")
    assert review.session.size == "0"


def test_a_try_takes_a_ceiling(review: Review, tmp_path: Path) -> None:
    panel = tmp_path / "panel.yaml"
    panel.write_text(PANEL.replace("custom,", "custom, price: {input: 1, output: 2},"))
    made = tmp_path / "panel+strict.yaml"
    made.write_text(panel.read_text().replace("name: panel", "name: panel\nrubric: Be strict."))
    opened(review, tmp_path)
    key(review, "s")
    step(review, f"try {made.name}")
    assert "stops before" not in str(dialog_page(review).document)
    dialog_page(review).acts["c"](0)
    review.after()
    review.answer(FieldInput("2.5", given=True))
    assert "stops before $2.50" in str(dialog_page(review).document)
    assert dialog_page(review).note == "at most $2.50"


def edited(review: Review, old: str = "", new: str = "") -> None:
    """Save the draft in the editor with a text in place of another, or save nothing."""
    request = review.requests.pop()
    text, _, then = request.given
    assert "Edit the rubric" in text
    then(text.replace(old, new) if old else None)
    review.after()


@pytest.mark.slow
def test_a_panel_that_cannot_be_used_may_be_edited_again(review: Review, tmp_path: Path) -> None:
    opened(review, tmp_path)
    key(review, "s")
    key(review, "e")
    edited(review)
    assert "saved nothing" in review.notice
    review.press("improve")
    key(review, "e")
    edited(review, "is right", "is right\nthreshold: much")
    assert "threshold" in str(dialog_page(review).document)
    review.answer(True)
    edited(review, "\nthreshold: much", " and short")
    review.answer(None)
    assert "is right and short" in (tmp_path / "panel+edit.yaml").read_text(encoding="utf-8")
    step(review, "try panel+edit.yaml")


def test_labels_given_in_the_open_are_split_after_a_question(tmp_path: Path) -> None:
    with labelled(tmp_path, blind=False) as review:
        opened(review, tmp_path)
        key(review, "s")
        assert "lean towards" in str(dialog_page(review).document)
        review.answer(True)
        assert f"{COUNT // 2} items" in str(dialog_page(review).document)
