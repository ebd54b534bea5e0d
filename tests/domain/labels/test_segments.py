"""A run's figures by segment, through the draw."""

import numpy as np
import pytest

from reviewdesk.domain.labels.sampling import RunFigures
from reviewdesk.domain.labels.segments import (
    FEW,
    SegmentFigures,
    SegmentVerdict,
    segment_table,
    worst_low,
)
from reviewdesk.domain.labels.summary import LabelledRows, make_rows, panel_intervals
from reviewdesk.domain.records import Truth
from reviewdesk.domain.stats.figures import Part, Target
from reviewdesk.domain.stats.stratified import drawn_rate
from reviewdesk.domain.verdict import Decision
from tests.helpers import placed

FLAGGED, REST = 0, 3
SIZES = {FLAGGED: 60, REST: 200}
LABELS = {FLAGGED: 30, REST: 40}


def run(*, unsure: bool = False) -> tuple[LabelledRows, list[SegmentVerdict]]:
    """All pass. Every second rank is an "a"; flagged ones should fail where the rank is under 9."""
    frame = []
    rows = []
    for h, size in SIZES.items():
        for rank in range(size):
            key = 1000 * h + rank
            frame.append(SegmentVerdict("ab"[rank % 2], key, h, rank, Decision.PASS))
            if rank < LABELS[h]:
                truth = Truth.FAIL if h == FLAGGED and rank < 9 else Truth.PASS
                truth = Truth.UNSURE if unsure and rank == 20 else truth
                rows.append(placed(h, rank, truth))
    totals = RunFigures(260, 0, "support", scores_stated=False, sizes=SIZES)
    return make_rows(rows, totals), frame


def test_each_segment_weighs_its_own_verdicts() -> None:
    made, frame = run()
    table = segment_table(made, frame, "tag")
    # "a" has 30 of 60 flagged verdicts and 100 of the rest, with 15 and 20 labels; of the 15, the
    # ranks 0 2 4 6 8 are wrong: (30 * 10/15 + 100) / 130. "b" has 4 wrong.
    assert [one.segment for one in table] == ["a", "b"]
    worst, other = table
    assert (worst.verdicts, worst.labels, worst.passed) == (130, 35, 130)
    assert worst.accuracy == drawn_rate([Part(30, 15, 10), Part(100, 20, 20)])
    assert worst.accuracy is not None
    assert worst.accuracy.estimate == pytest.approx(120 / 130)
    assert other.accuracy == drawn_rate([Part(30, 15, 11), Part(100, 20, 20)])
    # Everything passed, so all that should fail passed falsely.
    assert worst.false_passes is not None
    assert worst.false_passes.estimate == 1
    assert worst.should_pass == worst.accuracy


def test_one_segment_of_all_is_the_whole_run() -> None:
    made, frame = run()
    every = [SegmentVerdict("all", one.key, one.stratum, one.rank, one.decision) for one in frame]
    (one,) = segment_table(made, every, "test")
    whole = panel_intervals(made)
    assert one.accuracy == whole.accuracy
    assert one.false_passes is not None
    assert 1 - one.false_passes.low == whole.specificity.high
    (one,) = segment_table(made, every, "decision")
    assert (one.false_passes, one.false_fails) == (None, None)


def test_a_segment_with_few_labels_has_no_figure_and_stands_last() -> None:
    made, frame = run()
    few = {one.key for one in frame if one.rank % 2 == 0 and one.rank >= 2 * (FEW - 1) - 16}
    frame = [
        SegmentVerdict("c", one.key, one.stratum, one.rank, one.decision) if one.key in few else one
        for one in frame
    ]
    last = segment_table(made, frame, "tag")[-1]
    # Ranks 22 to 28 and 22 to 38: 4 and 9 labels, of 19 and 89 verdicts.
    assert last == SegmentFigures("c", 108, 13, 108)


def test_the_worst_segment_for_a_gate() -> None:
    made, frame = run()
    low, note = worst_low(made, frame, "tag")
    assert note == "tag a"
    assert low == pytest.approx(low_of_a())
    # An item without an answer may have been wrong.
    less, _ = worst_low(*run(unsure=True), "tag")
    assert less is not None
    assert low is not None
    assert less < low
    few = [one for one in frame if one.rank < 8]
    assert worst_low(made, few, "tag") == (None, "no tag has 20 labels")


def low_of_a() -> float:
    return drawn_rate([Part(30, 15, 10), Part(100, 20, 20)], Target.ITEMS).low


@pytest.mark.slow
def test_segments_hold_the_truth() -> None:
    """Half of 300 verdicts are of a weak segment, more of them flagged; 80 labels."""
    draw = np.random.default_rng(3)
    held = trials = 0
    for _ in range(150):
        rows = []
        frame = []
        right: list[bool] = []
        for h, size, labels, weak in ((FLAGGED, 100, 40, 0.7), (REST, 200, 40, 0.4)):
            for rank in range(size):
                name = "weak" if draw.random() < weak else "strong"
                correct = bool(draw.random() < {"weak": 0.75, "strong": 0.95}[name])
                key = 1000 * h + rank
                frame.append(SegmentVerdict(name, key, h, rank, Decision.PASS))
                right += [correct] if name == "weak" else []
                if rank < labels:
                    rows.append(placed(h, rank, Truth.PASS if correct else Truth.FAIL))
        totals = RunFigures(300, 0, "support", scores_stated=False, sizes={FLAGGED: 100, REST: 200})
        table = segment_table(make_rows(rows, totals), frame, "tag")
        found = next(one.accuracy for one in table if one.segment == "weak")
        assert found is not None
        trials += 1
        held += found.low <= sum(right) / len(right) <= found.high
    assert held >= 0.92 * trials
