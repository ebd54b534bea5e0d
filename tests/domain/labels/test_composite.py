"""The composite of a subject: its dimensions, weighed, with an interval through the draw."""

import math

import numpy as np
import pytest

from reviewdesk.domain.labels.sampling import RunFigures
from reviewdesk.domain.labels.segments import Composite, SegmentVerdict, composite_low, composites
from reviewdesk.domain.labels.summary import make_rows
from reviewdesk.domain.records import Truth
from reviewdesk.domain.stats.figures import Part, Target
from reviewdesk.domain.stats.stratified import drawn_rate
from reviewdesk.domain.verdict import Decision
from tests.helpers import placed

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
