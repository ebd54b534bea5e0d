from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviewdesk.domain.assessment.assess import assess
from reviewdesk.domain.verdict import Decision, Strategy
from tests.domain.bodies import body, juror, panel, read


def _pivotal(value: Any, **defaults: Any) -> tuple[int, ...]:
    return assess(read(value, **defaults)).pivotal


def _votes(*votes: bool | None) -> Any:
    return body(*(juror(f"j{seat}", **{"pass": vote}) for seat, vote in enumerate(votes)))


@pytest.mark.parametrize(
    ("votes", "quorum", "pivotal"),
    [
        # 2 of 3 meet .5; 1 of 3 does not, so either pass turns it.
        ((True, True, False), 0.5, (0, 1)),
        # 3 of 3 meet .5, and so do 2 of 3.
        ((True, True, True), 0.5, ()),
        # 1 of 3 is under .67; 2 of 3 rounds to it, so either fail turns it.
        ((True, False, False), 0.67, (1, 2)),
        # Unanimity hangs on everyone, and a lone fail on itself.
        ((True, True, True), 1.0, (0, 1, 2)),
        ((True, False, True), 1.0, (1,)),
        # The empty seat counts below: 2 of 4 meet .5, 1 of 4 does not.
        ((True, True, None, False), 0.5, (0, 1)),
        ((None, None), 0.5, ()),
        ((True,), 0.5, (0,)),
    ],
)
def test_votes_against_a_quorum(
    votes: tuple[bool | None, ...], quorum: float, pivotal: tuple[int, ...]
) -> None:
    assert _pivotal(_votes(*votes), quorum=quorum) == pivotal


def test_votes_under_other_rules() -> None:
    # 3 of 4 is a majority, 2 of 4 a tie, which decides otherwise.
    assert _pivotal(_votes(True, True, True, False), strategy="majority") == (0, 1, 2)
    # Two dissents: no single vote makes it unanimous.
    assert _pivotal(_votes(True, True, False, False), strategy="unanimous") == ()
    assert _pivotal(_votes(True, True, False), strategy="unanimous") == (2,)
    assert _pivotal(_votes(False), strategy="single") == (0,)


def test_no_rule_no_pivot() -> None:
    assert _pivotal(panel(0.9, 0.9, 0.1), threshold=0.5) == ()
    assert _pivotal(panel(0.9, 0.9, 0.1), threshold=0.5, strategy="external") == ()


def test_scores_move_just_over_the_threshold_and_no_further() -> None:
    # Mean of .9 .9 .9 at .7 is .9; one of them just under .7 leaves 2.5/3 = .83.
    assert _pivotal(panel(0.9, 0.9, 0.9), threshold=0.7, strategy="mean") == ()
    # Mean of .72 .7 .7 is .7067; with .72 at .699999 it is .6999997, under; a .7 at .699999
    # leaves .70667.
    assert _pivotal(panel(0.72, 0.7, 0.7), threshold=0.7, strategy="mean") == (0,)
    # Mean of .6 .7 .8 is .7; raising the .6 to .7 keeps the pass, lowering .8 to .69 fails it,
    # lowering the .7 to .699999 does as well.
    assert _pivotal(panel(0.6, 0.7, 0.8), threshold=0.7, strategy="mean") == (1, 2)


def test_every_juror_counts_unless_the_trim_rule_decides() -> None:
    # The lowest of .6 .8 .9 is .6: it alone fails the panel. Our trim would leave it out.
    assert _pivotal(panel(0.6, 0.8, 0.9), threshold=0.7, strategy="lowest") == (0,)
    assert _pivotal(panel(0.6, 0.5, 0.9), threshold=0.7, strategy="highest") == (2,)
    # The median of .6 .75 .9 is .75; .75 or .9 just under .7 makes it that.
    assert _pivotal(panel(0.6, 0.75, 0.9), threshold=0.7, strategy="median") == (1, 2)
    # Under the trim rule of three only the middle one counts.
    assert _pivotal(panel(0.6, 0.75, 0.9), threshold=0.7, strategy="trimmed_mean") == (1,)


def test_a_withheld_vote_cannot_turn() -> None:
    value = body(juror("a", 0.6, **{"pass": None}), juror("b", 0.9), juror("c", 0.9))
    # The mean .8 passes; neither .9 at .699999 brings (.6+.9+.7)/3 = .733 under .7.
    assert _pivotal(value, threshold=0.7, strategy="mean") == ()
    # Under "lowest" the withheld .6 decides, but it casts no vote that could turn.
    assert _pivotal(value, threshold=0.7, strategy="lowest") == ()


@given(
    st.lists(st.booleans(), min_size=1, max_size=7),
    st.sampled_from([0.3, 0.5, 0.6, 0.67, 1.0, "2/3"]),
    st.sampled_from([Strategy.QUORUM, Strategy.MAJORITY, Strategy.UNANIMOUS]),
)
def test_turning_each_vote_by_hand(
    votes: list[bool], quorum: float | str, strategy: Strategy
) -> None:
    def decided(cast: list[bool]) -> Decision | None:
        return assess(read(_votes(*cast), quorum=quorum, strategy=strategy.value)).decision

    base = decided(votes)
    by_hand = tuple(
        seat
        for seat in range(len(votes))
        if decided([vote != (place == seat) for place, vote in enumerate(votes)]) != base
    )
    assert _pivotal(_votes(*votes), quorum=quorum, strategy=strategy.value) == by_hand


def test_a_turned_score_is_trimmed_anew() -> None:
    # Of .71 .72 .73 the middle counts; at .699999 it is the lowest and cut, and .71 still passes.
    assert _pivotal(panel(0.71, 0.72, 0.73), threshold=0.7, strategy="trimmed_mean") == ()
