import itertools
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviewdesk.domain.stats.figures import Part
from reviewdesk.domain.stats.rates import wilson
from reviewdesk.domain.stats.stratified import (
    drawn_rate,
    midp_interval,
    more_audits,
    part_interval,
    stratified_rate,
)


@st.composite
def a_part(draw: st.DrawFn, least: int = 0) -> Part:
    size = draw(st.integers(max(least, 1), 60))
    labelled = draw(st.integers(least, size))
    return Part(size, labelled, draw(st.integers(0, labelled)))


LABELLED = st.lists(a_part(1), min_size=1, max_size=4)


def test_against_mover_over_a_third_partys_wilson() -> None:
    # Oracle: MOVER over statsmodels; the census stratum is a point.
    found = stratified_rate([Part(50, 50, 30), Part(150, 15, 14)])
    assert found.estimate == pytest.approx(0.85)
    assert (found.low, found.high) == pytest.approx((0.687114370488964, 0.8904682900224374))
    assert found.reason is None


def test_one_stratum_is_its_own_interval() -> None:
    # n_eff = 20 * 99 / 80 = 24.75 at a rate of .75.
    assert part_interval(Part(100, 20, 15)) == wilson(0.75 * 24.75, 24.75)
    found = stratified_rate([Part(100, 20, 15)])
    assert (found.low, found.high) == pytest.approx(wilson(0.75 * 24.75, 24.75))


def test_a_census_and_a_stratum_without_labels() -> None:
    assert part_interval(Part(7, 7, 2)) == (2 / 7, 2 / 7)
    assert part_interval(Part(7, 0, 0)) == (0.0, 1.0)
    assert part_interval(Part(1, 1, 1)) == (1.0, 1.0)


def test_an_unlabelled_stratum_leaves_bounds_only() -> None:
    # 30/50 of a quarter is .15; the other three quarters may all fail or all pass.
    found = stratified_rate([Part(50, 50, 30), Part(150, 0, 0)])
    assert found.estimate is None
    assert (found.low, found.high) == pytest.approx((0.15, 0.9))
    assert found.reason
    # Nothing at all may be anything.
    nothing = stratified_rate([])
    assert (nothing.estimate, nothing.low, nothing.high) == (None, 0.0, 1.0)
    assert (stratified_rate([Part(9, 0, 0)]).low, stratified_rate([Part(9, 0, 0)]).high) == (0, 1)


def test_an_empty_stratum_changes_nothing() -> None:
    parts = [Part(50, 10, 3), Part(20, 5, 5)]
    assert stratified_rate([*parts, Part(0, 0, 0)]) == stratified_rate(parts)


@pytest.mark.parametrize("part", [Part(5, 6, 1), Part(5, 3, 4), Part(5, 3, -1), Part(0, 1, 1)])
def test_impossible_counts_are_refused(part: Part) -> None:
    with pytest.raises(ValueError, match="impossible counts"):
        stratified_rate([part])


@given(LABELLED)
def test_the_interval_holds_the_estimate_and_mirrors(parts: list[Part]) -> None:
    found = stratified_rate(parts)
    assert found.estimate is not None
    assert 0 <= found.low <= found.estimate + 1e-12
    assert found.estimate - 1e-12 <= found.high <= 1
    # Counting the misses turns everything around.
    other = stratified_rate([Part(p.size, p.labelled, p.labelled - p.hits) for p in parts])
    assert other.estimate == pytest.approx(1 - found.estimate)
    assert (other.low, other.high) == pytest.approx((1 - found.high, 1 - found.low))


@given(st.lists(a_part(0), min_size=1, max_size=3))
def test_the_bounds_are_the_ends_of_the_labelled_and_all_or_none_of_the_others(
    parts: list[Part],
) -> None:
    found = stratified_rate(parts)
    if found.estimate is not None:
        return
    total, known = sum(p.size for p in parts), [p for p in parts if p.labelled]
    # With the empty strata known to hold none, or to hold all, it would be an ordinary estimate.
    none, full = (
        stratified_rate([Part(p.size, p.size, p.size * by) if not p.labelled else p for p in parts])
        for by in (0, 1)
    )
    assert (found.low, found.high) == pytest.approx((none.low, full.high))
    rates = [
        sum(fill) / total
        for fill in itertools.product(
            *((p.hits / p.labelled * p.size,) if p.labelled else (0, p.size) for p in parts)
        )
    ]
    assert found.low <= min(rates) + 1e-12
    assert found.high >= max(rates) - 1e-12
    if any(p.labelled < p.size and 0 < p.hits < p.labelled for p in known):
        # Point rates alone as ends hold the truth in 56 to 72 of 100 runs.
        assert found.low < min(rates)
        assert found.high > max(rates)


SIDES: list[Literal["<=", ">="]] = ["<=", ">="]


@given(LABELLED, st.integers(0, 20), st.sampled_from(SIDES))
def test_more_audits_is_the_first_number_that_clears(
    parts: list[Part], twentieths: int, op: Literal["<=", ">="]
) -> None:
    limit = twentieths / 20
    left = int(sum(p.size - p.labelled for p in parts))
    now = drawn_rate(parts)

    def clears(more: int) -> bool:
        share = more / left if left else 0.0
        grown = []
        for p in parts:
            n = p.labelled + (p.size - p.labelled) * share
            grown.append(
                Part(p.size, min(n, p.size), min(p.hits / p.labelled, 1.0) * min(n, p.size))
            )
        made = drawn_rate(grown)
        return made.high <= limit + 1e-9 if op == "<=" else made.low >= limit - 1e-9

    found = more_audits(parts, limit, op)
    assert now.estimate is not None
    if now.estimate > limit + 1e-9 if op == "<=" else now.estimate < limit - 1e-9:
        assert found is None
        return
    assert found is not None
    assert found == next((more for more in range(left) if clears(more)), left)


def test_more_audits_worked() -> None:
    # The upper end of the misses' rate .1 is .2020 at 37 labels of 100, .1995 at 38: 20 are there.
    assert midp_interval(Part(100, 37, 3.7))[1] > 0.2 >= midp_interval(Part(100, 38, 3.8))[1]
    assert more_audits([Part(100, 20, 2)], 0.2, "<=") == 18
    assert more_audits([Part(100, 20, 18)], 0.8, ">=") == 18
    # Met already; on the wrong side; known to be right at it only by a census.
    assert more_audits([Part(100, 20, 2)], 0.5, "<=") == 0
    assert more_audits([Part(100, 20, 2)], 0.09, "<=") is None
    assert more_audits([Part(100, 20, 2)], 0.1, "<=") == 80
    # Nothing is known of the second stratum.
    assert more_audits([Part(100, 20, 2), Part(10, 0, 0)], 0.2, "<=") is None
    assert more_audits([], 0.2, "<=") is None
