"""Jurors counted one by one: votes, failures, dissents, and how often they are right."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from reviewdesk.domain.assessment.assess import assess
from reviewdesk.domain.jurors import votes
from reviewdesk.domain.jurors.facts import (
    Alike,
    JurorCounts,
    JurorFacts,
    JurorPair,
    JurorRates,
    Seats,
    design,
    quoted_kappa,
    suggested_weights,
    trim_named,
)
from reviewdesk.domain.jurors.votes import juror_counts, pairs
from reviewdesk.domain.labels.sampling import TENTATIVE, UNSEEN
from reviewdesk.domain.run.packing import code_of
from reviewdesk.domain.run.volatility import volatile
from reviewdesk.domain.stats.correction import Cells
from reviewdesk.domain.stats.figures import Target
from reviewdesk.domain.stats.rates import Voted
from reviewdesk.domain.stats.rates import stratified_rates as rates
from reviewdesk.domain.verdict import Decision, Generator, Policy, Status, verdict_from_body
from tests.domain.bodies import GRID, bodies, body, columns, juror, maybe, read


def drawn_of(found: list[Voted]) -> JurorRates:
    """A juror through the draw that never dissented."""
    none = rates([]).accuracy
    return JurorRates(
        design(found), rates(found), rates(found, Target.ITEMS), quoted_kappa(found), none,
        design([]), None,
    )  # fmt: skip


def counts(tp: int = 0, fn: int = 0, tn: int = 0, fp: int = 0, **more: int) -> JurorCounts:
    return JurorCounts(tp, fn, tn, fp, name="j", seat=0, **more)


NOTHING = drawn_of([])


def facts(one: JurorCounts, sat: Seats | None = None, drawn: JurorRates = NOTHING) -> JurorFacts:
    return JurorFacts(one, sat or Seats(0, 0, 0, 0), drawn)


def test_the_labelled_rates_of_a_juror_and_none_without_counts() -> None:
    found = facts(counts(8, 2, 6, 4, lone_dissents=5, lone_right=1), Seats(0, 50, 3, 2))
    assert found.labelled["accuracy"].estimate == 0.7
    assert found.labelled["sensitivity"].estimate == 0.8
    assert found.labelled["specificity"].estimate == 0.6
    assert found.labelled["dissent"].estimate == 0.2
    assert found.parse_failures.estimate == 0.04
    # Wilson for 8 of 10, by statsmodels.
    rate = found.labelled["sensitivity"]
    assert (rate.low, rate.high) == pytest.approx((0.49016247153664183, 0.9433178485456247))
    found = facts(counts(tp=3))
    assert found.labelled["specificity"].estimate is None
    rate = found.quoted["specificity"]
    assert (rate.estimate, rate.low, rate.high) == (None, 0, 1)
    assert (found.quoted["dissent"].estimate, found.parse_failures.estimate) == (None, None)


def test_what_is_quoted_is_of_the_run_or_says_that_its_ends_are_bounds() -> None:
    # Of 10 flagged all 10 are labelled, 6 right; of 90 others the juror's first 9, 9 right.
    strata = [
        Voted(0, 5, 5, Cells(3, 2, 3, 2), Cells(3, 2, 3, 2)),
        Voted(3, 60, 30, Cells(6, 0, 3, 0), Cells(6, 0, 3, 0)),
    ]
    found = facts(counts(9, 2, 6, 2), drawn=drawn_of(strata))
    # 15 of 19 labels are right, but the run is 6 of 10 and nine tenths that are right throughout.
    assert found.quoted["accuracy"].estimate == pytest.approx((6 + 90) / 100)
    assert found.quoted["sensitivity"].estimate == pytest.approx((3 + 60) / (3 + 60 + 2))
    only = facts(
        counts(3, 2, 3, 2), drawn=drawn_of([strata[0], Voted(3, 60, 30, Cells(), Cells())])
    )
    rate = only.quoted["accuracy"]
    assert (rate.estimate, rate.low, rate.high) == pytest.approx((0.6, 0.06, 0.96))
    assert only.drawn.run.accuracy.estimate is None


def test_kappa_wants_twenty_votes_and_two_answers() -> None:
    # p_o 14/20, p_e (10·12 + 10·8)/400 = 1/2: .4.
    assert facts(counts(8, 2, 6, 4)).labelled_kappa == pytest.approx(0.4)
    assert facts(counts(8, 2, 6, 3)).labelled_kappa is None
    # Everything deserved to pass and was passed: chance would do as well.
    assert facts(counts(tp=30)).labelled_kappa is None


def test_weights_are_drawn_to_the_mean_kappa_and_alike_without_one() -> None:
    # Kappas .4 (20 votes), -1 (clipped to 0; 40 votes), none for the third: mean .2.
    # 20/40·.4 + 20/40·.2 = .3 and 40/60·0 + 20/60·.2 = .0667; together .3667.
    found, mean = suggested_weights([(0.4, 20), (-1.0, 40), (None, 2)])
    assert mean == pytest.approx(0.2)
    assert found == [pytest.approx(0.3 / (0.3 + 0.2 / 3)), pytest.approx(0.2 / 1.1), None]
    found, mean = suggested_weights([(-1.0, 20), (-0.5, 22)])
    assert (found, mean) == ([0.5, 0.5], 0)
    assert suggested_weights([(None, 2)]) == ([None], None)
    assert suggested_weights([]) == ([], None)


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


def test_independent_jurors_are_alike_by_their_pass_rates() -> None:
    # Of 4, one passes all and the other half: 1 * 1/2 + 0 * 1/2.
    assert Alike(4, 2, 4, 2).expected == 0.5
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


def test_only_pass_and_fail_labels_are_counted() -> None:
    verdicts = [read(body()) for _ in range(5)]
    run = columns((i, one) for i, one in enumerate(verdicts))
    # None, pass, a tentative fail, unsure, a pass whose response was not on screen.
    found, deserved = votes.labelled_columns(run, bytearray([0, 1, 2 | TENTATIVE, 3, 1 | UNSEEN]))
    assert (found.key.tolist(), deserved.tolist()) == ([1, 2, 4], [True, False, True])


PASS, FAIL = Decision.PASS, Decision.FAIL


def counted(*panels: tuple[Any, Decision | None, bool]) -> dict[str, JurorCounts]:
    """Counts by name; a panel is a body, what it decided, and whether it should pass."""
    return {one.name: one for one in count(Policy(threshold=0.6), *panels)}


def count(policy: Policy, *panels: tuple[Any, Decision | None, bool]) -> tuple[JurorCounts, ...]:
    bodies, made, deserved = zip(*panels, strict=True)
    verdicts = [verdict_from_body(one, policy, Generator()) for one in bodies]
    decision = np.array([code_of(one) for one in made], np.int8)
    stated = {
        row: named for row, one in enumerate(bodies) if (named := trim_named(one)) is not None
    }
    found = replace(columns(enumerate(verdicts)), decision=decision)
    return juror_counts(found, np.array(deserved), stated)


def test_votes_against_the_label_and_dissents_that_are_right() -> None:
    # Three items that should pass, fail, fail; a votes pass fail pass, b fail fail (none).
    first = body(juror("a", 0.9), juror("b", 0.2))
    second = body(juror("a", 0.1), juror("b", 0.3))
    third = body(juror("a", 0.6), juror("b", status="timeout"))
    found = counted((first, PASS, True), (second, FAIL, False), (third, PASS, False))
    a, b = found["a"], found["b"]
    assert (a.tp, a.fn, a.tn, a.fp) == (1, 0, 1, 1)
    assert (a.n, a.right) == (3, 2)
    assert (b.tp, b.fn, b.tn, b.fp) == (0, 1, 1, 0)
    assert (b.n, b.right, b.failed, b.abstained) == (2, 1, 1, 0)
    # c votes against a pass twice; the second time the label is on its side.
    said = body(juror("a", 0.9), juror("c", 0.1))
    found = counted((said, PASS, True), (said, PASS, False))
    assert (found["c"].dissents, found["c"].dissents_right) == (2, 1)
    assert (found["a"].dissents, found["a"].dissents_right) == (0, 0)


def test_a_lone_or_trimmed_dissent() -> None:
    # Five seats, a fifth trimmed at each end: a goes low, e high. Decided a pass, so a and b
    # dissent: a was trimmed, b is not alone. The label says fail, and both are right.
    scores = zip("abcde", (0.1, 0.5, 0.7, 0.8, 0.9), strict=True)
    found = counted((body(*(juror(name, score) for name, score in scores)), PASS, False))
    assert [(one.dissents, one.lone_dissents, one.lone_right) for one in found.values()] == [
        (1, 1, 1), (1, 0, 0), (0, 0, 0), (0, 0, 0), (0, 0, 0),
    ]  # fmt: skip
    # The only vote against the decision is lone, and here wrong.
    found = counted((body(juror("a", 0.9), juror("b", 0.2), juror("c", None)), PASS, True))
    assert (found["b"].lone_dissents, found["b"].lone_right) == (1, 0)
    assert found["a"].lone_dissents == 0


def test_a_juror_keeps_its_name_wherever_it_sits_and_two_of_one_name_are_two() -> None:
    first = body(juror("a", 0.9), juror("b", 0.9))
    second = body(juror("b", 0.9), juror("a", 0.9), juror("c", 0.9))
    found = counted((first, PASS, True), (second, PASS, True))
    # Both a and b sat first at some time; the name decides.
    assert [(one.name, one.seat, one.n) for one in found.values()] == [
        ("a", 0, 2),
        ("b", 0, 2),
        ("c", 2, 1),
    ]
    found = counted((body(juror("a", 0.9), juror("a", 0.1)), PASS, True))
    assert [(one.name, one.tp, one.fn) for one in found.values()] == [("a", 1, 0), ("a#2", 0, 1)]


@given(bodies(), st.booleans())
def test_the_counts_are_what_the_item_shows(said: Any, deserved: bool) -> None:
    policy = Policy.from_body({"threshold": 0.55, "trim_fraction": 0.3})
    shown = assess(verdict_from_body(said, policy, Generator()))
    found = count(policy, (said, shown.decision, deserved))
    assert len(found) == len(shown.seats)
    for one, seat in zip(found, shown.seats, strict=True):
        ballot = seat.ballot
        voted = ballot.vote is not None
        right = voted and ballot.vote is deserved
        assert (one.n, one.right) == (voted, right)
        assert one.tp + one.fp == (ballot.vote is True)
        assert (one.dissents, one.dissents_right) == (seat.dissent, seat.dissent and right)
        assert one.trimmed == seat.trimmed
        assert one.failed == ballot.status.failed
        quiet = ballot.status in {Status.OK, Status.ABSTAINED}
        assert one.abstained == (quiet and not voted)
