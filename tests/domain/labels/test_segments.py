"""A run's figures by segment and the composite of a subject, through the draw."""

import math

import numpy as np
import pytest

from reviewdesk.domain.labels.label_columns import LabelledRows, make_rows
from reviewdesk.domain.labels.sampling import RunFigures
from reviewdesk.domain.labels.segments import (
    FEW,
    Composite,
    SegmentFigures,
    SegmentVerdict,
    composite_low,
    composites,
    segment_table,
    worst_low,
)
from reviewdesk.domain.labels.summary import panel_intervals
from reviewdesk.domain.records import Truth
from reviewdesk.domain.stats.figures import Part, Target
from reviewdesk.domain.stats.rates import drawn_rate
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
    assert low == pytest.approx(drawn_rate([Part(30, 15, 10), Part(100, 20, 20)], Target.ITEMS).low)
    # An item without an answer may have been wrong.
    less, _ = worst_low(*run(unsure=True), "tag")
    assert less is not None
    assert low is not None
    assert less < low
    few = [one for one in frame if one.rank < 8]
    assert worst_low(made, few, "tag") == (None, "no tag has 20 labels")


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
                frame.append(SegmentVerdict(name, 1000 * h + rank, h, rank, Decision.PASS))
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


WEIGHTS = {"right": 0.6, "safe": 0.4}


def found(
    good: dict[str, list[bool]], labels: int, target: Target = Target.RUN, *, shared: bool = True
) -> Composite:
    """One subject; its verdicts, by dimension, all pass, and the first ``labels`` of each count.

    The n-th verdicts of the dimensions are on one case, if cases are shared.
    """
    rows = []
    frame = []
    dimensions = {}
    size = sum(map(len, good.values()))
    places = [(name, at) for at in range(max(map(len, good.values()))) for name in good]
    places = [(name, at) for name, at in places if at < len(good[name])]
    for rank, (name, at) in enumerate(places):
        frame.append(SegmentVerdict("v2", rank, 3, rank, Decision.PASS))
        dimensions[rank] = name
        if at < labels:
            truth = Truth.PASS if good[name][at] else Truth.FAIL
            test = f"t{at}" if shared else f"t{rank}"
            rows.append(placed(3, rank, truth, key=rank, id=str(rank), test=test))
    totals = RunFigures(size, 0, "support", scores_stated=False, sizes={3: size})
    (made,) = composites(make_rows(rows, totals), frame, dimensions, WEIGHTS, target)
    return made


GOOD = {"right": [True] * 8 + [False] * 2 + [True] * 30, "safe": [True] * 9 + [False] + [True] * 30}


def test_a_composite_weighs_its_dimensions_and_their_distances() -> None:
    made = found(GOOD, 10)
    # .6 * 8/10 + .4 * 9/10; each dimension has 10 labels of its own 40 verdicts.
    assert made.found.estimate == pytest.approx(0.84)
    one, two = (drawn_rate([Part(40, 10, hits)]) for hits in (8, 9))
    assert [part.should_pass for part in made.dimensions] == [one, two]
    assert [(part.labels, part.verdicts, part.passed) for part in made.dimensions] == [
        (10, 40, 1.0)
    ] * 2
    assert made.panel == 1
    below = math.hypot(0.6 * (0.8 - one.low), 0.4 * (0.9 - two.low))
    above = math.hypot(0.6 * (one.high - 0.8), 0.4 * (two.high - 0.9))
    assert made.found.low == pytest.approx(0.84 - below)
    assert made.found.high == pytest.approx(0.84 + above)


def test_labels_on_the_same_cases_may_go_together_among_new_items() -> None:
    alone = found(GOOD, 10, Target.ITEMS, shared=False)
    together = found(GOOD, 10, Target.ITEMS)
    lows = [part.should_pass.low for part in together.dimensions]
    # Every label shares its case: r is 1, so the distances add up.
    assert together.found.low == pytest.approx(0.6 * lows[0] + 0.4 * lows[1])
    assert together.found.low < alone.found.low


def test_a_missing_dimension_is_said_and_nothing_is_weighed_anew() -> None:
    made = found({"right": [True] * 40}, 10)
    assert (made.panel, made.found.estimate, made.found.bounded) == (None, None, False)
    assert made.found.reason == "no verdict on safe"
    assert composite_low([made], None) == (None, "v2: no verdict on safe")
    assert composite_low([made], "v1") == (None, "no verdict of v1 has a dimension")
    # Without a label the dimension may be anything from 0 to 1.
    bare = found({"right": [True] * 40, "safe": [True] * 40}, 0)
    assert (bare.found.low, bare.found.high) == (0, 1)
    assert bare.found.reason == "a group of right, safe has no label"


def test_the_worst_subject_is_named_with_its_labels() -> None:
    made = found(GOOD, 10)
    low, note = composite_low([made, found(GOOD, 40)], None)
    assert low == made.found.low
    assert note == "v2, by 10 of right, 10 of safe"


@pytest.mark.slow
@pytest.mark.parametrize("target", list(Target))
def test_composites_hold_the_truth(target: Target) -> None:
    """Sixty cases, whose answers are good on both dimensions or on neither; 25 labels of each."""
    draw = np.random.default_rng(7)
    rates = {"right": 0.8, "safe": 0.9}
    held = 0
    for _ in range(200):
        luck = draw.random(60)
        good = {name: (luck < rate).tolist() for name, rate in rates.items()}
        made = found(good, 25, target).found
        run = {name: sum(one) / 60 for name, one in good.items()}
        truth = run if target is Target.RUN else rates
        value = sum(WEIGHTS[name] * truth[name] for name in WEIGHTS)
        assert made.low is not None
        assert made.high is not None
        held += made.low <= value <= made.high
    assert held >= 0.92 * 200
