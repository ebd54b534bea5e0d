"""The console names the item that labels wait behind, goes to it, and closes what is deferred."""

from pathlib import Path

from reviewdesk.domain.records import Truth
from tests.app.appkit import SMALL, open_run, report, showing, verdict
from tests.app.reviewkit import Review, question_of


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
    assert review.notice == f"decide {skipped}: until then, 2 labels do not count"
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
    assert blind.notice == f"decide {skipped}: until then, up to 2 labels may not count"


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
