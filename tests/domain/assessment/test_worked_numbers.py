"""The worked numbers of the source documents, and where we stand when they contradict.

The contradictions, with our resolutions, are the table of ``contradictions``, which also names the
sources.
"""

import pytest

from reviewdesk.domain.assessment.assess import assess
from reviewdesk.domain.audit.trail import remarks
from reviewdesk.domain.jury.rules import quorum_met, trim_count
from reviewdesk.domain.jury.scores import closeness, unit_alpha, weighted_average
from reviewdesk.domain.verdict import Band, Decision, Rounding
from tests.domain.bodies import body, juror, panel, read, values
from tests.domain.contradictions import FAIL, PASS, RESOLUTIONS, Resolution, judged, trimmed


def mean(*scores: float) -> float | None:
    return values(scores, [None] * len(scores), 0.2).mean


def median(*scores: float) -> float | None:
    return values(scores, [None] * len(scores), 0.2).median


@pytest.mark.parametrize(
    ("scores", "quorum", "decision"),
    [
        # Two of three is .667, which meets .67; one of three is .333, which does not.
        ((PASS, PASS, FAIL), 0.67, Decision.PASS),
        ((PASS, FAIL, FAIL), 0.67, Decision.FAIL),
        # Unanimity: one dissent is enough to fail.
        ((PASS, PASS, PASS), 1.0, Decision.PASS),
        ((PASS, PASS, FAIL), 1.0, Decision.FAIL),
        # An even split of four is 2/4 = .5: it passes at .5 and fails at .6.
        ((PASS, PASS, FAIL, FAIL), 0.5, Decision.PASS),
        ((PASS, PASS, FAIL, FAIL), 0.6, Decision.FAIL),
        # Four of five is .8.
        ((PASS, PASS, PASS, PASS, FAIL), 0.8, Decision.PASS),
        ((PASS, PASS, PASS, FAIL, FAIL), 0.8, Decision.FAIL),
        ((PASS, PASS, PASS, PASS, FAIL), "4/5", Decision.PASS),
        # The gate example's .66 is under 2/3 whichever way it is read.
        ((PASS, PASS, FAIL), 0.66, Decision.PASS),
        # Two at .9 and one at .05 still make a majority.
        ((0.9, 0.9, 0.05), 0.5, Decision.PASS),
    ],
)
def test_the_quorum_examples(
    scores: tuple[float, ...], quorum: float | str, decision: Decision
) -> None:
    assert judged(*scores, quorum=quorum).decision is decision


@pytest.mark.parametrize("n", [1, 3, 5, 7])
def test_an_odd_panel_has_no_even_split(n: int) -> None:
    # k/n = 1/2 has no whole k, so raising the quorum a little over a half changes nothing.
    for k in range(n + 1):
        assert quorum_met(k, n, 0.5) == (2 * k > n)


def test_two_high_and_one_at_nothing_are_marked_for_a_person() -> None:
    found = judged(0.9, 0.9, 0.05, quorum=0.5)
    # Votes two to one: unit alpha 0. Mean .61667, squares 2 * .08028 + .32111; half of it * 12.
    assert found.agreement.alpha == 0.0
    assert found.agreement.spread.raw == pytest.approx(1 - 2.89, abs=1e-9)
    assert found.band is Band.LOW
    assert found.escalation[0] == "low agreement"
    assert found.decision is Decision.PASS


def test_a_confident_panel_never_warns_of_bias() -> None:
    seats = [juror(name, 0.9, model=name) for name in ("claude-4", "gpt-4o", "gemini-2.5-pro")]
    united = assess(read(body(*seats, generator={"model": "claude-3"}), threshold=0.7))
    assert (united.same_family, united.bias_warning) == (True, None)
    seats[2]["score"] = 0.05
    split = assess(read(body(*seats, generator={"model": "claude-3"}), threshold=0.7))
    assert "claude-4" in (split.bias_warning or "")
    # A tool's result has no generating model.
    tool = assess(read(body(*seats), threshold=0.7))
    assert (tool.same_family, tool.bias_warning) == (None, None)


WEIGHTS = {"sonnet": 0.5, "haiku": 0.2, "gpt-4o": 0.3}


def test_the_weights_of_the_record_and_their_renormalisation() -> None:
    assert sum(WEIGHTS.values()) == pytest.approx(1.0)
    weights = list(WEIGHTS.values())
    # .5 * .8 + .2 * .6 + .3 * .7 = .40 + .12 + .21.
    assert weighted_average([0.8, 0.6, 0.7], weights) == pytest.approx(0.73)
    # Without the second, (.40 + .21) / (.5 + .3).
    assert weighted_average([0.8, None, 0.7], weights) == pytest.approx(0.7625)


def test_a_failed_judge_does_not_tank_the_score() -> None:
    seats = [
        juror(name, score, weight=WEIGHTS[name])
        for name, score in (("sonnet", 0.8), ("gpt-4o", 0.7))
    ]
    seats.insert(1, juror("haiku", status="timeout", weight=0.2))
    found = assess(read(body(*seats), threshold=0.7, strategy="weighted_average"))
    # The median of .8 and .7 takes the place of the average, .7625; as 0 it would drag it to .61.
    assert (found.rule.strategy, found.rule.used) == ("weighted_average", "median")
    assert found.score == pytest.approx(0.75)
    assert found.values.weighted_average == pytest.approx(0.7625)
    # Of .9 .9 .55 .1 with weights 1 1 1 8 the average is .286, and the median, .725, decides.
    seats = [juror(f"j{n}", score) for n, score in enumerate((0.9, 0.9, 0.55))]
    seats += [juror("heavy", 0.1, weight=8), juror("late", status="timeout")]
    found = assess(read(body(*seats), threshold=0.7, strategy="weighted_average"))
    assert found.decision == found.decisions.weighted_average == found.decisions.median == "pass"


def test_the_floor_of_the_records_agreement() -> None:
    # (1 - 0)² / 16 = .0625. Of .5 and 1 the variance is .125: over the floor, so 0.
    assert closeness([0.5, 1.0]) == 0.0
    # Of .8 .7 .9 it is .01: 1 - .16.
    assert closeness([0.8, 0.7, 0.9]) == pytest.approx(0.84)
    assert closeness([0.7, 0.7]) == 1.0


def test_the_median_is_robust_to_an_outlier() -> None:
    assert median(0.8, 0.7, 0.9) == median(0.8, 0.0, 0.9) == 0.8


def compositions(total: int, most: int) -> list[tuple[int, ...]]:
    """Counts per label of ``total`` ballots, largest first."""
    if total == 0:
        return [()]
    return [
        (first, *rest)
        for first in range(min(total, most), 0, -1)
        for rest in compositions(total - first, first)
    ]


@pytest.mark.parametrize("n", range(2, 8))
def test_alpha_of_one_item_is_one_or_nothing(n: int) -> None:
    # The package's own steps: the observed share of differing pairs, and the share expected from
    # drawing two labels without replacement. For one item they are the same number.
    for counts in compositions(n, n):
        pairs = n * (n - 1) / 2
        observed = (pairs - sum(c * (c - 1) / 2 for c in counts)) / pairs
        expected = 1 - sum(c / n * (c - 1) / (n - 1) for c in counts)
        assert observed == pytest.approx(expected)
        labels = [label for label, count in enumerate(counts) for _ in range(count)]
        assert unit_alpha(labels) == (1.0 if len(counts) == 1 else 0.0)


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


@pytest.mark.parametrize(
    ("n", "per_side", "averaged"),
    # 20% of 3 and 4 is .6 and .8, and one goes all the same; of 6 and 7 it is 1.2 and 1.4.
    [(3, 1, 1), (4, 1, 2), (5, 1, 3), (6, 1, 4), (7, 1, 5), (10, 2, 6)],
)
def test_how_many_are_averaged(n: int, per_side: int, averaged: int) -> None:
    assert trim_count(n, 0.2) == per_side
    assert n - 2 * per_side == averaged


def test_three_judges_give_the_median() -> None:
    assert trimmed(0.2, 0.9, 0.7) == median(0.2, 0.9, 0.7) == 0.7


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


def test_one_dimension_of_the_composite() -> None:
    # A dimension of 14% that moves by ten points moves the weighted mean by 1.4.
    before, after = (weighted_average([s, 50.0], [0.14, 0.86]) for s in (50.0, 60.0))
    assert (after or 0) - (before or 0) == pytest.approx(1.4)


@pytest.mark.parametrize("found", RESOLUTIONS, ids=lambda found: found.where)
def test_our_resolution_holds(found: Resolution) -> None:
    assert found.ours() == found.expected


def test_every_resolution_is_written_out() -> None:
    for found in RESOLUTIONS:
        assert all((found.where, found.says, found.we, found.why))
        assert found.where.split(",")[0] in {"CONSENSUS", "RECORD", "CROSS", "TRIM"}
