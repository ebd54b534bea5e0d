from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from reviewdesk.domain.stats.calibration import Rows, brier
from reviewdesk.domain.stats.corp import corp, isotonic, murphy
from tests.domain.calibration_vectors import fitted
from tests.domain.stats.test_reliability import CASES, Case, repeated, rows_of


def _min_max(case: Case) -> dict[int, float]:
    """The isotonic fit by its other formula: the largest over starts of the least over ends."""
    kept = [(c, y, w) for c, y, w in case if w]
    at = sorted({c for c, _, _ in kept})

    def mean(low: int, high: int) -> float:
        inside = [(y, w) for c, y, w in kept if low <= c <= high]
        return sum(y * w for y, w in inside) / sum(w for _, w in inside)

    return {
        c: max(min(mean(low, high) for high in at if high >= c) for low in at if low <= c)
        for c in at
    }


@given(CASES)
def test_the_isotonic_fit_against_its_min_max_formula(case: Case) -> None:
    expected = _min_max(case)
    found = fitted(rows_of(case))
    assert len(found) == (len(case) if expected else 0)
    heavy = [fit for fit, (_, _, w) in zip(found, case, strict=bool(expected)) if w]
    assert heavy == pytest.approx([expected[c] for c, _, w in case if w])


@given(CASES)
def test_the_parts_make_up_the_brier_score(case: Case) -> None:
    rows = rows_of(case)
    one, other, whole = corp(rows), murphy(rows), brier(rows)
    if whole is None:
        assert one is None
        assert other is None
        return
    assert one is not None
    assert other is not None
    assert one.miscalibration - one.discrimination + one.uncertainty == pytest.approx(whole)
    within = other.within_bin_variance - other.within_bin_covariance
    assert other.reliability - other.resolution + other.uncertainty + within == pytest.approx(whole)
    assert min(one.miscalibration, one.discrimination) >= 0


@given(CASES)
def test_a_weight_is_so_many_equal_rows(case: Case) -> None:
    one, other = corp(rows_of(case)), corp(repeated(case))
    if one is None or other is None:
        assert one is other is None
        return
    assert one.miscalibration == pytest.approx(other.miscalibration, abs=1e-12)
    assert one.discrimination == pytest.approx(other.discrimination, abs=1e-12)
    assert [x for x, _ in one.curve] == [x for x, _ in other.curve]


def test_the_curve_keeps_the_corners() -> None:
    # .1 wrong; .3 right and .5 wrong are pooled to a half with .4; .8 right.
    rows = Rows.of([0.1, 0.3, 0.4, 0.4, 0.5, 0.8], [False, True, True, False, False, True])
    found = corp(rows)
    assert found is not None
    assert found.curve == ((0.1, 0.0), (0.3, 0.5), (0.5, 0.5), (0.8, 1.0))


def test_a_single_row_and_a_single_outcome() -> None:
    found = corp(Rows.of([0.7], [True]))
    assert found is not None
    # The fit is 1, nothing is uncertain: all of (.7 - 1)² is miscalibration.
    assert found.miscalibration == pytest.approx(0.09)
    assert (found.discrimination, found.uncertainty) == (0.0, 0.0)
    assert found.curve == ((0.7, 1.0),)


def test_between_levels_the_fit_is_straight() -> None:
    fit = isotonic(Rows.of([0.2, 0.6], [False, True]))
    assert fit is not None
    assert fit(np.array([0.0, 0.2, 0.3, 0.6, 1.0])).tolist() == pytest.approx([0, 0, 0.25, 1, 1])
    assert isotonic(Rows.of([], [])) is None
    assert fitted(Rows.of([], [])) == []
