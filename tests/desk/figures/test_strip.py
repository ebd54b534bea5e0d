"""The strip of figures, and the bins of confidence, against what is computed anew."""

import random
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reviewdesk.desk.core import Desk
from reviewdesk.desk.figures.calibration import calibration_page
from reviewdesk.desk.figures.strip import LiveStrip
from reviewdesk.desk.labels.transfer import import_labels
from reviewdesk.desk.review.items import PaceReader
from reviewdesk.domain.query.filter import parse_filter
from reviewdesk.domain.records import Calibration, Design, Run, Truth
from reviewdesk.domain.stats.calibration_page import bin_drills
from tests.domain.labels.test_strip import close, same
from tests.helpers import (
    figures_of,
    label_row,
    load,
    numbered,
    open_desk,
    opened,
    report,
    spawn,
    verdict,
)

# Two of the verdicts share one content.
BODIES = [
    verdict("a", 0.9, 0.8, 0.7),
    verdict("b", 0.9, 0.2, 0.8, flagged=True),
    verdict("c", 0.1, None, 0.3),
    verdict("d", None, None, decision="error"),
    verdict("e", 0.7, 0.9, 0.8),
    verdict("f", 0.2, 0.3, 0.1, input="question a", output="answer a"),
    verdict("g", 0.2, 0.9, 0.1, flagged=True),
]


@pytest.fixture
def run(desk: Desk) -> Run:
    return load(desk, report(*BODIES))


@pytest.fixture
def strip() -> LiveStrip:
    return LiveStrip()


def figures(strip: LiveStrip, desk: Desk, run: Run) -> Calibration:
    found = strip.read(desk, run).calibration
    assert found is not None
    return found


def agree(strip: LiveStrip, desk: Desk, run: Run) -> None:
    found = strip.read(desk, run)
    same(figures(strip, desk, run), figures_of(desk, run))
    close(found.alone, calibration_page(desk, run, jurors=False).alone.metrics)
    assert found.pace == PaceReader().pace(desk, run)


def say(desk: Desk, run: Run, **truths: str) -> None:
    for name, truth in truths.items():
        desk.label(desk.find(run, name), Truth(truth))


@pytest.mark.slow
def test_every_kind_of_event_is_followed(desk: Desk, run: Run, strip: LiveStrip) -> None:
    agree(strip, desk, run)
    chance = random.Random(7)  # noqa: S311 - a fixed sequence, not a secret
    for _ in range(25):
        what = chance.choice(["label", "label", "label", "undo", "redo", "note", "defer"])
        key = desk.find(run, chance.choice("abcdefg"))
        if what == "label":
            desk.label(key, chance.choice([Truth.PASS, Truth.FAIL, Truth.UNSURE]))
        elif what in {"undo", "redo"}:
            (desk.undo if what == "undo" else desk.redo)()
        elif what == "note":
            desk.note(key, "seen")
        else:
            desk.defer(key)
        agree(strip, desk, run)


def test_an_import_is_one_step_and_one_step_back(desk: Desk, run: Run, strip: LiveStrip) -> None:
    say(desk, run, b="fail")
    agree(strip, desk, run)
    rows = [label_row(name, "bea", Truth.PASS) for name in "abceg"]
    import_labels(desk, run, rows)
    agree(strip, desk, run)
    # b is a fail for ann and a pass for bea.
    assert figures(strip, desk, run).disputed == 1
    desk.undo()
    agree(strip, desk, run)
    desk.redo()
    agree(strip, desk, run)


def test_labels_of_unseen_responses_wait_for_a_key(desk: Desk, run: Run, strip: LiveStrip) -> None:
    agree(strip, desk, run)
    import_labels(desk, run, [label_row(name, "ann", Truth.PASS, seen=False) for name in "abcefg"])
    agree(strip, desk, run)
    assert figures(strip, desk, run).design is Design.AD_HOC
    # One of a bulk that another person saw, or whose label does not say, is confirmed by it.
    import_labels(desk, run, [label_row(name, "bea", Truth.PASS) for name in "bg"])
    agree(strip, desk, run)
    for name in "ace":
        desk.label(desk.find(run, name), Truth.PASS, seen=True)
        agree(strip, desk, run)
    # f has the content of a.
    assert figures(strip, desk, run).design is Design.CENSUS
    desk.undo()
    agree(strip, desk, run)
    assert figures(strip, desk, run).design is not Design.CENSUS


@pytest.mark.slow
def test_two_desks_label_at_once(desk: Desk, run: Run) -> None:
    ann = desk
    strips = LiveStrip(), LiveStrip()
    with closing(open_desk(desk.path, reviewer="bea")) as bea:
        chance = random.Random(3)  # noqa: S311 - a fixed sequence, not a secret
        for turn in range(15):
            desk = chance.choice([ann, bea])
            if turn % 7 == 6:
                desk.undo()
            else:
                key = desk.find(run, chance.choice("abcdefg"))
                desk.label(key, chance.choice([Truth.PASS, Truth.FAIL]))
            if chance.random() < 0.5:
                agree(strips[0], ann, run)
            if chance.random() < 0.5:
                agree(strips[1], bea, run)
        agree(strips[0], ann, run)
        agree(strips[1], bea, run)


_OTHER = """
import sys
from reviewdesk.desk.core import Desk
from reviewdesk.domain.records import Truth
desk = Desk.open()
run = desk.run()
print("ready", flush=True)
for line in sys.stdin:
    for name in line.split():
        desk.label(desk.find(run, name), Truth.FAIL)
    print("done", flush=True)
desk.close()
"""


@pytest.mark.slow
def test_another_process_labels_meanwhile(tmp_path: Path) -> None:
    path = tmp_path / "desk.db"
    with closing(open_desk(path)) as desk:
        run = load(desk, numbered(40))
        strip = LiveStrip()
        other = spawn(_OTHER, path, "bea")
        assert other.stdin is not None
        assert other.stdout is not None
        assert other.stdout.readline() == "ready\n"
        # While the other writes, each read sees one state: never more labels than were given.
        other.stdin.write(" ".join(f"v{i}" for i in range(20)) + "\n")
        other.stdin.flush()
        counts = []
        for i in range(20, 40):
            desk.label(desk.find(run, f"v{i}"), Truth.PASS)
            counts.append(figures(strip, desk, run).labelled.n)
        assert other.stdout.readline() == "done\n"
        assert counts == sorted(counts)
        agree(strip, desk, run)
        assert figures(strip, desk, run).labelled.n == 40
        other.communicate(timeout=30)


def test_another_run_is_read_anew(desk: Desk, run: Run, strip: LiveStrip) -> None:
    say(desk, run, a="pass", b="fail")
    # The same contents under another panel have the same labels.
    bodies = [{**body, "jurors": body["jurors"][:2]} for body in BODIES]
    second = load(desk, report(*bodies, report_id="second"), "second.json")
    for one in (run, second, run):
        agree(strip, desk, one)
    say(desk, second, c="fail")
    agree(strip, desk, run)


def test_another_log_at_the_same_place_is_read_anew(tmp_path: Path) -> None:
    strip = LiveStrip()
    for truths in ({"a": "pass", "b": "fail"}, {"a": "fail", "c": "pass", "e": "pass"}):
        path = tmp_path / "desk.db"
        with closing(open_desk(path)) as desk:
            run = load(desk, report(*BODIES))
            say(desk, run, **truths)
            agree(strip, desk, run)
        path.unlink()


def test_a_refresh_reads_no_label_but_the_new_one(desk: Desk, run: Run, strip: LiveStrip) -> None:
    say(desk, run, b="fail", c="pass", e="pass")
    strip.read(desk, run)
    say(desk, run, a="pass")
    queries: list[str] = []
    desk.conn.set_trace_callback(queries.append)
    strip.read(desk, run)
    desk.conn.set_trace_callback(None)
    reads = [query for query in queries if query.lstrip().startswith("SELECT")]
    assert len(reads) <= 9
    for query in reads:
        plan = [row["detail"] for row in desk.conn.execute(f"EXPLAIN QUERY PLAN {query}")]
        # The newest event is the first that a walk from the end meets; the new labels are listed.
        few = ("SCAN label_events", "SCAN json_each")
        scans = [line for line in plan if line.startswith("SCAN")]
        assert [line for line in scans if not line.startswith(few)] == [], query


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


def listed(desk: Desk, run: Run, text: str) -> set[str]:
    return {row.id for row in desk.rows(desk.queue(run, text))}


@pytest.mark.parametrize("bodies", [STATED, UNSTATED], ids=["stated", "unstated"])
def test_confidence_is_the_support_of_the_decision(tmp_path: Path, bodies: Any) -> None:
    desk, run = opened(tmp_path, *bodies)
    # The threshold is .6. Passes a .8, b .633 and e 1; fails c .2 and f .05, so .8 and .95.
    assert listed(desk, run, "confidence=.8") == {"a", "c"}
    assert listed(desk, run, "confidence>=.8") == {"a", "c", "e", "f"}
    assert listed(desk, run, "confidence<.8") == {"b"}
    assert listed(desk, run, "confidence>.95") == {"e"}
    # d is decided neither way and has none.
    assert listed(desk, run, "confidence>=0") == {"a", "b", "c", "e", "f"}


def test_confidence_is_a_share_of_votes_where_there_are_no_scores(tmp_path: Path) -> None:
    desk, run = opened(tmp_path, *VOTES)
    # a 3 of 3 pass, b 2 of 3, c none of 3 and fails, e 2 of 2, f none of 2 and fails.
    assert listed(desk, run, "confidence=1") == {"a", "c", "e", "f"}
    assert listed(desk, run, "confidence<.67 confidence>.66") == {"b"}


@pytest.mark.parametrize("bodies", [STATED, UNSTATED, VOTES], ids=["stated", "own", "votes"])
def test_every_bin_lists_what_it_counts(tmp_path: Path, bodies: tuple[dict[str, Any], ...]) -> None:
    desk, run = opened(tmp_path, *bodies)
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
    desk, run = opened(tmp_path, *(verdict(f"v{i}", 0.9, 0.8, 0.7) for i in range(6)))
    keys = desk.queue(run)
    for key in (keys[0], keys[1], keys[4]):
        desk.label(key, Truth.PASS)
    page = calibration_page(desk, run)
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
    desk, run = opened(folder, *(verdict(f"v{i}", s) for i, s in enumerate(scores)))
    for key in desk.queue(run):
        desk.label(key, Truth.PASS)
    for one in bin_drills(calibration_page(desk, run), blind=False):
        assert len(desk.queue(run, one.filter)) == one.count


def test_confidence_is_hidden_in_a_blind_session() -> None:
    assert parse_filter("confidence>=.8").hidden
    assert parse_filter("label:pass|label:fail confidence<.1").hidden
