from fractions import Fraction
from typing import TypeAlias

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviewdesk.domain.stats.calibration import (
    Rows,
    accuracy,
    bin_index,
    brier,
    ece,
    effective_sample_size,
    measure,
)

WEIGHTS = st.integers(1, 9)
Case: TypeAlias = list[tuple[int, bool, int, bool]]
CASES = st.lists(st.tuples(st.integers(0, 100), st.booleans(), WEIGHTS, st.booleans()), max_size=60)

EIGHT = Rows.of(
    [0.95, 0.90, 0.82, 0.55, 0.52, 0.15, 0.10, 0.05],
    [True, True, True, True, False, False, False, False],
)


def _rows(case: Case) -> Rows:
    percent, correct, weight, passed = zip(*case, strict=True) if case else ([], [], [], [])
    return Rows.of([p / 100 for p in percent], correct, [float(w) for w in weight], passed)


@pytest.mark.parametrize(
    ("confidence", "index"),
    [
        (0.0, 0),
        (0.0999, 0),
        # i/10 opens bin i, however it came about.
        *((i / 10, i) for i in range(10)),
        # The support of a fail: 1 - .9 is .09999999999999998, and 1 - .8 is .19999999999999996.
        (1 - 0.9, 1), (1 - 0.8, 2), (0.1 + 0.2, 3), (1 - 0.7, 3), (0.1 * 3, 3), (0.1 * 6, 6),
        (0.1 * 7, 7), (1 - 0.4, 6), (1 - 0.3, 7),
        # The last bin is closed.
        (0.95, 9),
        (1.0, 9),
    ],
)  # fmt: skip
def test_bin_edges(confidence: float, index: int) -> None:
    assert bin_index(np.array([confidence])).tolist() == [index]


@given(CASES)
def test_metrics_against_exact_fractions(case: Case) -> None:
    rows = _rows(case)
    total = sum(weight for _, _, weight, _ in case)
    if not case:
        assert ece(rows) == 0.0
        assert brier(rows) is measure(rows).gap is accuracy(rows) is None
        return
    bins: dict[int, Fraction] = {}
    squares = signed = right = Fraction()
    for percent, correct, weight, _ in case:
        off = Fraction(percent, 100) - correct
        index = min(percent // 10, 9)
        bins[index] = bins.get(index, Fraction()) + weight * off
        squares += weight * off**2
        signed += weight * off
        right += weight * correct
    assert ece(rows) == pytest.approx(float(sum(map(abs, bins.values())) / total), abs=1e-9)
    assert brier(rows) == pytest.approx(float(squares / total), abs=1e-9)
    assert measure(rows).gap == pytest.approx(float(signed / total), abs=1e-9)
    assert accuracy(rows) == pytest.approx(float(right / total), abs=1e-9)


def test_effective_sample_size() -> None:
    # (1+1+1+5+5)² / (3 + 50) = 169/53.
    assert effective_sample_size([1, 1, 1, 5, 5]) == pytest.approx(169 / 53)
    assert effective_sample_size([2, 2, 2]) == pytest.approx(3)
    assert effective_sample_size([]) is None
    assert effective_sample_size([0, 0]) is None


@given(CASES)
def test_confusion_against_counting(case: Case) -> None:
    found = measure(_rows(case), None)
    cells = {"tp": 0, "fn": 0, "tn": 0, "fp": 0}
    mass = dict.fromkeys(cells, 0)
    for _, correct, weight, passed in case:
        deserved = passed == correct
        name = ("tp" if passed else "fn") if deserved else ("fp" if passed else "tn")
        cells[name] += 1
        mass[name] += weight
    # Counts are raw, rates weighted; a rate without its class is 0.
    assert (found.n, found.tp, found.fn, found.tn, found.fp) == (len(case), *cells.values())
    good, bad = mass["tp"] + mass["fn"], mass["tn"] + mass["fp"]
    sensitivity = mass["tp"] / good if good else 0.0
    specificity = mass["tn"] / bad if bad else 0.0
    assert found.sensitivity == pytest.approx(sensitivity)
    assert found.specificity == pytest.approx(specificity)
    assert found.youden_j == pytest.approx(sensitivity + specificity - 1)
    assert (found.corrected_rate, found.corrected_status) == (None, None)


def _cells(tp: int, fn: int, tn: int, fp: int, weight: float = 1.0) -> Rows:
    n = tp + fn + tn + fp
    passed = [True] * tp + [False] * (fn + tn) + [True] * fp
    correct = [True] * tp + [False] * fn + [True] * tn + [False] * fp
    return Rows.of([0.5] * n, correct, [weight] * n, passed)


def test_the_documented_trusted_set_and_the_raw_count_of_its_interval() -> None:
    found = measure(_cells(90, 10, 80, 20), 0.5)
    assert (found.sensitivity, found.specificity) == (0.9, 0.8)
    # (.5 + .8 - 1) / (.9 + .8 - 1) = .3 / .7.
    assert found.corrected_rate == pytest.approx(3 / 7)
    # sqrt(.25 / 200) = .0353553; times 1.959964 = .0692952; (.3 -+ .0692952) / .7.
    assert found.corrected_rate_low == pytest.approx(0.329578, abs=1e-6)
    assert found.corrected_rate_high == pytest.approx(0.527565, abs=1e-6)
    assert found.corrected_status == "ok"
    # Weights of 7 leave the rates and the interval as they are.
    plain, heavy = (measure(_cells(90, 10, 80, 20, weight), 0.5) for weight in (1, 7))
    assert heavy.corrected_rate_low == pytest.approx(plain.corrected_rate_low)
    assert heavy.ess == pytest.approx(200)


def test_without_the_judges_decisions_there_is_no_confusion() -> None:
    found = measure(EIGHT, 0.5)
    assert (found.n, found.accuracy) == (8, 0.5)
    unknown = (found.tp, found.fn, found.tn, found.fp, found.sensitivity, found.specificity,
               found.youden_j, found.corrected_rate, found.corrected_rate_low,
               found.corrected_rate_high, found.corrected_status)  # fmt: skip
    assert set(unknown) == {None}


def test_rows_of_no_weight_are_left_out() -> None:
    kept = _cells(1, 1, 1, 1).weighted([0.0, 2.0, 0.0, 3.0])
    assert kept.weight.tolist() == [2.0, 3.0]
    assert kept.correct.tolist() == [False, False]
    assert kept.passed is not None
    assert kept.passed.tolist() == [False, True]
    assert EIGHT.weighted([1.0] * 8).passed is None
