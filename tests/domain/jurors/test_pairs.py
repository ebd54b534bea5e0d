"""How often two jurors vote alike, beside what independent jurors would show."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviewdesk.domain.jurors.pairs import Alike, JurorPair, pairs
from tests.domain.bodies import GRID, body, columns, juror, maybe, read


def found(*panels: dict[str, Any]) -> tuple[JurorPair, ...]:
    verdicts = map(read, panels)
    return pairs(columns((n, verdict) for n, verdict in enumerate(verdicts)))


def test_a_pair_by_hand() -> None:
    # Votes at .5 of a and b: pp, pf, ff, and b is silent in the fourth; the seats change places.
    rows = [(0.9, 0.8), (0.9, 0.1), (0.2, 0.2), (0.7, None)]
    panels = [
        body(*[juror("a", a), juror("b", b)][:: 1 if n % 2 else -1], threshold=0.5)
        for n, (a, b) in enumerate(rows)
    ]
    [one] = found(*panels)
    assert {one.first, one.second} == {"a", "b"}
    passes = {one.first: one.votes.first_passes, one.second: one.votes.second_passes}
    assert passes == {"a": 2, "b": 1}
    assert (one.votes.n, one.votes.alike) == (3, 2)
    # a passes 2 of 3 and b 1 of 3: 2/9 + 2/9.
    assert one.votes.expected == pytest.approx(4 / 9)
    # The first two verdicts are the earlier half: alike once of two; the later one is alike.
    assert [(half.n, half.alike) for half in one.halves] == [(2, 1), (1, 1)]
    # Equal scores: the third alone, .2 and .2, of the three that have two.
    assert (one.scored, one.equal_scores) == (3, 1)


def test_the_deviation_is_that_of_the_hypergeometric() -> None:
    # n = 4, a = b = 2: common passes 0, 1, 2 with chances 1/6, 4/6, 1/6, so that the share alike,
    # 2 x of 4, has mean 2 and variance 4 * 1/3. All alike is 2 over the root of 4/3.
    assert Alike(4, 4, 2, 2).z == pytest.approx(2 / math.sqrt(4 / 3))
    # Who always votes the same says nothing.
    assert (Alike(4, 2, 4, 2).z, Alike(4, 2, 4, 2).expected) == (None, 0.5)
    assert (Alike(0, 0, 0, 0).share, Alike(0, 0, 0, 0).expected) == (None, None)


PANELS = st.lists(
    st.lists(st.tuples(st.sampled_from("abcd"), maybe(GRID)), max_size=4, unique_by=lambda p: p[0])
)


@given(PANELS)
def test_every_pair_is_as_counted_one_by_one(rows: list[list[tuple[str, float | None]]]) -> None:
    made = found(*(body(*(juror(*seat) for seat in row), threshold=0.5) for row in rows))
    together = {frozenset((a, b)) for row in rows for a, _ in row for b, _ in row if a != b}
    assert {frozenset((one.first, one.second)) for one in made} == together
    for one in made:
        scores = [(dict(row).get(one.first), dict(row).get(one.second)) for row in rows]
        both = [(a, b) for a, b in scores if a is not None and b is not None]
        alike = sum((a >= 0.5) == (b >= 0.5) for a, b in both)
        assert (one.votes.n, one.votes.alike) == (len(both), alike)
        assert (one.scored, one.equal_scores) == (len(both), sum(a == b for a, b in both))
        assert sum(half.alike for half in one.halves) == alike
