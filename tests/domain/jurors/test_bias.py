"""What goes with a panel's answers that should not: length, and the order of a pair."""

import math
from typing import TypeAlias

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviewdesk.domain.jurors.facts import length_probe, position_probe
from reviewdesk.domain.stats.rates import wilson

ROWS = st.lists(st.tuples(st.integers(0, 9), st.integers(1, 9)), min_size=12, max_size=30)
Rows: TypeAlias = list[tuple[object, float, float, int]]


def rows(pairs: list[tuple[float, int]], weight: float = 1.0) -> Rows:
    return [(i, weight, *pair) for i, pair in enumerate(pairs)]


def ranks(values: list[float]) -> list[float]:
    """The mean place of each value among all, by counting."""
    return [sum(b < a for b in values) + (sum(b == a for b in values) + 1) / 2 for a in values]


@given(ROWS)
def test_the_correlation_is_pearsons_of_the_ranks(pairs: list[tuple[float, int]]) -> None:
    found = length_probe("l", rows(pairs)).found
    xs, ys = (np.array(ranks(list(one))) for one in zip(*pairs, strict=True))
    if not xs.std() or not ys.std():
        assert (found.estimate, found.reason) == (None, "all scores or lengths are alike")
        return
    assert found.estimate == pytest.approx(float(np.corrcoef(xs, ys)[0, 1]))


@given(ROWS)
def test_a_weight_stands_for_as_many_verdicts(pairs: list[tuple[float, int]]) -> None:
    doubled = length_probe("l", rows(pairs * 2)).found
    assert length_probe("l", rows(pairs, 2.0)).found.estimate == pytest.approx(doubled.estimate)


def test_the_interval_by_hand_and_few_labels() -> None:
    # Ranks 1 to 12 against themselves with the last two changed: 1 - 6 * 2 / (12 * 143).
    lengths = [*range(1, 11), 12, 11]
    passes = length_probe("l", rows(list(zip(map(float, range(12)), lengths, strict=True))))
    fails = length_probe("l", [])
    r = 1 - 12 / (12 * 143)
    off = 1.959964 * math.sqrt((1 + r * r / 2) / 9)
    assert passes.found.estimate == pytest.approx(r)
    assert passes.found.low == pytest.approx(math.tanh(math.atanh(r) - off))
    assert (passes.n, passes.shown) == (12, True)
    assert (fails.n, fails.found.estimate, fails.shown) == (0, None, False)
    # Twelve verdicts on one content are one label.
    alike: Rows = [("one", 1.0, i, i) for i in range(12)]
    assert length_probe("l", alike).found.reason == "count as under 10 labels"


@pytest.mark.parametrize("rho", [0.0, 0.5])
def test_the_interval_holds_the_correlation(rho: float) -> None:
    draw = np.random.default_rng(2)
    truth = 6 / math.pi * math.asin(rho / 2)
    held = 0
    for _ in range(400):
        x, y = draw.multivariate_normal([0, 0], [[1, rho], [rho, 1]], 50).T
        drawn = [(float(a), round(1e6 * (b + 9))) for a, b in zip(x, y, strict=True)]
        found = length_probe("l", rows(drawn)).found
        held += found.low <= truth <= found.high
    assert held >= 0.92 * 400


def votes(unit: int, *said: tuple[bool, bool]) -> list[tuple[int, bool, bool]]:
    return [(unit, *one) for one in said]


def test_votes_that_turn_with_the_order() -> None:
    assert position_probe([]) is None
    same, to_first, to_second = (True, True), (True, False), (False, True)
    made = [one for i in range(30) for one in votes(i, same)]
    still = position_probe(made)
    assert still is not None
    assert (still.found.estimate, still.shown) == (None, False)
    # 10 of 40 items turn, nine of them to the first place: 2 * .9 - 1.
    made += [one for i in range(30, 39) for one in votes(i, to_first)] + votes(39, to_second)
    found = position_probe(made)
    assert found is not None
    assert found.turned is not None
    assert found.turned.estimate == 0.25
    assert (found.n, found.shown) == (40, True)
    assert found.found.estimate == pytest.approx(0.8)
    # With m/(m-1) in the variance, nine of ten are worth nine votes.
    assert found.found.low == pytest.approx(2 * wilson(8.1, 9)[0] - 1)


def test_votes_on_one_item_are_not_independent() -> None:
    # Five items, whose four jurors turn alike: worth (at most) five votes and not twenty.
    made = [one for i in range(5) for one in votes(i, *[(i < 4, i >= 4)] * 4)]
    found = position_probe(made)
    assert found is not None
    assert found.found.estimate == pytest.approx(0.6)
    assert not found.shown
    alone = position_probe([(i, *one[1:]) for i, one in enumerate(made)])
    assert alone is not None
    assert alone.shown
