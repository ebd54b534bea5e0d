"""Intervals without resampling: exact tails, worked numbers, and what they cover."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviewdesk.domain.labels.label_columns import make_rows
from reviewdesk.domain.labels.sampling import LabelledRow, RunFigures
from reviewdesk.domain.labels.summary import panel_intervals
from reviewdesk.domain.records import Truth
from reviewdesk.domain.stats.calibration import Rows
from reviewdesk.domain.stats.correction import Cells
from reviewdesk.domain.stats.figures import ConfidenceSums, Estimate, Pair, Part, Target
from reviewdesk.domain.stats.kappa import kappa_interval
from reviewdesk.domain.stats.rates import drawn_rate, midp, midp_interval, stratified_ratio, wilson
from reviewdesk.domain.stats.reliability import brier_interval, fit, gap_interval, loss_strata
from tests.helpers import placed

COUNTS = st.integers(1, 300).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@given(COUNTS)
def test_each_end_of_mid_p_leaves_half_the_point_probability(counts: tuple[int, int]) -> None:
    k, n = counts
    low, high = midp(k, n)
    if min(k, n - k) > 200:
        assert (low, high) == wilson(k, n)
        return

    def tail(x: int, rate: float) -> float:
        """P(X > x) + P(X = x)/2, summed term by term."""
        terms = [math.comb(n, j) * rate**j * (1 - rate) ** (n - j) for j in range(x, n + 1)]
        return math.fsum(terms) - terms[0] / 2

    assert low == 0 if k == 0 else tail(k, low) == pytest.approx(0.025, rel=1e-7)
    assert high == 1 if k == n else tail(n - k, 1 - high) == pytest.approx(0.025, rel=1e-7)


def test_mid_p_of_fractions_lies_between_and_ends_at_known_points() -> None:
    assert midp(0, 0) == (0.0, 1.0)
    assert midp(5, 5) == pytest.approx((0.05**0.2, 1.0))
    assert midp(2, 10)[0] < midp(2.5, 10)[0] < midp(3, 10)[0]
    # With far less than one hit the end is beyond the smallest float.
    assert midp(0.001, 10)[0] == pytest.approx(0, abs=1e-300)
    assert midp(1, 10**9)[1] == pytest.approx(4.93e-9, rel=1e-2)
    # A narrower z leaves more in the tails.
    assert midp(3, 10)[0] < midp(3, 10, 1.0)[0]


def test_the_last_verdict_without_a_label_may_be_of_either_kind() -> None:
    # Nine of nine right of ten: one wrong among ten is missed in one of ten draws.
    assert midp_interval(Part(10, 9, 9))[0] < 0.9
    assert midp_interval(Part(10, 10, 9)) == (0.9, 0.9)


SURE = np.array([0.9, 0.6, 0.8, 0.7, 1.0, 0.5])
RIGHT = np.array([True, False, True, True, True, False])


def sums_of(*values: float) -> ConfidenceSums:
    one, two, three, four = (sum(c**power for c in values) for power in (1, 2, 3, 4))
    return ConfidenceSums(len(values), (one, two, three, four), min(values), max(values))


def rows() -> Rows:
    return Rows(SURE, RIGHT, np.ones(6))


def test_the_gap_is_the_exact_mean_confidence_less_the_ends_of_accuracy() -> None:
    # Six of ten are labelled; all ten confidences are known, their mean is .77.
    every = sums_of(*SURE, 0.9, 0.9, 0.9, 0.5)
    parts = {0: Part(10, 6, 4)}
    right = drawn_rate([*parts.values()])
    found = gap_interval(loss_strata(rows(), [0] * 6, parts, {0: every}), Target.RUN)
    assert found == pytest.approx((0.77 - right.high, 0.77 - right.low))
    such = gap_interval(loss_strata(rows(), [0] * 6, parts, {0: every}), Target.ITEMS)
    right = drawn_rate([*parts.values()], Target.ITEMS)
    # For such items the ten are a sample: their variance is .0281, over ten.
    off = 1.959963984540054 * math.sqrt(
        (sum(c * c for c in (*SURE, 0.9, 0.9, 0.9, 0.5)) / 10 - 0.77**2) / 10
    )
    middle = 0.77 - 4 / 6
    below, above = (math.hypot(one, off) for one in (right.high - 4 / 6, 4 / 6 - right.low))
    assert such == pytest.approx((middle - below, middle + above))


def test_brier_is_exact_but_for_the_wrong_verdicts() -> None:
    # Nobody was wrong in six of ten, all confidences .9: .01, and up to .8 for each wrong one.
    made = Rows(np.full(6, 0.9), np.full(6, True), np.ones(6))
    part = Part(10, 6, 6)
    strata = loss_strata(made, [0] * 6, {0: part}, {0: sums_of(*[0.9] * 10)})
    found = brier_interval(strata, Target.RUN)
    # JSON knows no numbers of numpy.
    assert {*map(type, found)} == {float}
    # With a label added at each end the variance is the largest possible, so that n stays 6.
    wrong = 1 - midp_interval(part)[0]
    assert found == pytest.approx((0.01, 0.01 + 0.8 * wrong))
    census = loss_strata(made, [0] * 6, {0: Part(6, 6, 6)}, {0: sums_of(*[0.9] * 6)})
    assert brier_interval(census, Target.RUN) == pytest.approx((0.01, 0.01))


def test_a_stratum_without_labels_adds_its_whole_range() -> None:
    sums = {0: sums_of(*SURE), 1: sums_of(*[0.8] * 6)}
    parts = {0: Part(6, 6, 4), 1: Part(6, 0, 0)}
    strata = loss_strata(rows(), [0] * 6, parts, sums)
    # Known whole: Σ(c - o)² = .01 + .36 + .04 + .09 + 0 + .25 = .75 of 6. The other six have .04
    # if right and .64 if wrong, and their mean confidence is .8.
    found = brier_interval(strata, Target.RUN)
    assert found == pytest.approx((0.125 / 2 + 0.02, 0.125 / 2 + 0.32))
    gap = gap_interval(strata, Target.RUN)
    # Mean confidence (.75 + .8) / 2, accuracy from (4 + 0) / 12 to (4 + 6) / 12.
    assert gap == pytest.approx((0.775 - 10 / 12, 0.775 - 4 / 12))


def test_kappa_of_a_census_is_a_point_and_where_a_rate_is_open_that_at_its_ends() -> None:
    cells = Cells(tp=20, fn=10, tn=15, fp=5)
    parts = [Part(25, 25, 20), Part(25, 25, 15)]
    run = kappa_interval(parts, [True, False], Target.RUN)
    assert run == pytest.approx((cells.kappa, cells.kappa))
    low, high = kappa_interval(parts, [True, False], Target.ITEMS)
    assert (low < 0.2, high > 0.6) == (True, True)
    # Labels that all agree still leave doubt: here the old interval had no width.
    low, high = kappa_interval([Part(2, 2, 2), Part(2, 2, 2)], [True, False], Target.ITEMS)
    assert low < 0
    assert high == pytest.approx(1)
    # All passes are known, 20 of 25 right. Of 25 fails 0 of 5 seen were wrong: the ends are those
    # of kappa with the fails' rate at the ends of its own interval.
    parts = [Part(25, 25, 20), Part(25, 5, 5)]
    found = kappa_interval(parts, [True, False], Target.RUN)
    low, _ = midp_interval(parts[1])
    worst = Cells(tp=20, fp=5, tn=25 * low, fn=25 * (1 - low)).kappa
    best = Cells(tp=20, fp=5, tn=25, fn=0).kappa
    assert found == pytest.approx((worst, best))
    # Nobody labelled a fail: all of them may be right, or wrong.
    bounds = kappa_interval([parts[0], Part(25, 0, 0)], [True, False], Target.RUN)
    assert bounds == pytest.approx((Cells(tp=20, fp=5, tn=0, fn=25).kappa, best))


def test_a_file_takes_its_effective_number_and_knows_no_confidence_but_its_own() -> None:
    plain = fit(rows())
    assert plain.accuracy == Estimate(4 / 6, *wilson(4, 6))
    heavy = fit(Rows(SURE, RIGHT, np.array([1.0, 1, 1, 1, 1, 4])))
    # Kish: 9² / (5 + 16) = 3.857. By weight 4 of 9 are right.
    ess = 81 / 21
    assert heavy.accuracy is not None
    assert (heavy.accuracy.low, heavy.accuracy.high) == pytest.approx(wilson(4 / 9 * ess, ess))
    for found in (plain, heavy):
        assert found.gap is not None
        assert found.brier is not None
        assert -1 <= found.gap.low < found.gap.high <= 1
        assert 0 <= found.brier.low < found.brier.high <= 1
    assert plain.kappa is None


@pytest.mark.parametrize("nothing", [Rows.of([], []), Rows.of([0.5], [True], [0.0])])
def test_no_rows_have_no_interval(nothing: Rows) -> None:
    found = fit(nothing)
    assert found.brier is found.gap is found.accuracy is found.kappa is None


SIZES = {0: 10, 1: 5, 3: 60, 4: 25}


def one(stratum: int, rank: int, *, right: bool, score: float = 0.8) -> LabelledRow:
    passed = stratum % 3 == 0
    truth = Truth.PASS if passed is right else Truth.FAIL
    return placed(stratum, rank, truth, score if passed else 1 - score)


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
    made = make_rows(labels(**CENSUS), FIGURES)
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
    made = make_rows(labels(**SOME), FIGURES)
    here, such = (panel_intervals(made, target) for target in Target)
    assert here.accuracy == drawn_rate(
        [Part(10, 10, 7), Part(5, 5, 3), Part(60, 20, 18), Part(25, 10, 9)]
    )
    # Should pass: 7 + 60·.9 of the passes and 2 + 25·.1 of the fails.
    assert here.sensitivity.estimate == pytest.approx(61 / (61 + 4.5))
    for name in ("accuracy", "sensitivity", "specificity", "brier", "gap", "kappa"):
        one_, other = getattr(here, name), getattr(such, name)
        assert other.low < one_.low < one_.high < other.high


def test_labels_of_the_flagged_alone_leave_bounds() -> None:
    here = panel_intervals(make_rows(labels(s0=(10, 7), s1=(5, 3)), FIGURES))
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
        ratio = stratified_ratio([Pair(Part(N, n, k), n - k, N, N) for N, n, k in parts])
        assert (ratio.estimate, ratio.low, ratio.high) == pytest.approx(
            (rate.estimate, rate.low, rate.high)
        )


def test_a_ratio_by_hand() -> None:
    # A stratum of 40 known whole, 30 hits and 2 misses; of 100 ten labels, 1 miss and no hit.
    # So 30 hits and 2 + 10 misses; n_eff of the sample is 10·99/90 = 11.
    found = stratified_ratio(
        [Pair(Part(40, 40, 30), 2, 40, 40), Pair(Part(100, 10, 0), 1, 100, 100)]
    )
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
    assert stratified_ratio([Pair(Part(50, 10, 0), 0, 50, 50)]).estimate is None
