"""The panel's intervals through the draw, against hand counts and plain estimators."""

from __future__ import annotations

import pytest

from reviewdesk.domain.labels.rows import LabelledRow, RunFigures
from reviewdesk.domain.labels.sampling import LabelledVerdict
from reviewdesk.domain.labels.summary import make_rows, panel_intervals
from reviewdesk.domain.records import Truth
from reviewdesk.domain.stats.figures import Pair, Part, Target
from reviewdesk.domain.stats.rates import midp, wilson
from reviewdesk.domain.stats.stratified import drawn_rate, stratified_ratio
from reviewdesk.domain.verdict import Decision

SIZES = {0: 10, 1: 5, 3: 60, 4: 25}


def one(stratum: int, rank: int, *, right: bool, score: float = 0.8) -> LabelledRow:
    passed = stratum % 3 == 0
    return LabelledRow(
        key=stratum * 1000 + rank,
        id=f"{stratum}/{rank}",
        item=f"{stratum}/{rank}".encode(),
        decision=Decision.PASS if passed else Decision.FAIL,
        score=score if passed else 1 - score,
        stated_score=None,
        confidence=None,
        passes=3,
        answered=3,
        place=LabelledVerdict(stratum, rank, Truth.PASS if passed is right else Truth.FAIL),
    )


def labels(**counts: tuple[int, int]) -> list[LabelledRow]:
    """Per stratum (s0, s1, ...) how many of the first are labelled, and how many of them right."""
    return [
        one(int(name[1:]), rank, right=rank < right, score=0.6 + 0.05 * (rank % 8))
        for name, (n, right) in counts.items()
        for rank in range(n)
    ]


FIGURES = RunFigures(70, 30, "support", scores_stated=False, sizes=SIZES)
CENSUS = {"s0": (10, 7), "s1": (5, 3), "s3": (60, 54), "s4": (25, 20)}
KNOWN = ((84, 100), (61, 68), (23, 32))
"""84 right; of 61 + 7 that should pass 61 passed, of 23 + 9 that should fail 23 failed."""
SOME = {"s0": (10, 7), "s1": (5, 3), "s3": (20, 18), "s4": (10, 9)}


def test_a_census_is_known_of_this_run_and_a_sample_of_such_items() -> None:
    found = labels(**CENSUS)
    made = make_rows(found, FIGURES)
    here = panel_intervals(made)
    for rate, (k, n) in zip(
        (here.accuracy, here.sensitivity, here.specificity), KNOWN, strict=True
    ):
        assert (rate.low, rate.estimate, rate.high) == pytest.approx((k / n,) * 3)
    for interval in (here.brier, here.gap, here.kappa):
        assert interval is not None
        assert interval.low == pytest.approx(interval.high)
    such = panel_intervals(made, Target.ITEMS)
    for rate, (k, n) in zip(
        (such.accuracy, such.sensitivity, such.specificity), KNOWN, strict=True
    ):
        assert (rate.low, rate.high) == pytest.approx(wilson(k, n))
    for interval in (such.brier, such.gap, such.kappa):
        assert interval is not None
        assert interval.low < interval.high - 0.02


def test_a_sample_is_less_sure_and_such_items_least() -> None:
    found = labels(**SOME)
    made = make_rows(found, FIGURES)
    here, such = (panel_intervals(made, target) for target in Target)
    assert here.accuracy == drawn_rate(
        [Part(10, 10, 7), Part(5, 5, 3), Part(60, 20, 18), Part(25, 10, 9)]
    )
    # Should pass: 7 + 60·.9 of the passes and 2 + 25·.1 of the fails.
    assert here.sensitivity.estimate == pytest.approx(61 / (61 + 4.5))
    for name in ("accuracy", "sensitivity", "specificity", "brier", "gap", "kappa"):
        one_, other = getattr(here, name), getattr(such, name)
        assert other.low < one_.low < one_.high < other.high


def test_four_labels_that_agree_prove_nothing() -> None:
    found = labels(s0=(1, 1), s1=(1, 1), s3=(1, 1), s4=(1, 1))
    such = panel_intervals(make_rows(found, FIGURES), Target.ITEMS)
    assert such.accuracy.estimate == 1.0
    assert such.accuracy.low < 0.5
    assert such.sensitivity.low < 0.5


def test_labels_of_the_flagged_alone_leave_bounds() -> None:
    found = labels(s0=(10, 7), s1=(5, 3))
    here = panel_intervals(make_rows(found, FIGURES))
    assert here.accuracy.estimate is None
    # 7 + 3 known right; the 85 of the rest may all be wrong, or right.
    assert (here.accuracy.low, here.accuracy.high) == pytest.approx((0.1, 0.95))
    # 7 should pass and were passed, 2 were failed: with the 25 fails of the rest wrong, 7 of 34;
    # with its 60 passes right, 67 of 69.
    assert here.sensitivity.estimate is None
    assert (here.sensitivity.low, here.sensitivity.high) == pytest.approx((7 / 34, 67 / 69))
    # Nor are the others a figure without bounds: the 85 of the rest may be off by any amount.
    for bounds in (here.brier, here.gap, here.kappa):
        assert bounds is not None
        assert bounds.high - bounds.low > 0.8


def test_a_ratio_where_every_label_counts_is_a_plain_rate() -> None:
    # Hits and misses are all there is: then the ratio is the rate, and its interval the rate's.
    for parts in ([(50, 20, 13)], [(50, 20, 20)], [(50, 20, 0)], [(50, 50, 31)]):
        rate = drawn_rate([Part(*part) for part in parts])
        ratio = stratified_ratio([Pair(N, n, k, n - k, N, N) for N, n, k in parts])
        assert (ratio.estimate, ratio.low, ratio.high) == pytest.approx(
            (rate.estimate, rate.low, rate.high)
        )


def test_a_ratio_by_hand() -> None:
    # A stratum of 40 known whole, 30 hits and 2 misses; of 100 ten labels, 1 miss and no hit.
    # So 30 hits and 2 + 10 misses; n_eff of the sample is 10·99/90 = 11.
    found = stratified_ratio([Pair(40, 40, 30, 2, 40, 40), Pair(100, 10, 0, 1, 100, 100)])
    assert found.estimate == pytest.approx(30 / 42)
    # A tenth of the ten verdicts behind each label is added, as of the last one nothing is known.
    low, high = (end + side * 0.001 for end, side in zip(midp(1.1, 11), (-1, 1), strict=True))
    # No hit was drawn, so the lower end knows 30 hits: 30 / (30 + 2 + 100·high).
    assert found.low == pytest.approx(30 / (32 + 100 * high))
    # The upper end has both more hits and fewer misses, but not both at their ends at once.
    more = 100 * (midp(0, 11)[1] + 0.001)
    assert 30 / (32 + 100 * low) < found.high < (30 + more) / (32 + more + 100 * low)


def test_a_ratio_of_nothing_is_undefined() -> None:
    assert stratified_ratio([]).estimate is None
    assert stratified_ratio([Pair(50, 10, 0, 0, 50, 50)]).estimate is None
