"""What a panel is worth: correlated errors, what a juror adds, and another panel beside it."""

import math
from collections import Counter
from collections.abc import Sequence
from itertools import product

import numpy as np
import pytest
from msgspec.structs import replace

from reviewdesk.domain.jurors.panels import (
    Cell,
    CommonItems,
    Decisions,
    PanelComparison,
    compare_panels,
    effective,
    error_correlation,
    panel_drills,
    worth,
)
from reviewdesk.domain.jurors.votes import Labels
from reviewdesk.domain.records import Design, Truth
from reviewdesk.domain.run.columns import Columns
from reviewdesk.domain.stats.figures import Estimate
from reviewdesk.domain.stats.rates import sign_test
from reviewdesk.domain.verdict import Decision, Strategy
from tests.domain.bodies import columns, read
from tests.helpers import placed, verdict


def votes(count: int, chances: tuple[float, ...], seed: int = 0) -> tuple[Columns, Labels]:
    """Verdicts of jurors who are right so often, each by itself, all labelled pass or fail."""
    rng = np.random.default_rng(seed)
    truth = rng.random(count) < 0.5
    right = rng.random((len(chances), count)) < np.array(chances)[:, None]
    cast = right == truth
    bodies = [
        verdict(
            f"v{i}",
            *np.where(cast[:, i], 0.9, 0.1).tolist(),
            decision="pass" if cast[:, i].sum() * 2 > len(chances) else "fail",
            strategy="majority",
        )
        for i in range(count)
    ]
    made = columns((i, read(one, threshold=0.5)) for i, one in enumerate(bodies))
    every = np.arange(count)
    labels = Labels(
        np.zeros(count, np.int64), truth.astype(np.int8), np.ones(count, np.bool_), every, every
    )
    return made, labels


def test_jurors_who_err_apart_count_as_many() -> None:
    made, labels = votes(400, (0.8, 0.8, 0.8))
    found = worth(made, labels)
    assert found.correlation.estimate == pytest.approx(0, abs=0.1)
    assert found.effective.estimate == pytest.approx(3, abs=0.5)
    assert (found.labels, found.jurors) == (400, 3)


def test_jurors_who_always_err_together_count_as_one() -> None:
    wrong = np.tile(np.arange(40) % 4 == 0, (5, 1)).astype(float)
    found = error_correlation(wrong, np.ones(40), np.zeros(40), np.arange(40))
    assert [found.estimate, found.low, found.high] == pytest.approx([1, 1, 1])
    assert effective(5, found).estimate == pytest.approx(1)
    half = effective(5, Estimate(0.25, 0.0, 0.5))
    assert (half.estimate, half.high) == (2.5, 5)
    assert half.low == pytest.approx(5 / 3)


def test_a_juror_without_errors_has_no_correlation() -> None:
    wrong = np.array([[0.0] * 30, [1.0] * 10 + [0.0] * 20])
    found = error_correlation(wrong, np.ones(30), np.zeros(30), np.arange(30))
    assert found.estimate is None
    assert "no two jurors" in found.reason


def test_the_correlation_is_weighted_by_the_draw() -> None:
    """Two halves, one with errors together and one apart; a weight of 0 leaves one out."""
    together = np.array([[1.0, 0, 1, 0], [1.0, 0, 1, 0]])
    wrong = np.concatenate([together, np.array([[1.0, 0, 1, 0], [0.0, 1, 1, 0]])], axis=1)
    strata = np.repeat([0, 1], 4)
    every = np.arange(8)
    only = error_correlation(wrong, np.repeat([1.0, 1e-9], 4), strata, every).estimate
    both = error_correlation(wrong, np.ones(8), strata, every).estimate
    assert only == pytest.approx(1, abs=1e-6)
    # Of 8: each errs on 4, both on 3: (3/8 - 1/4)/(1/4) = 1/2.
    assert both == pytest.approx(0.5)


def test_smaller_panels_are_those_that_no_other_beats() -> None:
    made, labels = votes(200, (0.95, 0.7, 0.6), seed=4)
    found = worth(made, labels)
    assert found.tried >= 7 * 3
    cost = [one.cost for one in found.frontier]
    accuracy = [one.accuracy for one in found.frontier]
    assert cost == sorted(cost)
    assert accuracy == sorted(accuracy)
    # By hand: the share of labels that each majority of one or three meets.
    cast = dict(zip(made.names, made.votes, strict=True))
    single = max(float((cast[name] == labels.truth).mean()) for name in made.names)
    assert found.frontier[0].accuracy == pytest.approx(single)
    assert found.frontier[0].jurors == ("j1",)
    for one in found.frontier:
        if one.rule is Strategy.MAJORITY and len(one.jurors) % 2:
            passes = sum(cast[name] == 1 for name in one.jurors)
            hit = float(((2 * passes > len(one.jurors)) == labels.truth).mean())
            assert one.accuracy == pytest.approx(hit)


def test_prices_replace_the_number_of_jurors() -> None:
    made, labels = votes(60, (0.9, 0.7))
    priced = worth(made, labels, {"j1": 0.5, "j2": 0.01})
    assert priced.priced
    assert {one.cost for one in priced.frontier} <= {0.5, 0.01, 0.51}
    # A juror without a price leaves all without one.
    assert not worth(made, labels, {"j1": 0.5}).priced


def test_many_verdicts_on_few_contents_are_few_labels() -> None:
    wrong = (np.random.default_rng(2).random((3, 24)) < 0.4).astype(float)
    copies = np.repeat(wrong, 10, axis=1)
    one = error_correlation(wrong, np.ones(24), np.zeros(24), np.arange(24))
    ten = error_correlation(copies, np.ones(240), np.zeros(240), np.repeat(np.arange(24), 10))
    assert (ten.estimate, ten.low, ten.high) == pytest.approx(
        (one.estimate, one.low, one.high), abs=0.02
    )


@pytest.mark.parametrize("copies", [1, 5])
def test_few_labels_say_nothing(copies: int) -> None:
    made, labels = votes(10 * copies, (0.9, 0.7))
    found = worth(made, replace(labels, content=labels.content // copies))
    assert found.effective.estimate is None
    assert found.frontier == ()


P, F, N = Decision.PASS, Decision.FAIL, Decision.INCONCLUSIVE
PASS, FAIL = Truth.PASS, Truth.FAIL


def compared(
    decisions: Sequence[Decisions], truths: Sequence[Truth | None], strata: Sequence[int] = ()
) -> PanelComparison:
    """Both runs hold the same items in the same order, which is that of each stratum's draw."""
    strata = strata or [3] * len(decisions)
    seen: Counter[int] = Counter()
    rows = []
    for row, (h, truth) in enumerate(zip(strata, truths, strict=True)):
        if truth is not None:
            rows.append(placed(h, seen[h], truth, key=row))
        seen[h] += 1
    labels = Labels.of(range(len(strata)), strata, rows)
    nothing = Labels.of(range(len(strata)), strata, [])
    cells: Counter[Cell] = Counter(
        (one, two, truth) for (one, two), truth in zip(decisions, truths, strict=True)
    )
    here = CommonItems.of("a", "aaaa", labels, dict(enumerate(decisions)))
    there = [(two, one) for one, two in decisions]
    other = CommonItems.of("b", "bbbb", nothing, dict(enumerate(there)))
    return compare_panels(here, other, cells, cells)


def test_who_is_right_by_hand() -> None:
    found = compared(
        [(P, P), (P, F), (P, F), (F, P), (F, F), (N, P), (P, None)],
        [PASS, PASS, FAIL, FAIL, PASS, PASS, PASS],
    )
    # Both right; a alone twice (it passed a pass, and failed a fail); b alone once; both wrong.
    # Of the last two, one panel decided neither way: they are common items and no more.
    assert (found.both_right, found.first_alone, found.second_alone, found.both_wrong) == (
        1, 2, 1, 1,
    )  # fmt: skip
    assert (found.items, found.decided, found.labelled, found.flips) == (7, 5, 5, 4)
    # All five are labelled: right on 3 and on 2 of 5, a census.
    assert found.design is Design.CENSUS
    assert (found.first.rate.estimate, found.second.rate.estimate) == (0.6, 0.4)
    made = found.difference
    assert (made.estimate, made.low, made.high) == pytest.approx((0.2, 0.2, 0.2))
    assert [one.count for one in panel_drills(found)] == [4, 1, 3, 0]


def test_the_draw_of_the_run_with_more_labels_that_count_is_used() -> None:
    bare = Labels.of(range(2), [3, 3], [])
    full = Labels.of(range(2), [3, 3], [placed(3, 0, PASS, key=0)])
    cells: Counter[Cell] = Counter({(P, F, PASS): 1, (P, P, None): 1})
    a = CommonItems.of("a", "aaaa", bare, {0: (P, F), 1: (P, P)})
    b = CommonItems.of("b", "bbbb", full, {0: (F, P), 1: (P, P)})
    found = compare_panels(a, b, cells, cells)
    # a is right where they differ, whichever run's draw says how much the label counts.
    assert (found.drawn, found.difference.estimate) == ("b", 0.5)
    swapped: Counter[Cell] = Counter({(F, P, PASS): 1, (P, P, None): 1})
    turned = compare_panels(b, a, swapped, swapped)
    assert (turned.drawn, turned.difference.estimate) == ("b", -0.5)


@pytest.mark.parametrize("labelled", [4, 6, 8])
def test_the_interval_holds_the_truth_in_every_sample_that_could_be_drawn(labelled: int) -> None:
    """Enumerate all C(12, n) equally likely prefixes of every split of 6 differing items.

    The panels agree on 6 of 12 items. On k of the other 6 the first is right, so D = (2k - 6)/12
    exactly, without any estimator; the share of samples whose interval holds it is the coverage.
    Samples with as many items of each of the three kinds are alike, so one of them is computed.
    """
    covered = []
    for k in range(7):
        samples = held = 0
        for first, second in product(range(k + 1), range(7 - k)):
            rest = labelled - first - second
            if not 0 <= rest <= 6:
                continue
            alike = math.comb(k, first) * math.comb(6 - k, second) * math.comb(6, rest)
            drawn: Sequence[Truth] = [PASS] * first + [FAIL] * second + [PASS] * rest
            decisions = [(P, F)] * (first + second) + [(P, P)] * rest
            decisions += [(P, F)] * (6 - first - second) + [(P, P)] * (6 - rest)
            made = compared(decisions, [*drawn, *[None] * (12 - labelled)]).difference
            samples += alike
            held += alike * (made.low - 1e-9 <= (2 * k - 6) / 12 <= made.high + 1e-9)
        assert samples == math.comb(12, labelled)
        covered.append(held / samples)
    assert min(covered) >= 0.93
    assert np.mean(covered) >= 0.95


def test_the_sign_test_is_that_of_all_possible_splits() -> None:
    # Each of the 2^n outcomes of n fair coins is equally likely; as uneven as seen counts half.
    for one, two in ((0, 1), (1, 4), (3, 3), (0, 7), (9, 2)):
        n, k = one + two, max(one, two)
        heads = [sum(coins) for coins in product((0, 1), repeat=n)]
        tail = sum(1.0 if x > k else 0.5 if x == k else 0.0 for x in heads) / 2**n
        assert sign_test(one, two) == pytest.approx(min(1.0, 2 * tail))
    assert sign_test(0, 0) is None
    # Fagerland, Lydersen and Laake 2013: pairs that differ 1 to 7 have the mid-p 0.039.
    assert math.isclose(sign_test(1, 7) or 0, 0.039, abs_tol=5e-4)
