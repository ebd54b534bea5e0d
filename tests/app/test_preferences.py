"""What the desk keeps of the screen: it is there at the next start, and never in the way."""

from pathlib import Path
from typing import Any

from reviewdesk.app.controllers.state import Panes
from reviewdesk.desk.review import edits
from tests.app.appkit import staged
from tests.app.builders import open_run, report, verdict
from tests.app.reviewkit import Review


def start(path: Path, reviewer: str = "ann", **more: Any) -> Review:
    """A new session on the desk of the test, as at another start of the program."""
    desk, run = open_run(path / "d.db", report([verdict(i) for i in range(1, 4)]))
    desk.reviewer = reviewer
    return Review(desk, run, **more)


def stored(review: Review) -> dict[str, Any]:
    return edits.kept(review.desk)


def close(review: Review) -> None:
    review.press("quit")
    review.desk.close()


def test_what_was_chosen_is_there_at_the_next_start(tmp_path: Path) -> None:
    review = start(tmp_path)
    review.command("theme high-contrast")
    review.press("pane.wider")
    review.command("order -score")
    panes = review.state.panes
    close(review)
    review = start(tmp_path)
    assert review.controller.settings.theme == "high-contrast"
    assert review.state.panes.columns == panes.columns != Panes(width=160).columns
    assert review.desk.view(review.run).order == "-score"  # type: ignore[union-attr]
    close(review)
    other = start(tmp_path, reviewer="ben")
    assert other.controller.settings.source("theme") == "default"
    assert other.state.panes.columns == Panes(width=160).columns
    close(other)


def test_it_is_stored_at_the_next_poll_and_never_by_a_label(tmp_path: Path) -> None:
    review = start(tmp_path)
    review.press("label.pass", wait=1)
    review.press("screen.queue", "pane.wider")
    review.press("label.fail", wait=1)
    assert stored(review) == {}
    review.controller.poll()
    # 0.3 of 160 columns are 48, and a key widens by 4: 52 of 160.
    assert stored(review) == {"queue_width": 0.325}
    close(review)


def test_each_window_stores_only_what_was_chosen_in_it(tmp_path: Path) -> None:
    one, other = start(tmp_path), start(tmp_path)
    one.press("screen.queue", "pane.wider")
    other.command("theme high-contrast")
    close(other)
    close(one)
    review = start(tmp_path)
    assert stored(review).keys() == {"theme", "queue_width"}
    close(review)


def test_a_choice_that_cannot_be_stored_is_told_once_and_lets_the_app_close(tmp_path: Path) -> None:
    review = start(tmp_path)
    review.desk.conn.execute("DROP TABLE kept_settings")
    for action in ("pane.wider", "pane.narrower"):
        review.press(action)
        review.controller.poll()
        review.after()
        assert "kept_settings" in review.notice
        review.controller.say("")
        review.controller.poll()
        review.after()
        assert review.notice == ""
    review.press("pane.wider", "quit")
    assert review.closed


async def test_the_app_starts_with_the_kept_theme(tmp_path: Path) -> None:
    body = report([verdict(i) for i in range(1, 4)])
    desk, run = open_run(tmp_path / "d.db", body)
    async with staged(desk, run) as stage:
        assert stage.app.theme != "high-contrast"
        stage.run("theme high-contrast")
        await stage.press("q")
    desk, run = open_run(tmp_path / "d.db", body)
    async with staged(desk, run) as stage:
        assert stage.app.theme == "high-contrast"
