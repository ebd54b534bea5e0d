from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviewdesk.domain.stats.calibration import Rows, ece
from reviewdesk.domain.stats.reliability import (
    CLIP,
    auroc,
    levels,
    log_loss,
    reliability_bins,
    spiegelhalter,
)

Case: TypeAlias = list[tuple[int, bool, int]]
CASES = st.lists(st.tuples(st.integers(0, 20), st.booleans(), st.integers(0, 4)), max_size=30)


def rows_of(case: Case) -> Rows:
    twentieths, correct, weight = zip(*case, strict=True) if case else ([], [], [])
    return Rows.of([value / 20 for value in twentieths], correct, [float(w) for w in weight])


def repeated(case: Case) -> Rows:
    return rows_of([(c, y, 1) for c, y, weight in case for _ in range(weight)])


def test_bins_hold_what_the_rule_puts_there() -> None:
    found = reliability_bins(
        Rows.of([0.3, 1 - 0.7, 0.39, 1.0, 0.95], [True, False, True, True, True])
    )
    # 0.3, 0.30000000000000004 and 0.39 in bin 3; 1.0 in the last, closed one.
    assert [(one.index, one.n, one.weight) for one in found] == [(3, 3, 3.0), (9, 2, 2.0)]
    assert found[0].mean_confidence == pytest.approx(0.33)
    assert found[0].accuracy == pytest.approx(2 / 3)
    assert found[1].mean_confidence == pytest.approx(0.975)
    # Wilson of 2 of 2: the low end is 1/(1 + z²/2) = 2/(2 + 3.841459) = 0.342380.
    assert found[1].low == pytest.approx(0.342380, abs=1e-6)
    assert found[1].high == 1.0


def test_a_bins_interval_takes_the_effective_size() -> None:
    # Weights 1 and 3: ESS (1+3)²/(1+9) = 1.6, all right: low 1.6/(1.6 + 3.841459) = 0.294039.
    (found,) = reliability_bins(Rows.of([0.5, 0.5], [True, True], [1.0, 3.0]))
    assert (found.n, found.weight) == (2, 4.0)
    assert found.low == pytest.approx(0.294039, abs=1e-6)


@given(CASES)
def test_bins_give_the_ece(case: Case) -> None:
    rows = rows_of(case)
    found = reliability_bins(rows)
    total = sum(one.weight for one in found)
    gaps = sum(one.weight * abs(one.mean_confidence - one.accuracy) for one in found)
    assert (gaps / total if total else 0.0) == pytest.approx(ece(rows), abs=1e-12)
    assert sum(one.n for one in found) == sum(weight > 0 for _, _, weight in case)


def test_spiegelhalter_worked() -> None:
    # (y-c)(1-2c): (1-.9)(-.8) + (0-.2)(.6) = -.08 - .12; variance .64*.09 + .36*.16 = .1152.
    found = spiegelhalter(Rows.of([0.9, 0.2], [True, False]))
    assert found.z == pytest.approx(-0.2 / math.sqrt(0.1152))
    assert found.p == pytest.approx(math.erfc(0.2 / math.sqrt(0.2304)))
    # Weights 1 and 2: (-.08 - .24) / sqrt(.0576 + 4 * .0576).
    heavy = spiegelhalter(Rows.of([0.9, 0.2], [True, False], [1.0, 2.0]))
    assert heavy.z == pytest.approx(-0.32 / math.sqrt(0.288))


def test_spiegelhalter_is_undefined_without_variance() -> None:
    certain = spiegelhalter(Rows.of([1.0, 0.0, 0.5], [False, True, True]))
    assert (certain.z, certain.p) == (None, None)
    assert certain.reason == "every confidence is 0, 0.5 or 1"
    assert spiegelhalter(Rows.of([], [])).reason == "no rows"
    assert spiegelhalter(Rows.of([0.9], [True], [0.0])).reason == "no rows"


@given(CASES)
def test_auroc_against_counting_pairs(case: Case) -> None:
    pairs = [
        (w * v, (c > d) + (c == d) / 2)
        for c, y, w in case
        for d, x, v in case
        if y and not x and w * v
    ]
    found = auroc(rows_of(case))
    if not pairs:
        assert found is None
        return
    mass = sum(weight for weight, _ in pairs)
    assert found == pytest.approx(sum(weight * win for weight, win in pairs) / mass)


def test_confidences_that_differ_by_rounding_tie() -> None:
    # 1 - 0.7 is 0.30000000000000004.
    assert auroc(Rows.of([1 - 0.7, 0.3], [True, False])) == 0.5
    assert levels(np.array([0.3, 1 - 0.7, 0.1]))[1].tolist() == [1, 1, 0]


@given(CASES)
def test_log_loss_against_the_formula(case: Case) -> None:
    found = log_loss(rows_of(case))
    kept = [(min(max(c / 20, CLIP), 1 - CLIP), y, w) for c, y, w in case if w]
    if not kept:
        assert found is None
        return
    assert found is not None
    loss = sum(-w * math.log(c if y else 1 - c) for c, y, w in kept)
    assert found.value == pytest.approx(loss / sum(w for _, _, w in kept))
    assert found.clipped == sum(c in {0, 20} for c, _, w in case if w)


@given(CASES)
def test_a_weight_is_so_many_equal_rows(case: Case) -> None:
    heavy, many = rows_of(case), repeated(case)
    assert auroc(heavy) == pytest.approx(auroc(many))
    one, other = log_loss(heavy), log_loss(many)
    assert (one and one.value) == pytest.approx(other and other.value)
