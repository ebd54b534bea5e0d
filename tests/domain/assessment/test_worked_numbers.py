"""The worked numbers of the source documents, and what holds where they contradict each other."""

from typing import Any

import pytest

from reviewdesk.domain.assessment.assess import assess
from reviewdesk.domain.assessment.result import Assessment
from reviewdesk.domain.audit.trail import remarks
from reviewdesk.domain.jury.scores import closeness
from reviewdesk.domain.verdict import Rounding
from tests.domain.bodies import body, juror, panel, read, values


def judged(*scores: float | None, **defaults: Any) -> Assessment:
    return assess(read(panel(*scores), **({"threshold": 0.7} | defaults)))


def trimmed(*scores: float) -> float | None:
    return values(scores, [None] * len(scores), 0.2).trimmed_mean


def mean(*scores: float) -> float | None:
    return values(scores, [None] * len(scores), 0.2).mean


def median(*scores: float) -> float | None:
    return values(scores, [None] * len(scores), 0.2).median


def test_a_failed_judge_does_not_tank_the_score() -> None:
    # Of .9 .9 .55 .1 with weights 1 1 1 8 the average is .286, and the median, .725, decides.
    seats = [juror(f"j{n}", score) for n, score in enumerate((0.9, 0.9, 0.55))]
    seats += [juror("heavy", 0.1, weight=8), juror("late", status="timeout")]
    found = assess(read(body(*seats), threshold=0.7, strategy="weighted_average"))
    assert found.score == pytest.approx(0.725)
    assert found.decision == found.decisions.weighted_average == found.decisions.median == "pass"


def test_the_floor_of_the_records_agreement() -> None:
    # (1 - 0)² / 16 = .0625. Of .5 and 1 the variance is .125: over the floor, so 0.
    assert closeness([0.5, 1.0]) == 0.0
    # Of .8 .7 .9 it is .01: 1 - .16.
    assert closeness([0.8, 0.7, 0.9]) == pytest.approx(0.84)
    assert closeness([0.7, 0.7]) == 1.0


HONEST = (72, 78, 81, 84, 89)
ONE, TWO = (30, 78, 81, 84, 89), (30, 35, 81, 84, 89)


@pytest.mark.parametrize(
    ("scores", "plain", "cut"),
    [
        # The sum is 404; of 78, 81 and 84 it is 243.
        (HONEST, 80.8, 81),
        # The sum is 42 lower, the mean 8.4; the trimmed mean has not moved.
        (ONE, 72.4, 81),
        # The sum is 319; of 35, 81 and 84 it is 200.
        (TWO, 63.8, 200 / 3),
    ],
)
def test_the_essays_example(scores: tuple[float, ...], plain: float, cut: float) -> None:
    assert mean(*scores) == pytest.approx(plain)
    assert trimmed(*scores) == pytest.approx(cut)
    assert median(*scores) == 81


def test_the_median_of_ten_is_the_fifth_and_sixth() -> None:
    # It is the trim at its deepest: four at each end of ten, two at each end of five.
    scores = [s / 10 for s in range(10)]
    assert median(*scores) == pytest.approx((0.4 + 0.5) / 2)
    for n in (5, 10):
        deepest = values(scores[:n], [None] * n, 0.49, Rounding.UP)
        assert deepest.trimmed_mean == pytest.approx(deepest.median)


def test_equal_scores_have_one_value() -> None:
    # A half is exact in binary, so the three means are one number to the last bit.
    one = 0.5
    found = judged(one, one, one, one, one)
    assert found.values.mean == found.values.trimmed_mean == found.values.median == one
    told = remarks(read(panel(*[one] * 5), threshold=0.7), found)
    assert {"unanimous: equal scores", "unanimous: equal votes"} <= set(told)


def test_a_file_without_a_threshold_has_no_votes_and_no_decision() -> None:
    # .7 is the default of panel files; a file from elsewhere may have meant something else.
    found = assess(read(panel(0.9)))
    assert (found.votes.answered, found.decision) == (0, None)


def test_a_lone_juror_has_no_agreement_and_no_escalation() -> None:
    # It reads low and true for gates alone.
    found = judged(0.9)
    assert (found.agreement.alpha, found.band, found.escalation) == (None, None, ())


def test_a_judge_that_times_out_leaves_what_the_trim_tolerates() -> None:
    verdict = read(panel(0.5, 0.5, 0.5, 0.5, None), threshold=0.7, strategy="trimmed_mean")
    told = next(one for one in remarks(verdict, assess(verdict)) if one.startswith("breakdown"))
    assert told == "breakdown: tolerates 1 of 4, breaks at 2"


@pytest.mark.parametrize(
    ("scores", "reasons"),
    # Six of seven lost a juror; three of three never had enough; four of five are both.
    [([0.5] * 5, 0), ([*[0.5] * 6, None], 1), ([0.5] * 3, 1), ([*[0.5] * 4, None], 2)],
)
def test_too_few_jurors_and_a_lost_one_each_degrade_a_panel(
    scores: list[float | None], reasons: int
) -> None:
    assert len(judged(*scores, strategy="trimmed_mean").degraded) == reasons
