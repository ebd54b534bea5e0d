"""Drawing rows by weight."""

from __future__ import annotations

import math
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviewdesk.domain.labels.resample import resample

WEIGHTS = st.lists(st.sampled_from([0.0, 0.5, 1.0, 2.25, 7.0]), min_size=1, max_size=20)


@given(WEIGHTS, st.integers(1, 60), st.text(max_size=5))
def test_each_row_is_drawn_as_often_as_it_weighs(
    weights: list[float], count: int, seed: str
) -> None:
    drawn = resample(weights, count, seed)
    total = sum(weights)
    assert len(drawn) == (count if total else 0)
    assert drawn == resample(weights, count, seed)
    for at, often in Counter(drawn).items():
        asked = count * weights[at] / total
        assert weights[at] > 0
        assert math.floor(asked - 1e-9) <= often <= math.ceil(asked + 1e-9)


def test_a_draw_worked_by_hand() -> None:
    # sha256("0") begins 5feceb66 ffc86f38, and 0x5feceb66 / 2**32 is u = 0.374709.
    # W = 8 and four rows: the points (k + u) * 2 are 0.749, 2.749, 4.749 and 6.749, and the
    # weights end at 1, 1, 6 and 8.
    assert resample([1.0, 0.0, 5.0, 2.0], 4, "0") == [0, 2, 2, 3]


def test_over_the_seeds_the_mean_is_the_weighted_one() -> None:
    # The second of two rows weighs 3 of 4: of one row drawn, three in four seeds take it. 400
    # seeds have a standard error of sqrt(0.75 * 0.25 / 400) = 0.022; five of them are 0.11.
    took = [resample([1.0, 3.0], 1, str(seed)) for seed in range(400)]
    assert took.count([1]) / 400 == pytest.approx(0.75, abs=0.11)


def test_equal_weights_give_every_row_once() -> None:
    assert resample([10.0] * 7, 7, "any") == list(range(7))


def test_nothing_weighs_nothing() -> None:
    assert resample([], 3, "0") == []
    assert resample([0.0, 0.0], 3, "0") == []
