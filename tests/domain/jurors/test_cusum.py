"""CUSUM by hand, and how often runs without drift set it off."""

import math
import zlib

import numpy as np
import pytest

from reviewdesk.domain.jurors.drift import alarms, cusum, simulated_limit, standardised
from reviewdesk.domain.stats.dense import Floats


@pytest.mark.parametrize(
    ("z", "row"),
    [
        # Up: 1.5, 3.5, 4.9, 6.6 after -.1 brought it back to 0.
        ([0.2, -0.1, 2.0, 2.5, 1.9, 2.2, 0.1], 5),
        # 1, 2, 3, 4, 5 is at the limit, not above it; downwards the same.
        ([1.5] * 5, -1), ([1.5] * 6, 5), ([-1.5] * 6, 5),
        # Every step stays within the allowance.
        ([0.5, -0.5] * 1000, -1),
        # A tenth over the allowance, fifty times, is 5 but for rounding.
        ([0.6] * 50, -1), ([0.6] * 51, 50), ([], -1),
        # A missing value is passed over.
        ([1.5, math.nan, 1.5, 1.5, 1.5, 1.5, math.nan, 1.5], 7),
    ],
)  # fmt: skip
def test_cusum_by_hand(z: list[float], row: int) -> None:
    top, first = cusum(np.asarray(z, np.float64)[:, None], h=5.0)
    assert first.tolist() == [row]
    assert (float(top[0]) > 5 + 1e-9) is (row >= 0)


def test_offsets_are_over_the_deviation_of_a_sample_and_none_where_it_is_not_settled() -> None:
    usual = np.column_stack([np.arange(12.0), np.r_[np.arange(9.0), [np.nan] * 3], np.ones(12)])
    found = standardised(usual, np.full((2, 3), 5.5))
    # The first has twelve that vary, about 5.5; the second nine, and the third never varies.
    assert found[:, 0] == pytest.approx([0, 0])
    assert np.isnan(found[:, 1:]).all()
    assert alarms(usual[:, 1:], np.full((2, 2), 9.0)) == (None, [None, None])
    assert alarms(np.empty((0, 0)), np.empty((0, 0))) == (None, [])
    # 0 to 9: squares about 4.5 add up to 82.5, over 9 degrees of freedom.
    usual = np.arange(10.0)[:, None]
    assert standardised(usual, np.array([[10.5]]))[0, 0] == pytest.approx(6 / (82.5 / 9) ** 0.5)


def test_the_shuffled_windows_are_standardised_alike() -> None:
    # One shuffle, whose order follows from the data alone: its peak is the limit.
    rows = np.random.default_rng(3).normal(size=(30, 2))
    n = 12
    order = np.argsort(np.random.default_rng(zlib.crc32(rows.tobytes())).random((1, 30)), axis=1)[0]
    first, rest = rows[order[:n]], rows[order[n:]]
    z = (rest - first.mean(axis=0)) / first.std(axis=0, ddof=1)
    assert simulated_limit(rows[:n], rows[n:], 1) == pytest.approx(float(cusum(z)[0].max()))


def offsets(rng: np.random.Generator, n: int, *, skewed: bool) -> Floats:
    """Five jurors' scores less the mean of the others, which makes them hang together."""
    noise = rng.normal(size=(n, 5))
    if skewed:
        noise = 0.05 * noise - 0.6 * (rng.random((n, 5)) < 0.1)
    found: Floats = noise - (noise.sum(axis=1, keepdims=True) - noise) / 4
    return found


@pytest.mark.slow
@pytest.mark.parametrize("skewed", [False, True])
def test_runs_without_drift_alarm_in_about_one_of_twenty(skewed: bool) -> None:
    rng, hits = np.random.default_rng(8), 0
    fixed = 0
    for _ in range(60):
        found = offsets(rng, 120, skewed=skewed)
        before, after = found[:60], found[60:]
        hits += any(one is not None for one in alarms(before, after)[1])
        fixed += float(cusum(standardised(before, after))[0].max()) > 5
    # Of 60 at 5% more than 8 have a chance of 0.3%. With a fixed limit of 5 many more do.
    assert hits <= 8
    assert fixed >= 20


def test_a_shift_of_one_deviation_is_found_at_the_juror_that_moved() -> None:
    found = np.random.default_rng(9).normal(size=(400, 3))
    found[250:, 1] += 1
    limit, places = alarms(found[:200], found[200:])
    assert limit is not None
    assert places[0] is None
    assert places[2] is None
    # It moves at the 50th; each step gains a half on average.
    assert places[1] is not None
    assert 50 < places[1] < 50 + 4 * limit


@pytest.mark.slow
def test_a_long_run_is_watched_over_its_newest_verdicts() -> None:
    found = offsets(np.random.default_rng(10), 14_000, skewed=True)
    found[6_000:7_000, 1] += 0.1
    found[12_000:, 2] += 0.1
    places = alarms(found[:6_000], found[6_000:])[1]
    # The last 5,000 of 8,000 are watched: the shift at the start is not among them.
    assert places[1] is None
    assert places[2] == pytest.approx(6_200, abs=200)
