"""The calibration and runs screens: what they show, where they lead, and how they wait."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import pytest
from textual.widgets import OptionList
from textual.worker import WorkerCancelled

from reviewdesk.app.messages import CalibrationReady, PageRead
from reviewdesk.app.screens.calibration import CalibrationScreen
from reviewdesk.app.screens.choice import ChoiceDialog
from reviewdesk.app.screens.dialogs import Question
from reviewdesk.app.screens.runs import RunsScreen
from reviewdesk.app.widgets.lines import Pane
from reviewdesk.desk import Desk
from reviewdesk.domain.records import Run, View
from reviewdesk.errors import DeskError
from reviewdesk.reports.bytes.source import Source
from tests.app.appkit import SMALL, WIDE, Stage, open_run, report, staged, verdict
from tests.helpers import SAMPLES, START

Opened = tuple[Desk, Run]
SIZES = pytest.mark.parametrize("size", [WIDE, SMALL], ids=str)


@pytest.fixture
def opened(tmp_path: Path) -> Opened:
    return open_run(tmp_path / "desk.db", report([verdict(i) for i in range(1, 7)]))


def another(desk: Desk, name: str = "again", count: int = 3) -> Run:
    body = {**report([verdict(i) for i in range(1, count + 1)]), "report_id": name}
    return desk.load(Source.from_bytes(f"{name}.json", json.dumps(body).encode())).run


def judged(stage: Stage) -> str:
    screen = stage.app.top
    assert isinstance(screen, CalibrationScreen)
    return screen._pane.text


@SIZES
async def test_calibration_tells_figures_with_their_design(
    opened: Opened, size: tuple[int, int]
) -> None:
    async with staged(*opened, size=size) as stage:
        # All six pass by the panel with mean 0.667; two of four labels say so.
        await stage.press("p", "f", "p", "f", "f4")
        text = judged(stage)
        for words in ("METRICS", "CONFUSION", "GATES", "DESIGN", "JURORS", "BLIND AND OPEN"):
            assert words in text
        assert "0.500" in text
        assert "weighted" in text
        assert "FAIL  ece" in text
        await stage.press("escape")
        assert stage.app.top is stage.review


async def test_a_confusion_cell_leads_to_its_verdicts(opened: Opened) -> None:
    async with staged(*opened) as stage:
        await stage.press("p", "f", "f", "f4", "enter")
        assert isinstance(stage.app.screen, ChoiceDialog)
        options = stage.app.screen.query_one(OptionList)
        place = next(
            i
            for i in range(options.option_count)
            if "decision:pass label:fail" in str(options.get_option_at_index(i).prompt)
        )
        options.highlighted = place
        await stage.press("enter")
        assert stage.app.top is stage.review
        assert stage.review.session.view.filter == "decision:pass label:fail"
        assert len(stage.review.session.keys) == 2


async def test_calibration_without_labels_has_nothing_behind_it(opened: Opened) -> None:
    async with staged(*opened) as stage:
        await stage.press("f4", "enter")
        assert "no pass or fail label yet" in stage.drawn()
        assert stage.app.top.where == "calibration"


async def test_a_stale_page_is_dropped(opened: Opened) -> None:
    async with staged(*opened) as stage:
        await stage.press("f4")
        before = judged(stage)
        stage.app.top.post_message(PageRead(CalibrationReady(-1, None)))
        await stage.settle()
        assert judged(stage) == before


@SIZES
async def test_label_keys_do_nothing_on_other_screens(
    opened: Opened, size: tuple[int, int]
) -> None:
    desk, run = opened
    async with staged(desk, run, size=size) as stage:
        for screen in ("f4", "f5"):
            await stage.press(screen, *"pfi123PFIsu", "space", "backspace")
        assert not any(row.label for row in desk.rows(desk.queue(run)))
        assert not any(row.deferred for row in desk.rows(desk.queue(run)))


@SIZES
async def test_runs_are_listed_and_switched_with_all_state_kept(
    opened: Opened, size: tuple[int, int]
) -> None:
    desk, run = opened
    other = another(desk)
    async with staged(desk, run, size=size) as stage:
        await stage.press("J", "J", "backslash", *"id~00", "enter")
        left = stage.current
        await stage.press("f5")
        drawn = stage.drawn()
        assert run.name in drawn
        assert "again" in drawn
        # The newest stands first; the cursor on the run under review.
        await stage.press("k", "enter")
        assert stage.review.session.run.hash == other.hash
        assert stage.review.session.view.filter == ""
        await stage.press("p")
        assert sum(row.label is not None for row in desk.rows(desk.queue(other))) == 1
        await stage.press("f5", "j", "enter")
        assert stage.review.session.run.hash == run.hash
        assert stage.review.session.view.filter == "id~00"
        # The label that was given in the other run stands on the content, so here as well.
        assert stage.review.session.progress.labelled == 1
        assert stage.current == left or stage.review.session.item is not None


async def test_details_follow_the_cursor_and_tell_import_notes(opened: Opened) -> None:
    desk, run = opened
    sample = SAMPLES / "release-notes.json"
    loaded = desk.load(Source.from_path(sample)).run
    assert loaded.notes
    async with staged(desk, run) as stage:
        await stage.press("f5", "k")
        screen = stage.app.top
        assert isinstance(screen, RunsScreen)
        text = screen.query_one("#details", Pane).text
        assert loaded.hash in text
        assert "shape" in text


async def test_details_that_cannot_be_read_are_one_line(opened: Opened) -> None:
    another(opened[0])
    async with staged(*opened) as stage:
        await stage.press("f5")
        stage.desk.conn.execute("DROP TABLE strata")
        await stage.press("k", "j", "k")
        assert "no such table" in stage.drawn()
        await stage.pilot.resize_terminal(*SMALL)
        await stage.settle()
        assert stage.app.top.where == "runs"


async def test_a_report_is_loaded_in_the_background_and_chosen(
    opened: Opened, tmp_path: Path
) -> None:
    desk, run = opened
    file = tmp_path / "new.json"
    file.write_text(json.dumps(report([verdict(i) for i in range(20, 30)])), encoding="utf-8")
    async with staged(desk, run) as stage:
        await stage.press("f5", "a", *str(file), "enter")
        await stage.settle()
        assert "loaded new: 10 verdicts" in stage.drawn()
        assert stage.app.top.where == "runs"
        await stage.press("a", *str(tmp_path / "gone.json"), "enter")
        await stage.settle()
        assert "gone.json" in stage.drawn()
        await stage.press("escape", "colon", *f"open {file}", "enter")
        await stage.settle()
        assert stage.app.top is stage.review
        assert stage.review.session.run.name == "new"
        assert "known already" in stage.drawn()


async def test_a_second_load_is_refused_and_changes_nothing_of_the_first(
    opened: Opened, tmp_path: Path
) -> None:
    desk, run = opened
    file = tmp_path / "new.json"
    file.write_text(json.dumps(report([verdict(20)])), encoding="utf-8")
    async with staged(desk, run) as stage:
        stage.app.controller.load(str(file), review=False)
        with pytest.raises(DeskError, match="being loaded already"):
            stage.app.controller.load(str(file), review=True)
        await stage.settle()
        assert "loaded new" in stage.drawn()
        assert stage.review.session.run.hash == run.hash


async def test_a_report_that_cannot_be_turned_to_is_one_line(
    opened: Opened, tmp_path: Path
) -> None:
    file = tmp_path / "new.json"
    file.write_text(json.dumps(report([verdict(20)])), encoding="utf-8")
    async with staged(*opened) as stage:
        stage.desk.conn.execute("DROP TABLE views")
        await stage.press("colon")
        await stage.write(f"open {file}")
        await stage.press("enter")
        await stage.settle()
        assert "no such table" in stage.drawn()
        assert stage.review.session.run.hash == opened[1].hash


async def test_a_bad_file_is_one_line(opened: Opened, tmp_path: Path) -> None:
    bad = tmp_path / "bad.json"
    bad.write_text('{"schema": "reviewdesk.report/1", "verdicts": [{}]}', encoding="utf-8")
    async with staged(*opened) as stage:
        await stage.press("colon")
        await stage.write(f"open {bad}")
        await stage.press("enter")
        await stage.settle()
        assert "$.verdicts[0]" in stage.drawn()
        assert stage.review.session.run.hash == opened[1].hash


async def test_a_stopped_load_keeps_nothing(opened: Opened, tmp_path: Path) -> None:
    from reviewdesk.desk import LoadOptions

    desk, run = opened
    many: list[dict[str, Any]] = [verdict(i) for i in range(2000)]
    file = tmp_path / "many.json"
    file.write_text(json.dumps(report(many)), encoding="utf-8")
    async with staged(desk, run) as stage:
        stage.app.jobs.load(str(file), LoadOptions())
        stage.app.do("stop")
        assert "stopped: loading" in stage.drawn()
        with contextlib.suppress(WorkerCancelled):
            await stage.settle()
        # The thread itself ends at its next look at the time; a load of its own finds no trace.
        await stage.pilot.pause()
        assert [found.name for found in desk.runs()] == [run.name]


async def test_a_run_is_removed_after_a_question_but_never_the_one_under_review(
    opened: Opened,
) -> None:
    desk, run = opened
    another(desk)
    async with staged(desk, run) as stage:
        await stage.press("f5", "x")
        assert "turn to another one first" in stage.drawn()
        await stage.press("k", "x")
        assert isinstance(stage.app.screen, Question)
        await stage.press("enter")
        assert len(desk.runs()) == 2
        await stage.press("x", "y")
        assert [found.name for found in desk.runs()] == [run.name]
        assert "removed again" in stage.drawn()


@SIZES
async def test_screens_change_by_keys_from_anywhere(opened: Opened, size: tuple[int, int]) -> None:
    async with staged(*opened, size=size) as stage:
        for key, where, pane in (
            ("f4", "calibration", None), ("f5", "runs", None), ("f2", "review", "queue"),
            ("alt+3", "calibration", None), ("alt+2", "review", "item"), ("alt+4", "runs", None),
            ("f3", "review", "item"),
        ):  # fmt: skip
            await stage.press(key)
            assert stage.app.top.where == where
            assert pane is None or stage.review.panes.current == pane


async def test_screens_survive_every_size(opened: Opened) -> None:
    async with staged(*opened) as stage:
        for key in ("f4", "f5"):
            await stage.press(key)
            for size in ((30, 8), SMALL, (1, 1), (41, 11), WIDE):
                await stage.pilot.resize_terminal(*size)
                await stage.settle()
                await stage.press("j", "enter", "escape", "k")
                await stage.press(key)
        assert stage.app.is_running


@SIZES
async def test_blind_twins_look_alike_on_every_screen(
    tmp_path: Path, size: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.app.screens.test_blind import twin

    keys = ["f4"], ["escape", "f5"], ["escape", "at"], ["escape", "slash", *"answer", "enter"]
    seen = []
    for other in (False, True):
        body = report([twin(i, other=other) for i in range(1, 13)])
        folder = tmp_path / "ab"[other]
        folder.mkdir()
        # The desk's own path stands on the screen: from inside its folder it is the same for both.
        monkeypatch.chdir(folder)
        desk, run = open_run(Path("d.db"), body, seed="same", clock=lambda: START)
        async with staged(desk, run, size=size, view=View(blind=True)) as stage:
            screens = []
            for presses in keys:
                await stage.press(*presses)
                screens.append("\n".join(stage.cells()))
            seen.append(screens)
    assert seen[0] == seen[1]
