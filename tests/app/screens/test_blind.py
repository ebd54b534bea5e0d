"""Blind review, held by twins: what may not be told changes no cell."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from reviewdesk.domain.records import View
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
    ["greater_than_sign"],
    ["tab", "less_than_sign"],
    ["equals_sign"],
    ["s"],
    ["full_stop"],
    ["comma"],
    ["e"],
    ["escape", "question_mark"],
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


async def test_progress_is_one_number(tmp_path: Path) -> None:
    desk, run = open_run(tmp_path / "d.db", report([verdict(i) for i in range(1, 6)]))
    async with staged(desk, run, view=View(blind=True)) as stage:
        head = stage.cells()[0]
        assert "blind · 0 of 5 done" in head
        assert "flagged" not in head
        assert "audit" not in head
