from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import fields

from reviewdesk.domain.assessment.assess import assess
from reviewdesk.domain.assessment.flags import Flag
from reviewdesk.domain.assessment.result import Assessment, Decisions, Values
from reviewdesk.domain.jury.label_words import LABEL_RULES
from reviewdesk.domain.jury.strategies import STRATEGIES, Reads, strategy_named
from reviewdesk.domain.verdict import Decision, Strategy
from reviewdesk.errors import UsageError
from tests.domain.bodies import GRID, body, juror, maybe, panel, read, values

PASS, FAIL, OPEN = Decision.PASS, Decision.FAIL, Decision.INCONCLUSIVE
SEATS = st.lists(st.tuples(maybe(GRID), st.floats(0.1, 9)), min_size=1, max_size=8)


def _found(value: Any, **policy: Any) -> Assessment:
    return assess(read(value, **policy))


def test_every_strategy_of_a_report_is_in_the_registry() -> None:
    assert list(STRATEGIES) == list(Strategy)
    for strategy, method in STRATEGIES.items():
        assert method.strategy is strategy
        assert method.about
    assert STRATEGIES[Strategy.TRIMMED_MEAN].title == "trimmed mean"


def test_everything_that_goes_over_strategies_takes_them_from_the_registry() -> None:
    assert {field.name for field in fields(Values)} <= set(STRATEGIES)
    readings = {field.name for field in fields(Decisions)} - set(STRATEGIES)
    assert readings == {"quorum_strict", "quorum_answered"}
    assert set(LABEL_RULES) <= set(STRATEGIES)
    assert {s for s, method in STRATEGIES.items() if method.reads is Reads.LABELS} <= set(
        LABEL_RULES
    )


def test_an_unknown_strategy_is_refused_with_those_there_are() -> None:
    assert strategy_named("median") is Strategy.MEDIAN
    with pytest.raises(UsageError, match=r"no strategy 'mode'.*quorum, majority.*external"):
        strategy_named("mode")


@pytest.mark.parametrize(
    ("scores", "value", "decision"),
    [
        # Two of three over .7, two of four, one of three; 1 or 0, and a tie has no value.
        ((0.9, 0.8, 0.1), 1.0, PASS),
        ((0.9, 0.8, 0.1, 0.2), None, OPEN),
        ((0.9, 0.2, 0.1), 0.0, FAIL),
        # Two passes of four seats are half of them: a failed juror keeps its seat.
        ((0.9, 0.8, None, None), None, OPEN),
    ],
)
def test_the_value_of_a_majority_is_its_side(
    scores: tuple[float | None, ...], value: float | None, decision: Decision
) -> None:
    found = _found(panel(*scores), threshold=0.7, strategy="majority")
    assert (found.values.majority, found.score, found.decision) == (value, value, decision)


def test_the_value_of_unanimity_is_the_mean_of_those_who_agree() -> None:
    agreed = _found(panel(0.9, 0.8, 0.7), threshold=0.7, strategy="unanimous")
    # 2.4 of three.
    assert agreed.score == pytest.approx(0.8)
    assert (agreed.decision, agreed.escalation) == (PASS, ())
    against = _found(panel(0.1, 0.3), threshold=0.7, strategy="unanimous")
    assert against.score == pytest.approx(0.2)
    assert against.decision is FAIL


def test_a_split_under_unanimity_has_no_value_and_goes_to_a_person() -> None:
    split = _found(panel(0.71, 0.72, 0.69), threshold=0.7, strategy="unanimous")
    assert (split.score, split.values.unanimous, split.decision) == (None, None, OPEN)
    assert "the rule asks for unanimity, and the jurors differ" in split.escalation
    # Under another rule the same split is no breach of unanimity.
    other = _found(panel(0.71, 0.72, 0.69), threshold=0.7, strategy="mean")
    assert "the rule asks for unanimity, and the jurors differ" not in other.escalation


ADR = {"claude-sonnet": 0.5, "claude-haiku": 0.2, "gpt-4o": 0.3}
"""The weights of the multi-judge decision record."""


def _adr(sonnet: Any, haiku: Any, gpt: Any) -> Any:
    scores = dict(zip(ADR, (sonnet, haiku, gpt), strict=True))
    return body(*(juror(name, score) for name, score in scores.items()), weights=ADR)


def test_the_records_weights() -> None:
    # .5*.9 + .2*.6 + .3*.4 = .45 + .12 + .12 = .69, under .7; the plain mean is 1.9/3 = .633.
    found = _found(_adr(0.9, 0.6, 0.4), threshold=0.7, strategy="weighted_average")
    assert found.score == pytest.approx(0.69)
    assert (found.decision, found.assumed_weights) == (FAIL, ())


def test_the_weights_of_jurors_that_did_not_answer_are_not_kept() -> None:
    # gpt-4o abstains: (.5*.9 + .2*.6) / (.5 + .2) = .57/.7 = .8143. Kept, it would be .57.
    found = _found(_adr(0.9, 0.6, None), threshold=0.7, strategy="weighted_average")
    assert found.score == pytest.approx(0.57 / 0.7)
    assert (found.decision, found.rule.used) == (PASS, Strategy.WEIGHTED_AVERAGE)


def test_a_juror_without_a_weight_counts_as_one_and_is_named() -> None:
    value = body(juror("a", 0.9), juror("b", 0.3), weights={"a": 3.0})
    found = _found(value, threshold=0.7, strategy="weighted_average")
    # (3*.9 + 1*.3) / 4 = .75.
    assert found.score == pytest.approx(0.75)
    assert found.assumed_weights == ("b",)
    assert _found(value, threshold=0.7, strategy="mean").assumed_weights == ()


@given(SEATS)
def test_a_failed_juror_is_never_a_score_of_zero(seats: list[tuple[float | None, float]]) -> None:
    scores, weights = [score for score, _ in seats], [weight for _, weight in seats]
    with_one_more = values([*scores, None], [*weights, 5.0], 0.2)
    assert with_one_more == values(scores, weights, 0.2)
    if all(score is None for score in scores):
        assert with_one_more.mean is None


def test_a_failed_juror_lowers_no_average() -> None:
    # .8 and .9 with a timeout between them: .85 by every rule; with a 0 it would be .567.
    found = _found(panel(0.8, None, 0.9), threshold=0.7).values
    for value in (found.mean, found.trimmed_mean, found.median, found.weighted_average):
        assert value == pytest.approx(0.85)
    assert found.lowest == 0.8


@given(st.data(), st.lists(maybe(GRID), min_size=1, max_size=9))
def test_no_value_depends_on_the_order_of_the_seats(
    data: st.DataObject, scores: list[float | None]
) -> None:
    order = data.draw(st.permutations(range(len(scores))))
    weights = [1.0 + seat for seat in range(len(scores))]
    turned = values([scores[seat] for seat in order], [weights[seat] for seat in order], 0.2)
    straight = values(scores, weights, 0.2)
    for name in (field.name for field in fields(Values)):
        ours, theirs = getattr(turned, name), getattr(straight, name)
        assert ours == (None if theirs is None else pytest.approx(theirs, abs=1e-12))


@given(SEATS, st.floats(1e-6, 1e6))
def test_only_the_proportions_of_weights_count(
    seats: list[tuple[float | None, float]], scale: float
) -> None:
    scores, weights = [score for score, _ in seats], [weight for _, weight in seats]
    plain = values(scores, weights, 0.2).weighted_average
    scaled = values(scores, [weight * scale for weight in weights], 0.2).weighted_average
    assert scaled == (None if plain is None else pytest.approx(plain, abs=1e-9))


@given(SEATS, st.sampled_from([0.0, 0.1, 0.2, 0.3, 0.49]))
def test_every_value_lies_within_the_scores(
    seats: list[tuple[float | None, float]], fraction: float
) -> None:
    scores, weights = [score for score, _ in seats], [weight for _, weight in seats]
    given_ = [score for score in scores if score is not None]
    found = values(scores, weights, fraction)
    for value in (found.mean, found.trimmed_mean, found.median, found.weighted_average):
        assert (value is None) == (not given_)
        assert value is None or min(given_) - 1e-12 <= value <= max(given_) + 1e-12


def test_two_of_three_meet_a_quorum_of_two_thirds_as_it_is_written() -> None:
    # 2/3 = .6667 is .67 to the two places that the quorum is written with.
    found = _found(panel(0.9, 0.8, 0.1), threshold=0.7, quorum=0.67, strategy="quorum")
    assert (found.decision, found.decisions.quorum_strict) == (PASS, FAIL)


def test_three_and_four_scores_lose_one_at_each_end() -> None:
    # 20% of 3 is .6 and of 4 is .8: floor 0, over a half, so one; what is left is .8 and (.7+.8)/2.
    assert values([0.1, 0.8, 0.9], [None] * 3, 0.2).trimmed_mean == pytest.approx(0.8)
    assert values([0.1, 0.7, 0.8, 0.9], [None] * 4, 0.2).trimmed_mean == pytest.approx(0.75)


def _waiting(strategy: str, **more: Any) -> Any:
    """One stated pass, two failing scores and one high: without a threshold three votes wait."""
    seats = (juror("a", **{"pass": True}), juror("b", 0.1), juror("c", 0.2), juror("d", 0.9))
    return body(*seats, strategy=strategy, quorum=0.5, **more)


@pytest.mark.parametrize(
    ("strategy", "at_half"),
    # At .5 the votes are +, -, -, +: two of four meet the half, tie, and split.
    [("quorum", PASS), ("majority", OPEN), ("unanimous", OPEN), ("single", None)],
)
def test_votes_that_wait_for_a_threshold_are_not_left_out(
    strategy: str, at_half: Decision | None
) -> None:
    found = _found(_waiting(strategy))
    assert (found.votes.passes, found.votes.answered, found.votes.unknown) == (1, 1, 3)
    assert (found.decision, found.pivotal, found.escalation) == (None, (), ("low agreement",))
    made = found.decisions
    assert {made.quorum, made.quorum_strict, made.quorum_answered} == {None}
    assert {made.majority, made.unanimous} == {None}
    assert (found.values.majority, found.values.unanimous) == (None, None)
    [note] = [note.reason for note in found.notes if note.flag is Flag.NO_VERDICT]
    assert "--threshold" in note
    assert _found(_waiting(strategy, threshold=0.5)).decision is at_half


def test_a_withheld_vote_is_known_to_be_none() -> None:
    # One of one cast passes; of two seated it is a half.
    value = body(juror("a", **{"pass": True}), juror("b", 0.1, **{"pass": None}), quorum=0.5)
    found = _found(value | {"strategy": "quorum"})
    assert (found.votes.unknown, found.decision) == (0, PASS)
    assert _found(value | {"strategy": "single"}).decision is PASS
