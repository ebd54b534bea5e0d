"""What labels of a part say of the whole: estimates, bounds, and how many more would do."""

from __future__ import annotations

import pytest

from reviewdesk.domain.gates.expect import Op
from reviewdesk.domain.labels.rows import LabelledRow, RunFigures
from reviewdesk.domain.labels.sampling import LabelledVerdict
from reviewdesk.domain.labels.summary import make_rows
from reviewdesk.domain.records import Truth
from reviewdesk.domain.stats.calibration_page import (
    NO_LABEL,
    NO_SIGNAL,
    LabelsNeeded,
    RateMethod,
    more_for,
    of_strata,
    of_trusted,
)
from reviewdesk.domain.stats.correction import lang_reiczigel
from reviewdesk.domain.stats.figures import Part
from reviewdesk.domain.stats.rates import midp
from reviewdesk.domain.stats.stratified import drawn_rate
from reviewdesk.domain.verdict import Decision

FLAGGED_PASS, FLAGGED_FAIL, FLAGGED_NONE, REST_PASS = 0, 1, 2, 3


def place(stratum: int, rank: int, truth: str) -> LabelledVerdict:
    return LabelledVerdict(stratum, rank, Truth(truth))


def test_only_decided_labels_inside_a_prefix_count() -> None:
    places = [
        place(FLAGGED_PASS, 0, "pass"),
        place(FLAGGED_PASS, 1, "unsure"),
        place(FLAGGED_PASS, 2, "fail"),
        # Rank 3 has no label, so rank 4 is outside of the prefix.
        place(FLAGGED_PASS, 4, "pass"),
        place(FLAGGED_NONE, 0, "pass"),
        place(REST_PASS, 0, "disputed"),
    ]
    labelled = [
        LabelledRow(
            key, "v", b"", None if at.stratum == FLAGGED_NONE else Decision.PASS,
            0.8, None, None, 1, 1, at,
        )
        for key, at in enumerate(places)
    ]  # fmt: skip
    sizes = {FLAGGED_PASS: 9, FLAGGED_FAIL: 0, FLAGGED_NONE: 2, REST_PASS: 40}
    # What the judge decided neither way is no stratum of the rate; an empty one is none either.
    made = make_rows(labelled, RunFigures(49, 0, "support", scores_stated=False, sizes=sizes))
    assert made.right_parts == made.pass_parts == (Part(9, 2, 1), Part(40, 0, 0))


def test_the_estimate_by_hand() -> None:
    # Every one of 10 is known, 4 of them hits; of 30 half were seen, all hits.
    found = of_strata([Part(10, 10, 4), Part(30, 15, 15)])
    assert found.method is RateMethod.STRATIFIED
    assert found.estimate == pytest.approx(0.25 * 0.4 + 0.75 * 1.0)
    # The census adds no width. Of the other: n of n at n = 15 * 29 / 15 = 29 have half a chance of
    # 2.5% at .05^(1/29) = .901857, and half of one verdict of 30 is taken off.
    assert found.low == pytest.approx(0.85 - 0.75 * (1 - 0.05 ** (1 / 29) + 0.5 / 30))
    assert found.high == pytest.approx(0.85)
    assert found.reason is None


def test_an_unlabelled_stratum_leaves_bounds_and_says_so() -> None:
    found = of_strata([Part(10, 5, 2), Part(30, 0, 0)], "describes escalated verdicts only")
    # A quarter at the mid-p ends of 2 of 5 of 10, which are those of 3.6 of n = 5 * 9 / 5 = 9, and
    # half of one verdict of 10 beyond; the others may all be misses or all be hits.
    low, high = midp(3.6, 9)
    assert found.estimate is None
    assert found.low == pytest.approx(0.25 * (low - 0.05))
    assert found.high == pytest.approx(0.25 * (high + 0.05) + 0.75)
    assert found.reason == "describes escalated verdicts only"


def test_without_labels_nothing_is_known() -> None:
    found = of_strata([Part(10, 0, 0)])
    assert (found.method, found.estimate, found.low, found.high) == (
        RateMethod.NONE,
        None,
        None,
        None,
    )
    assert found.reason == NO_LABEL


def test_a_trusted_set_from_elsewhere() -> None:
    found = of_trusted(500, 1000, 90, 10, 80, 20)
    assert found.method is RateMethod.LANG_REICZIGEL
    # (0.5 + 0.8 - 1) / 0.7, and the interval of the function that is held to its own vectors.
    assert found.estimate == pytest.approx(3 / 7)
    assert (found.low, found.high) == lang_reiczigel(500, 1000, 90, 10, 80, 20)
    for cells in ((0, 0, 80, 20), (50, 50, 50, 50)):
        nothing = of_trusted(500, 1000, *cells)
        assert (nothing.method, nothing.estimate, nothing.reason) == (
            RateMethod.NONE,
            None,
            NO_SIGNAL,
        )


def test_how_many_more_audits() -> None:
    seen = [Part(10, 10, 2), Part(1000, 40, 4)]
    asked = more_for("pass_rate", seen, Op.AT_MOST, 0.15)
    # 0.0099 * 0.2 + 0.9901 * 0.1 = 0.10099, under 0.15; so many more bring the upper end there.
    assert asked.labels is not None
    assert asked.labels > 0

    def high(more: int) -> float:
        n = 40 + more
        return drawn_rate([seen[0], Part(1000, n, n / 10)]).high

    # All the unlabelled lie in the second stratum, so every further label falls there.
    assert high(asked.labels) <= 0.15 + 1e-9 < high(asked.labels - 1)
    beyond = more_for("pass_rate", seen, Op.AT_MOST, 0.05)
    assert beyond == LabelsNeeded(
        "pass_rate", Op.AT_MOST, 0.05, None, "the estimate itself is beyond the limit"
    )
    assert more_for("x", [Part(5, 0, 0)], Op.AT_LEAST, 0.5).labels is None
    assert more_for("x", seen, Op.AT_MOST, None).reason
