from __future__ import annotations

import math

import numpy as np
import pytest

from reviewdesk.domain.stats.calibration import Rows
from reviewdesk.domain.stats.figures import RecalibrationMethod
from reviewdesk.domain.stats.recalibration import (
    isotonic_fit,
    platt,
    sigmoid,
    suggestions,
    temperature,
)


def overconfident(n: int) -> Rows:
    """A judge whose log odds are three times too large, each of ten confidences equally often."""
    chance = np.resize(np.linspace(0.1, 0.9, 10), n)
    odds = 3 * np.log(chance / (1 - chance))
    return Rows(sigmoid(odds), np.random.default_rng(2).random(n) < chance, np.ones(n))


def test_temperature_closed_form() -> None:
    # One confidence of .9, right 3 times of 4: σ(ln 9 / T) = 3/4 at T = ln 9 / ln 3 = 2.
    found = temperature(Rows.of([0.9] * 4, [True, True, True, False]))
    assert found.parameters["temperature"] == pytest.approx(2.0, abs=1e-12)
    assert not found.bounded
    assert found.apply(np.array([0.9, 0.5, 0.1])).tolist() == pytest.approx([0.75, 0.5, 0.25])
    # A weight is so many rows.
    heavy = temperature(Rows.of([0.9, 0.9], [True, False], [3.0, 1.0]))
    assert heavy.parameters["temperature"] == pytest.approx(2.0, abs=1e-12)


@pytest.mark.parametrize(
    ("confidence", "correct", "bound"),
    [
        # All on the right side: the sharper the better.
        ([0.9, 0.8, 0.3], [True, True, False], 0.01),
        # Confidence points the wrong way: the flatter the better.
        ([0.9, 0.2], [False, True], 100.0),
        ([1.0, 0.0], [False, True], 100.0),
    ],
)
def test_temperature_is_bounded(confidence: list[float], correct: list[bool], bound: float) -> None:
    found = temperature(Rows.of(confidence, correct))
    assert found.bounded
    assert found.parameters["temperature"] == pytest.approx(bound)
    assert np.isfinite(found.apply(np.array([0.0, 0.5, 1.0]))).all()


def test_one_half_has_no_temperature() -> None:
    for rows in (Rows.of([0.5, 0.5], [True, False]), Rows.of([], [])):
        found = temperature(rows)
        assert (found.parameters["temperature"], found.bounded) == (1.0, False)
        assert found.apply(np.array([0.3])).tolist() == [0.3]


def test_platt_closed_form() -> None:
    # Two levels are met exactly: ln 3 at ln 4 and -ln 3 at -ln 4.
    rows = Rows.of([0.8] * 4 + [0.2] * 4, [True] * 3 + [False] + [True] + [False] * 3)
    found = platt(rows)
    assert found.parameters["slope"] == pytest.approx(math.log(3) / math.log(4), abs=1e-12)
    assert found.parameters["intercept"] == pytest.approx(0.0, abs=1e-12)
    assert not found.bounded


def test_platt_solves_its_equations_even_at_the_ends() -> None:
    # At the best fit the residuals add up to 0, and also when multiplied by the log odds.
    rng = np.random.default_rng(8)
    confidence = np.concatenate([[0.0, 1.0, 1.0, 0.0], rng.random(60)])
    correct = np.concatenate([[True, False, True, False], rng.random(60) < 0.6])
    weight = rng.choice([1.0, 9.0], 64)
    found = platt(Rows(confidence, correct, weight))
    off = weight * (found.apply(confidence) - correct)
    x = np.clip(confidence, 2**-52, 1 - 2**-52)
    assert off.sum() == pytest.approx(0, abs=1e-9)
    assert (off * np.log(x / (1 - x))).sum() == pytest.approx(0, abs=1e-7)


@pytest.mark.parametrize(
    ("confidence", "correct"),
    [
        ([0.9, 0.8, 0.3, 0.2], [True, True, False, False]),
        # A tie on the cut still lets the slope grow for ever.
        ([0.9, 0.5, 0.5, 0.2], [True, True, False, False]),
        # The wrong way round, and one outcome only.
        ([0.1, 0.9], [True, False]),
        ([0.1, 0.9, 0.4], [True, True, True]),
        ([1.0, 0.0], [True, False]),
    ],
)
def test_platt_on_separable_rows_is_finite_and_says_so(
    confidence: list[float], correct: list[bool]
) -> None:
    found = platt(Rows.of(confidence, correct))
    assert found.bounded
    assert all(math.isfinite(value) for value in found.parameters.values())
    # Softened outcomes keep the mean: each class gives (W+1)/(W+2) or 1/(W+2).
    right, wrong = correct.count(True), correct.count(False)
    soft = right * (right + 1) / (right + 2) + wrong / (wrong + 2)
    assert found.apply(np.array(confidence)).sum() == pytest.approx(soft)


def test_platt_with_one_confidence_moves_it_to_the_rate() -> None:
    found = platt(Rows.of([0.9] * 4, [True, False, False, False]))
    assert (found.parameters["slope"], found.bounded) == (1.0, False)
    assert found.apply(np.array([0.9])).tolist() == pytest.approx([0.25])
    sure = platt(Rows.of([0.9] * 4, [True] * 4))
    # All right: (4 + 1) / (4 + 2).
    assert sure.bounded
    assert sure.apply(np.array([0.9])).tolist() == pytest.approx([5 / 6])
    assert platt(Rows.of([], [])).parameters == {"intercept": 0.0, "slope": 1.0}


def test_isotonic_is_the_rising_fit() -> None:
    fit = isotonic_fit(Rows.of([0.2, 0.6], [False, True]))
    assert fit.apply(np.array([0.1, 0.4, 0.9])).tolist() == pytest.approx([0, 0.5, 1])
    assert isotonic_fit(Rows.of([], [])).apply(np.array([0.4])).tolist() == [0.4]


def test_what_is_suggested_depends_on_the_number_of_labels() -> None:
    def tried(n: int) -> list[RecalibrationMethod]:
        return [one.method for one in suggestions(overconfident(n)) if one.reason is None]

    assert tried(29) == []
    assert tried(30) == tried(99) == [RecalibrationMethod.TEMPERATURE]
    assert tried(100) == tried(199) == [RecalibrationMethod.TEMPERATURE, RecalibrationMethod.PLATT]
    assert tried(200) == list(RecalibrationMethod)
    few = suggestions(overconfident(29))
    assert few[0].reason == "needs 30 labels, there are 29"
    assert {one.change for one in few} == {None}


def test_an_overconfident_judge_gains() -> None:
    for found in suggestions(overconfident(400)):
        assert found.before is not None
        assert found.after is not None
        assert found.change == found.after - found.before
        assert found.change < -0.01
    # The log odds are three times too large.
    assert suggestions(overconfident(4_000))[0].parameters["temperature"] == pytest.approx(
        3, abs=0.3
    )


def test_a_calibrated_judge_is_left_alone() -> None:
    rng = np.random.default_rng(1)
    confidence = rng.random(300)
    rows = Rows(confidence, rng.random(300) < confidence, np.ones(300))
    cool, _, stepped = suggestions(rows)
    assert cool.reason == "Spiegelhalter's p is not under 0.05"
    # On its own rows the isotonic fit can only gain; held out, it loses.
    assert stepped.change is not None
    assert stepped.change > 0


def test_rows_without_weight_are_no_labels() -> None:
    rows = overconfident(40)
    light = Rows(rows.confidence, rows.correct, np.where(np.arange(40) < 29, 1.0, 0.0))
    assert suggestions(light)[0].n == 29
