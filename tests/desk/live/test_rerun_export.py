"""Re-runs leave the desk with the verdicts that they belong to, in every form."""

import json
from pathlib import Path
from typing import Any

import pytest

from reviewdesk.desk import files
from reviewdesk.desk.core import Desk
from reviewdesk.desk.export.report import html
from reviewdesk.desk.export.report import report as report_of
from reviewdesk.desk.review import items
from reviewdesk.domain.records import Run
from reviewdesk.errors import Cancelled
from reviewdesk.reports import read
from reviewdesk.store import events, reruns
from reviewdesk.store.connect import writing
from reviewdesk.store.events import NewEvent
from tests.helpers import load, numbered, report, source, verdict

FILED = verdict("a", 0.1, 0.2, 0.3)
FIRST, SECOND = verdict("a", 0.9, 0.9, 0.2), verdict("a", 0.2, 0.2, 0.1)


def ask_again(desk: Desk, key: int, body: dict[str, Any]) -> None:
    """Put down a re-run as a live panel leaves it."""
    with writing(desk.conn):
        planned = NewEvent("rerun_planned", desk.at(), detail={"scope": "panel", "panel": "p"})
        plan = events.append(
            desk.conn, desk.reviewer, [items.about(desk, key, planned)[1]]
        ).head.key
        reruns.enter(desk.conn, plan, key, desk.at(), json.dumps(body), stopped=False)


@pytest.fixture
def run(desk: Desk) -> Run:
    """Of two verdicts the first came with a re-run and was asked again twice."""
    found = load(desk, report(verdict("a", flagged=True, reruns=[FILED]), verdict("b")))
    key = desk.find(found, "a")
    ask_again(desk, key, FIRST)
    ask_again(desk, key, SECOND)
    return found


def test_exports_hold_those_of_the_file_and_then_those_of_the_desk_and_read_back(
    desk: Desk, run: Run
) -> None:
    data = "".join(report_of(desk, run, Path("report.jsonl"))).encode()
    made = list(read(source(data, "out.jsonl")).verdicts())
    assert made[0]["reruns"] == [FILED, FIRST, SECOND]
    assert "reruns" not in made[1]
    page = "".join(html(desk, run))
    # The first verdict passes; the filed one and the second of the desk fail.
    assert page.count("≠ FLIPPED") == 2
    once = "".join(report_of(desk, run))
    again = load(desk, once.encode(), "out.json")
    assert again.key != run.key
    assert "".join(report_of(desk, again)) == once


def test_an_export_that_is_cancelled_leaves_the_old_file(desk: Desk, tmp_path: Path) -> None:
    found, target = load(desk, numbered(150)), tmp_path / "out.json"
    target.write_text("old", encoding="utf-8")
    told = []

    def stop(share: float, count: int) -> bool:
        told.append((share, count))
        return False

    with pytest.raises(Cancelled):
        files.write(desk, target, report_of(desk, found, progress=stop), force=True)
    assert told == [(100 / 150, 100)]
    assert target.read_text(encoding="utf-8") == "old"
    assert [path.name for path in tmp_path.glob(".*")] == []
