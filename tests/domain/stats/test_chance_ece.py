from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviewdesk.domain.stats import reliability
from reviewdesk.domain.stats.calibration import Rows, ece
from reviewdesk.domain.stats.reliability import null_ece, poisson_binomial

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
    rows = Rows.of(confidence, [True] * len(case), weight)
    found = null_ece(rows, draws=19)
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


def test_the_same_rows_give_the_same_figures() -> None:
    rows = Rows.of([0.7, 0.71, 0.2, 0.4], [True, False, False, True])
    assert null_ece(rows) == null_ece(rows)
    assert null_ece(rows, seed=1) != null_ece(rows, seed=2)


def test_without_rows() -> None:
    assert null_ece(Rows.of([], [])) is None
    assert null_ece(Rows.of([0.5], [True], [0.0])) is None


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
    rows = Rows.of([p] * n, [True] * n)
    found = null_ece(rows)
    assert found is not None
    assert found.expected == pytest.approx(deviation / n, rel=1e-9)


def test_too_many_weights_are_simulated(monkeypatch: pytest.MonkeyPatch) -> None:
    confidence, weight = [0.7] * 10, [1 + place / 7 for place in range(10)]
    rows = Rows.of(confidence, [True] * 10, weight)
    exact = null_ece(rows)
    assert exact is not None
    assert exact.exact
    # 2^5 outcomes on each side are over 20.
    monkeypatch.setattr(reliability, "ATOMS", 20)
    found = null_ece(rows)
    assert found is not None
    assert not found.exact
    assert found.expected == pytest.approx(exact.expected, abs=0.005)
