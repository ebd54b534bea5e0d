"""Runs against earlier ones: a dimension that swings alone, and votes that become unanimous."""

import math

import numpy as np
import pytest

from reviewdesk.domain.run.volatility import (
    AgainstEarlier,
    EarlierRange,
    RunMean,
    UnanimityWatch,
    against_earlier,
)

CALM = [RunMean(100, 0.8, 16.0)] * 4


def test_what_is_expected_of_a_further_run() -> None:
    (found,) = against_earlier({"safety": [*CALM, RunMean(100, 0.7, 21.0)]})
    # s² = (4 * 16 + 21 + .25) / (5 * 99 + 1); the earlier means are equal, so φ is 1 with 3 degrees
    # of freedom, whose t at .975 is 3.18245.
    sd = math.sqrt(85.25 / 496 * (1 / 100 + 1 / 400))
    assert (found.before, found.now, found.runs, found.n) == (0.8, 0.7, 4, 100)
    assert found.low == pytest.approx(0.8 - 3.18245 * sd, abs=1e-6)
    assert found.high == pytest.approx(0.8 + 3.18245 * sd, abs=1e-6)
    assert found.holds
    assert not found.outside
    assert against_earlier({"safety": CALM[:3]}) == ()


def test_a_swing_is_one_that_the_others_do_not_share() -> None:
    low = RunMean(100, 0.3, 21.0)
    alone = against_earlier({"a": [*CALM, low], "b": [*CALM, CALM[0]]})
    together = against_earlier({"a": [*CALM, low], "b": [*CALM, low]})
    swing = AgainstEarlier(alone).swings
    assert swing is not None
    assert swing.name == "a"
    assert [one.outside for one in together] == [True, True]
    assert AgainstEarlier(together).swings is None
    # With one dimension there are no others that could hold.
    assert AgainstEarlier(against_earlier({"a": [*CALM, low]})).swings is None


@pytest.mark.parametrize(
    ("dimensions", "earlier", "own", "common"),
    [
        (3, 3, 0.0, 0.0),
        (4, 6, 0.04, 0.0),
        (12, 5, 0.03, 0.0),
        (4, 5, 0.0, 0.05),
        (3, 5, 0.03, 0.05),
    ],
)
def test_calm_series_are_flagged_in_at_most_one_in_twenty(
    dimensions: int, earlier: int, own: float, common: float
) -> None:
    """Runs vary by ``own`` for each dimension and by ``common`` for all; planted swings show."""
    draw = np.random.default_rng(11)
    false = found = 0
    for trial in range(120):
        planted = trial % 2
        together = draw.normal(0, common, earlier + 1)
        series = {}
        for at, base in enumerate(draw.uniform(0.6, 0.9, dimensions)):
            means = base + together + draw.normal(0, own, earlier + 1)
            means[-1] -= 0.4 if planted and not at else 0
            scores = draw.normal(means[:, None], 0.15, (earlier + 1, 80))
            series[str(at)] = [RunMean(80, x.mean(), ((x - x.mean()) ** 2).sum()) for x in scores]
        swing = AgainstEarlier(against_earlier(series)).swings
        false += not planted and swing is not None
        found += planted and swing is not None and swing.name == "0"
    assert false <= 0.07 * 60
    assert found >= 0.8 * 60


@pytest.mark.parametrize(
    ("now", "labels", "warns"), [(0.9, 3, True), (0.9, 20, False), (0.7, 0, False), (0.2, 0, False)]
)
def test_unanimity_warns_if_it_rose_and_nobody_sees_accuracy(
    now: float, labels: int, warns: bool
) -> None:
    share = EarlierRange("", 4, 100, 0.6, now, 0.5, 0.7, holds=False)
    assert UnanimityWatch(share, labels).warns is warns
