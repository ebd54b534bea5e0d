"""Intervals checked on runs like the one at hand."""

import pytest

from reviewdesk.domain.labels.sampling import RunFigures
from reviewdesk.domain.labels.summary import SIMULATED, make_rows, simulate
from reviewdesk.domain.records import Truth
from reviewdesk.domain.stats.figures import ConfidenceSums, SimulatedFigure
from tests.helpers import placed

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
