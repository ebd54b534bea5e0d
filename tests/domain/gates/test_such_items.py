"""Intervals of such items and of a change: worked numbers, references, and what they cover."""

import math
import random
from collections.abc import Sequence

import pytest

from reviewdesk.domain.gates.join import LabelRow, PairedDecision, change
from reviewdesk.domain.gates.such_items import as_run, of_counts, pass_rate, such_items
from reviewdesk.domain.labels.label_columns import LabelledRows
from reviewdesk.domain.labels.summary import panel_intervals
from reviewdesk.domain.records import Truth
from reviewdesk.domain.stats.calibration import Rows, measure
from reviewdesk.domain.stats.correction import Z
from reviewdesk.domain.stats.figures import Estimate, Pair, Part, Target
from reviewdesk.domain.stats.rates import drawn_rate, midp, stratified_ratio, tango, wilson
from reviewdesk.domain.stats.reliability import fit
from reviewdesk.domain.verdict import Decision


def run_of(rows: Rows, strata: Sequence[str] = ()) -> LabelledRows | None:
    """The run that rows of a labels file stand for, each on a content of its own."""
    passed = [] if rows.passed is None else rows.passed.tolist()
    columns = zip(
        rows.confidence.tolist(), rows.correct.tolist(), rows.weight.tolist(), passed, strata,
        strict=False,
    )  # fmt: skip
    made = [
        LabelRow(
            at, sure, correct, weight, item_hash=str(at), stratum=stratum, pi=0.5, selection="draw",
            decision="pass" if decision else "fail",
        )
        for at, (sure, correct, weight, decision, stratum) in enumerate(columns)
    ]  # fmt: skip
    return as_run(made) if made else None


def figures(rows: Rows, strata: Sequence[str] = ()) -> dict[str, Estimate]:
    drawn = run_of(rows, strata)
    found = None if drawn is None else panel_intervals(drawn, Target.ITEMS)
    return such_items(rows, measure(rows, None), fit(rows), found)


def pass_rate_of(rows: Rows, strata: Sequence[str]) -> Estimate:
    drawn = run_of(rows, strata)
    assert drawn is not None
    return pass_rate(drawn)


def ends(found: Estimate) -> tuple[float, float]:
    return found.low, found.high


def test_one_label_has_an_interval_too() -> None:
    # 1 / (1 + z²) = 0.2065, and a loss of 0.64 in the rest.
    found, low = figures(Rows.of([0.8], [True], passed=[True])), 1 / (1 + Z**2)
    assert ends(found["accuracy"]) == pytest.approx((low, 1.0))
    assert ends(found["brier"]) == pytest.approx((0.04, low * 0.04 + (1 - low) * 0.64))
    assert ends(found["gap"]) == pytest.approx((-0.2, 0.8 - low))


def test_labels_that_disagree_keep_the_intervals_that_calibrate_shows() -> None:
    rows = Rows.of([0.9, 0.7, 0.6, 0.8], [True, False, True, True])
    found, shown = figures(rows), fit(rows)
    assert shown.brier is not None
    assert shown.gap is not None
    assert ends(found["brier"]) == (shown.brier.low, shown.brier.high)
    assert ends(found["gap"]) == (shown.gap.low, shown.gap.high)


def test_without_decisions_there_is_no_confusion() -> None:
    found = figures(Rows.of([0.8, 0.8], [True, False]))
    assert found["sensitivity"] == found["specificity"] == found["kappa"]
    assert found["kappa"].estimate is None
    assert "what the judge decided" in found["kappa"].reason
    assert figures(Rows.of([], [])) == {}


STRATA = ["flagged/pass"] * 4 + ["rest/pass"] * 5 + ["rest/fail"] * 3
RIGHT = [True, True, True, False] + [True] * 4 + [False] + [True, True, False]
PASSED = [True] * 9 + [False] * 3
WEIGHTS = [2.0] * 4 + [10.0] * 5 + [4.0] * 3


def weighted() -> Rows:
    """Strata of 8, 50 and 12 verdicts with 3 of 4, 4 of 5 and 2 of 3 right."""
    return Rows.of([0.8] * 12, RIGHT, WEIGHTS, PASSED)


PARTS = (
    [Part(8, 4, 3), Part(50, 5, 4), Part(12, 3, 2)],
    [Part(8, 4, 3), Part(50, 5, 4), Part(12, 3, 1)],
)
"""How many were right, and how many should pass: of what failed, the part that was wrong."""


def test_a_file_of_a_draw_has_the_intervals_of_its_run() -> None:
    found = figures(weighted(), STRATA)
    # (8 · 3/4 + 50 · 4/5 + 12 · 2/3) / 70 = 54 / 70.
    assert found["accuracy"].estimate == pytest.approx(54 / 70)
    right = drawn_rate(PARTS[0], Target.ITEMS)
    assert ends(found["accuracy"]) == pytest.approx((right.low, right.high))
    should = drawn_rate(PARTS[1], Target.ITEMS)
    rate = pass_rate_of(weighted(), STRATA)
    # 6 + 40 + 12 · 1/3 of 70.
    assert rate.estimate == pytest.approx(50 / 70)
    assert ends(rate) == pytest.approx((should.low, should.high))
    # Right 46, missed 4 of 50 that should pass.
    pairs = [
        Pair(Part(8, 4, 3), 0, 8, 0),
        Pair(Part(50, 5, 4), 0, 50, 0),
        Pair(Part(12, 3, 0), 1, 0, 12),
    ]
    ratio = stratified_ratio(pairs, Target.ITEMS)
    assert found["sensitivity"].estimate == pytest.approx(46 / 50)
    assert ends(found["sensitivity"]) == pytest.approx((ratio.low, ratio.high))


def test_rows_that_fit_no_draw_count_as_their_effective_number() -> None:
    # (4 · 2 + 5 · 10 + 3 · 4)² / (4 · 4 + 5 · 100 + 3 · 16) = 4900 / 564.
    other = [*STRATA[:-1], "rest/pass"]
    uneven = Rows.of([0.8] * 12, RIGHT, [*WEIGHTS[:-1], 5.0], PASSED)
    assert run_of(weighted(), other) is run_of(uneven, STRATA) is None
    found = figures(weighted())["accuracy"]
    assert ends(found) == pytest.approx(wilson(54 / 70 * 4900 / 564, 4900 / 564))


def test_rows_of_one_weight_are_as_good_as_drawn_at_random() -> None:
    rows = Rows.of([0.8] * 12, RIGHT, [1.0] * 12, PASSED)
    for found in (figures(rows), figures(rows, STRATA)):
        assert ends(found["accuracy"]) == pytest.approx(wilson(9, 12))
        # Seven of eight that should pass passed; two of four that should fail failed.
        assert ends(found["sensitivity"]) == pytest.approx(wilson(7, 8))
        assert ends(found["specificity"]) == pytest.approx(wilson(2, 4))
    assert ends(pass_rate_of(rows, STRATA)) == pytest.approx(wilson(8, 12))


def test_kappa_worked() -> None:
    # Agreement 35 of 50; expected (25·30 + 25·20) / 2500 = 0.5: (0.7 - 0.5) / 0.5.
    found = of_counts(20, 10, 15, 5)
    assert found["kappa"].estimate == pytest.approx(0.4)
    low, high = ends(found["kappa"])
    # The large-sample error √(p_o(1-p_o)/n)/(1-p_e) is 0.1296, so about 0.15 to 0.65; few labels
    # leave more room below than above.
    assert (low, high) == pytest.approx((0.146, 0.654), abs=0.04)
    assert of_counts(20, 10, 15, 5) == found
    assert ends(found["sensitivity"]) == pytest.approx(wilson(20, 30))
    alone = of_counts(20, 0, 0, 0)
    assert (alone["kappa"].estimate, bool(alone["kappa"].reason)) == (None, True)
    # The document's convention, with nothing known.
    assert alone["specificity"] == Estimate(0.0, 0.0, 1.0)


def test_kappa_is_weighted_and_estimated_by_strata() -> None:
    # tp 46, fn 4, tn 8, fp 12 of 70: p_o 54/70, p_e (58·50 + 12·20) / 4900.
    expected = (58 * 50 + 12 * 20) / 4900
    plain, drawn = figures(weighted())["kappa"], figures(weighted(), STRATA)["kappa"]
    assert plain.estimate == drawn.estimate == pytest.approx((54 / 70 - expected) / (1 - expected))
    for found in (plain, drawn):
        low, high = ends(found)
        assert low < (found.estimate or 0) < high
    assert ends(plain) != ends(drawn)


@pytest.mark.slow
def test_the_interval_of_a_draw_covers_the_process() -> None:
    # Flagged 30% at 0.65, the rest at 0.97: 0.874. A run of 200, all flagged and 30 of the rest.
    dice, held, draws = random.Random(4), 0, 400  # noqa: S311 - dice, not secrets
    for _ in range(draws):
        flagged = sum(dice.random() < 0.3 for _ in range(200))
        right = [dice.random() < 0.65 for _ in range(flagged)]
        right += [dice.random() < 0.97 for _ in range(30)]
        weights = [1.0] * flagged + [(200 - flagged) / 30] * 30
        strata = ["flagged/pass"] * flagged + ["rest/pass"] * 30
        rows = Rows.of([0.9] * len(right), right, weights, [True] * len(right))
        low, high = ends(pass_rate_of(rows, strata))
        held += low <= 0.3 * 0.65 + 0.7 * 0.97 <= high
    assert held / draws >= 0.93


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
        (P, F, GOOD, 1, 0), (P, F, BAD, 0, 1), (P, P, BAD, 0, 0), (NO, P, GOOD, 0, 1),
        (NO, P, BAD, 0, 0), (F, NO, BAD, 1, 0), (F, NO, GOOD, 0, 0),
        (NO, Decision.INCONCLUSIVE, GOOD, 0, 0),
    ],
)  # fmt: skip
def test_a_panel_without_a_decision_is_not_right(
    new: Decision | None, old: Decision | None, truth: Truth, gained: int, lost: int
) -> None:
    found = change([PairedDecision(0, new, old, truth), *[PairedDecision(0, P, P)] * 9])
    # All that differ are labelled, so that only the run as a sample of such items is in doubt.
    ends = tango(gained, lost, 10), tango(gained, lost, 10, -Z)
    assert (found.estimate, found.low, found.high) == pytest.approx(((gained - lost) / 10, *ends))


def test_labels_of_a_part_widen_the_interval_and_none_leave_it_open() -> None:
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
    found = change([*[PairedDecision(3, P, F)] * 5, *[PairedDecision(3, P, P)] * 95])
    assert (found.estimate, found.labelled) == (None, 0)
    assert (found.low, found.high) == pytest.approx((tango(0, 5, 100), tango(5, 0, 100, -Z)))
