"""What one reviewer has open, and the item that labels wait behind."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from reviewdesk.app.controllers.jobs import CLAIMS
from reviewdesk.app.paint.frame import strip_lines
from reviewdesk.desk.core import Desk
from reviewdesk.desk.team import claims
from reviewdesk.domain.records import Truth, View
from tests.app.appkit import SMALL, open_run, report, showing, verdict
from tests.app.reviewkit import Review, question_of, reviewing

FILE = View(order="file")


@dataclass
class Hands:
    """Two reviews on one desk, and the time of both."""

    ann: Review
    bob: Review
    time: datetime

    def pass_by(self, minutes: float) -> None:
        self.time += timedelta(minutes=minutes)
        for review in (self.ann, self.bob):
            review.clock.wait(60 * minutes)


@pytest.fixture
def hands(tmp_path: Path) -> Iterator[Hands]:
    with reviewing(tmp_path, view=FILE, claims=True) as ann:
        desk = Desk.open(ann.desk.path, reviewer="bob")
        hands = Hands(
            ann, Review(desk, desk.run(), view=FILE, claims=True), datetime(2026, 1, 2, tzinfo=UTC)
        )
        ann.desk.clock = desk.clock = lambda: hands.time
        yield hands
        desk.close()


def open_items(review: Review) -> set[str]:
    """The ids of what a reviewer holds, by the table of the desk."""
    rows = review.desk.conn.execute(
        """SELECT v.id FROM claims c JOIN verdicts v ON v.item = c.item WHERE c.reviewer = ?""",
        (review.desk.reviewer,),
    )
    return {row["id"] for row in rows}


def test_the_open_item_is_held(tmp_path: Path) -> None:
    with reviewing(tmp_path, view=FILE, claims=True) as review:
        assert open_items(review) == {"item/001"}
        review.press("label.pass")
        assert review.current == "item/002"
        assert open_items(review) == {"item/002"}
        review.press("next")
        assert open_items(review) == {"item/003"}
        review.press("quit")
        assert open_items(review) == set()


def test_others_skip_what_is_held_and_see_with_whom(hands: Hands) -> None:
    bob = hands.bob
    assert bob.current == "item/002"
    rows = bob.controller.review.listed(list(bob.session.keys))
    assert [row.open_with for row in rows] == ["ann", "", "", "", "", ""]
    hands.ann.press("label.pass")
    # Bob holds the second.
    assert hands.ann.current == "item/003"
    bob.press("label.fail", "label.fail", "label.fail", "label.fail")
    assert bob.session.item is None
    assert "ann" in bob.notice
    hands.ann.press("quit")
    bob.press("next")
    assert bob.current == "item/003"


def test_a_held_item_can_be_labelled_on_purpose(hands: Hands) -> None:
    bob = hands.bob
    bob.command("go item/001")
    bob.controller.poll()
    bob.after()
    assert bob.current == "item/001"
    assert "this item is open with ann" in bob.notice
    assert bob.item.row.open_with == "ann"
    bob.press("label.fail")
    hands.ann.press("label.pass")
    found = hands.ann.desk.item(hands.ann.session.keys[0])
    assert {(e.author, e.label) for e in found.history} == {
        ("ann", Truth.PASS), ("bob", Truth.FAIL)
    }  # fmt: skip


def test_of_two_at_once_one_goes_on(tmp_path: Path) -> None:
    with reviewing(tmp_path, view=FILE, claims=True) as ann:
        ann.desk.conn.execute("DELETE FROM claims")
        desk = Desk.open(ann.desk.path, reviewer="bob")
        bob = Review(desk, desk.run(), view=FILE, begun=False, claims=True)
        bob.controller.begin(160, 48)
        bob.quietly()
        bob.controller.poll()
        assert bob.current == "item/001"
        assert claims.claim(ann.desk, ann.item.row.key) is not None
        bob.finish(CLAIMS)
        assert bob.current == "item/002"
        assert "item/001 is open with ann" in bob.notice
        desk.close()


def test_a_claim_ends_by_itself_and_a_key_renews_it(hands: Hands) -> None:
    hands.pass_by(6)
    hands.ann.press("mark")
    hands.pass_by(6)
    hands.bob.press(*["next"] * 5)
    # Twelve minutes after the first claim, six after a key: still with ann.
    assert hands.bob.current == "item/002"
    hands.pass_by(5)
    hands.bob.press(*["next"] * 5)
    assert hands.bob.current == "item/001"


def test_held_keys_write_little_and_a_step_is_claimed_when_it_rests(tmp_path: Path) -> None:
    with reviewing(tmp_path, 40, view=FILE, claims=True) as review:
        before = review.runner.started.count(CLAIMS)
        review.quietly(*["item.next"] * 30, *["next"] * 30)
        assert review.runner.started.count(CLAIMS) == before
        review.after()
        assert open_items(review) == {review.current}


def test_a_read_only_desk_claims_nothing(tmp_path: Path) -> None:
    with reviewing(tmp_path, view=FILE, begun=False, claims=True) as review:
        review.desk.read_only = True
        review.controller.begin(160, 48)
        review.controller.settle()
        review.after()
        review.press("next", "quit")
        assert CLAIMS not in review.runner.started
        assert open_items(review) == set()


def opened(folder: Path, count: int = 12, **more: object) -> Review:
    bodies = [verdict(at, (0.9, 0.8, 0.9), escalate_for_review=False) for at in range(1, count + 1)]
    desk, run = open_run(folder / "d.db", report(bodies))
    return Review(desk, run, **more)  # type: ignore[arg-type]


def waiting(review: Review) -> list[int]:
    return [one.waiting for one in review.state.figures.blockers]


def test_a_deferred_item_is_named_and_one_key_goes_there(tmp_path: Path) -> None:
    review = opened(tmp_path)
    skipped = review.current
    review.press("defer", "label.pass", "label.fail")
    (one,) = review.state.figures.blockers
    assert (one.id, one.waiting) == (skipped, 2)
    review.press("blocker")
    assert review.current == skipped
    review.press("label.pass")
    assert waiting(review) == []
    review.press("blocker")
    assert review.notice == "No labels wait behind an undecided item."


def test_the_key_goes_to_an_item_that_the_filter_leaves_out(tmp_path: Path) -> None:
    review = opened(tmp_path)
    skipped = review.current
    review.press("next", "label.pass")
    review.command("filter label:pass")
    review.press("blocker")
    assert review.current == skipped


def test_an_item_deferred_twice_may_be_closed(tmp_path: Path) -> None:
    review = opened(tmp_path)
    name = review.current
    review.press("defer", "label.pass")
    assert not review.dialogs
    review.press("blocker", "defer")
    assert not review.dialogs
    review.press("blocker", "defer")
    assert question_of(review)[0] == f"{name} was deferred twice. Close it without an answer?"
    # With escape nothing happens, with n it is deferred once more.
    review.answer(None)
    assert (review.current, len(review.events("defer"))) == (name, 2)
    review.press("defer")
    review.answer(False)
    assert len(review.events("defer")) == 3
    review.press("blocker", "defer")
    review.answer(True)
    (made,) = [event for event in review.events() if event.detail.get("closed")]
    assert (made.verdict, made.label) == (name, Truth.UNSURE)
    assert waiting(review) == []
    review.press("undo")
    assert waiting(review) == [1]


def test_a_blind_session_names_what_was_skipped_and_no_strata(blind: Review) -> None:
    skipped = blind.current
    blind.press("defer", "label.pass", "label.fail")
    (one,) = blind.state.figures.blockers
    assert (one.id, one.waiting, one.before) == (skipped, 2, True)
    blind.press("blocker")
    assert blind.current == skipped
    # Which labels count depends on the panel's answers.
    assert len(strip_lines(blind.state.session, blind.state.figures, "B", 80)) == 1


async def test_the_strip_and_the_page_of_an_empty_queue_name_it(tmp_path: Path) -> None:
    bodies = [verdict(at, (0.9, 0.8, 0.9), escalate_for_review=False) for at in range(1, 7)]
    async with showing(tmp_path, *bodies, size=SMALL) as stage:
        name = stage.current
        await stage.press("s", "p", "p")
        assert f"B decide {name}: until then, 2 labels do not count" in stage.drawn()
        stage.run("filter label:pass")
        await stage.settle()
        await stage.press("B")
        assert stage.current == name
        stage.run(f"filter !id~{name}")
        await stage.settle()
        await stage.press("space")
        await stage.press("p", "p", "p")
        text = " ".join(stage.drawn().split())
        assert "Everything in this filter is decided." in text
        assert f"B decide {name}: until then, 5 labels do not count" in text
