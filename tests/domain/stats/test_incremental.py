from __future__ import annotations

import math
from dataclasses import asdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviewdesk.domain.records import Metrics
from reviewdesk.domain.stats.calibration import Rows, measure
from reviewdesk.domain.stats.incremental import CalibrationRow, RunningSums, blend

ROWS = st.builds(
    CalibrationRow,
    confidence=st.one_of(st.sampled_from([0.0, 0.1, 0.3, 1 - 0.7, 0.6, 0.7, 1.0]), st.floats(0, 1)),
    correct=st.booleans(),
    passed=st.booleans(),
)
WEIGHTS = st.sampled_from([0.0, 1.0, 1 / 3, 12.5, 7e9])
STEPS = st.lists(st.tuples(ROWS, WEIGHTS, st.integers(0, 2), st.integers(0, 99)), max_size=40)


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
            assert math.isclose(one[name], value, rel_tol=1e-9, abs_tol=1e-9), name
        else:
            assert one[name] == value, name


@given(STEPS)
def test_rows_that_come_go_and_change_weight(
    steps: list[tuple[CalibrationRow, float, int, int]],
) -> None:
    running = RunningSums()
    held: list[tuple[CalibrationRow, float]] = []
    for row, weight, what, which in steps:
        if what == 0 or not held:
            running.add(row, weight)
            held.append((row, weight))
            continue
        old, before = held.pop(which % len(held))
        if what == 1:
            running.remove(old, before)
        else:
            running.remove(old, before)
            running.add(old, weight)
            held.append((old, weight))
        same(running.metrics(0.4), measure(_rows(held), 0.4))
    same(running.metrics(0.4), measure(_rows(held), 0.4))


@given(st.lists(st.tuples(ROWS, st.integers(0, 2)), max_size=30))
def test_strata_add_up_to_the_population(placed: list[tuple[CalibrationRow, int]]) -> None:
    factors = (1.0, 8.25, 0.0)
    strata = [RunningSums(), RunningSums(), RunningSums()]
    for row, stratum in placed:
        strata[stratum].add(row)
    expected = measure(_rows([(row, factors[stratum]) for row, stratum in placed]), 0.3)
    same(blend(zip(strata, factors, strict=True)).metrics(0.3), expected)
    # The strata themselves stay as they were.
    for place, one in enumerate(strata):
        same(one.metrics(), measure(_rows([(row, 1.0) for row, h in placed if h == place]), None))


def test_a_heavy_row_leaves_nothing_behind() -> None:
    running = RunningSums()
    heavy, light = (
        CalibrationRow(0.3, correct=False, passed=True),
        CalibrationRow(0.9, correct=True, passed=True),
    )
    running.add(light)
    running.add(heavy, 1e15)
    running.remove(heavy, 1e15)
    found = running.metrics()
    # One row of .9 that is right: .1 off, .01 squared.
    assert (found.n, found.tp, found.fp) == (1, 1, 0)
    assert found.ece == pytest.approx(0.1, abs=1e-12)
    assert found.brier == pytest.approx(0.01, abs=1e-12)
    assert (found.sensitivity, found.specificity) == (1.0, 0.0)


def test_the_eight_documented_rows() -> None:
    running = RunningSums()
    for confidence, correct in [
        *((0.95, True), (0.90, True), (0.82, True), (0.55, True)),
        *((0.52, False), (0.15, False), (0.10, False), (0.05, False)),
    ]:
        running.add(CalibrationRow(confidence, correct))
    found = running.metrics()
    assert found.ece == pytest.approx(0.0875, abs=1e-12)
    assert found.brier == pytest.approx(0.0691, abs=1e-12)
    # Without the judge's decisions there is no confusion.
    assert (found.tp, found.sensitivity, found.youden_j) == (None, None, None)


def test_no_rows() -> None:
    found = RunningSums().metrics(0.5)
    assert (found.n, found.ece, found.brier, found.accuracy) == (0, 0.0, None, None)
    assert (found.tp, found.sensitivity, found.corrected_rate) == (0, 0.0, 0.5)
