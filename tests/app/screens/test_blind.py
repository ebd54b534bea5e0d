"""Blind review, held by twins: what may not be told changes no cell."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from reviewdesk.desk import Desk
from reviewdesk.domain.records import Event, Run, View
from tests.app.appkit import SMALL, WIDE, juror, open_run, report, staged, verdict


def twin(number: int, *, other: bool) -> dict[str, Any]:
    """Verdicts of one content; every second panel of the other run has nothing in common."""
    if not other or number % 2:
        return verdict(number, (0.9, 0.95, 0.85), escalate_for_review=False)
    jurors = [juror(f"x{i}", s, weight=2.0) for i, s in enumerate((0.1, 0.2, 0.3, 0.9, 0.0))]
    jurors.append({"id": "y", "score": None, "error": {"message": "timeout"}})
    return verdict(
        number,
        jurors=jurors,
        escalate_for_review=True,
        decision="fail",
        score=0.2,
        agreement={"value": -0.3, "metric": "r_wg"},
        band="low",
        same_family=True,
        bias_warning="kin",
        human={"label": "fail", "by": "somebody"},
    )


STEPS: list[list[str]] = [
    [],
    ["J"],
    ["enter"],
    ["escape", "escape"],
    ["tab"],
    ["s"],
    ["question_mark"],
]
"""What is pressed one step after another; the twins are compared after each."""


@pytest.mark.parametrize("size", [WIDE, SMALL], ids=str)
async def test_twins_draw_the_same_cells(tmp_path: Path, size: tuple[int, int]) -> None:
    seen: list[list[object]] = [[], []]
    for other in (False, True):
        body = report([twin(i, other=other) for i in range(1, 13)])
        desk, run = open_run(tmp_path / f"{other}.db", body, seed="same")
        async with staged(desk, run, size=size, view=View(blind=True)) as stage:
            for keys in STEPS:
                await stage.press(*keys)
                seen[other].append(stage.styled())
    for keys, one, twin_ in zip(STEPS, *seen, strict=True):
        assert one == twin_, keys


async def test_the_twins_differ_in_the_open(tmp_path: Path) -> None:
    seen = []
    for other in (False, True):
        body = report([twin(i, other=other) for i in range(1, 4)])
        desk, run = open_run(tmp_path / f"{other}.db", body, seed="same")
        async with staged(desk, run) as stage:
            seen.append(stage.drawn())
    assert seen[0] != seen[1]


def label_events(desk: Desk, run: Run) -> list[Event]:
    keys = desk.queue(run, "", "file")
    found = [e for key in keys for e in desk.item(key).history if e.kind == "label"]
    return sorted(found, key=lambda event: event.seq)


async def test_a_blind_label_is_recorded_as_blind_and_the_panel_is_told_after(
    tmp_path: Path,
) -> None:
    desk, run = open_run(tmp_path / "d.db", report([verdict(i) for i in range(1, 6)]))
    async with staged(desk, run, view=View(blind=True)) as stage:
        first = stage.current
        await stage.press("f")
        assert label_events(desk, run)[0].detail["blind"] is True
        # Scores 0.9, 0.8, 0.3 against 0.7 pass by quorum; their mean is 0.667.
        assert f"{first}: the panel said pass 0.67 (2 of 3)" in stage.drawn()
        await stage.press("backspace")
        assert "JURORS" in stage.drawn()
        await stage.press("p")
        assert label_events(desk, run)[-1].detail["blind"] is False


async def test_a_revealed_item_is_labelled_with_the_time(tmp_path: Path) -> None:
    desk, run = open_run(tmp_path / "d.db", report([verdict(i) for i in range(1, 6)]))
    async with staged(desk, run, view=View(blind=True)) as stage:
        assert "answer is hidden" in stage.drawn()
        await stage.press("r")
        assert "JURORS" in stage.drawn()
        await stage.press("p")
        detail = label_events(desk, run)[0].detail
        assert detail["blind"] is False
        assert detail["revealed_at"]


async def test_an_item_seen_open_is_not_blind_afterwards(tmp_path: Path) -> None:
    desk, run = open_run(tmp_path / "d.db", report([verdict(i) for i in range(1, 6)]))
    async with staged(desk, run) as stage:
        await stage.press("b")
        assert "answer is hidden" in stage.drawn()
        await stage.press("p", "p")
        # The first was open, and the second had its decision and agreement in the list beside it.
        assert [e.detail["blind"] for e in label_events(desk, run)] == [False, False]


async def test_an_open_label_is_not_blind(tmp_path: Path) -> None:
    desk, run = open_run(tmp_path / "d.db", report([verdict(1), verdict(2)]))
    async with staged(desk, run) as stage:
        await stage.press("p")
        assert label_events(desk, run)[0].detail["blind"] is False


async def test_progress_is_one_number(tmp_path: Path) -> None:
    desk, run = open_run(tmp_path / "d.db", report([verdict(i) for i in range(1, 6)]))
    async with staged(desk, run, view=View(blind=True)) as stage:
        head = stage.cells()[0]
        assert "labelled 0" in head
        assert "flagged" not in head
        assert "audit" not in head


async def test_what_was_seen_in_an_earlier_open_sitting_is_not_blind_later(tmp_path: Path) -> None:
    path = tmp_path / "d.db"
    desk, run = open_run(path, report([verdict(i) for i in range(1, 200)]))
    async with staged(desk, run) as stage:
        first = stage.current
        await stage.press("q")
    again = Desk.open(path, reviewer="ann")
    async with staged(again, run, view=View(blind=True, item=first)) as stage:
        assert stage.current == first
        await stage.press("p")
        # Whole pages of 64 lines are read, so the last of 199 was never on screen.
        stage.app.review_session.goto(again.queue(run)[-1])
        stage.review.show()
        await stage.press("p")
        assert [event.detail["blind"] for event in label_events(again, run)] == [False, True]


@pytest.mark.parametrize("opened_by", ["r", "p"])
async def test_rules_that_disagree_are_named_only_after_reveal_or_label(
    tmp_path: Path, opened_by: str
) -> None:
    # Two of four pass at .7 and meet a quorum of .5; mean, trimmed mean and median are .4 and fail.
    body = report([verdict(i, (0.8, 0.8, 0.0, 0.0)) for i in range(1, 4)])
    desk, run = open_run(tmp_path / "d.db", body)
    async with staged(desk, run, view=View(blind=True)) as stage:
        assert "disagree" not in stage.drawn()
        assert "trimmed mean" not in stage.drawn()
        await stage.press(opened_by)
        if opened_by == "p":
            await stage.press("backspace")
        drawn = stage.drawn()
        assert "the rules disagree. quorum: pass; trimmed mean" in drawn
        told = drawn[drawn.index("the rules disagree") :]
        assert told.index("quorum: pass") < told.index(": fail")
