"""From a bin of confidence to its verdicts: what the drill counts is what the filter lists."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reviewdesk.desk import Desk
from reviewdesk.desk.figures.calibration import calibration_page
from reviewdesk.domain.query.filter import parse_filter
from reviewdesk.domain.records import Run, Truth
from reviewdesk.domain.stats.calibration_page import bin_drills
from tests.helpers import load, open_desk, report, verdict

STATED = (
    verdict("a", 0.9, 0.8, 0.7),
    verdict("b", 0.9, 0.2, 0.8),
    verdict("c", 0.1, 0.2, 0.3),
    verdict("d", None, None, decision="error"),
    verdict("e", 1.0, 1.0),
    verdict("f", 0.0, 0.1),
)
UNSTATED = tuple({k: v for k, v in one.items() if k != "score"} for one in STATED)
VOTES = tuple(
    {
        **one,
        "score": None,
        "jurors": [
            {"id": seat["id"], "pass": None if seat["score"] is None else seat["score"] >= 0.5}
            for seat in one["jurors"]
        ],
    }
    for one in STATED
)


def opened(folder: Path, bodies: tuple[dict[str, Any], ...]) -> tuple[Desk, Run]:
    desk = open_desk(folder / "desk.db")
    return desk, load(desk, report(*bodies))


def listed(desk: Desk, run: Run, text: str) -> set[str]:
    return {row.id for row in desk.rows(desk.queue(run, text))}


@pytest.mark.parametrize("bodies", [STATED, UNSTATED], ids=["stated", "unstated"])
def test_confidence_is_the_support_of_the_decision(
    tmp_path: Path, bodies: tuple[dict[str, Any], ...]
) -> None:
    desk, run = opened(tmp_path, bodies)
    # The threshold is .6. Passes a .8, b .633 and e 1; fails c .2 and f .05, so .8 and .95.
    assert listed(desk, run, "confidence=.8") == {"a", "c"}
    assert listed(desk, run, "confidence>=.8") == {"a", "c", "e", "f"}
    assert listed(desk, run, "confidence<.8") == {"b"}
    assert listed(desk, run, "confidence>.95") == {"e"}
    # d is decided neither way and has none.
    assert listed(desk, run, "confidence>=0") == {"a", "b", "c", "e", "f"}


def test_confidence_is_a_share_of_votes_where_there_are_no_scores(tmp_path: Path) -> None:
    desk, run = opened(tmp_path, VOTES)
    # a 3 of 3 pass, b 2 of 3, c none of 3 and fails, e 2 of 2, f none of 2 and fails.
    assert listed(desk, run, "confidence=1") == {"a", "c", "e", "f"}
    assert listed(desk, run, "confidence<.67 confidence>.66") == {"b"}


@pytest.mark.parametrize("bodies", [STATED, UNSTATED, VOTES], ids=["stated", "own", "votes"])
def test_every_bin_lists_what_it_counts(tmp_path: Path, bodies: tuple[dict[str, Any], ...]) -> None:
    desk, run = opened(tmp_path, bodies)
    for name, truth in zip("abcdef", ("pass", "fail", "fail", "pass", "fail", "fail"), strict=True):
        desk.label(desk.find(run, name), Truth(truth))
    page = calibration_page(desk, run)
    drills = bin_drills(page, blind=False)
    assert sum(one.count for one in drills) == 5
    for one in drills:
        assert len(desk.queue(run, one.filter)) == one.count > 0
    assert bin_drills(page, blind=True) == ()


def test_labels_that_weigh_nothing_are_counted_too(tmp_path: Path) -> None:
    # Six alike in one stratum: a label beyond the prefix of the draw has no weight and no place in
    # the weighted bins, but the filter lists it.
    desk, run = opened(tmp_path, tuple(verdict(f"v{i}", 0.9, 0.8, 0.7) for i in range(6)))
    keys = desk.queue(run)
    for key in (keys[0], keys[1], keys[4]):
        desk.label(key, Truth.PASS)
    page = calibration_page(desk, run)
    assert page.fit is not None
    [one], [drill] = page.fit.bins, bin_drills(page, blind=False)
    assert (one.n, drill.count, drill.title) == (2, 3, "right 1.00")
    assert len(desk.queue(run, drill.filter)) == 3


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.integers(0, 100).map(lambda step: step / 100), min_size=1, max_size=12))
def test_bins_and_filters_part_scores_alike(
    tmp_path_factory: pytest.TempPathFactory, scores: list[float]
) -> None:
    folder = tmp_path_factory.mktemp("bins")
    desk, run = opened(folder, tuple(verdict(f"v{i}", s) for i, s in enumerate(scores)))
    for key in desk.queue(run):
        desk.label(key, Truth.PASS)
    for one in bin_drills(calibration_page(desk, run), blind=False):
        assert len(desk.queue(run, one.filter)) == one.count


def test_confidence_is_hidden_in_a_blind_session() -> None:
    assert parse_filter("confidence>=.8").hidden
    assert parse_filter("label:pass|label:fail confidence<.1").hidden
