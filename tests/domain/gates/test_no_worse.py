"""The change from an older panel to a new one, paired on the contents of a suite."""

import math

import pytest

from reviewdesk.domain.gates.join import PairedDecision, change
from reviewdesk.domain.records import Truth
from reviewdesk.domain.stats.correction import Z
from reviewdesk.domain.stats.rates import midp, tango
from reviewdesk.domain.verdict import Decision

P, F, NO = Decision.PASS, Decision.FAIL, None
GOOD, BAD = Truth.PASS, Truth.FAIL


def test_tango_gives_the_scores_of_the_ends() -> None:
    # Without any change q is 0 above 0 and -δ below it, so that n·δ² = z²·|δ|(1 - |δ|).
    end = Z**2 / (40 + Z**2)
    assert (tango(0, 0, 40), tango(0, 0, 40, -Z)) == pytest.approx((-end, end))
    # q by a search for the largest likelihood, with 4 gained and 9 lost of 50.
    for z in (Z, -Z):
        delta = tango(4, 9, 50, z)
        places = (at / 100_000 for at in range(1, 50_000))
        q = max(
            (q for q in places if q + delta > 0 and 1 - 2 * q - delta > 0),
            key=lambda q: (
                4 * math.log(q + delta) + 9 * math.log(q) + 37 * math.log(1 - 2 * q - delta)
            ),
        )
        score = (4 - 9 - 50 * delta) / math.sqrt(50 * (2 * q + delta * (1 - delta)))
        assert score == pytest.approx(z, abs=1e-3)


@pytest.mark.parametrize(
    ("new", "old", "truth", "gained", "lost"),
    [
        (P, F, GOOD, 1, 0),
        (P, F, BAD, 0, 1),
        (P, P, BAD, 0, 0),
        (NO, P, GOOD, 0, 1),
        (NO, P, BAD, 0, 0),
        (F, NO, BAD, 1, 0),
        (F, NO, GOOD, 0, 0),
        (NO, Decision.INCONCLUSIVE, GOOD, 0, 0),
    ],
)
def test_a_panel_without_a_decision_is_not_right(
    new: Decision | None, old: Decision | None, truth: Truth, gained: int, lost: int
) -> None:
    found = change([PairedDecision(0, new, old, truth), *[PairedDecision(0, P, P)] * 9])
    # All that differ are labelled, so that only the run as a sample of such items is in doubt.
    ends = tango(gained, lost, 10), tango(gained, lost, 10, -Z)
    assert (found.estimate, found.low, found.high) == pytest.approx(((gained - lost) / 10, *ends))


def test_labels_of_a_part_widen_the_interval() -> None:
    labelled = [PairedDecision(3, P, F, GOOD)] * 3 + [PairedDecision(3, P, F, BAD)]
    found = change([*labelled, *[PairedDecision(3, P, F)] * 16, *[PairedDecision(3, P, P)] * 80])
    # 20 of 100 differ; of the 4 with a label 3 are gained, at 4·19/16 labels of an endless run, and
    # 4/400 outward: see ``midp_interval``.
    low, high = midp(0.75 * 4.75, 4.75)
    share = 2 * 20 / 100
    below = math.hypot(share * (0.75 - low + 0.01), 0.1 - tango(15, 5, 100))
    above = math.hypot(share * (min(high + 0.01, 1) - 0.75), tango(15, 5, 100, -Z) - 0.1)
    assert (found.items, found.apart, found.labelled) == (100, 20, 4)
    assert (found.estimate, found.low, found.high) == pytest.approx((0.1, 0.1 - below, 0.1 + above))


def test_what_has_no_label_may_be_either() -> None:
    found = change([*[PairedDecision(3, P, F)] * 5, *[PairedDecision(3, P, P)] * 95])
    assert (found.estimate, found.labelled) == (None, 0)
    assert (found.low, found.high) == pytest.approx((tango(0, 5, 100), tango(5, 0, 100, -Z)))
