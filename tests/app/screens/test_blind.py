"""Blind review, held by twins: what may not be told changes no cell."""

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from reviewdesk.desk.core import Desk
from reviewdesk.desk.loading import LoadOptions
from reviewdesk.domain.records import Run, Truth, View
from reviewdesk.reports.bytes.source import Source
from reviewdesk.settings import Settings, Share
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
from tests.helpers import Clock, mark, tag

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
        number, jurors=jurors, escalate_for_review=True, decision="fail", score=0.2,
        agreement={"value": -0.3, "metric": "r_wg"}, band="low", same_family=True,
        bias_warning="kin", human={"label": "fail", "by": "somebody"},
    )  # fmt: skip


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

    await same_cells(map(made, (False, True)), STEPS, step, size=size, view=View(blind=True))


@pytest.mark.slow
async def test_the_twins_differ_in_the_open(tmp_path: Path) -> None:
    seen = []
    for other in (False, True):
        body = report([twin(i, other=other) for i in range(1, 4)])
        desk, run = open_run(tmp_path / f"{other}.db", body, seed="same")
        async with staged(desk, run) as stage:
            seen.append(stage.drawn())
    assert seen[0] != seen[1]


LABELLED = 60
REPEAT_STEPS: list[list[str]] = [
    [], ["J"], ["K"], ["K"], ["space"], ["z"], ["z"], ["enter"], ["escape"], ["c"], ["escape"],
    ["t"], ["escape"], ["f4"], ["escape"], ["question_mark"],
]  # fmt: skip


def work(path: Path, order: list[int], clock: Callable[[], datetime]) -> tuple[Desk, Run]:
    return open_run(path, report([verdict(number) for number in order]), "same", clock)


def came_back(path: Path) -> tuple[Desk, Run]:
    """The first item has a label, a note, tags and a mark, and came back after the sixtieth."""
    desk, run = work(path, [*range(1, 101)], Clock())
    first, *others = desk.queue(run, "", "file")[:LABELLED]
    desk.label(first, Truth.PASS, blind=True, told=False)
    desk.note(first, "a note")
    tag(desk, first, ["tone"])
    mark(desk, first, on=True)
    for key in others[:-1]:
        desk.label(key, Truth.PASS, blind=True, told=False)
    again = desk.item(first).item_hash
    desk.label(others[-1], Truth.PASS, blind=True, told=False, again=again)
    return desk, run


def never_labelled(path: Path) -> tuple[Desk, Run]:
    """The same item stands behind the sixtieth and has no label; the last one has one for it."""
    order = [*range(2, LABELLED + 1), 1, *range(LABELLED + 1, 101)]
    desk, run = work(path, order, Clock())
    *others, _ = keys = desk.queue(run, "", "file")[:LABELLED]
    last = desk.queue(run, "", "file")[-1]
    desk.label(last, Truth.PASS, blind=True)
    desk.note(last, "other work")
    tag(desk, last, ["tone"])
    mark(desk, last, on=True)
    assert len(others) == len(keys) - 1
    for key in others:
        desk.label(key, Truth.PASS, blind=True)
    return desk, run


@pytest.mark.slow
async def test_a_repeat_draws_the_cells_of_an_item_without_a_label(tmp_path: Path) -> None:
    async def step(stage: Stage, keys: list[str]) -> None:
        if not keys:
            stage.run("go item/060")
            await stage.press("space")
            assert stage.current == "item/001"
        await stage.press(*keys)

    twins = (came_back(tmp_path / "0.db"), never_labelled(tmp_path / "1.db"))
    view, settings = View(blind=True, order="file"), Settings(repeat=Share("5%"))
    await same_cells(twins, REPEAT_STEPS, step, size=SMALL, view=view, settings=settings)


OPINION_STEPS = """
|J|J|enter|escape escape|tab|at|escape|full_stop|s|u|U|m|m|T|escape|C|escape|t|tab|escape|c|escape
y|d|escape|ctrl+p|=pass|escape|v v v|escape|backslash|=tag:|tab|escape|backslash =label:pass enter|n
backslash =label:fail enter|backslash =label:none enter|backslash =wrong enter
backslash =!wrong enter|backslash =note enter|backslash =tag:pleasing enter
backslash =label:unsure enter|backslash =label:disputed enter
backslash =tag:none enter|backslash =text~lovely enter
backslash enter|slash =lovely enter|slash =terrible enter|escape|o|escape
colon =compare second enter|escape|f4|tab|tab|tab|v|i|e|escape|enter|escape|f2|r|n|space|space|b|r
"""
"""What is pressed, a step after each bar or line, as in the twins of a blind session. The screen of
runs is left out, as it shows the head of the log, a hash over all that anybody did."""


def labelled_twin(path: Path, truth: Truth) -> tuple[Desk, Run]:
    """A desk on which bob gave each of the first items this label, with a note and tags of it."""
    path.unlink(missing_ok=True)
    desk = Desk.open(path, reviewer="ann", clock=lambda: NOON)
    for name, often in (("first", 3), ("second", 2)):
        body = [verdict(i, (0.9, 0.8, 0.3) if i % often else (0.2, 0.1, 0.3)) for i in range(1, 9)]
        source = Source.from_bytes(f"{name}.json", json.dumps(report(body)).encode())
        desk.load(source, LoadOptions(seed=name))
    bob = Desk.open(path, reviewer="bob", clock=lambda: NOON)
    passed = truth is Truth.PASS
    for key in desk.queue(desk.run("first"))[:6]:
        bob.label(key, Truth.FAIL if passed else Truth.PASS)
        bob.undo()
        note, tag = ("lovely", "pleasing") if passed else ("terrible", "awful")
        bob.label(key, truth, note=note, tags=[tag])
    bob.close()
    return desk, desk.run("first")


@pytest.mark.slow
@pytest.mark.parametrize(("blind", "size"), [(False, SMALL), (True, WIDE)], ids=["open", "blind"])
async def test_labelled_twins_draw_the_same_cells(tmp_path: Path, size: Any, blind: bool) -> None:
    steps = re.split(r"[|\n]", OPINION_STEPS.strip())
    twins = (labelled_twin(tmp_path / "desk.db", truth) for truth in (Truth.PASS, Truth.FAIL))
    settings, view = Settings(double=Share(1)), View(blind=blind)
    await same_cells(twins, steps, step, size=size, view=view, settings=settings)
