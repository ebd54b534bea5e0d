"""Blind review, held by twins: what may not be told changes no cell."""

import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from reviewdesk.desk import Desk, LoadOptions
from reviewdesk.domain.records import Run, View
from reviewdesk.reports.bytes.source import Source
from tests.app.appkit import (
    SMALL,
    WIDE,
    Stage,
    juror,
    open_run,
    report,
    same_cells,
    staged,
    verdict,
)

NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)


def twin(number: int, *, other: bool) -> dict[str, Any]:
    """Verdicts of one content; every second panel of the other run answers otherwise, or not."""
    if not other or number % 2:
        return verdict(number, (0.9, 0.95, 0.85), escalate_for_review=False)
    # The names of jurors are no answers: pages and completions may tell them.
    jurors = [juror(f"judge-{i}", s, weight=2.0) for i, s in enumerate((0.1, 0.9, 0.0))]
    if number % 4 == 0:
        jurors = [{**one, "score": None, "error": {"message": "timeout"}} for one in jurors]
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


KEYS = """
|J|enter|escape escape|tab|greater_than_sign|tab less_than_sign|equals_sign|s|full_stop|comma|e
escape question_mark|pagedown|escape|m|m|T|escape|C|escape|t|escape|c|escape|d|y|R|escape
u|u|ctrl+p|=wr|escape|backslash|=wr|tab|escape|backslash|=juror:|tab|escape|backslash|=tag:|tab
escape|backslash|=flip:|tab|escape|backslash =wrong enter|n|backslash =!wrong enter|n
backslash =wrong:pass enter|n|o|escape|colon =order enter|escape|colon =order -score enter|n
slash =thinks enter|slash =answer enter|escape|colon =go 99 enter|z|z|less_than_sign
colon =compare enter|escape|colon =compare second enter|escape
n|f3|f2|f4|e|escape|tab|tab|tab|tab|tab|v|i|enter|escape|f5|e|escape
d|escape|j|tab|escape
"""
"""What is pressed, a step after each bar or line; ``=`` begins a text that is typed. The twins are
compared after each step."""


STEPS = re.split(r"[|\n]", KEYS.strip())


async def step(stage: Stage, keys: str) -> None:
    found = re.fullmatch(r"(\w*) ?=(.*?)( enter)?", keys)
    before, text, after = found.groups() if found else (keys, "", None)
    await stage.press(*before.split())
    if text:
        await stage.write(text)
    if after:
        await stage.press("enter")


@pytest.mark.slow
@pytest.mark.parametrize("size", [WIDE, SMALL], ids=str)
async def test_twins_draw_the_same_cells(tmp_path: Path, size: tuple[int, int]) -> None:
    def made(other: bool) -> tuple[Desk, Run]:
        # The file is named on the screen of runs, the time in the history.
        path = tmp_path / "desk.db"
        path.unlink(missing_ok=True)
        desk = Desk.open(path, reviewer="ann", clock=lambda: NOON)
        for name, one in (("first", other), ("second", not other)):
            body = report([twin(i, other=one) for i in range(1, 13)])
            source = Source.from_bytes(f"{name}.json", json.dumps(body).encode())
            desk.load(source, LoadOptions(seed="same"))
        return desk, desk.run("first")

    twins = map(made, (False, True))
    await same_cells(twins, STEPS, step, size=size, view=View(blind=True))


@pytest.mark.slow
async def test_the_twins_differ_in_the_open(tmp_path: Path) -> None:
    seen = []
    for other in (False, True):
        body = report([twin(i, other=other) for i in range(1, 4)])
        desk, run = open_run(tmp_path / f"{other}.db", body, seed="same")
        async with staged(desk, run) as stage:
            seen.append(stage.drawn())
    assert seen[0] != seen[1]
