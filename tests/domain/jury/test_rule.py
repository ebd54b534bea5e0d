from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviewdesk.domain.assessment.assess import assess
from reviewdesk.domain.assessment.result import Decisions, Values
from reviewdesk.domain.jury.quorum import quorum_met, quorum_met_strictly
from reviewdesk.domain.jury.scores import weighted_average
from reviewdesk.domain.jury.strategies import STRATEGIES, Votes
from reviewdesk.domain.verdict import Decision, Policy, Strategy
from tests.domain.bodies import GRID, UNIT, body, juror, maybe, panel, read, values

PASS, FAIL, OPEN = Decision.PASS, Decision.FAIL, Decision.INCONCLUSIVE
COUNTS = st.integers(1, 60).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))
HUNDREDTHS = st.integers(1, 100)


def _decisions(votes: Votes, *scores: float | None, **policy: Any) -> Decisions:
    """Every rule's decision of a panel with such votes and scores; the others were not asked."""
    seats = []
    for seat in range(max(votes.seated, len(scores))):
        score = scores[seat] if seat < len(scores) else None
        vote = {"pass": seat < votes.passes} if seat < votes.answered else {}
        silent = {"status": "not_asked"} if score is None and not vote else {}
        seats.append(juror(f"j{seat}", score, **vote, **silent))
    return assess(read(body(*seats), **policy)).decisions


@pytest.mark.parametrize(
    ("passes", "n", "quorum", "rounded", "strict"),
    [
        # 2/3 = .6667 rounds to .67; bare it is less.
        (2, 3, 0.67, True, False),
        (1, 3, 0.67, False, False),
        # 2/3 rounds to .667 with three decimals written, to .6667 with four.
        (2, 3, 0.667, True, False),
        (2, 3, 0.6667, True, False),
        (2, 3, 0.668, False, False),
        # Half up: 1/8 = .125 -> .13; 1/40 = .025 -> .03.
        (1, 8, 0.13, True, False),
        (1, 40, 0.03, True, False),
        # Written with one decimal it is still compared with two: 11/20 = .55, not .6.
        (11, 20, 0.6, False, False),
        (3, 5, 0.6, True, True),
        (4, 5, 0.8, True, True),
        # Four jurors evenly split.
        (2, 4, 0.5, True, True),
        (2, 4, 0.6, False, False),
        # Unanimity is exact: 999 of 1000 does not round into it.
        (3, 3, 1.0, True, True),
        (2, 3, 1.0, False, False),
        (999, 1000, 1.0, False, False),
        (999, 1000, 1, False, False),
        # A ratio is exact.
        (2, 3, "2/3", True, True),
        (66, 100, "2/3", False, False),
        (3, 5, "3/5", True, True),
        (3, 3, "3/3", True, True),
        (2, 3, "3/3", False, False),
        (0, 3, 0.5, False, False),
        (1, 300, 0.001, True, True),
    ],
)
def test_quorum(passes: int, n: int, quorum: float | str, rounded: bool, strict: bool) -> None:
    assert quorum_met(passes, n, quorum) is rounded
    assert quorum_met_strictly(passes, n, quorum) is strict


@given(COUNTS, HUNDREDTHS)
def test_quorum_against_whole_hundredths(counts: tuple[int, int], percent: int) -> None:
    passes, n = counts
    # round_half_up(100 p / n) = (200 p + n) div 2n, all in integers.
    expected = passes == n if percent == 100 else (200 * passes + n) // (2 * n) >= percent
    assert quorum_met(passes, n, percent / 100) is expected
    assert quorum_met_strictly(passes, n, percent / 100) is (100 * passes >= percent * n)


@given(COUNTS, COUNTS.filter(lambda counts: counts[0] > 0))
def test_a_written_ratio_is_exact(counts: tuple[int, int], ratio: tuple[int, int]) -> None:
    (passes, n), (over, under) = counts, ratio
    assert quorum_met(passes, n, f"{over}/{under}") is (passes * under >= over * n)


@given(COUNTS, st.one_of(st.floats(0, 1, exclude_min=True), st.sampled_from(["1/3", "2/3", "1/1"])))
def test_another_pass_never_loses_a_quorum(counts: tuple[int, int], quorum: float | str) -> None:
    passes, n = counts
    met = [quorum_met(count, n, quorum) for count in range(passes, n + 1)]
    assert met == sorted(met)
    assert met[-1]


@given(COUNTS, HUNDREDTHS)
def test_rounding_moves_a_share_by_half_a_hundredth_at_most(
    counts: tuple[int, int], percent: int
) -> None:
    passes, n = counts
    if quorum_met(passes, n, percent / 100) != quorum_met_strictly(passes, n, percent / 100):
        assert 0 < Fraction(percent, 100) - Fraction(passes, n) <= Fraction(1, 200)


@given(st.lists(st.tuples(UNIT, st.floats(0.01, 50)), min_size=1, max_size=9))
def test_weighted_average_against_numpy(pairs: list[tuple[float, float]]) -> None:
    scores, weights = zip(*pairs, strict=True)
    oracle = np.average(scores, weights=weights)
    assert weighted_average(scores, weights) == pytest.approx(oracle, abs=1e-9)


def test_weighted_average_at_its_edges() -> None:
    # Only the jurors that answered: (.9 * 2 + .4 * 1) / 3.
    assert weighted_average([0.9, None, 0.4], [2, 1, None]) == pytest.approx(2.2 / 3)
    assert weighted_average([None, None], [1, 2]) is None
    assert weighted_average([], []) is None
    # Finite weights may have no finite sum; equal ones give the plain mean of .2 and .6.
    assert weighted_average([0.2, 0.6], [1.7e308, 1.7e308]) == pytest.approx(0.4)
    assert weighted_average([0.2, 0.6], [5e-324, 5e-324]) == pytest.approx(0.4)


@given(st.lists(maybe(GRID), max_size=9))
def test_values_against_numpy(scores: list[float | None]) -> None:
    given_ = [score for score in scores if score is not None]
    found = values(scores, [None] * len(scores), 0.0)
    if not given_:
        assert found == Values(None, None, None, None, None, None)
        return
    assert (found.highest, found.lowest) == (max(given_), min(given_))
    assert found.median == pytest.approx(np.median(given_), abs=1e-12)
    for mean in (found.mean, found.trimmed_mean, found.weighted_average):
        assert mean == pytest.approx(np.mean(given_), abs=1e-12)


def test_the_median_survives_two_bought_jurors() -> None:
    # 30, 35, 81, 84, 89: the third is 81, the mean 319/5.
    found = values([0.3, 0.35, 0.81, 0.84, 0.89], [None] * 5, 0.2)
    assert found.median == 0.81
    assert found.mean == pytest.approx(0.638)


def test_score_rules_forgive_a_billionth() -> None:
    votes = Votes(0, 0, 1)
    assert _decisions(votes, 0.7 - 9e-10, threshold=0.7).mean is PASS
    assert _decisions(votes, 0.7 - 2e-9, threshold=0.7).mean is FAIL
    assert _decisions(votes, 0.1 + 0.2, threshold=0.3).median is PASS


def test_each_rule_decides_by_its_own_value() -> None:
    # Mean .58, trimmed mean (.5+.7+.8)/3 = .667, median .7, highest .9, lowest 0; threshold .6.
    made = _decisions(Votes(3, 5, 5), 0.0, 0.5, 0.7, 0.8, 0.9, threshold=0.6, quorum=0.67)
    assert (made.mean, made.weighted_average, made.lowest) == (FAIL, FAIL, FAIL)
    assert (made.trimmed_mean, made.median, made.highest) == (PASS, PASS, PASS)
    # Three of five are .60, under .67, and more than half of the seats.
    assert (made.quorum, made.majority, made.unanimous) == (FAIL, PASS, OPEN)


def test_an_unknown_threshold_or_quorum_decides_nothing() -> None:
    made = _decisions(Votes(2, 3, 3), 0.9, 0.9, 0.1)
    assert made.quorum is made.quorum_strict is made.quorum_answered is None
    assert made.mean is made.trimmed_mean is made.median is made.highest is made.lowest is None
    assert (made.majority, made.unanimous) == (PASS, OPEN)


def test_a_failed_juror_does_not_shrink_the_panel() -> None:
    # Two of three answered both pass: 2/4 of the seats, 2/3 of the answers, against .6.
    made = _decisions(Votes(2, 3, 4), quorum=0.6)
    assert (made.quorum, made.quorum_answered) == (FAIL, PASS)


def test_both_readings_of_the_quorum_are_kept() -> None:
    made = _decisions(Votes(2, 3, 3), quorum=0.67)
    assert (made.quorum, made.quorum_strict) == (PASS, FAIL)


def test_nobody_voted() -> None:
    made = _decisions(Votes(0, 0, 3), quorum=0.5, threshold=0.5)
    assert {getattr(made, name) for name in made.__struct_fields__} == {None}


@pytest.mark.parametrize(
    ("passes", "answered", "seated", "majority", "unanimous"),
    [
        (2, 3, 3, PASS, OPEN),
        (1, 3, 3, FAIL, OPEN),
        (2, 4, 4, OPEN, OPEN),  # a tie is no pass
        (2, 2, 4, OPEN, PASS),  # half of the seats is no majority of them
        (0, 1, 3, OPEN, FAIL),  # one of three seats, though everyone who voted
        (0, 3, 3, FAIL, FAIL),
        (3, 3, 3, PASS, PASS),
    ],
)
def test_majority_and_unanimity(
    passes: int, answered: int, seated: int, majority: Decision, unanimous: Decision
) -> None:
    made = _decisions(Votes(passes, answered, seated))
    assert (made.majority, made.unanimous) == (majority, unanimous)


@pytest.mark.parametrize(
    ("votes", "decision"),
    [((1, 1, 1), PASS), ((0, 1, 1), FAIL), ((1, 2, 2), None), ((0, 0, 1), None)],
)
def test_a_single_juror_decides_alone_or_not_at_all(
    votes: tuple[int, int, int], decision: Decision | None
) -> None:
    assert STRATEGIES[Strategy.SINGLE].decide(Votes(*votes), Policy()) is decision


@pytest.mark.parametrize(
    ("strategy", "score"),
    [
        # Mean .58, trimmed .667, median .7; equal weights.
        ("median", 0.7),
        ("trimmed_mean", 2 / 3),
        ("highest", 0.9),
        ("lowest", 0.0),
        *((by_mean, 0.58) for by_mean in ("mean", "quorum", "external", "first_disagreement")),
    ],
)
def test_score_by_strategy(strategy: str, score: float) -> None:
    found = assess(read(panel(0.0, 0.5, 0.7, 0.8, 0.9), strategy=strategy, threshold=0.5))
    assert found.score == pytest.approx(score)
    if strategy in {"external", "first_disagreement"}:
        assert found.decision is None


@given(st.lists(GRID, min_size=1, max_size=9), GRID)
def test_lowest_passes_if_all_do_and_highest_if_any_does(
    scores: list[float], threshold: float
) -> None:
    made = _decisions(Votes(0, 0, len(scores)), *scores, threshold=threshold)
    passed = [score > threshold or math.isclose(score, threshold) for score in scores]
    assert (made.lowest is PASS) == all(passed)
    assert (made.highest is PASS) == any(passed)
