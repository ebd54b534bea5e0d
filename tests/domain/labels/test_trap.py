"""Simulated runs: labels of flagged verdicts alone mislead, and intervals hold the truth."""

import random
from statistics import fmean
from typing import NamedTuple

import pytest

from reviewdesk.domain.labels.draw import draw
from reviewdesk.domain.labels.label_columns import LabelColumns, make_rows
from reviewdesk.domain.labels.sampling import FIRST_REST, LabelledRow, RunFigures, stratum
from reviewdesk.domain.labels.summary import SIMULATED, simulate
from reviewdesk.domain.records import Design, Truth
from reviewdesk.domain.stats.calibration import Rows, measure
from reviewdesk.domain.stats.figures import ConfidenceSums, Part, SimulatedFigure
from reviewdesk.domain.stats.rates import drawn_rate
from reviewdesk.domain.verdict import Decision
from tests.helpers import placed


class Drawn(NamedTuple):
    design: Design
    accuracy: float
    brier: float
    corrected: float
    low: float
    high: float


class Population:
    """1,000 verdicts: 150 flagged, 87 of them right at a confidence of .6; 774 of 850 at .9."""

    def __init__(self) -> None:
        coin = random.Random(1)  # noqa: S311 - an invented population, no secret
        self.flagged = [place < 150 for place in range(1_000)]
        self.correct = [place < 87 or 150 <= place < 924 for place in range(1_000)]
        self.confidence = [0.6 if flagged else 0.9 for flagged in self.flagged]
        self.passed = [coin.random() < (0.5 if flagged else 0.75) for flagged in self.flagged]
        self.truth = [
            passed == correct for passed, correct in zip(self.passed, self.correct, strict=True)
        ]
        self.strata = [
            stratum(Decision.PASS if passed else Decision.FAIL, flagged=flagged)
            for passed, flagged in zip(self.passed, self.flagged, strict=True)
        ]

    def labelled(self, seed: str, *, audit: bool) -> Drawn:
        made = draw([str(place) for place in range(1_000)], self.strata, seed)
        flagged = [i for i in range(1_000) if self.strata[i] < FIRST_REST]
        picked = sorted(flagged, key=made.order.__getitem__)[:100]
        if audit:
            picked += [i for i in range(1_000) if made.audit[i]]
        places = [
            placed(self.strata[i], int(made.rank[i]), Truth.PASS if self.truth[i] else Truth.FAIL)
            for i in picked
        ]
        weighing = LabelColumns.of_rows(places).weigh(made.sizes)
        weights = weighing.weights if audit else [1.0] * len(picked)
        rows = Rows.of(
            [self.confidence[i] for i in picked],
            [self.correct[i] for i in picked],
            passed=[self.passed[i] for i in picked],
        ).weighted(weights)
        found = measure(rows, fmean(self.passed))
        whole = drawn_rate([self._part(h, n, places) for h, n in made.sizes.items()])
        assert found.accuracy is not None
        assert found.brier is not None
        assert found.corrected_rate is not None
        return Drawn(
            weighing.design, found.accuracy, found.brier, found.corrected_rate, whole.low,
            whole.high,
        )  # fmt: skip

    @staticmethod
    def _part(h: int, size: int, places: list[LabelledRow]) -> Part:
        inside = [place.truth is Truth.PASS for place in places if place.stratum == h]
        return Part(size, len(inside), sum(inside))


@pytest.fixture(scope="module")
def population() -> Population:
    return Population()


def test_escalated_labels_alone_are_biased(population: Population) -> None:
    found = [population.labelled(f"{seed}/", audit=False) for seed in range(20)]
    assert {one.design for one in found} == {Design.ESCALATED_ONLY}
    # Of the flagged 87/150 are right; at .6 the Brier score is .58 * .16 + .42 * .36 = .244. The
    # whole run has .861 and (87 * .16 + 63 * .36 + 774 * .01 + 76 * .81) / 1000 = .1059.
    assert fmean(one.accuracy for one in found) == pytest.approx(0.58, abs=0.02)
    assert fmean(one.brier for one in found) == pytest.approx(0.244, abs=0.005)
    # The bounds are certain: nothing is known of the 850.
    assert all(one.high - one.low >= 0.85 for one in found)


@pytest.mark.slow
def test_the_audit_makes_the_figures_right_on_average(population: Population) -> None:
    found = [population.labelled(f"{seed}/", audit=True) for seed in range(300)]
    rate = fmean(population.truth)
    assert {one.design for one in found} == {Design.WEIGHTED}
    assert fmean(one.accuracy for one in found) == pytest.approx(0.861, abs=0.005)
    assert fmean(one.brier for one in found) == pytest.approx(0.10594, abs=0.005)
    assert fmean(one.corrected for one in found) == pytest.approx(rate, abs=0.005)
    # Of 300 intervals of 95% between 279 and 291 hold the truth.
    assert 0.93 <= fmean(one.low <= rate <= one.high for one in found) <= 0.97


SIZES = {0: 30, 1: 20, 3: 60, 4: 20}


def checked(labels: int, runs: int) -> dict[str, SimulatedFigure]:
    """Every fourth flagged verdict and every tenth of the rest is wrong; confidence is 0.8."""
    every = []
    for h, size in SIZES.items():
        for rank in range(size):
            passed = h % 3 == 0
            wrong = rank % (4 if h < 3 else 10) == 0
            truth = Truth.PASS if passed is not wrong else Truth.FAIL
            every.append(placed(h, rank, truth, 0.8 if passed else 0.2))
    totals = RunFigures(90, 40, "support", scores_stated=False, sizes=SIZES)
    made = make_rows([one for one in every if one.rank < labels], totals)
    sums = {
        h: ConfidenceSums(n, (0.8 * n, 0.64 * n, 0.512 * n, 0.4096 * n), 0.8, 0.8)
        for h, n in SIZES.items()
    }
    return {one.figure: one for one in simulate(made, every, sums, runs)}


@pytest.mark.slow
def test_every_interval_of_the_page_is_checked() -> None:
    found = checked(12, 150)
    assert tuple(found) == SIMULATED
    for one in found.values():
        assert one.runs == 150, one.figure
        assert one.bias == pytest.approx(0, abs=0.03)
        assert one.coverage is not None
        assert one.coverage >= 0.9
        assert one.width is not None
        assert 0.05 < one.width < 0.8
    # All confidences are 0.8, so the gap is 0.8 less the accuracy, and Brier .04 + .6 (1 - acc).
    assert found["gap"].width == pytest.approx(found["accuracy"].width)
    assert found["brier"].width == pytest.approx(0.6 * (found["accuracy"].width or 0), rel=0.05)


def test_a_census_leaves_nothing_to_chance() -> None:
    for one in checked(60, 20).values():
        assert one.coverage == 1
        assert one.width == pytest.approx(0, abs=1e-9)
        assert one.bias == pytest.approx(0, abs=1e-9)
