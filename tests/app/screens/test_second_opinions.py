"""Second opinions, held by twins: what another labelled changes no cell before one's own label."""

import json
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from reviewdesk.desk import Desk, LoadOptions
from reviewdesk.domain.records import Run, Truth, View
from reviewdesk.reports.bytes.source import Source
from reviewdesk.settings import Settings, Share
from tests.app.appkit import SMALL, WIDE, report, same_cells, verdict
from tests.app.screens.test_blind import step

NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)
STEPS = """
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


def twin(path: Path, truth: Truth) -> tuple[Desk, Run]:
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
async def test_twins_draw_the_same_cells(
    tmp_path: Path, size: tuple[int, int], blind: bool
) -> None:
    steps = re.split(r"[|\n]", STEPS.strip())
    twins = (twin(tmp_path / "desk.db", truth) for truth in (Truth.PASS, Truth.FAIL))
    settings, view = Settings(double=Share(1)), View(blind=blind)
    await same_cells(twins, steps, step, size=size, view=view, settings=settings)
