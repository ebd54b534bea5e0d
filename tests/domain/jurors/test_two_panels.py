"""Two panels on the same items: counts by hand, and intervals against every possible sample."""

import math
from collections import Counter
from collections.abc import Sequence
from itertools import product

import numpy as np
import pytest

from reviewdesk.domain.jurors.panels import (
    Cell,
    CommonItems,
    Decisions,
    PanelComparison,
    compare_panels,
    panel_drills,
)
from reviewdesk.domain.jurors.strata import Labels
from reviewdesk.domain.records import Design, Truth
from reviewdesk.domain.stats.rates import sign_test
from reviewdesk.domain.verdict import Decision
from tests.helpers import placed

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
    assert [one.count for one in panel_drills(found, blind=False)] == [4, 1, 3, 0]
    assert [one.count for one in panel_drills(found, blind=True)] == [1, 3]


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
