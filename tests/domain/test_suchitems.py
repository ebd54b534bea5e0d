"""Intervals of such items: worked numbers, scalar references, and what they cover."""

from __future__ import annotations

import math
import random

import pytest

from reviewdesk.domain.calibration import Rows, measure
from reviewdesk.domain.figures import Part, Ranged
from reviewdesk.domain.fit import fit
from reviewdesk.domain.standards import wilson
from reviewdesk.domain.suchitems import (
    Sample,
    of_counts,
    part_rate,
    pass_rate,
    such_items,
)

Z2 = 1.959963984540054**2
FOUR = 4 / (4 + Z2)
"""Wilson's lower end of 4 of 4: n / (n + z²) = 0.5101."""


def figures(sample: Sample) -> dict[str, Ranged]:
    return such_items(sample, measure(sample.rows, None), fit(sample.rows))


def ends(found: Ranged) -> tuple[float, float]:
    assert found.low is not None
    assert found.high is not None
    return found.low, found.high


def agreeing(n: int, confidence: float = 0.8) -> Sample:
    """So many labels that agree with the judge, half passes and half fails."""
    passed = [at % 2 == 0 for at in range(n)]
    return Sample(Rows.of([confidence] * n, [True] * n, passed=passed))


def test_four_labels_that_agree_prove_nothing() -> None:
    found = figures(agreeing(4))
    assert pytest.approx(0.5101, abs=5e-5) == FOUR
    assert ends(found["accuracy"]) == pytest.approx((FOUR, 1.0))
    # Two of two of either class: 2 / (2 + z²) = 0.342.
    assert ends(found["sensitivity"]) == pytest.approx((2 / (2 + Z2), 1.0))
    assert ends(found["specificity"]) == pytest.approx((2 / (2 + Z2), 1.0))
    # Every redraw of Brier is 0.04; with 0.4899 wrong at a loss of 0.64 it would be 0.334.
    assert found["brier"].value == pytest.approx(0.04)
    assert ends(found["brier"]) == pytest.approx((0.04, FOUR * 0.04 + (1 - FOUR) * 0.64))
    # 0.8 less an accuracy of 1, or of 0.5101.
    assert found["gap"].value == pytest.approx(-0.2)
    assert ends(found["gap"]) == pytest.approx((-0.2, 0.8 - FOUR))


def test_one_label_has_an_interval_too() -> None:
    # 1 / (1 + z²) = 0.2065, and a loss of 0.64 in the rest.
    found, low = figures(agreeing(1)), 1 / (1 + Z2)
    assert ends(found["accuracy"]) == pytest.approx((low, 1.0))
    assert ends(found["brier"]) == pytest.approx((0.04, low * 0.04 + (1 - low) * 0.64))
    assert ends(found["gap"]) == pytest.approx((-0.2, 0.8 - low))


def test_labels_that_disagree_keep_the_intervals_that_calibrate_shows() -> None:
    rows = Rows.of([0.9, 0.7, 0.6, 0.8], [True, False, True, True])
    found, shown = figures(Sample(rows)), fit(rows)
    assert shown.brier is not None
    assert shown.gap is not None
    assert ends(found["brier"]) == (shown.brier.low, shown.brier.high)
    assert ends(found["gap"]) == (shown.gap.low, shown.gap.high)


def test_without_decisions_there_is_no_confusion() -> None:
    found = figures(Sample(Rows.of([0.8, 0.8], [True, False])))
    assert found["sensitivity"] == found["specificity"] == found["kappa"]
    assert found["kappa"].value is None
    assert "what the judge decided" in found["kappa"].reason
    assert figures(Sample(Rows.of([], []))) == {}


STRATA = ["flagged/pass"] * 4 + ["rest/pass"] * 5 + ["rest/fail"] * 3
RIGHT = [True, True, True, False] + [True] * 4 + [False] + [True, True, False]
PASSED = [True] * 9 + [False] * 3
WEIGHTS = [2.0] * 4 + [10.0] * 5 + [4.0] * 3


def weighted() -> Sample:
    """Cells of 8, 50 and 12 verdicts with 3 of 4, 4 of 5 and 2 of 3 right."""
    return Sample(Rows.of([0.8] * 12, RIGHT, WEIGHTS, PASSED), STRATA)


CELLS = [(8, 3, 4, True), (50, 4, 5, True), (12, 2, 3, False)]


def reference(values: list[tuple[float, float]]) -> tuple[float, float, float]:
    """``Σ W(base + slope·p)`` with its ends, cell by cell: the formula as the docstring has it."""
    mean = low = high = 0.0
    for (size, k, n, _), (base, slope) in zip(CELLS, values, strict=True):
        mean += size / 70 * (base + slope * k / n)
    between = 0.0
    for (size, k, n, _), (base, slope) in zip(CELLS, values, strict=True):
        ends_ = sorted(base + slope * end for end in wilson(k, n))
        here = base + slope * k / n
        low += (size / 70 * (here - ends_[0])) ** 2
        high += (size / 70 * (ends_[1] - here)) ** 2
        between += Z2 / 70 * size / 70 * (here - mean) ** 2
    return mean - math.sqrt(low + between), mean, mean + math.sqrt(high + between)


def test_strata_that_weigh_apart_combine_by_mover() -> None:
    low, mean, high = reference([(0, 1)] * 3)
    found = figures(weighted())["accuracy"]
    # (8 · 3/4 + 50 · 4/5 + 12 · 2/3) / 70 = 54 / 70.
    assert found.value == pytest.approx(mean) == pytest.approx(54 / 70)
    assert ends(found) == pytest.approx((low, min(high, 1.0)))


def test_the_pass_rate_turns_the_cells_that_failed() -> None:
    # Of what failed, the part that was wrong should pass: 6 + 40 + 12 · 1/3 of 70.
    low, mean, high = reference([(0, 1), (0, 1), (1, -1)])
    found = pass_rate(weighted())
    assert found.value == pytest.approx(mean) == pytest.approx(50 / 70)
    assert ends(found) == pytest.approx((low, high))
    parts = [Part(8, 4, 3), Part(50, 5, 4), Part(12, 3, 1)]
    again = part_rate(parts, None)
    assert again.value == pytest.approx(50 / 70)
    assert ends(again) == pytest.approx((low, high))


def test_a_class_rate_is_where_right_and_missed_may_balance() -> None:
    found = figures(weighted())["sensitivity"]
    # Right 46, missed 4 of 50 that should pass.
    assert found.value == pytest.approx(46 / 50)
    low, high = ends(found)
    at_low = reference([(0, 1 - low), (0, 1 - low), (-low, low)])
    assert at_low[0] == pytest.approx(0, abs=1e-9)
    at_high = reference([(0, 1 - high), (0, 1 - high), (-high, high)])
    assert at_high[2] == pytest.approx(0, abs=1e-9)
    assert low < 46 / 50 < high < 1


def test_no_class_rate_is_surer_than_a_census_of_the_run() -> None:
    # Nothing that should pass was failed, and no verdict failed at all: A(1-s) is 0 at s = 1 alone.
    rows = Rows.of([0.8] * 6, [True] * 6, [1.0, 1.0] + [5.0] * 4, [True] * 6)
    found = figures(Sample(rows, ["flagged/pass"] * 2 + ["rest/pass"] * 4))["sensitivity"]
    # Wilson of 22 of 22 verdicts.
    assert ends(found) == pytest.approx((22 / (22 + Z2), 1.0))


def test_rows_that_weigh_the_same_are_as_good_as_drawn_at_random() -> None:
    sample = Sample(Rows.of([0.8] * 12, RIGHT, [3.0] * 12, PASSED), STRATA)
    found = figures(sample)
    assert ends(found["accuracy"]) == pytest.approx(wilson(9, 12))
    # Seven of eight that should pass passed; two of four that should fail failed.
    assert ends(found["sensitivity"]) == pytest.approx(wilson(7, 8))
    assert ends(found["specificity"]) == pytest.approx(wilson(2, 4))
    assert ends(pass_rate(sample)) == pytest.approx(wilson(8, 12))


def test_weights_without_strata_count_as_their_effective_number() -> None:
    # (4 · 2 + 5 · 10 + 3 · 4)² / (4 · 4 + 5 · 100 + 3 · 16) = 4900 / 564.
    rows = weighted().rows
    found = figures(Sample(rows))["accuracy"]
    assert ends(found) == pytest.approx(wilson(54 / 70 * 4900 / 564, 4900 / 564))


def test_a_census_of_a_run_is_a_sample_of_such_items() -> None:
    found = part_rate([Part(10, 10, 9), Part(30, 30, 18)], None)
    assert found.value == pytest.approx(27 / 40)
    assert ends(found) == pytest.approx(wilson(27, 40))


def test_a_stratum_without_a_label_leaves_bounds_by_interval_ends() -> None:
    found = part_rate([Part(10, 5, 4), Part(30, 0, 0)], "describes escalated verdicts only")
    assert (found.value, found.reason) == (None, "describes escalated verdicts only")
    low, high = ends(found)
    # A quarter is known at 0.8: 0.2 with the rest at 0, 0.95 with it at 1; and further out by what
    # the rate of the known may be off, wilson(4, 5) = (0.3755, 0.9638).
    assert low < 0.25 * wilson(4, 5)[0] + 1e-9
    assert high > 0.75 + 0.25 * wilson(4, 5)[1] - 1e-9
    assert part_rate([Part(30, 0, 0)], None).value is None


def test_kappa_worked() -> None:
    # Agreement 35 of 50; expected (25·30 + 25·20) / 2500 = 0.5: (0.7 - 0.5) / 0.5.
    found = of_counts(20, 10, 15, 5)
    assert found["kappa"].value == pytest.approx(0.4)
    low, high = ends(found["kappa"])
    # The large-sample error √(p_o(1-p_o)/n)/(1-p_e) is 0.1296, so about 0.15 to 0.65.
    assert (low, high) == pytest.approx((0.146, 0.654), abs=0.03)
    assert of_counts(20, 10, 15, 5) == found
    assert ends(found["sensitivity"]) == pytest.approx(wilson(20, 30))
    alone = of_counts(20, 0, 0, 0)
    assert (alone["kappa"].value, bool(alone["kappa"].reason)) == (None, True)
    # The document's convention, with nothing known.
    assert alone["specificity"] == Ranged(0.0, 0.0, 1.0)


def test_kappa_is_weighted_and_redrawn_within_strata() -> None:
    found = figures(weighted())["kappa"]
    # tp 46, fn 4, tn 8, fp 12 of 70: p_o 54/70, p_e (58·50 + 12·20) / 4900.
    expected = (58 * 50 + 12 * 20) / 4900
    assert found.value == pytest.approx((54 / 70 - expected) / (1 - expected))
    # Strata of one row each are the same in every redraw.
    alone = Sample(weighted().rows, [str(at) for at in range(12)])
    assert ends(figures(alone)["kappa"]) == pytest.approx((found.value, found.value))
    low, high = ends(found)
    assert low < (found.value or 0) < high


def test_the_interval_of_a_draw_covers_the_process() -> None:
    # Flagged 30% at 0.65, the rest at 0.97: 0.874. A run of 200, all flagged and 30 of the rest.
    dice, held, draws = random.Random(4), 0, 400  # noqa: S311 - dice, not secrets
    for _ in range(draws):
        flagged = sum(dice.random() < 0.3 for _ in range(200))
        right = [dice.random() < 0.65 for _ in range(flagged)]
        right += [dice.random() < 0.97 for _ in range(30)]
        weights = [1.0] * flagged + [(200 - flagged) / 30] * 30
        strata = ["flagged/pass"] * flagged + ["rest/pass"] * 30
        rows = Rows.of([0.9] * len(right), right, weights, [True] * len(right))
        low, high = ends(pass_rate(Sample(rows, strata)))
        held += low <= 0.3 * 0.65 + 0.7 * 0.97 <= high
    assert held / draws >= 0.93
