"""What works on every screen: screens, panes, help, commands, themes, loading and export."""

import json
from pathlib import Path

import pytest
import yaml

from reviewdesk.app.controllers.state import FieldInput, HelpForm, ScreenRequest
from reviewdesk.app.keys.actions import ACTIONS, CALIBRATION, RUNS
from reviewdesk.domain.records import View
from reviewdesk.settings import Settings
from reviewdesk.views.verdict import FIGURES, REASONS, WHAT_IF
from tests.app.builders import SMALL, WIDE, report, verdict
from tests.app.reviewkit import Review, form_of, reviewing


def a_report(path: Path, *numbers: int) -> str:
    path.write_text(json.dumps(report([verdict(i) for i in numbers])), encoding="utf-8")
    return str(path)


@pytest.mark.parametrize("size", [WIDE, SMALL], ids=str)
def test_screens_change_by_keys_from_anywhere(tmp_path: Path, size: tuple[int, int]) -> None:
    with reviewing(tmp_path, size=size) as review:
        for action, where, pane in (
            ("screen.calibration", "calibration", None), ("screen.runs", "runs", None),
            ("screen.queue", "review", "queue"), ("screen.calibration", "calibration", None),
            ("screen.item", "review", "item"), ("screen.runs", "runs", None),
            ("leave", "review", "item"),
        ):  # fmt: skip
            review.press(action)
            assert review.state.where == where
            assert pane is None or review.state.panes.current == pane


@pytest.mark.slow
def test_every_action_is_carried_out_from_every_screen(tmp_path: Path) -> None:
    with reviewing(tmp_path, 30) as review:
        for start in ("leave", "screen.calibration", "screen.runs"):
            for name, action in ACTIONS.items():
                review.press(start)
                review.choose(name)
                while review.dialogs:
                    review.answer(None)
                assert "KeyError" not in review.notice
                if action.where in (CALIBRATION, RUNS):
                    assert review.state.where in action.where or name in {
                        "leave", "run.open", "improve", "run.load",
                    }  # fmt: skip
        assert review.desk.verify().ok


def test_levels_on_a_small_terminal(small: Review) -> None:
    assert small.state.panes.current == "item"
    small.press("deeper")
    assert small.state.panes.current == "jury"
    # In the last pane the key opens what is cut there.
    assert small.hint("deeper") == "in full"
    small.press("deeper")
    assert small.state.panes.current == "jury"
    assert small.state.reading.open_sections == {REASONS} | FIGURES
    small.press("jury.whole")
    assert small.state.reading.open_sections == set()
    # From the item, the key brings the jury into view as well.
    small.press("shallower", "jury.whole")
    assert small.state.panes.current == "jury"
    small.press("shallower", "jury.whole")
    assert small.state.reading.open_sections == {REASONS} | FIGURES
    small.press("jury.whole")
    # One key shows what other rules decide, at its section, and folds it again.
    small.press("shallower", "what.if")
    assert small.state.panes.current == "jury"
    assert small.state.reading.open_sections == {WHAT_IF}
    assert ScreenRequest("jump", (WHAT_IF.upper(),)) in small.requests
    small.press("what.if")
    assert small.state.reading.open_sections == set()
    # After a label the next item's texts are in view, and not its jury alone.
    small.press("label.pass")
    assert small.state.panes.current == "item"
    small.press("shallower", "shallower", "shallower")
    assert small.state.panes.current == "queue"
    # tab gives the keys to the queue, then to the jury, and back to the item.
    small.press("pane.next")
    assert small.state.panes.current == "jury"
    small.press("pane.previous", "pane.previous")
    assert small.state.panes.current == "item"


def _alone(review: Review) -> bool:
    return review.state.panes.alone


def test_zoom_shows_one_pane_and_keeps_the_place(review: Review) -> None:
    assert not _alone(review)
    review.press("zoom")
    assert review.state.panes.current == "item"
    assert _alone(review)
    review.resize(SMALL)
    review.resize(WIDE)
    assert _alone(review)
    review.press("zoom")
    review.resize(SMALL)
    review.press("zoom")
    assert "under 140 columns" in review.notice


def test_help_does_what_was_chosen(review: Review) -> None:
    review.press("help")
    assert review.dialog == HelpForm()
    review.answer("zoom")
    assert review.state.panes.zoomed
    # Zoomed on the queue, the item cannot be read: it is opened, and no label is given.
    review.press("screen.queue", "help")
    review.answer("label.fail")
    assert review.notice == "The item is open. Press f to label it fail."
    assert review.dialogs == []


def test_copying_takes_the_selection_or_says_how_to_close(review: Review) -> None:
    for text, notice in (
        ("abc", "copied 3 characters"),
        ("", "nothing is selected; press q to close"),
    ):
        review.press("copy")
        request = review.requests[-1]
        assert request.what == "selection"
        request.given[0](text)
        review.after()
        assert review.notice == notice
    assert review.copied == "abc"


def test_a_theme_is_chosen_by_command_and_by_name(review: Review) -> None:
    review.command("theme desk-light")
    assert review.theme == "desk-light"
    review.choose("theme")
    review.answer("theme desk-light")
    assert review.theme == "desk-light"
    review.command("theme nope")
    assert review.notice.startswith("no theme 'nope'")
    assert review.theme == "desk-light"


def test_closing_saves_the_view_even_where_it_cannot(review: Review) -> None:
    review.desk.conn.execute("DROP TABLE views")
    review.press("quit")
    assert review.closed


def test_arrows_recall_what_was_typed_before(review: Review) -> None:
    review.typed("command", "order id")
    review.typed("command", "order -id")
    review.press("command")
    assert list(form_of(review).past) == ["order id", "order -id"]


@pytest.mark.parametrize("screen", ["screen.queue", "screen.calibration"])
def test_command_that_succeeds_clears_error_of_the_one_before(review: Review, screen: str) -> None:
    review.command("go no-such-item")
    assert "no-such-item" in review.notice
    review.press(screen)
    review.command("go item/002")
    assert (review.current, review.notice) == ("item/002", "")


def test_a_command_that_fails_again_says_so_again_and_other_notices_stay(review: Review) -> None:
    review.command("go no-such-item")
    review.command("go another")
    assert "another" in review.notice
    review.press("label.pass")
    assert review.state.saved.startswith("saved ✓ pass")
    review.command("go item/003")
    assert review.state.saved.startswith("saved ✓ pass")


def test_what_is_told_of_an_item_is_not_told_of_the_next(tmp_path: Path) -> None:
    with reviewing(tmp_path, view=View(blind=True, order="file")) as review:
        for action, notice in (
            ("reveal", "revealed: a label on this item is not blind"),
            ("reveal", "Nothing is hidden here."),
            ("mark", "marked: \\ then mark shows the marked ones"),
        ):
            review.press(action)
            assert review.notice == notice
            review.press("item.next")
            assert (review.notice, review.current) == ("", "item/002")
            review.press("item.previous")
            # It does not come back with its item.
            assert (review.notice, review.current) == ("", "item/001")
        # What is told of a label names its item, and is read beside the next one.
        review.press("item.next", "label.pass")
        assert "the panel said" in review.notice
        review.press("item.next")
        assert "the panel said" in review.notice


def test_each_screen_has_a_notice_of_its_own(review: Review) -> None:
    review.command("order id")
    told = review.notice
    review.press("screen.runs")
    assert review.notice == ""
    review.press("run.remove")
    assert review.notice == "this run is under review: switch to another one first"
    review.press("screen.calibration")
    assert review.notice == ""
    review.press("leave")
    assert review.notice == told


def test_a_report_is_loaded_in_the_background_and_reviewed(tmp_path: Path, review: Review) -> None:
    review.command(f"open {a_report(tmp_path / 'new.json', *range(20, 30))}")
    assert review.notice == "loaded new: 10 verdicts"
    assert review.session.run.name == "new"
    review.command(f"open {tmp_path / 'new.json'}")
    assert review.notice == "loaded new: 10 verdicts (known already)"
    review.command(f"open {tmp_path / 'gone.json'}")
    assert "gone.json" in review.notice


def test_report_loaded_below_dialog_does_not_take_its_place(tmp_path: Path, review: Review) -> None:
    review.controller.run(f"open {a_report(tmp_path / 'new.json', 20)}")
    assert review.state.jobs.text == "loading 0%"
    review.press("note")
    assert review.notice == "loaded new: 1 verdicts"
    assert review.session.run.hash == review.run.hash


def test_a_second_load_is_refused_and_leaves_the_first_be(tmp_path: Path, review: Review) -> None:
    review.press("screen.runs", "run.load")
    file = a_report(tmp_path / "new.json", 20)
    review.dialogs.pop().then(FieldInput(f"open {file}", given=True))
    review.controller.asking = False
    review.controller.run(f"open {file}")
    assert "being loaded already" in review.notice
    review.after()
    assert review.notice == "loaded new: 1 verdicts"
    assert review.session.run.name == "new"


def test_a_report_that_cannot_be_turned_to_is_one_line(tmp_path: Path, review: Review) -> None:
    review.desk.conn.execute("DROP TABLE views")
    review.command(f"open {a_report(tmp_path / 'new.json', 20)}")
    assert "no such table" in review.notice
    assert review.session.run.hash == review.run.hash


def test_a_stopped_load_is_not_heard_of_again(tmp_path: Path, review: Review) -> None:
    review.controller.run(f"open {a_report(tmp_path / 'new.json', 20)}")
    review.controller.handle("stop")
    assert review.notice == "stopped: loading"
    assert "loading" not in review.runner.waiting
    assert review.state.jobs.text == ""
    review.press("stop")
    assert review.notice == "nothing runs in the background"


def test_labels_leave_by_a_command(tmp_path: Path, review: Review) -> None:
    target = tmp_path / "labels.jsonl"
    review.press("label.pass", "label.fail")
    review.command(f"export {target}")
    assert review.notice.startswith("2 rows written to ")
    assert len(target.read_text(encoding="utf-8").splitlines()) == 2
    target.write_text("mine", encoding="utf-8")
    review.command(f"export {target}")
    review.answer(False)
    assert target.read_text(encoding="utf-8") == "mine"
    review.command(f"export {target}")
    review.answer(True)
    assert len(target.read_text(encoding="utf-8").splitlines()) == 2
    review.command(f"export {target.with_suffix('.yaml')}")
    rows = yaml.safe_load(target.with_suffix(".yaml").read_text(encoding="utf-8"))
    assert [row.keys() for row in rows] == [{"confidence", "correct"}] * 2


@pytest.mark.parametrize(
    ("name", "start"),
    [
        ("run.json", '{"schema":"reviewdesk.report/1"'),
        ("run.report.jsonl", '{"schema":"reviewdesk.report/1"'),
        ("run.html", "<!doctype html>"),
        ("run.md", "### `run`"),
    ],
)
def test_a_run_leaves_by_a_command(tmp_path: Path, review: Review, name: str, start: str) -> None:
    target = tmp_path / name
    review.command(f"export {target}")
    assert target.read_text(encoding="utf-8").startswith(start)
    assert review.notice.endswith(f"{name}: written")
    target.write_text("mine", encoding="utf-8")
    review.command(f"export {target}")
    review.answer(True)
    assert target.read_text(encoding="utf-8").startswith(start)


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("~no-such-user/x.jsonl", "there is no such home folder"),
        ("x" * 300, "xxx…"),
        ("x.pdf", "x.pdf: its ending names no format. Labels: .jsonl, full.jsonl"),
        ("-", "-: its ending names no format"),
    ],
    ids=["home", "long", "pdf", "dash"],
)
def test_a_path_that_cannot_be_is_one_line(review: Review, target: str, said: str) -> None:
    review.command(f"export {target}")
    assert said.removesuffix("…") in review.notice


def test_other_keys_are_told_in_the_texts(tmp_path: Path) -> None:
    settings = Settings(keys={"search": ("F9",), "quit": ()})
    with reviewing(tmp_path, settings=settings) as review:
        review.press("search.next")
        assert review.notice == "no search yet: f9 searches"
