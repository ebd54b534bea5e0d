"""What the library refuses where it is entered, by the name of the value."""

import math
from typing import Any

import pytest

from reviewdesk.domain.jury.rules import quorum_met, quorum_met_strictly
from reviewdesk.domain.jury.scores import (
    band,
    closeness,
    mean,
    median,
    r_wg,
    trim,
    trimmed_mean,
    verdict_agreement,
    votes_agreement,
    weighted_average,
)
from reviewdesk.domain.stats.calibration import Rows, brier
from reviewdesk.domain.verdict import Policy
from reviewdesk.errors import UsageError


@pytest.mark.parametrize(
    "of",
    [
        mean, median, trim, trimmed_mean, r_wg, closeness,
        lambda scores: weighted_average(scores, [None] * len(scores)),
        lambda scores: verdict_agreement(scores, []),
    ],
)  # fmt: skip
@pytest.mark.parametrize(
    ("scores", "named"),
    [
        ([0.1, math.nan, 0.3], "nan"),
        ([math.inf, -math.inf], "inf"),
        ([0.1, -math.inf], "-inf"),
        ([0.1, "x"], "'x'"),
    ],
)
def test_a_score_is_a_finite_number(of: Any, scores: list[Any], named: str) -> None:
    with pytest.raises(UsageError, match=f"a score is {named}"):
        of(scores)


def test_numbers_too_large_to_add_are_named() -> None:
    # Twice 1.7e308 is more than a float holds, 1.797...e308.
    with pytest.raises(UsageError, match=r"too large to add: a score is 1.7e\+308"):
        mean([1.7e308, 1.7e308])


@pytest.mark.parametrize("weight", [0.0, -1.0, math.nan, math.inf, 10**400])
def test_a_weight_is_finite_and_above_zero(weight: float) -> None:
    for weights in ([weight], [1.0, weight, 2.0]):
        with pytest.raises(UsageError, match=f"a weight is {weight}"):
            weighted_average([0.5] * len(weights), weights)
    # Nobody answered: there is nothing to weigh, and no value.
    assert weighted_average([], []) is None
    # (.5 * 1 + .9 * 3) / 4 = 3.2 / 4.
    assert weighted_average([0.5, 0.9], [1, 3]) == pytest.approx(0.8, abs=1e-12)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_band_is_of_a_finite_agreement(value: float) -> None:
    with pytest.raises(UsageError, match=f"agreement is {value}"):
        band(value)
    assert band(None) is None


def test_agreement_is_of_votes_against_a_null() -> None:
    doubtful: Any = ([True, math.nan], [2, False])
    for votes in doubtful:
        with pytest.raises(UsageError, match="a vote is"):
            votes_agreement(votes)
    for null in (0.0, math.nan, math.inf):
        with pytest.raises(UsageError, match=f"null is {null}"):
            r_wg([0.5, 0.6], null)


@pytest.mark.parametrize("met", [quorum_met, quorum_met_strictly])
@pytest.mark.parametrize(
    ("passes", "n", "quorum", "told"),
    [
        (2, 3, 0, "quorum is 0"),
        (2, 3, 1.5, "quorum is 1.5"),
        (2, 3, math.nan, "quorum is nan"),
        (2, 3, "3/2", "quorum is '3/2'"),
        (2, 3, "0/3", "quorum is '0/3'"),
        (2, 3, "x", "quorum is 'x'"),
        (4, 3, 0.5, "4 of 3 jurors passed"),
        (-1, 3, 0.5, "-1 of 3 jurors passed"),
        (0, 0, 0.5, "0 of 0 jurors passed"),
    ],
)
def test_quorum_is_share_of_a_panel(met: Any, passes: int, n: int, quorum: Any, told: str) -> None:
    with pytest.raises(UsageError) as caught:
        met(passes, n, quorum)
    assert told in str(caught.value)


@pytest.mark.parametrize(
    "rule",
    [{"threshold": 2}, {"threshold": math.nan}, {"quorum": 5}, {"quorum": "x"}, {"quorum": 0}],
)
def test_a_policy_by_hand_can_be_decided_by(rule: dict[str, Any]) -> None:
    [(name, value)] = rule.items()
    with pytest.raises(UsageError, match=f"{name} is {value!r}"):
        Policy(**rule)


@pytest.mark.parametrize(
    ("columns", "told"),
    [
        (([0.9, math.nan], [True, False]), "confidence is nan in row 1"),
        (([1.5, 0.2], [True, False]), "confidence is 1.5 in row 0"),
        (([0.9], [True, False]), "correct has 2 rows and confidence 1"),
        (([0.9], [True], [math.inf]), "weight is inf in row 0"),
        (([0.9], [True], [-1.0]), "weight is -1.0 in row 0"),
        (([0.9], [True], [1.0, 1.0]), "weight has 2 rows"),
        (([0.9], [True], [1.0], [True, False]), "passed has 2 rows"),
    ],
)
def test_rows_are_columns_of_one_length_within_bounds(columns: Any, told: str) -> None:
    with pytest.raises(UsageError) as caught:
        Rows.of(*columns)
    assert told in str(caught.value)


def test_rows_that_hold_are_taken_as_they_are() -> None:
    # (.1² + .8²) / 2 = .65 / 2; a weight of 0 leaves the second out.
    assert brier(Rows.of([0.9, 0.8], [True, False])) == pytest.approx(0.325, abs=1e-12)
    assert brier(Rows.of([0.9, 0.8], [True, False], [1, 0])) == pytest.approx(0.01, abs=1e-12)
