"""Counters of strata add up to those of the population."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import asdict

from reviewdesk.domain.records import Metrics
from reviewdesk.domain.stats.calibration import Rows, counters_of, measure
from reviewdesk.domain.stats.correction import Counters

ROWS = st.tuples(
    st.one_of(st.sampled_from([0.0, 0.1, 0.3, 1 - 0.7, 0.6, 0.7, 1.0]), st.floats(0, 1)),
    st.booleans(),
    st.booleans(),
    st.integers(0, 2),
)
FACTORS = (1.0, 8.25, 7e9)


def _rows(held: list[tuple[float, bool, bool, int]], *, weighted: bool) -> Rows:
    return Rows.of(
        [sure for sure, _, _, _ in held],
        [right for _, right, _, _ in held],
        [FACTORS[h] if weighted else 1.0 for _, _, _, h in held],
        [passed for _, _, passed, _ in held],
    )


def same(found: Metrics, expected: Metrics) -> None:
    one, other = asdict(found), asdict(expected)
    for name, value in other.items():
        if isinstance(value, float):
            assert math.isclose(one[name], value, rel_tol=1e-12, abs_tol=1e-12), name
        else:
            assert one[name] == value, name


@given(st.lists(ROWS, max_size=30))
def test_strata_add_up_to_the_population(placed: list[tuple[float, bool, bool, int]]) -> None:
    strata = [
        counters_of(_rows([row for row in placed if row[3] == h], weighted=False)) for h in range(3)
    ]
    expected = measure(_rows(placed, weighted=True), 0.3)
    same(Counters.blend(zip(strata, FACTORS, strict=True)).metrics(0.3), expected)


def test_the_eight_documented_rows() -> None:
    confidence = [0.95, 0.90, 0.82, 0.55, 0.52, 0.15, 0.10, 0.05]
    counters = counters_of(Rows.of(confidence, [True] * 4 + [False] * 4))
    assert counters.ece == pytest.approx(0.0875, abs=1e-12)
    assert counters.brier == pytest.approx(0.0691, abs=1e-12)


def test_no_rows() -> None:
    found = Counters().metrics(0.5)
    assert (found.n, found.ece, found.brier, found.accuracy) == (0, 0.0, None, None)
    assert (found.tp, found.sensitivity, found.corrected_rate) == (0, 0.0, 0.5)
