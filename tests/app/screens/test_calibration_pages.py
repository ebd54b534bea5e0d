"""The pages of the calibration screen: how they turn, what each reads, what a blind one hides."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from reviewdesk.app.workers.calibration_pages import PAGES

from reviewdesk.app.messages import CalibrationReady, PageRead
from reviewdesk.app.screens.calibration import CalibrationScreen
from reviewdesk.app.screens.choice import ChoiceDialog
from reviewdesk.desk import Desk
from reviewdesk.domain.records import Run, Truth, View
from reviewdesk.errors import DeskError
from reviewdesk.settings import Feedback, Settings
from tests.app.appkit import SMALL, WIDE, Stage, open_run, report, staged, verdict
from tests.helpers import START

Opened = tuple[Desk, Run]
SIZES = pytest.mark.parametrize("size", [WIDE, SMALL], ids=str)
NAMES = [page.name for page in PAGES]


@pytest.fixture
def opened(tmp_path: Path) -> Opened:
    return open_run(tmp_path / "desk.db", report([verdict(i) for i in range(1, 7)]))


def screen(stage: Stage) -> CalibrationScreen:
    top = stage.app.top
    assert isinstance(top, CalibrationScreen)
    return top


def shown(stage: Stage) -> str:
    return screen(stage)._pane.text


@SIZES
async def test_the_pages_turn_both_ways_and_around(opened: Opened, size: tuple[int, int]) -> None:
    async with staged(*opened, size=size) as stage:
        await stage.press("f4")
        seen = []
        for key in ("tab", "right_square_bracket", "tab", "shift+tab", "left_square_bracket"):
            await stage.press(key)
            seen.append(screen(stage).page.name)
            head, *_, foot = stage.cells()
            assert f"{NAMES.index(seen[-1]) + 1}/{len(NAMES)} {seen[-1]}" in head
            following = NAMES[(NAMES.index(seen[-1]) + 1) % len(NAMES)]
            assert f"tab {following}" in foot
        assert seen == ["reliability", "jurors", "what-if", "jurors", "reliability"]
        assert stage.app.focused is screen(stage)._pane


@SIZES
async def test_what_if_counts_and_marks(opened: Opened, size: tuple[int, int]) -> None:
    async with staged(*opened, size=size) as stage:
        await stage.press("p", "f", "f4", "shift+tab")
        text = shown(stage)
        for words in ("WHAT IF", "RULE", "TRIMMED MEAN", "QUORUM", "THRESHOLD", "JUROR LEFT OUT"):
            assert words in text
        # 0.9 0.8 0.3 pass a quorum of half; by the lowest all six of them fail.
        assert "● quorum" in text
        lowest = next(line for line in text.splitlines() if "lowest" in line)
        assert lowest.split()[lowest.split().index("lowest") + 1] == "6"
        assert "turns the most decisions: 6 of 6" in " ".join(text.split())


async def test_a_page_is_read_once_when_it_is_turned_to(opened: Opened) -> None:
    async with staged(*opened) as stage:
        await stage.press("f4")
        assert list(screen(stage)._found) == ["figures"]
        await stage.press(*["tab"] * len(PAGES))
        # The diagram is drawn from what the figures were.
        assert screen(stage)._asked == {"figures": 1, "jurors": 2, "what-if": 3}


async def test_a_page_says_that_it_is_being_worked_out(opened: Opened) -> None:
    async with staged(*opened) as stage:
        await stage.press("f4")
        screen(stage)._found.clear()
        told_by = ("reading", "reading", "working out", "working out")
        for page, told in zip(PAGES, told_by, strict=True):
            [line, *_] = screen(stage)._lines(page, 80)
            assert line.plain.startswith(told)


async def test_an_answer_to_an_older_question_is_dropped(opened: Opened) -> None:
    async with staged(*opened) as stage:
        await stage.press("f4", "tab", "tab", "tab")
        before = shown(stage)
        for token in (-1, 2):
            screen(stage).post_message(PageRead(CalibrationReady(token, None, DeskError("late"))))
            await stage.settle()
            assert shown(stage) == before
        # Token 2 is the newest of the jurors page, which is not in view: the error is said.
        assert "late" in stage.drawn()


async def test_each_page_keeps_its_place_through_turning_and_resizing(opened: Opened) -> None:
    async with staged(*opened, size=SMALL) as stage:
        await stage.press("f4", "shift+tab", "ctrl+d")
        place = screen(stage)._pane.scroll_offset.y
        assert place > 0
        await stage.press(*["tab"] * len(PAGES))
        assert screen(stage)._pane.scroll_offset.y == place
        await stage.pilot.resize_terminal(*WIDE)
        await stage.settle()
        await stage.pilot.resize_terminal(*SMALL)
        await stage.settle()
        assert screen(stage).page.name == "what-if"
        assert screen(stage)._pane.scroll_offset.y == place


async def test_only_the_figures_lead_to_verdicts(opened: Opened) -> None:
    async with staged(*opened) as stage:
        await stage.press("p", "f4")
        assert "enter verdicts" in stage.cells()[-1]
        await stage.press("tab", "tab", "enter")
        assert "enter verdicts" not in stage.cells()[-1]
        assert stage.app.screen is stage.app.top
        await stage.press("tab", "tab", "enter")
        assert isinstance(stage.app.screen, ChoiceDialog)


async def test_the_palette_brings_a_page_from_anywhere(opened: Opened) -> None:
    async with staged(*opened) as stage:
        stage.app.choose("section.next")
        await stage.settle()
        assert screen(stage).page.name == "reliability"


async def test_another_run_starts_with_its_own_figures(opened: Opened) -> None:
    desk, run = opened
    async with staged(desk, run) as stage:
        await stage.press("f4", "tab", "tab")
        await stage.press("colon")
        await stage.write(f"run {run.name}")
        await stage.press("enter", "f4")
        assert screen(stage).page.name == "figures"
        assert list(screen(stage)._found) == ["figures"]


@SIZES
async def test_a_blind_session_reads_nothing_of_other_rules(
    opened: Opened, size: tuple[int, int]
) -> None:
    async with staged(*opened, size=size, view=View(blind=True)) as stage:
        await stage.press("f4", "shift+tab")
        assert "verdicts that have no label" in " ".join(shown(stage).split())
        assert "flips" not in shown(stage)
        assert "what-if" not in screen(stage)._asked


@pytest.mark.parametrize(
    ("feedback", "told"),
    [(Feedback.NEVER, "kept back"), (Feedback.END, "when the queue is done")],
)
async def test_withheld_figures_are_not_even_read(
    opened: Opened, feedback: Feedback, told: str
) -> None:
    settings = Settings(feedback=feedback)
    async with staged(*opened, view=View(blind=True), settings=settings) as stage:
        await stage.press("f4")
        for _ in PAGES:
            assert told in shown(stage)
            assert "verdicts" not in stage.cells()[-1]
            await stage.press("tab")
        assert screen(stage)._asked == {}


def twin(number: int, *, other: bool) -> dict[str, Any]:
    """Verdicts of one content and one panel; every second answer of the other run differs."""
    if not other or number % 2:
        return verdict(number, (0.9, 0.95, 0.85), escalate_for_review=False)
    stated = {"decision": "fail", "score": 0.2, "band": "low", "escalate_for_review": True}
    return verdict(number, (0.1, 0.3, 0.2), bias_warning="kin", same_family=True, **stated)


@SIZES
async def test_blind_twins_look_alike_on_every_page(
    tmp_path: Path, size: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []
    for other in (False, True):
        body = report([twin(i, other=other) for i in range(1, 13)])
        folder = tmp_path / "ab"[other]
        folder.mkdir()
        monkeypatch.chdir(folder)
        desk, run = open_run(Path("d.db"), body, seed="same", clock=lambda: START)
        async with staged(desk, run, size=size, view=View(blind=True)) as stage:
            pages = []
            await stage.press("f4")
            for _ in PAGES:
                pages.append("\n".join(stage.cells()))
                await stage.press("tab")
            seen.append(pages)
    assert seen[0] == seen[1]


async def test_the_diagram_turns_into_its_table_and_back(opened: Opened) -> None:
    async with staged(*opened, size=SMALL) as stage:
        # From another page the key turns to the diagram first.
        await stage.press("p", "f", "f4", "v")
        assert screen(stage).page.name == "reliability"
        assert "RELIABILITY" in shown(stage)
        assert "v as a table" in stage.cells()[-1]
        await stage.press("v")
        assert "BINS" in shown(stage)
        assert "RELIABILITY" not in shown(stage)
        assert "v as a diagram" in stage.cells()[-1]
        await stage.press("v")
        assert "RELIABILITY" in shown(stage)


async def test_a_bin_leads_to_its_verdicts(tmp_path: Path) -> None:
    # Of three scores the mean is the panel's: .9 .8 .3 is .667 and passes, .1 .2 .3 fails with .8.
    bodies = [verdict(i, (0.9, 0.8, 0.3) if i < 4 else (0.1, 0.2, 0.3)) for i in range(1, 7)]
    desk, run = open_run(tmp_path / "desk.db", report(bodies))
    for number, truth in ((1, "pass"), (2, "fail"), (4, "fail"), (5, "unsure")):
        desk.label(desk.find(run, f"item/{number:03d}"), Truth(truth), blind=False)
    async with staged(desk, run, size=SMALL) as stage:
        await stage.press("f4", "v", "enter")
        asked = stage.app.screen
        assert isinstance(asked, ChoiceDialog)
        drawn = stage.drawn()
        assert "    2  right 0.50   label:pass|label:fail confidence>=.6 confidence<.7" in drawn
        assert "    1  right 1.00   label:pass|label:fail confidence>=.8 confidence<.9" in drawn
        await stage.press("enter")
        assert stage.app.review_session.session.view.filter.endswith("confidence>=.6 confidence<.7")
        assert len(stage.app.review_session.session.keys) == 2


async def test_a_blind_session_lists_no_bins(opened: Opened) -> None:
    async with staged(*opened, view=View(blind=True)) as stage:
        await stage.press("p", "f4", "v")
        assert "RELIABILITY" in shown(stage)
        assert "enter verdicts" not in stage.cells()[-1]
        await stage.press("enter")
        assert stage.app.screen is stage.app.top
        assert "would tell of the panel" in stage.drawn()
