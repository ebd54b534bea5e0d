"""Two runs compared by content."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from reviewdesk.desk import Desk
from reviewdesk.desk.review.other_runs import Flips, flips
from reviewdesk.domain.records import Run
from reviewdesk.reports.bytes.source import Source
from tests.app.appkit import open_run, report, verdict


def test_contents_are_counted_once_and_the_count_is_what_the_filter_lists(tmp_path: Path) -> None:
    same: dict[str, Any] = {"input": "question 1", "output": "answer 1", "case": {"test": "test 1"}}
    # Three verdicts on two contents, all passed: 2 of 3 jurors are over 0.7.
    desk, run = open_run(
        tmp_path / "desk.db", report([verdict(1, **same), verdict(2, **same), verdict(3)])
    )
    # The other panel fails the first content, and comes to no decision on the second.
    undecided = verdict(3, ())
    other = _loaded(desk, [verdict(1, (0.1, 0.2, 0.3), **same), undecided])
    assert flips(desk, run, other) == Flips(shared=2, flipped=1)
    # One content was turned, one verdict of the other run lies on it.
    assert flips(desk, other, run) == Flips(shared=2, flipped=1)
    assert len(desk.queue(other, "flip:run")) == 1
    desk.close()


def _loaded(desk: Desk, bodies: list[dict[str, Any]]) -> Run:
    body = {**report(bodies), "report_id": "other"}
    return desk.load(Source.from_bytes("other.json", json.dumps(body).encode())).run
