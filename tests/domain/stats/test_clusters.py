"""Design effects of contents with several verdicts; estimates from strata."""

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviewdesk.domain.labels.label_columns import LabelledRows, make_rows
from reviewdesk.domain.labels.sampling import RunFigures
from reviewdesk.domain.records import Truth
from reviewdesk.domain.stats.calibration import Clusters
from reviewdesk.domain.stats.correction import RIGHT, WRONG
from reviewdesk.domain.stats.distributions import t_quantile
from reviewdesk.domain.stats.figures import Part, Target
from reviewdesk.domain.stats.rates import part_interval, stratified_rate, stratified_rates
from tests.helpers import placed

TP, FN = 0, 1
"""A right and a wrong decision, as indices of cells."""


def clusters(tests: list[int], cells: list[int], contents: list[int] | None = None) -> Clusters:
    n = len(cells)
    columns = ([0] * n, contents or range(n), tests, [1.0] * n, cells)
    found = Clusters.of(*map(np.array, columns))
    assert found is not None
    return found


def test_cases_whose_contents_agree_are_one_label_each_and_others_are_averaged() -> None:
    # Two cases right and two wrong, of three contents each: the residuals are +-1/2, so that
    # 4/3 · 4 · (3/2)² over 12/11 · 12/4 is 11/3. Averaged with 3, of which it is at most 2 above 1.
    tests = [at // 3 for at in range(12)]
    found = clusters(tests, [TP] * 6 + [FN] * 6).effect(RIGHT, WRONG, Target.ITEMS)
    assert found.deff == pytest.approx(3)
    assert found.z == pytest.approx(t_quantile(0.975, 3))
    # Each of four cases is right once of two: no excess from four wrong cases, 1 from one more.
    tests = [at // 2 for at in range(8)]
    found = clusters(tests, [TP, FN] * 4).effect(RIGHT, WRONG, Target.ITEMS)
    assert found.deff == pytest.approx(1 + 1 / 5)


def test_without_an_error_the_cases_are_the_labels_and_a_run_or_one_case_ignores_them() -> None:
    tests = [at // 5 for at in range(40)]
    found = clusters(tests, [TP] * 40).effect(RIGHT, WRONG, Target.ITEMS)
    assert 40 / found.deff == pytest.approx(8)
    tests = [at // 5 for at in range(40)]
    assert clusters(tests, [TP, FN] * 20).effect(RIGHT, WRONG, Target.RUN).deff == 1
    assert clusters([7] * 10, [TP, FN] * 5).effect(RIGHT, WRONG, Target.ITEMS).deff == 1


def test_verdicts_on_one_content_are_worth_one_label() -> None:
    contents = [at // 4 for at in range(20)]
    made = clusters(contents, [TP] * 12 + [FN] * 8, contents)
    cells, spread = made.of_stratum(0)
    assert (cells.tp, cells.fn) == (12, 8)
    assert (spread.labels, spread.effective, spread.mass) == (5, 5, 20)
    assert made.effect(RIGHT, WRONG, Target.RUN).deff == pytest.approx(1)


def _simulated(rng: np.random.Generator, labels: int, rho: float, accuracy: float) -> LabelledRows:
    """Labels of forty cases with five contents each, right at a rate that varies by case."""
    spread = (1 - rho) / rho
    rates = rng.beta(accuracy * spread, (1 - accuracy) * spread, 40)
    right = rng.random(200) < np.repeat(rates, 5)
    rows = []
    for rank, at in enumerate(rng.permutation(200)[:labels].tolist()):
        truth = Truth.PASS if right[at] else Truth.FAIL
        more = {"key": at, "stated_score": 0.9, "item": b"%d" % at, "test": f"t{at // 5}"}
        rows.append(placed(3, rank, truth, **more))
    return make_rows(rows, RunFigures(200, 0, "support", scores_stated=True, sizes={3: 200}))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("labels", "rho", "accuracy"),
    [(20, 0.1, 0.8), (20, 0.6, 0.95), (50, 0.6, 0.8), (100, 0.1, 0.95), (100, 0.6, 0.8)],
)
def test_the_interval_for_such_items_covers_forty_cases_of_five_contents(
    labels: int, rho: float, accuracy: float
) -> None:
    rng, runs = np.random.default_rng(labels), 400
    below = above = 0
    for _ in range(runs):
        made = _simulated(rng, labels, rho, accuracy)
        found = stratified_rates(made.voted, Target.ITEMS, clusters=made.clusters).accuracy
        below += found.low > accuracy
        above += found.high < accuracy
    # Three standard errors of 400 runs at a miss of 0.08 and of 0.05 are 0.041 and 0.033.
    assert (below + above) / runs <= 0.08 + 0.041
    assert below / runs <= 0.05 + 0.033


@st.composite
def a_part(draw: st.DrawFn, least: int = 0) -> Part:
    size = draw(st.integers(max(least, 1), 60))
    labelled = draw(st.integers(least, size))
    return Part(size, labelled, draw(st.integers(0, labelled)))


def test_a_census_and_a_stratum_without_labels() -> None:
    assert part_interval(Part(7, 7, 2)) == (2 / 7, 2 / 7)
    assert part_interval(Part(7, 0, 0)) == (0.0, 1.0)
    assert part_interval(Part(1, 1, 1)) == (1.0, 1.0)


def test_an_unlabelled_stratum_leaves_bounds_and_an_empty_one_changes_nothing() -> None:
    # 30/50 of a quarter is .15; the other three quarters may all fail or all pass.
    found = stratified_rate([Part(50, 50, 30), Part(150, 0, 0)])
    assert found.estimate is None
    assert (found.low, found.high) == pytest.approx((0.15, 0.9))
    assert found.reason
    # Nothing at all may be anything.
    nothing = stratified_rate([])
    assert (nothing.estimate, nothing.low, nothing.high) == (None, 0.0, 1.0)
    assert (stratified_rate([Part(9, 0, 0)]).low, stratified_rate([Part(9, 0, 0)]).high) == (0, 1)
    parts = [Part(50, 10, 3), Part(20, 5, 5)]
    assert stratified_rate([*parts, Part(0, 0, 0)]) == stratified_rate(parts)
    assert not stratified_rate(parts).reason


@pytest.mark.parametrize("part", [Part(5, 6, 1), Part(5, 3, 4), Part(5, 3, -1), Part(0, 1, 1)])
def test_impossible_counts_are_refused(part: Part) -> None:
    with pytest.raises(ValueError, match="impossible counts"):
        stratified_rate([part])


@given(st.lists(a_part(0), min_size=1, max_size=3))
def test_the_bounds_are_the_ends_of_the_labelled_and_all_or_none_of_the_others(parts: Any) -> None:
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
