"""Which items come back, and how far a reviewer agrees with themselves."""

from __future__ import annotations

import math

import pytest

from reviewdesk.domain.labels.repeats import OTHERS, LabelPair, next_repeat, self_agreement
from reviewdesk.domain.records import Truth

P, F, U = Truth.PASS, Truth.FAIL, Truth.UNSURE


def items(count: int) -> list[bytes]:
    return [number.to_bytes(4) for number in range(count)]


def given(count: int, share: float, seed: str = "seed") -> tuple[list[bytes], list[int]]:
    """What comes back over ``count`` labels, and how many labels lay between."""
    used: list[bytes] = []
    gaps: list[int] = []
    labelled, rest = items(count), count
    for done in range(1, count + 1):
        rest += 1
        if found := next_repeat(labelled[:done], used, rest, seed, share):
            used.append(found[0])
            gaps.append(done - 1 - labelled.index(found[0]))
            rest = 0
    return used, gaps


def test_about_the_share_comes_back_each_once_after_fifty_others() -> None:
    used, gaps = given(1550, 0.05)
    # Of the 1500 that fifty follow, 5% are 75 with a deviation of √(1500 · .05 · .95) = 8.4.
    assert abs(len(used) - 75) < 3 * 8.4
    assert len(set(used)) == len(used)
    assert min(gaps) >= OTHERS
    # What is drawn is not spaced evenly, so that nobody can count to it.
    assert len(set(gaps)) > 15


def test_the_draw_depends_on_the_key_alone() -> None:
    assert given(400, 0.2) == given(400, 0.2)
    assert given(400, 0.2)[0] != given(400, 0.2, "other")[0]


def test_a_higher_share_draws_what_a_lower_one_drew() -> None:
    low, high = (next_repeat(items(2000), (), 2000, "seed", share) for share in (0.02, 0.1))
    assert set(low) < set(high)


def test_repeats_keep_their_distance() -> None:
    # With 5%, at least 1 / (2 · 0.05) = 10 labels lie between two repeats.
    assert next_repeat(items(2000), (), 9, "seed", 0.05) == []
    assert next_repeat(items(2000), (), 10, "seed", 0.05)
    assert next_repeat(items(2000), (), 10, "seed", 0) == []


def test_agreement_with_oneself() -> None:
    pairs = [LabelPair(*pair, unseen=True) for pair in [(P, P)] * 5 + [(F, F)] * 3 + [(P, F)] * 2]
    found = self_agreement(pairs)
    assert (found.n, found.same, found.rate) == (10, 8, 0.8)
    # Chance: .7 · .5 passes and .3 · .5 fails make .5, so kappa = (.8 - .5) / (1 - .5) = .6.
    assert found.kappa == pytest.approx(0.6)
    # Wilson at 8 of 10 with z² = 3.8415: centre (.8 + .19207) / 1.38415 = .716741, half
    # 1.959964 · √(.16/10 + 3.8415/400) / 1.38415 = .226571.
    assert found.low == pytest.approx(0.490162, abs=1e-5)
    assert found.high == pytest.approx(0.943313, abs=1e-5)


def test_agreement_that_is_not_defined() -> None:
    assert self_agreement([]).rate is None
    one = self_agreement([LabelPair(U, U, unseen=False)])
    # All pairs are of one word, so chance alone agrees on every one.
    assert (one.rate, one.kappa) == (1.0, None)
    assert not math.isnan(one.low or 0.0)
