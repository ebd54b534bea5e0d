from __future__ import annotations

import math

import numpy as np
import pytest

from reviewdesk.domain.stats import fit
from reviewdesk.domain.stats.calibration import Rows, brier
from reviewdesk.domain.stats.figures import Interval
from reviewdesk.domain.stats.fit import accuracy_interval, brier_interval, gap_interval


def _many(n: int) -> Rows:
    rng = np.random.default_rng(4)
    confidence = rng.random(n)
    return Rows(confidence, rng.random(n) < confidence, rng.choice([1.0, 6.0], n))


def test_the_brier_bootstrap_meets_the_normal_interval_for_many_rows() -> None:
    rows = _many(4_000)
    found, mean = brier_interval(rows), brier(rows)
    assert found is not None
    assert mean is not None
    off = rows.weight * ((rows.confidence - rows.correct) ** 2 - mean)
    half = 1.959963984540054 * math.sqrt(float((off**2).sum())) / float(rows.weight.sum())
    # 2,000 redraws place an end to about a twentieth of the half width.
    assert found.low == pytest.approx(mean - half, abs=half / 8)
    assert found.high == pytest.approx(mean + half, abs=half / 8)


def test_a_bootstrap_of_two_rows_has_three_outcomes() -> None:
    # Losses 0 and .25: both ends of 0, .125, .25, each extreme drawn a quarter of the time.
    assert brier_interval(Rows.of([1.0, 0.5], [True, True])) == Interval(0.0, 0.25)


def test_the_bootstrap_is_seeded_and_bounded_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = _many(300)
    whole = brier_interval(rows)
    assert whole == brier_interval(rows)
    assert whole != brier_interval(rows, seed=3)
    # A chunk of less than one redraw still makes all of them.
    monkeypatch.setattr(fit, "CHUNK", 100)
    small = brier_interval(rows)
    assert small is not None
    assert whole is not None
    assert small.low == pytest.approx(whole.low, abs=0.005)


def test_gap_worked() -> None:
    # d = -.2, .6, -.4: mean 0, Σd² = .56, /9 * 3/2 = .0933333; z * .3055050 = .598779.
    found = gap_interval(Rows.of([0.8, 0.6, 0.6], [True, False, True]))
    assert found is not None
    assert (found.low, found.high) == pytest.approx((-0.598779, 0.598779), abs=1e-6)


def test_gap_weighs_and_clamps() -> None:
    # d = .6 and -.4 at weights 1 and 3: mean -.15; w·(d - mean) = .75 and -.75, squares 1.125,
    # /16 * 2 = .140625, root .375; z * .375 = .734986.
    found = gap_interval(Rows.of([0.6, 0.6], [False, True], [1.0, 3.0]))
    assert found is not None
    assert found.low == pytest.approx(-0.884986, abs=1e-6)
    assert found.high == pytest.approx(0.584986, abs=1e-6)
    # d = 1 and -.5: mean .25, half width z * .75 = 1.47 passes both ends.
    assert gap_interval(Rows.of([1.0, 0.5], [False, True])) == Interval(-1.0, 1.0)


def test_accuracy_takes_the_effective_size() -> None:
    # Two of two right at weights 1 and 3: Kish 1.6; 1.6 / (1.6 + 3.841459) = .294039.
    found = accuracy_interval(Rows.of([0.5, 0.5], [True, True], [1.0, 3.0]))
    assert found is not None
    assert found.low == pytest.approx(0.294039, abs=1e-6)
    assert found.high == 1.0
    # Oracle: statsmodels, 8 of 10.
    plain = accuracy_interval(Rows.of([0.5] * 10, [True] * 8 + [False] * 2, [7.0] * 10))
    assert plain is not None
    assert plain.low == pytest.approx(0.49016247153664183)
    assert plain.high == pytest.approx(0.9433178485456247)


@pytest.mark.parametrize("rows", [Rows.of([], []), Rows.of([0.5], [True], [0.0])])
def test_no_rows_have_no_interval(rows: Rows) -> None:
    assert brier_interval(rows) is gap_interval(rows) is accuracy_interval(rows) is None


def test_one_row_tells_nothing_of_its_spread() -> None:
    one = Rows.of([0.9, 0.4], [True, True], [2.0, 0.0])
    assert brier_interval(one) is gap_interval(one) is None
    assert accuracy_interval(one) is not None
