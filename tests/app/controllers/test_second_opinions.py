"""What another labelled: asked for again, or decided, and told only after one's own label."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from reviewdesk.desk import Desk
from reviewdesk.desk.review.filters import vocabulary
from reviewdesk.desk.team.agreement import team_page
from reviewdesk.domain.records import Truth, View
from reviewdesk.settings import Settings, Share
from tests.app.reviewkit import Review, reviewing
from tests.helpers import load, numbered, open_desk

FILE = View(order="file")


@contextmanager
def beside(review: Review) -> Iterator[Desk]:
    """The desk as bob has it; what he did is followed."""
    bob = Desk.open(review.desk.path, reviewer="bob")
    yield bob
    bob.close()
    review.controller.poll()
    review.after()


def keys_of(review: Review) -> list[int]:
    return [*review.desk.queue(review.run, "", "file")]


def test_an_item_for_two_stays_undecided_for_the_second(tmp_path: Path) -> None:
    with reviewing(tmp_path, view=FILE, settings=Settings(double=Share(1)), claims=True) as review:
        first = keys_of(review)[0]
        with beside(review) as bob:
            bob.label(first, Truth.FAIL, note="wrong date", tags=["dates"])
        assert review.session.progress.labelled == 0
        assert review.session.progress.left == 6
        row = review.controller.review.listed([first])[0]
        assert (row.label, row.decided, row.noted_by_others) == (None, False, False)
        assert review.item.history == ()
        assert review.item.other_tags == ()
        assert "dates" not in vocabulary(review.desk, review.run).tags
        assert [len(review.desk.queue(review.run, text)) for text in FOUND] == [6, 0, 0, 0, 0]
        assert review.state.figures.calibration is not None
        assert review.state.figures.calibration.labelled.n == 0
        assert review.current == "item/001"
        review.press("label.pass")
        # Both labels are kept, told, and differ; the item is nobody's any more.
        assert review.current == "item/002"
        assert review.session.progress.labelled == 1
        assert review.desk.rows([first])[0].label is Truth.DISPUTED
        item = review.desk.item(first)
        assert [(event.author, event.label) for event in item.history] == [
            ("bob", Truth.FAIL), ("ann", Truth.PASS)
        ]  # fmt: skip
        assert item.other_tags == ("dates",)
        assert [len(review.desk.queue(review.run, text)) for text in FOUND] == [5, 0, 1, 1, 1]


FOUND = ("label:none", "label:fail", "label:disputed", "tag:dates", "note")


def test_an_item_for_one_leaves_the_queue_of_the_others(tmp_path: Path) -> None:
    with reviewing(tmp_path, view=FILE, claims=True) as review:
        second = keys_of(review)[1]
        with beside(review) as bob:
            bob.label(second, Truth.FAIL, note="wrong date", tags=["dates"])
        assert review.session.progress.labelled == 1
        row = review.controller.review.listed([second])[0]
        assert (row.label, row.labelled_by_other, row.noted_by_others) == (None, True, False)
        assert [len(review.desk.queue(review.run, text)) for text in FOUND] == [5, 0, 0, 0, 0]
        review.press("label.pass")
        assert review.current == "item/003"
        review.press("item.previous")
        assert not review.item.history
        assert review.hint("reveal")
        review.press("reveal")
        assert review.item.row.label is Truth.FAIL
        assert [event.author for event in review.item.history] == ["bob", "ann"]
        assert [len(review.desk.queue(review.run, text)) for text in FOUND] == [4, 1, 0, 1, 1]
        review.press("label.fail")
        newest = review.desk.item(second).history[-1]
        assert (newest.author, bool(newest.detail["revealed_at"])) == ("ann", True)


def test_two_other_labels_are_told(tmp_path: Path) -> None:
    with reviewing(tmp_path, view=FILE, settings=Settings(double=Share(1)), claims=True) as review:
        first = keys_of(review)[0]
        for name, truth in (("bob", Truth.PASS), ("cy", Truth.FAIL)):
            other = Desk.open(review.desk.path, reviewer=name)
            other.label(first, truth)
            other.close()
        review.controller.poll()
        review.after()
        assert review.item.row.label is Truth.DISPUTED
        assert len(review.item.history) == 2


def test_an_item_for_three_waits_for_the_third(tmp_path: Path) -> None:
    settings = Settings(double=Share(1), opinions=3)
    with reviewing(tmp_path, view=FILE, settings=settings, claims=True) as review:
        first = keys_of(review)[0]
        for name, truth in (("bob", Truth.PASS), ("cy", Truth.FAIL)):
            with beside(review) as other:
                other.reviewer = name
                other.label(first, truth)
            assert review.controller.review.listed([first])[0].label is None
            assert review.item.history == ()
        review.press("label.pass")
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


def test_an_undone_label_of_another_is_not_told(tmp_path: Path) -> None:
    with reviewing(tmp_path, view=FILE, claims=True) as review:
        with beside(review) as bob:
            bob.label(keys_of(review)[0], Truth.FAIL)
            bob.undo()
        assert review.item.history == ()


def test_the_shell_hides_nothing(tmp_path: Path) -> None:
    with reviewing(tmp_path, view=FILE, settings=Settings(double=Share(1)), claims=True) as review:
        first = keys_of(review)[0]
        with beside(review) as bob:
            bob.label(first, Truth.FAIL)
        plain = Desk.open(review.desk.path, reviewer="ann")
        assert plain.rows([first])[0].label is Truth.FAIL
        assert plain.item(first).history
        plain.close()
