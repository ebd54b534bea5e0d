from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviewdesk.domain.jurorfacts import (
    JurorFacts,
    LeniencyCounter,
    Seats,
    kappa,
    suggested_weights,
    volatile,
)
from reviewdesk.domain.jurors import JurorCounts, Panel, votes
from reviewdesk.domain.verdict import Decision, Generator, Policy
from tests.domain.bodies import body, juror


def counts(tp: int = 0, fn: int = 0, tn: int = 0, fp: int = 0, **more: int) -> JurorCounts:
    return JurorCounts(
        "j", 0, tp, fn, tn, fp, 0, 0, 0, **{"dissents": 0, "dissents_right": 0, **more}
    )


def facts(one: JurorCounts, sat: Seats | None = None) -> JurorFacts:
    return JurorFacts(one, sat or Seats(0, 0, 0, 0))


def test_the_rates_of_a_juror() -> None:
    found = facts(counts(8, 2, 6, 4, lone_dissents=5, lone_right=1), Seats(0, 50, 3, 2))
    assert (found.accuracy.k, found.accuracy.n) == (14, 20)
    assert found.sensitivity.share == 0.8
    assert found.specificity.share == 0.6
    assert found.dissent.share == 0.2
    assert found.parse_failures.share == 0.04
    # Wilson for 8 of 10, by statsmodels.
    assert found.sensitivity.interval == pytest.approx((0.49016247153664183, 0.9433178485456247))


def test_nothing_counted_is_no_rate() -> None:
    found = facts(counts(tp=3))
    assert (found.specificity.share, found.specificity.interval) == (None, (0, 1))
    assert (found.dissent.share, found.parse_failures.share) == (None, None)


def test_kappa_wants_twenty_votes_and_two_answers() -> None:
    # p_o 14/20, p_e (10·12 + 10·8)/400 = 1/2: .4.
    assert kappa(counts(8, 2, 6, 4)) == pytest.approx(0.4)
    assert kappa(counts(8, 2, 6, 3)) is None
    # Everything deserved to pass and was passed: chance would do as well.
    assert kappa(counts(tp=30)) is None


def test_weights_are_drawn_to_the_mean_kappa() -> None:
    # Kappas .4 (20 votes), -1 (clipped to 0; 40 votes), none for the third: mean .2.
    # 20/40·.4 + 20/40·.2 = .3 and 40/60·0 + 20/60·.2 = .0667; together .3667.
    found, mean = suggested_weights([counts(8, 2, 6, 4), counts(0, 20, 0, 20), counts(tp=2)])
    assert mean == pytest.approx(0.2)
    assert found == [pytest.approx(0.3 / (0.3 + 0.2 / 3)), pytest.approx(0.2 / 1.1), None]


def test_no_kappa_above_0_weighs_all_alike() -> None:
    found, mean = suggested_weights([counts(0, 10, 0, 10), counts(0, 11, 0, 11)])
    assert (found, mean) == ([0.5, 0.5], 0)
    assert suggested_weights([counts(tp=2)]) == ([None], None)
    assert suggested_weights([]) == ([], None)


CELLS = st.tuples(*[st.integers(0, 40)] * 4)


@given(st.lists(CELLS, max_size=6))
def test_weights_sum_to_one_over_those_who_have_one(cells: list[tuple[int, int, int, int]]) -> None:
    found, mean = suggested_weights([counts(*each) for each in cells])
    known = [value for value in found if value is not None]
    assert (mean is None) == (not known)
    assert all(value >= 0 for value in known)
    assert not known or sum(known) == pytest.approx(1)


# Own family

CLAUDE, GPT, HOUSE = "claude-opus-4-7", "gpt-4o", "house-model"


def panel(deserved: bool, *said: tuple[str, bool | None]) -> Panel:
    seats: list[dict[str, Any]] = [
        juror(f"j{i}", model=model, **{"pass": vote}) for i, (model, vote) in enumerate(said)
    ]
    return Panel(body(*seats), Policy(), Decision.PASS, deserved)


def leniency(times: int, panel_: Panel, model: str | None = CLAUDE) -> LeniencyCounter:
    counter = LeniencyCounter()
    for _ in range(times):
        counter.add(panel_, Generator(model), votes(panel_))
    return counter


def test_leniency_by_family() -> None:
    said = panel(False, (CLAUDE, True), (GPT, False), (HOUSE, True), (GPT, None))
    found = leniency(10, said).leniency()
    assert (found.own.k, found.own.n) == (10, 10)
    assert (found.others.k, found.others.n) == (0, 10)
    assert found.unknown == 10
    # Newcombe of 10/10 against 0/10: 1 - √2·(z²/(10 + z²)) = 0.6075.
    assert found.difference.diff == 1
    assert found.difference.low == pytest.approx(1 - 2**0.5 * 3.841459 / 13.841459, abs=1e-6)
    assert found.reason is None


def test_leniency_wants_ten_votes_on_either_side() -> None:
    found = leniency(9, panel(False, (CLAUDE, True), (GPT, False), (GPT, True))).leniency()
    assert (found.own.n, found.others.n) == (9, 18)
    assert (found.difference.diff, found.difference.low) == (None, None)
    assert found.reason is not None
    assert "under 10" in found.reason


def test_what_should_pass_and_whose_maker_is_unknown_say_nothing_of_leniency() -> None:
    for counter in (
        leniency(20, panel(True, (CLAUDE, True), (GPT, True))),
        leniency(20, panel(False, (CLAUDE, True), (GPT, True)), model=HOUSE),
        leniency(20, panel(False, (CLAUDE, True), (GPT, True)), model=None),
    ):
        found = counter.leniency()
        assert (found.own.n, found.others.n, found.unknown) == (0, 0, 0)
        assert found.reason is not None


# Moving scores


def test_a_case_moves_between_runs() -> None:
    seen = [("a", 0.2, Decision.FAIL), ("b", 0.6, Decision.PASS), ("c", 0.7, None)]
    found = volatile(7, "v", seen)
    assert found is not None
    # About .5: squares .09 + .01 + .04 over 2.
    assert found.sd == pytest.approx(0.07**0.5)
    assert found.swing == pytest.approx(0.5)
    assert found.turned
    assert found.scores == (("a", 0.2), ("b", 0.6), ("c", 0.7))
    assert volatile(7, "v", seen[:1]) is None
    still = volatile(7, "v", seen[1:])
    assert still is not None
    assert not still.turned
