"""An item that came back, held by a twin that never had a label: the cells are the same."""

from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest

from reviewdesk.desk import Desk
from reviewdesk.domain.records import Run, Truth, View
from reviewdesk.settings import Settings, Share
from tests.app.appkit import SMALL, Stage, open_run, report, same_cells, verdict
from tests.helpers import Clock, mark, tag

LABELLED = 60
STEPS: list[list[str]] = [
    [], ["J"], ["K"], ["K"], ["space"], ["z"], ["z"], ["enter"], ["escape"], ["c"], ["escape"],
    ["t"], ["escape"], ["f4"], ["escape"], ["question_mark"],
]  # fmt: skip


def work(path: Path, order: list[int], clock: Callable[[], datetime]) -> tuple[Desk, Run]:
    return open_run(path, report([verdict(number) for number in order]), "same", clock)


def came_back(path: Path) -> tuple[Desk, Run]:
    """The first item has a label, a note, tags and a mark, and came back after the sixtieth."""
    desk, run = work(path, [*range(1, 101)], Clock())
    first, *others = desk.queue(run, "", "file")[:LABELLED]
    desk.label(first, Truth.PASS, blind=True, more={"told": False})
    desk.note(first, "a note")
    tag(desk, first, ["tone"])
    mark(desk, first, on=True)
    for key in others[:-1]:
        desk.label(key, Truth.PASS, blind=True, more={"told": False})
    again = {"told": False, "again": desk.item(first).item_hash}
    desk.label(others[-1], Truth.PASS, blind=True, more=again)
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
    await same_cells(twins, STEPS, step, size=SMALL, view=view, settings=settings)
