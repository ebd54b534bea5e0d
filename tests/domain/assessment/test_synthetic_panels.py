"""Panels with a known bias, made from a seed, and what each rule must make of them.

The foil is the rule that the trim replaces: it drops what lies beyond some standard deviations.
"""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Sequence

import pytest

from reviewdesk.domain.assessment.assess import assess
from reviewdesk.domain.assessment.result import Assessment
from reviewdesk.domain.jury.scores import trim
from reviewdesk.domain.jury.trim import trim_count
from reviewdesk.domain.verdict import Decision, Strategy
from tests.domain.bodies import body, juror, panel, read

SEEDS = range(20)
SIZES = range(5, 16)
TRUTH, NOISE, THRESHOLD = 0.8, 0.02, 0.7
ON_SCORES = ("mean", "trimmed_mean", "median", "weighted_average", "highest", "lowest")


def seeded(seed: int) -> random.Random:
    return random.Random(seed)  # noqa: S311 - a fixed seed is the point


def honest(rng: random.Random, n: int) -> list[float]:
    """Jurors within ``NOISE`` of the truth, each by its own error."""
    return [TRUTH + rng.uniform(-NOISE, NOISE) for _ in range(n)]


def judged(scores: Sequence[float | None], strategy: str = "trimmed_mean") -> Assessment:
    return assess(read(panel(*scores), threshold=THRESHOLD, strategy=strategy))


def within(value: float | None, scores: Sequence[float]) -> bool:
    """Whether a value lies in the range of some scores, to the last bits of a mean."""
    return value is not None and min(scores) - 1e-12 <= value <= max(scores) + 1e-12


def kept_within(scores: Sequence[float], centre: float, reach: float) -> list[float]:
    """The foil: what lies within ``reach`` of the centre."""
    return [score for score in scores if abs(score - centre) <= reach]


@pytest.mark.parametrize("seed", SEEDS)
def test_an_honest_panel_decides_alike_under_every_rule(seed: int) -> None:
    rng = seeded(seed)
    for n in SIZES:
        scores = honest(rng, n)
        found = judged(scores)
        # Every score is over .78, so every average, order statistic and vote is over .7.
        for value in (found.values.mean, found.values.trimmed_mean, found.values.median):
            assert within(value, scores)
        made = found.decisions
        decided = {made.mean, made.trimmed_mean, made.median, made.majority, made.lowest}
        assert decided == {Decision.PASS}
        # The widest spread is .04 with half of the jurors at each end: s² is at most
        # .02² * n / (n - 1), so r_WG is at least 1 - 12 * .0005.
        assert (found.agreement.spread.raw or 0) >= 1 - 12 * NOISE**2 * 5 / 4 - 1e-12
        assert found.breaches == ()


@pytest.mark.parametrize("seed", SEEDS)
def test_one_outlier_cannot_leave_the_honest_range(seed: int) -> None:
    rng = seeded(seed)
    for n in SIZES:
        others = honest(rng, n - 1)
        bribed = rng.choice([0.0, 1.0, rng.random()])
        scores = [*others, bribed]
        rng.shuffle(scores)
        found = judged(scores)
        # One score at each end goes: the bribed one, or an honest one while it sits among them.
        assert within(found.values.trimmed_mean, others)
        assert within(found.values.median, others)
        assert found.decision is Decision.PASS
        # The plain mean moves by a share of the distance, and at 0 that is over .78 / 15.
        dragged = judged([*others, 0.0]).values.mean
        assert not within(dragged, others)


@pytest.mark.parametrize("seed", SEEDS)
def test_coordinated_jurors_break_the_trim_just_beyond_its_count(seed: int) -> None:
    rng = seeded(seed)
    for n in SIZES:
        count = trim_count(n, 0.2)
        for colluders in range(1, (n - 1) // 2 + 1):
            others = honest(rng, n - colluders)
            found = judged([*others, *[0.0] * colluders])
            # Up to the count all of them are cut. One more leaves a 0 among n - 2 * count kept
            # scores, ten at the most: at most .82 * 9/10 = .738, under every honest score.
            assert within(found.values.trimmed_mean, others) == (colluders <= count)
            # The median is honest while the honest are in the majority.
            assert within(found.values.median, others)


def test_two_of_five_turn_the_trim_but_not_the_median() -> None:
    scores = [*honest(seeded(0), 3), 0.0, 0.0]
    # A 0 and two honest scores: at most .82 * 2/3 = .547 against .7.
    assert judged(scores).decision is Decision.FAIL
    assert judged(scores, "median").decision is Decision.PASS
    # Of ten, both are cut.
    assert judged([*honest(seeded(0), 8), 0.0, 0.0]).decision is Decision.PASS


@pytest.mark.parametrize("score", [0.0, 0.25, 0.5, 0.75, 1.0])
@pytest.mark.parametrize("n", [3, 5, 10])
def test_equal_scores_leave_nothing_to_decide(n: int, score: float) -> None:
    found = judged([score] * n)
    # Quarters are exact in binary: every rule gives the score itself.
    for name in ON_SCORES:
        assert getattr(found.values, name) == score
    assert (found.agreement.spread.raw, found.agreement.alpha, found.agreement.sd) == (
        1.0,
        1.0,
        0.0,
    )
    # Whoever is cut is cut by the seat alone: the first and the last.
    assert found.trim.low == tuple(range(found.trim.per_side))
    assert all(seat.tied for seat in found.seats if seat.trimmed)
    assert not found.votes.split


def test_a_bribed_juror_with_a_growing_variance_moves_no_trim() -> None:
    others = honest(seeded(1), 4)
    low = min(others)
    values, means, reaches = set(), [], []
    for step in range(1, 30):
        # Ever further under the honest jurors, down to about .04.
        scores = [*others, low - step * 0.025]
        found = judged(scores)
        assert (found.trim.per_side, found.trim.low) == (1, (4,))
        values.add(found.values.trimmed_mean)
        means.append(found.values.mean or 0)
        reaches.append(statistics.fmean(scores) - 2 * statistics.stdev(scores))
    # What is kept is the same three scores every time, so it is one number to the last bit.
    assert len(values) == 1
    # The mean, and the limit of two standard deviations below it, follow the juror down.
    assert means == sorted(means, reverse=True)
    assert reaches == sorted(reaches, reverse=True)
    # Two standard deviations never catch it: of five scores none lies beyond 4 / √5 = 1.79.
    assert all(reach < low - step * 0.025 for step, reach in enumerate(reaches, 1))


def test_pumped_variance_opens_the_sigma_rule_and_not_the_trim() -> None:
    rng = seeded(2)
    history = [score for _ in range(10) for score in honest(rng, 5)]
    limits, bought = [], 0.25
    for _ in range(60):
        centre, spread = statistics.fmean(history), statistics.pstdev(history)
        limits.append(centre - 3 * spread)
        # The bribed juror stays just inside what the rule lets pass, and so widens it.
        others = honest(rng, 4)
        scores = [*others, max(0.0, centre - 2.9 * spread)]
        assert len(kept_within(scores, centre, 3 * spread)) == 5
        history = [*history, *scores][-50:]
        cut = trim([*others, bought], 0.2)
        assert (cut.per_side, cut.low) == (1, (4,))
        assert judged([*others, bought]).decision is Decision.PASS
    # At first the bought score lay beyond the limit; in the end it counts, and turns the verdict:
    # four of .8 average .8, and with one of .25 they average .69.
    assert limits[-1] < bought < limits[0]
    others = [TRUTH] * 4
    first = kept_within([*others, bought], TRUTH, TRUTH - limits[0])
    last = kept_within([*others, bought], TRUTH, TRUTH - limits[-1])
    assert statistics.fmean(first) > THRESHOLD > statistics.fmean(last)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_correlated_pair_does_not_choose_who_is_cut(seed: int) -> None:
    rng = seeded(seed)
    dissent, others = 0.55, [0.70, 0.85]
    # Whatever the pair says between dissent and top, it is the dissent and the top that go.
    pair = [rng.uniform(0.56, 0.84) for _ in range(2)]
    cut = trim([dissent, *others, *pair], 0.2)
    assert (cut.low, cut.high) == ((0,), (2,))


def test_a_correlated_pair_makes_the_sigma_rule_punish_dissent() -> None:
    def kept(*pair: float) -> list[float]:
        scores = [0.55, 0.70, 0.85, *pair]
        reach = 1.5 * statistics.pstdev(scores)
        return kept_within(scores, statistics.fmean(scores), reach)

    # Apart (.62, .88): mean .72, variance .0818 / 5, reach 1.5 * .1279 = .192; .55 is .17 away.
    assert 0.55 in kept(0.62, 0.88)
    # In step (.78, .78): mean .732, variance .05268 / 5, reach 1.5 * .1026; .55 is .182 away.
    assert 0.55 not in kept(0.78, 0.78)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_pair_of_five_always_has_one_that_counts(seed: int) -> None:
    rng = seeded(seed)
    others, twin = honest(rng, 3), rng.random()
    found = judged([*others, twin, twin])
    # One goes at each end, and equal scores stand side by side: both ends take one of the pair
    # only if nothing lies between, that is never with three others.
    counted = [seat for seat in found.seats[3:] if not seat.trimmed]
    assert counted
    assert within(found.values.median, others)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("strategy", [*Strategy])
def test_a_failed_juror_is_no_juror_at_all_to_the_scores(seed: int, strategy: Strategy) -> None:
    rng = seeded(seed)
    seats = [
        juror(f"j{i}", score, weight=rng.uniform(0.5, 2.0))
        for i, score in enumerate(honest(rng, rng.randint(1, 7)))
    ]
    failed = juror("late", status="timeout", weight=9.0)
    with_it = list(seats)
    with_it.insert(rng.randint(0, len(seats)), failed)
    alone, beside = (
        assess(read(body(*one), threshold=THRESHOLD, strategy=strategy)) for one in (seats, with_it)
    )
    # As a 0 it would drag every average, and its weight of 9 would shrink the weighted one.
    for name in ON_SCORES:
        assert getattr(beside.values, name) == getattr(alone.values, name)
    assert (beside.votes.passes, beside.votes.answered) == (
        alone.votes.passes,
        alone.votes.answered,
    )
    assert beside.votes.seated == alone.votes.seated + 1


@pytest.mark.parametrize("seed", SEEDS)
def test_seats_do_not_matter_to_any_rule(seed: int) -> None:
    rng = seeded(seed)
    scores = [rng.choice([0.0, 0.25, 0.5, 0.75, 1.0]) for _ in range(rng.randint(3, 9))]
    shuffled = rng.sample(scores, len(scores))
    first, second = judged(scores), judged(shuffled)
    assert first.votes == second.votes
    assert math.isclose(first.values.trimmed_mean or 0, second.values.trimmed_mean or 0)
    assert (first.values.median, first.decision) == (second.values.median, second.decision)
