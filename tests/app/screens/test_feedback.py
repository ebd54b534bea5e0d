"""When a blind session tells the panel's answer: after each label, at the end, or never."""

from __future__ import annotations

from pathlib import Path

import pytest

from reviewdesk.domain.records import View
from reviewdesk.settings import Feedback, Settings
from tests.app.appkit import SMALL, WIDE, Stage, open_run, report, staged, verdict

BLIND = View(blind=True)
SIZES = pytest.mark.parametrize("size", [WIDE, SMALL], ids=str)


async def jury(stage: Stage) -> str:
    if not stage.review.panes.wide:
        await stage.press("enter")
    text = stage.review.panes.text("jury").text
    if not stage.review.panes.wide:
        await stage.press("escape")
    return text


def settings(feedback: Feedback) -> Settings:
    return Settings(feedback=feedback)


@SIZES
async def test_after_tells_at_once(tmp_path: Path, size: tuple[int, int]) -> None:
    run = open_run(tmp_path / "d.db", report([verdict(i) for i in range(1, 4)]))
    async with staged(*run, size=size, view=BLIND, settings=settings(Feedback.AFTER)) as stage:
        await stage.press("p")
        assert "the panel said pass" in stage.drawn()
        assert "ECE" in stage.drawn()
        await stage.press("backspace")
        assert "JURORS" in await jury(stage)


@SIZES
async def test_end_tells_when_all_is_decided(tmp_path: Path, size: tuple[int, int]) -> None:
    run = open_run(tmp_path / "d.db", report([verdict(i) for i in range(1, 4)]))
    async with staged(*run, size=size, view=BLIND, settings=settings(Feedback.END)) as stage:
        await stage.press("p", "f")
        assert "the panel said" not in stage.drawn()
        assert "2 · the figures when the queue is done" in stage.drawn()
        await stage.press("f4")
        assert "queue is done" in stage.drawn()
        assert "METRICS" not in stage.drawn()
        await stage.press("escape", "backspace")
        assert "answer is hidden" in await jury(stage)
        await stage.press("space", "f")
        drawn = stage.drawn()
        assert "is decided" in drawn
        assert "accuracy" in drawn
        await stage.press("backspace")
        assert "JURORS" in await jury(stage)
        # A label that is given after the answer was told is not blind any more.
        await stage.press("p")
        item = stage.review.session.item
        events = [e for key in stage.review.session.keys for e in stage.desk.item(key).history]
        assert item is None or item.row.label
        assert [e.detail["blind"] for e in sorted(events, key=lambda e: e.seq)] == [
            True, True, True, False,
        ]  # fmt: skip


async def test_a_finished_filter_is_not_the_end(tmp_path: Path) -> None:
    run = open_run(tmp_path / "d.db", report([verdict(i) for i in range(1, 4)]))
    async with staged(*run, view=BLIND, settings=settings(Feedback.END)) as stage:
        await stage.press("backslash", *"id~001", "enter", "p")
        assert "in this filter is decided" in stage.drawn()
        assert "accuracy" not in stage.drawn()
        await stage.press("backspace")
        assert "answer is hidden" in await jury(stage)


@SIZES
async def test_never_keeps_the_answers_but_reveals_on_request(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    run = open_run(tmp_path / "d.db", report([verdict(1), verdict(2)]))
    async with staged(*run, size=size, view=BLIND, settings=settings(Feedback.NEVER)) as stage:
        await stage.press("p", "p")
        assert "is decided" in stage.drawn()
        assert "accuracy" not in stage.drawn()
        assert "the figures are kept back" in stage.drawn()
        await stage.press("backspace")
        assert "answer is hidden" in await jury(stage)
        await stage.press("r")
        assert "JURORS" in await jury(stage)
