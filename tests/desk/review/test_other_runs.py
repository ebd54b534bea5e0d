"""Two runs compared by content."""

import json
from pathlib import Path
from typing import Any

from reviewdesk.desk.core import Desk
from reviewdesk.desk.figures.jurors import panel_comparison
from reviewdesk.desk.review.items import flips
from reviewdesk.domain.jurors.panels import panel_drills
from reviewdesk.domain.records import Run, Truth
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
    assert flips(desk, run, other) == (2, 1)
    # One content was turned, one verdict of the other run lies on it.
    assert flips(desk, other, run) == (2, 1)
    assert len(desk.queue(other, "flip:run")) == 1


def test_a_content_judged_twice_is_compared_with_the_verdict_of_its_own_id(tmp_path: Path) -> None:
    same: dict[str, Any] = {"input": "question 1", "output": "answer 1"}
    low = (0.1, 0.2, 0.3)
    both = [verdict(1, **same), verdict(2, low, **same)]
    desk, run = open_run(tmp_path / "desk.db", report(both))
    other = _loaded(desk, [*both, verdict(3, low, **same)])
    # 1 passes and 2 fails in both runs; 3 has none of its id here, so the first stands for it.
    assert len(desk.queue(run, "flip:other")) == 0
    assert [row.id for row in desk.rows(desk.queue(other, "flip:run"))] == ["item/003"]
    for one, two, flipped in ((run, other, 0), (other, run, 1)):
        found = panel_comparison(desk, one, two)
        assert (found.flips, found.items) == (flipped, one.verdicts)


def test_every_group_of_a_comparison_lists_what_its_title_counts(tmp_path: Path) -> None:
    high, low = (0.9, 0.8, 0.9), (0.1, 0.2, 0.3)
    mine = [verdict(i, high if i < 7 else low) for i in range(1, 11)]
    desk, run = open_run(tmp_path / "desk.db", report(mine))
    theirs = [verdict(i, low if i % 2 else high) for i in range(1, 10)]
    other = _loaded(desk, [*theirs, verdict(11, ())])
    for i, truth in enumerate(
        ["pass", "fail", "pass", "fail", "unsure", "pass", "fail", "pass"], start=1
    ):
        desk.label(desk.find(run, f"item/{i:03d}"), Truth(truth))
    for one, two in ((run, other), (other, run)):
        found = panel_comparison(desk, one, two)
        drills = panel_drills(found)
        assert [len(desk.queue(one, drill.filter)) for drill in drills] == [
            drill.count for drill in drills
        ]
        # 1, 3 and 5 pass here and fail there, 8 fails here and passes there.
        assert (found.items, drills[0].count) == (9, 4)


def _loaded(desk: Desk, bodies: list[dict[str, Any]]) -> Run:
    body = {**report(bodies), "report_id": "other"}
    return desk.load(Source.from_bytes("other.json", json.dumps(body).encode())).run
