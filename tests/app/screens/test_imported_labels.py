"""Human labels that came with a report: offered, and told by their author once they are taken."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from reviewdesk.desk import Desk, LoadOptions
from reviewdesk.domain.records import Run, Truth, View
from reviewdesk.reports.bytes.source import Source
from tests.app.appkit import SMALL, WIDE, Stage, report, staged, verdict

HUMAN = {"label": "fail", "by": "dr \x1b[2Jsmith", "at": "2024-02-03T04:05:06Z"}


def opened(path: Path, *, taken: bool) -> tuple[Desk, Run]:
    """Two verdicts that a person labelled in the file, and one without; the desk is ann's."""
    desk = Desk.open(path, reviewer="ann", clock=lambda: datetime(2025, 1, 31, 12, tzinfo=UTC))
    bodies = [verdict(1, human=HUMAN), verdict(2, human=HUMAN), verdict(3)]
    source = Source.from_bytes("run.json", json.dumps(report(bodies)).encode())
    return desk, desk.load(source, LoadOptions(import_labels=taken)).run


def show(stage: Stage) -> None:
    stage.app.review_session.goto(stage.desk.find(stage.app.review_session.session.run, "item/001"))
    stage.review.show()


async def test_an_imported_label_is_told_by_its_author_and_its_time(tmp_path: Path) -> None:
    desk, run = opened(tmp_path / "d.db", taken=True)
    async with staged(desk, run, view=View(order="file")) as stage:
        show(stage)
        said = "2024-02-03 04:05  label fail, imported  "
        text = " ".join(stage.review.panes.text("item").text.split("\n"))
        assert f"{said}dr ␛[2Jsmith" in text
        assert "  ann" not in text
        await stage.press("at")
        assert f"{said}item/001  dr ␛[2Jsmith" in stage.drawn()


async def test_a_label_of_the_reviewer_is_told_as_before(tmp_path: Path) -> None:
    desk, run = opened(tmp_path / "d.db", taken=False)
    desk.label(desk.find(run, "item/001"), Truth.PASS)
    async with staged(desk, run, view=View(order="file")) as stage:
        show(stage)
        assert "2025-01-31 12:00  label pass  ann" in stage.review.panes.text("item").text
        assert "imported" not in stage.drawn()


@pytest.mark.parametrize("size", [WIDE, SMALL], ids=str)
async def test_the_runs_screen_offers_the_labels_of_the_file(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    desk, run = opened(tmp_path / "d.db", taken=False)
    async with staged(desk, run, size=size) as stage:
        await stage.press("f5")
        assert "2 human labels in the file; --import-labels takes them" in stage.drawn()
        stage.desk.label(stage.desk.find(run, "item/001"), Truth.PASS)
        await stage.press("escape", "f5")
        assert "2 human labels in the file; --import-labels takes 1 of 2" in stage.drawn()


async def test_once_taken_they_are_not_offered(tmp_path: Path) -> None:
    desk, run = opened(tmp_path / "d.db", taken=True)
    async with staged(desk, run) as stage:
        await stage.press("f5")
        assert "2 human labels in the file, none left to take" in stage.drawn()
        assert "--import-labels" not in stage.drawn()


async def test_a_blind_runs_screen_tells_nothing_of_them(tmp_path: Path) -> None:
    desk, run = opened(tmp_path / "d.db", taken=False)
    async with staged(desk, run, view=View(blind=True)) as stage:
        await stage.press("f5")
        assert "human" not in stage.drawn()
