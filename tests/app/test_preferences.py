"""What the desk keeps of the screen: it is there at the next start, and never in the way."""

from pathlib import Path
from typing import Any

import pytest

from reviewdesk.app.controllers.desk import KEEPING
from reviewdesk.app.controllers.state import Do, Panes
from reviewdesk.desk import Desk
from reviewdesk.desk.review import edits
from reviewdesk.settings import Settings
from tests.app.appkit import staged
from tests.app.builders import open_run, report, verdict
from tests.app.panelkit import NOWHERE, form_of, panel_file
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
    review.press("pane.wider", "order")
    review.answer("-score")
    panes = review.state.panes
    close(review)
    review = start(tmp_path)
    assert review.controller.core.settings.theme == "high-contrast"
    assert review.state.panes.columns == panes.columns != Panes(width=160).columns
    assert review.desk.view(review.run).order == "-score"  # type: ignore[union-attr]
    close(review)
    other = start(tmp_path, reviewer="ben")
    assert other.controller.core.settings.source("theme") == "default"
    assert other.state.panes.columns == Panes(width=160).columns
    close(other)


def test_it_is_stored_in_the_background_and_never_by_a_label(tmp_path: Path) -> None:
    review = start(tmp_path)
    review.press("label.pass", wait=1)
    review.controller.poll()
    assert KEEPING not in review.runner.started
    review.press("screen.queue", "pane.wider")
    review.press("label.fail", wait=1)
    assert KEEPING not in review.runner.started
    review.controller.poll()
    # A second look while the first is being stored starts nothing.
    review.controller.poll()
    assert review.runner.started.count(KEEPING) == 1
    assert stored(review) == {}
    review.after()
    # 0.295 of 160 columns are 47, and a key widens by 4: 51 of 160.
    assert stored(review) == {"queue_width": 0.3187}
    review.controller.poll()
    assert review.runner.started.count(KEEPING) == 1
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


def test_a_choice_that_cannot_be_stored_is_told_once_and_does_not_keep_the_app_open(
    tmp_path: Path,
) -> None:
    review = start(tmp_path)
    review.desk.conn.execute("DROP TABLE kept_settings")
    for action in ("pane.wider", "pane.narrower"):
        review.press(action)
        review.controller.poll()
        review.after()
        assert "kept_settings" in review.notice
        review.controller.core.say("")
        review.controller.poll()
        review.after()
        assert review.notice == ""
    review.press("pane.wider", "quit")
    assert review.closed


HOSTILE = (
    '"no-such-theme"', "null", "[]", "{}", "1e999", "NaN", "-1", "0", "1", "2.5", '"\\u001b[31m"',
    "true ", "[" * 100_000, "", "\x00", '["a", 1]', '{"a": "b"}',
)  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: text[:8])
def test_a_damaged_value_counts_as_not_kept(tmp_path: Path, text: str) -> None:
    review = start(tmp_path)
    for name in ("theme", "queue_width", "jury_width", "panel", "zzz"):
        review.desk.conn.execute("INSERT INTO kept_settings VALUES ('ann', ?, ?)", (name, text))
    review.desk.conn.execute("INSERT INTO kept_settings VALUES ('ann', 'x', X'FF00')")
    review.desk.close()
    review = start(tmp_path)
    assert review.state.panes.columns == Panes(width=160).columns
    settings = review.controller.core.settings
    assert settings.theme == "desk"
    # Any plain text could be a path.
    assert settings.panel in {"", "no-such-theme"}
    assert review.notice == ""
    # A new choice takes the place of the damaged one.
    review.press("pane.wider")
    columns = review.state.panes.columns
    close(review)
    review = start(tmp_path)
    assert review.state.panes.columns == columns != Panes(width=160).columns
    close(review)


def test_what_is_kept_is_over_the_file_and_under_the_environment(tmp_path: Path) -> None:
    review = start(tmp_path)
    review.command("theme ansi-dark")
    close(review)
    of_file = Settings(theme="desk-light", sources={"theme": "config.toml: line 1"})
    review = start(tmp_path, settings=of_file)
    assert review.controller.core.settings.theme == "ansi-dark"
    assert review.controller.core.settings.source("theme") == "desk"
    close(review)
    of_variable = Settings(theme="desk-light", sources={"theme": "REVIEWDESK_THEME"})
    review = start(tmp_path, settings=of_variable)
    assert review.controller.core.settings.theme == "desk-light"
    # Closing does not store it: nobody chose it here.
    close(review)
    review = start(tmp_path)
    assert review.controller.core.settings.theme == "ansi-dark"
    close(review)


def test_the_last_panel_file_is_asked_again(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("TEST_KEY", "k")
    monkeypatch.chdir(tmp_path)
    panel_file(tmp_path / "p.yaml", NOWHERE)
    review = start(tmp_path)
    review.press("rerun")
    form_of(review).use_panel("p.yaml")
    review.answer(None)
    close(review)
    monkeypatch.chdir("/")
    review = start(tmp_path)
    review.press("rerun")
    assert form_of(review).path == str(tmp_path / "p.yaml")
    assert form_of(review).panel is not None
    # A file that cannot be read is not kept.
    form_of(review).use_panel(str(tmp_path / "none.yaml"))
    review.answer(None)
    review.command(f"rerun panel {tmp_path / 'none.yaml'}")
    close(review)
    review = start(tmp_path)
    assert review.controller.core.settings.panel == str(tmp_path / "p.yaml")
    close(review)


def test_forgetting_sets_the_screen_back(tmp_path: Path) -> None:
    review = start(tmp_path)
    review.command("theme ansi-dark")
    review.press("screen.queue", "pane.wider")
    review.controller.poll()
    review.after()
    assert stored(review).keys() >= {"theme", "queue_width"}
    review.choose("kept.forget")
    assert stored(review) == {}
    assert review.state.panes.columns == Panes(width=160).columns
    assert review.requests[-1] == Do("theme")
    assert review.notice.startswith("forgot what the desk kept of the screen")
    close(review)
    desk = Desk.open(tmp_path / "d.db", reviewer="ann")
    assert edits.kept(desk) == {}


async def test_the_app_starts_with_the_kept_theme_and_goes_back_to_its_own(tmp_path: Path) -> None:
    body = report([verdict(i) for i in range(1, 4)])
    desk, run = open_run(tmp_path / "d.db", body)
    async with staged(desk, run) as stage:
        own = stage.app.theme
        stage.run("theme high-contrast")
        await stage.press("q")
    desk, run = open_run(tmp_path / "d.db", body)
    async with staged(desk, run) as stage:
        assert stage.app.theme == "high-contrast" != own
        stage.app.choose("kept.forget")
        assert stage.app.theme == own
