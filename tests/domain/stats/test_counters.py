from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import asdict

from reviewdesk.domain.records import Metrics
from reviewdesk.domain.stats.calibration import Rows, measure
from reviewdesk.domain.stats.counters import CalibrationRow, Counters

ROWS = st.builds(
    CalibrationRow,
    confidence=st.one_of(st.sampled_from([0.0, 0.1, 0.3, 1 - 0.7, 0.6, 0.7, 1.0]), st.floats(0, 1)),
    correct=st.booleans(),
    passed=st.booleans(),
)
STEPS = st.lists(st.tuples(ROWS, st.booleans(), st.integers(0, 99)), max_size=40)


def _rows(held: list[tuple[CalibrationRow, float]]) -> Rows:
    kept = [(row, weight) for row, weight in held if weight > 0]
    return Rows.of(
        [row.confidence for row, _ in kept],
        [row.correct for row, _ in kept],
        [weight for _, weight in kept],
        [bool(row.passed) for row, _ in kept],
    )


def same(found: Metrics, expected: Metrics) -> None:
    one, other = asdict(found), asdict(expected)
    for name, value in other.items():
        if isinstance(value, float):
            assert math.isclose(one[name], value, rel_tol=1e-12, abs_tol=1e-12), name
        else:
            assert one[name] == value, name


@given(STEPS)
def test_rows_that_come_and_go(steps: list[tuple[CalibrationRow, bool, int]]) -> None:
    counters = Counters()
    held: list[CalibrationRow] = []
    for row, leaves, which in steps:
        if leaves and held:
            counters.move(held.pop(which % len(held)), -1)
        else:
            counters.move(row)
            held.append(row)
        same(counters.metrics(0.4), measure(_rows([(one, 1.0) for one in held]), 0.4))


@given(st.lists(st.tuples(ROWS, st.integers(0, 2)), max_size=30))
def test_strata_add_up_to_the_population(placed: list[tuple[CalibrationRow, int]]) -> None:
    factors = (1.0, 8.25, 7e9)
    strata = [Counters(), Counters(), Counters()]
    for row, stratum in placed:
        strata[stratum].move(row)
    expected = measure(_rows([(row, factors[stratum]) for row, stratum in placed]), 0.3)
    same(Counters.blend(zip(strata, factors, strict=True)).metrics(0.3), expected)
    # The strata themselves stay as they were.
    for place, one in enumerate(strata):
        same(one.metrics(), measure(_rows([(row, 1.0) for row, h in placed if h == place]), None))


def test_a_row_leaves_nothing_behind() -> None:
    counters = Counters()
    stays = CalibrationRow(0.9, correct=True, passed=True)
    counters.move(stays)
    # A plain sum of 10,000 such errors and their removal would keep about 1e-12.
    for sign in (1, -1):
        for _ in range(10_000):
            counters.move(CalibrationRow(1 / 3, correct=False, passed=True), sign)
    alone = Counters()
    alone.move(stays)
    assert counters.metrics() == alone.metrics()
    # One row of .9 that is right: .1 off, .01 squared.
    assert counters.ece == pytest.approx(0.1, abs=1e-15)
    assert counters.brier == pytest.approx(0.01, abs=1e-15)
    assert (counters.cells.sensitivity, counters.cells.specificity) == (1.0, 0.0)


def test_the_eight_documented_rows() -> None:
    counters = Counters()
    for confidence, correct in [
        *((0.95, True), (0.90, True), (0.82, True), (0.55, True)),
        *((0.52, False), (0.15, False), (0.10, False), (0.05, False)),
    ]:
        counters.move(CalibrationRow(confidence, correct, passed=True))
    assert counters.ece == pytest.approx(0.0875, abs=1e-12)
    assert counters.brier == pytest.approx(0.0691, abs=1e-12)


def test_no_rows() -> None:
    found = Counters().metrics(0.5)
    assert (found.n, found.ece, found.brier, found.accuracy) == (0, 0.0, None, None)
    assert (found.tp, found.sensitivity, found.corrected_rate) == (0, 0.0, 0.5)
