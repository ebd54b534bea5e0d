import itertools
import math
import warnings
from collections.abc import Callable
from functools import reduce
from typing import TypeAlias

import krippendorff
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviewdesk.domain.stats.alpha import (
    AlphaState,
    alpha_interval,
    alpha_nominal,
    alpha_ordinal,
    contributions,
    interval_ci,
    merged_ci,
    rank_state,
)

Floats: TypeAlias = npt.NDArray[np.float64]
NAN = float("nan")

ALPHAS: dict[str, Callable[[Floats], float | None]] = {
    "interval": alpha_interval,
    "ordinal": alpha_ordinal,
    "nominal": alpha_nominal,
}


def oracle(units: Floats, level: str) -> float | None:
    """The package's alpha; it raises without variation and warns without pairs."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = float(krippendorff.alpha(units.T, level_of_measurement=level))  # type: ignore[arg-type]
    except ValueError:
        return None
    return found if math.isfinite(found) else None


def units_of(
    levels: int, jurors: st.SearchStrategy[int], most: int = 12
) -> st.SearchStrategy[Floats]:
    """Units of scores on a grid, where scores tie and ballots are missing."""
    ballot = st.sampled_from([NAN, *(step / levels for step in range(levels + 1))])
    return jurors.flatmap(
        lambda k: st.lists(st.lists(ballot, min_size=k, max_size=k), max_size=most).map(
            lambda rows: np.asarray(rows, dtype=np.float64).reshape(-1, k)
        )
    )


UNITS = units_of(7, st.integers(1, 5))
FOUR = units_of(1000, st.just(4))


@pytest.mark.parametrize("level", ALPHAS)
@given(UNITS)
def test_alpha_is_the_package_s(level: str, units: Floats) -> None:
    expected, found = oracle(units, level), ALPHAS[level](units)
    assert (found is None) == (expected is None)
    if expected is not None:
        assert found == pytest.approx(expected, abs=1e-9)


def test_many_units_are_worked_on_in_blocks() -> None:
    random = np.random.default_rng(7)
    units = random.integers(0, 9, (20_001, 3)) / 8
    units[random.random(units.shape) < 0.2] = NAN
    assert alpha_interval(units) == pytest.approx(oracle(units, "interval"), abs=1e-9)
    pairable = (~np.isnan(units)).sum(axis=1) >= 2
    assert AlphaState.of(units).units == pairable.sum()


def test_units_are_a_matrix_whose_blocks_give_what_all_do_at_once() -> None:
    random = np.random.default_rng(3)
    units = random.integers(0, 40, (600, 4)) / 8
    units[random.random(units.shape) < 0.2] = NAN
    blocks = [units[:7].T, units[7:400].T, units[400:].T]
    state = reduce(AlphaState.merge, (AlphaState.of(one.T) for one in blocks))
    assert merged_ci(state, blocks) == pytest.approx(interval_ci(units), abs=1e-9)
    assert rank_state(lambda: blocks).alpha == pytest.approx(oracle(units, "ordinal"), abs=1e-9)
    with pytest.raises(ValueError, match="matrix"):
        alpha_interval(np.asarray([0.5, 0.6]))


def test_an_infinite_ballot_is_refused() -> None:
    with pytest.raises(ValueError, match="finite"):
        alpha_interval([[0.5, math.inf], [0.5, 0.6]])


def assert_alike(one: AlphaState, other: AlphaState) -> None:
    assert (one.units, one.N) == (other.units, other.N)
    assert (one.mean, one.M2, one.W) == pytest.approx((other.mean, other.M2, other.W), abs=1e-9)
    assert one.alpha == pytest.approx(other.alpha, abs=1e-9)


@given(st.lists(FOUR, min_size=1, max_size=4))
def test_parts_merge_to_the_whole_in_any_order(parts: list[Floats]) -> None:
    whole = AlphaState.of(np.concatenate(parts))
    for order in itertools.permutations(parts):
        assert_alike(reduce(AlphaState.merge, map(AlphaState.of, order)), whole)


@given(UNITS)
def test_contributions_sum_to_alpha(units: Floats) -> None:
    alpha, found = alpha_interval(units), contributions(units)
    assert (found is None) == (alpha is None)
    if found is not None and alpha is not None:
        assert found.alpha == alpha
        parts = float(np.nansum(found.contribution * found.weight))
        assert parts == pytest.approx(alpha, abs=1e-9)
        assert float(found.weight.sum()) == pytest.approx(1)
        # One entry for each row that was given, so that callers can zip the two.
        alone = (~np.isnan(units)).sum(axis=1) < 2
        assert len(found.contribution) == len(found.weight) == len(units)
        assert (np.isnan(found.contribution) == alone).all()
        assert ((found.weight == 0) == alone).all()


def jackknifed(units: Floats, quantile: float) -> tuple[float, float]:
    """The same interval the long way: alpha again without each unit."""
    n = len(units)
    whole = oracle(units, "interval")
    assert whole is not None
    logs = []
    for unit in range(n):
        without = oracle(np.delete(units, unit, axis=0), "interval")
        assert without is not None
        logs.append(math.log(1 - without))
    mean = math.fsum(logs) / n
    error = math.sqrt((n - 1) / n * math.fsum((value - mean) ** 2 for value in logs))
    ends = [1 - math.exp(math.log(1 - whole) + sign * quantile * error) for sign in (1, -1)]
    return ends[0], ends[1]


def noisy(n: int) -> Floats:
    random = np.random.default_rng(n)
    units = random.random((n, 1)) + random.normal(0, 0.15, (n, 4))
    units[random.random(units.shape) < 0.15] = NAN
    # Two ballots are always there, so that every unit is pairable.
    units[:, :2] = np.where(np.isnan(units[:, :2]), 0.5, units[:, :2])
    return units


def test_the_interval_is_the_jackknife_s_and_wants_ten_pairable_units() -> None:
    # t(0.975, 11) = 2.200985160082949 and t(0.95, 11) = 1.795884818704043, of published tables.
    units = noisy(12)
    low, high = jackknifed(units, 2.200985160082949)
    assert interval_ci(units) == pytest.approx((low, high), abs=1e-9)
    assert interval_ci(units, 0.9) == pytest.approx(jackknifed(units, 1.795884818704043), abs=1e-9)
    alone = [[NAN, 0.5, NAN, NAN]] * 5
    assert interval_ci(np.concatenate([noisy(9), alone])) is None
    found = interval_ci(np.concatenate([noisy(10), alone]))
    assert found == interval_ci(noisy(10))
    assert found is not None


def test_agreement_to_the_last_unit_has_no_interval() -> None:
    every = [[step / 10, step / 10, step / 10] for step in range(12)]
    assert interval_ci(every) is None
    # Without the one that splits, alpha is 1 and its logarithm undefined.
    assert interval_ci([*every, [0.2, 0.3, 0.1]]) is None
    # Without the one that stands out, nothing varies.
    assert interval_ci([[0.5, 0.5]] * 12 + [[0.5, 0.6]]) is None
