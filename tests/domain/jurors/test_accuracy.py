from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from reviewdesk.domain.assessment.assess import assess
from reviewdesk.domain.jurors.facts import JurorCounts, trim_named
from reviewdesk.domain.jurors.strata import juror_counts
from reviewdesk.domain.run.packing import code_of
from reviewdesk.domain.verdict import Decision, Generator, Policy, Status, verdict_from_body
from tests.domain.bodies import bodies, body, columns, juror

PASS, FAIL = Decision.PASS, Decision.FAIL
RULE = Policy(threshold=0.6)


def counts(*panels: tuple[Any, Decision | None, bool]) -> dict[str, JurorCounts]:
    """Counts by name; a panel is a body, what it decided, and whether it should pass."""
    return {one.name: one for one in count(RULE, *panels)}


def count(policy: Policy, *panels: tuple[Any, Decision | None, bool]) -> tuple[JurorCounts, ...]:
    bodies, made, deserved = zip(*panels, strict=True)
    verdicts = [verdict_from_body(one, policy, Generator()) for one in bodies]
    decision = np.array([code_of(one) for one in made], np.int8)
    stated = {
        row: named for row, one in enumerate(bodies) if (named := trim_named(one)) is not None
    }
    found = replace(columns(enumerate(verdicts)), decision=decision)
    return juror_counts(found, np.array(deserved), stated)


def test_votes_against_the_label() -> None:
    # Three items that should pass, fail, fail; a votes pass fail pass, b fail fail (none).
    first = body(juror("a", 0.9), juror("b", 0.2))
    second = body(juror("a", 0.1), juror("b", 0.3))
    third = body(juror("a", 0.6), juror("b", status="timeout"))
    found = counts((first, PASS, True), (second, FAIL, False), (third, PASS, False))
    a, b = found["a"], found["b"]
    assert (a.tp, a.fn, a.tn, a.fp) == (1, 0, 1, 1)
    assert (a.votes, a.right, a.wrong) == (3, 2, 1)
    assert (b.tp, b.fn, b.tn, b.fp) == (0, 1, 1, 0)
    assert (b.votes, b.right, b.wrong, b.failed, b.abstained) == (2, 1, 1, 1, 0)


def test_a_dissent_may_be_right() -> None:
    # c votes against a pass twice; the second time the label is on its side.
    said = body(juror("a", 0.9), juror("c", 0.1))
    found = counts((said, PASS, True), (said, PASS, False))
    assert (found["c"].dissents, found["c"].dissents_right) == (2, 1)
    assert (found["a"].dissents, found["a"].dissents_right) == (0, 0)


def test_a_lone_or_trimmed_dissent() -> None:
    # Five seats, a fifth trimmed at each end: a goes low, e high. Decided a pass, so a and b
    # dissent: a was trimmed, b is not alone. The label says fail, and both are right.
    scores = zip("abcde", (0.1, 0.5, 0.7, 0.8, 0.9), strict=True)
    found = counts((body(*(juror(name, score) for name, score in scores)), PASS, False))
    assert [(one.dissents, one.lone_dissents, one.lone_right) for one in found.values()] == [
        (1, 1, 1),
        (1, 0, 0),
        (0, 0, 0),
        (0, 0, 0),
        (0, 0, 0),
    ]
    # The only vote against the decision is lone, and here wrong.
    found = counts((body(juror("a", 0.9), juror("b", 0.2), juror("c", None)), PASS, True))
    assert (found["b"].lone_dissents, found["b"].lone_right) == (1, 0)
    assert found["a"].lone_dissents == 0


def test_a_juror_keeps_its_name_wherever_it_sits() -> None:
    first = body(juror("a", 0.9), juror("b", 0.9))
    second = body(juror("b", 0.9), juror("a", 0.9), juror("c", 0.9))
    found = counts((first, PASS, True), (second, PASS, True))
    # Both a and b sat first at some time; the name decides.
    assert [(one.name, one.seat, one.votes) for one in found.values()] == [
        ("a", 0, 2),
        ("b", 0, 2),
        ("c", 2, 1),
    ]


def test_two_seats_of_one_name_are_two_jurors() -> None:
    found = counts((body(juror("a", 0.9), juror("a", 0.1)), PASS, True))
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
        assert (one.votes, one.right, one.wrong) == (voted, right, voted and not right)
        assert one.tp + one.fp == (ballot.vote is True)
        assert (one.dissents, one.dissents_right) == (seat.dissent, seat.dissent and right)
        assert one.trimmed == seat.trimmed
        assert one.failed == ballot.status.failed
        quiet = ballot.status in {Status.OK, Status.ABSTAINED}
        assert one.abstained == (quiet and not voted)
