import itertools
import math
from typing import TypeAlias

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from reviewdesk.domain.stats import reliability
from reviewdesk.domain.stats.calibration import Rows, ece
from reviewdesk.domain.stats.calibration_page import BinPosition, band, place
from reviewdesk.domain.stats.figures import Bin
from reviewdesk.domain.stats.reliability import (
    CLIP,
    auroc,
    fit,
    log_loss,
    null_ece,
    poisson_binomial,
    reliability_bins,
    spiegelhalter,
)

Case: TypeAlias = list[tuple[int, bool, int]]
CASES = st.lists(st.tuples(st.integers(0, 20), st.booleans(), st.integers(0, 4)), max_size=30)


def rows_of(case: Case) -> Rows:
    twentieths, correct, weight = zip(*case, strict=True) if case else ([], [], [])
    return Rows.of([value / 20 for value in twentieths], correct, [float(w) for w in weight])


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


def test_spiegelhalter_worked_and_undefined_without_variance() -> None:
    # (y-c)(1-2c): (1-.9)(-.8) + (0-.2)(.6) = -.08 - .12; variance .64*.09 + .36*.16 = .1152.
    found = spiegelhalter(Rows.of([0.9, 0.2], [True, False]))
    assert found.z == pytest.approx(-0.2 / math.sqrt(0.1152))
    assert found.p == pytest.approx(math.erfc(0.2 / math.sqrt(0.2304)))
    # Weights 1 and 2: (-.08 - .24) / sqrt(.0576 + 4 * .0576).
    heavy = spiegelhalter(Rows.of([0.9, 0.2], [True, False], [1.0, 2.0]))
    assert heavy.z == pytest.approx(-0.32 / math.sqrt(0.288))
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


def one(mean: float, accuracy: float, ess: float) -> Bin:
    return Bin(int(min(mean * 10, 9)), 4, ess, mean, accuracy, 0.0, 1.0, ess)


def test_the_band_of_a_bin_and_where_it_lies() -> None:
    # .8 ± 1.959964 √(.8 · .2 / 64) = .8 ± 1.959964 · .05.
    found = band(one(0.8, 0.5, 64))
    assert (found.low, found.high) == pytest.approx((0.7020018, 0.8979982))
    # .9 ± 1.959964 · .15 reaches beyond 1.
    found = band(one(0.9, 0.5, 4))
    assert (found.low, found.high) == pytest.approx((0.6060054, 1.0))
    # Certainty leaves no room.
    found = band(one(1.0, 0.5, 4))
    assert (found.low, found.high) == (1.0, 1.0)
    ends = band(one(0.8, 0.5, 64))
    assert place(one(0.8, 0.70, 64)) is BinPosition.BELOW
    assert place(one(0.8, 0.90, 64)) is BinPosition.ABOVE
    for accuracy in (ends.low, 0.8, ends.high, ends.low - 1e-10, ends.high + 1e-10):
        assert place(one(0.8, accuracy, 64)) is BinPosition.INSIDE
    assert place(replace(one(1.0, 1.0, 4), accuracy=0.75)) is BinPosition.BELOW


def test_without_rows_everything_is_undefined() -> None:
    found = fit(Rows.of([], []))
    assert (found.n, found.bins, found.auroc, found.brier) == (0, (), None, None)
    assert found.spiegelhalter.reason is not None
    assert null_ece(Rows.of([], [])) is None
    assert null_ece(Rows.of([0.5], [True], [0.0])) is None


FEW = st.lists(
    st.tuples(st.sampled_from([0.0, 0.1, 0.33, 0.5, 0.58, 0.9, 0.95, 1.0]), st.integers(0, 3)),
    max_size=8,
)


def _enumerated(confidence: list[float], weight: list[float]) -> list[tuple[float, float]]:
    """ECE and chance of every outcome of a calibrated judge."""
    found = []
    for outcome in itertools.product([False, True], repeat=len(confidence)):
        pairs = zip(confidence, outcome, strict=True)
        chance = math.prod(c if y else 1 - c for c, y in pairs)
        found.append((ece(Rows.of(confidence, outcome, weight)), chance))
    return found


@given(FEW)
def test_the_mean_against_every_outcome(case: list[tuple[float, int]]) -> None:
    confidence, weight = [c for c, _ in case], [float(w) for _, w in case]
    exact = math.fsum(size * chance for size, chance in _enumerated(confidence, weight))
    found = null_ece(Rows.of(confidence, [True] * len(case), weight), draws=19)
    assert (found.expected if found else 0.0) == pytest.approx(exact, abs=1e-12)


def test_the_percentile_and_p_against_every_outcome() -> None:
    confidence, weight = [0.9, 0.92, 0.8, 0.6, 0.55, 0.3], [1.0, 2.0, 1.0, 1.0, 2.0, 5.0]
    outcomes = _enumerated(confidence, weight)
    correct = [False, True, True, False, True, False]
    found = null_ece(Rows.of(confidence, correct, weight))
    assert found is not None
    assert found.exact
    observed = ece(Rows.of(confidence, correct, weight))
    tail = math.fsum(chance for size, chance in outcomes if size >= observed - 1e-9)
    # Of 9,999 draws; a standard error is at most .005.
    assert found.p == pytest.approx(tail, abs=0.02)
    above = math.fsum(chance for size, chance in outcomes if size > found.p95 + 1e-9)
    upto = math.fsum(chance for size, chance in outcomes if size >= found.p95 - 1e-9)
    assert above < 0.06
    assert upto > 0.04


def test_p_is_never_zero_and_one_for_the_best_fit() -> None:
    # Never off: every calibrated judge is at least as far off.
    best = null_ece(Rows.of([1.0, 0.0], [True, False]))
    assert best is not None
    assert (best.expected, best.p95, best.p) == (0.0, 0.0, 1.0)
    # A sure judge who is wrong is no calibrated one: only the observed set itself counts.
    worst = null_ece(Rows.of([1.0, 1.0], [True, False]))
    assert worst is not None
    assert worst.p == 1 / 10_000


def test_the_halves_multiply_to_the_binomial() -> None:
    # Equal chances make a binomial, whose chances are known; 1,500 is past the row-by-row size.
    n, p = 1_500, 0.3
    found = poisson_binomial(np.full(n, p))
    for k in (0, 400, 450, 451, 700, n):
        log = math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
        exact = math.exp(log + k * math.log(p) + (n - k) * math.log(1 - p))
        assert found[k] == pytest.approx(exact, abs=1e-12)
    assert found.sum() == pytest.approx(1)


def test_a_large_bin_against_the_binomials_own_formula() -> None:
    # De Moivre: the mean deviation of a binomial is 2 m (1-p) P(X = m) at m = floor(np) + 1.
    n, p = 3_000, 0.77
    m = math.floor(n * p) + 1
    log = math.lgamma(n + 1) - math.lgamma(m + 1) - math.lgamma(n - m + 1)
    deviation = 2 * m * (1 - p) * math.exp(log + m * math.log(p) + (n - m) * math.log(1 - p))
    found = null_ece(Rows.of([p] * n, [True] * n))
    assert found is not None
    assert found.expected == pytest.approx(deviation / n, rel=1e-9)


def test_too_many_weights_are_simulated(monkeypatch: pytest.MonkeyPatch) -> None:
    confidence, weight = [0.7] * 10, [1 + place / 7 for place in range(10)]
    rows = Rows.of(confidence, [True] * 10, weight)
    exact = null_ece(rows)
    assert exact is not None
    assert exact.exact
    # 2^10 outcomes are over 20.
    monkeypatch.setattr(reliability, "ATOMS", 20)
    found = null_ece(rows)
    assert found is not None
    assert not found.exact
    assert found.expected == pytest.approx(exact.expected, abs=0.005)
