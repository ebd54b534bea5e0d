"""Where the bins of a calibrated judge would lie, and the verdicts behind a bin."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from reviewdesk.domain.stats.calibration import Rows, bin_index
from reviewdesk.domain.stats.calibration_page import BinPosition, band, place
from reviewdesk.domain.stats.figures import Bin
from reviewdesk.domain.stats.reliability import reliability_bins


def one(mean: float, accuracy: float, ess: float) -> Bin:
    return Bin(int(min(mean * 10, 9)), 4, ess, mean, accuracy, 0.0, 1.0, ess)


def test_the_band_of_a_bin() -> None:
    # .8 ± 1.959964 √(.8 · .2 / 64) = .8 ± 1.959964 · .05.
    found = band(one(0.8, 0.5, 64))
    assert (found.low, found.high) == pytest.approx((0.7020018, 0.8979982))
    # .9 ± 1.959964 · .15 reaches beyond 1.
    found = band(one(0.9, 0.5, 4))
    assert (found.low, found.high) == pytest.approx((0.6060054, 1.0))
    # Certainty leaves no room.
    found = band(one(1.0, 0.5, 4))
    assert (found.low, found.high) == (1.0, 1.0)


def test_where_a_bin_lies() -> None:
    ends = band(one(0.8, 0.5, 64))
    assert place(one(0.8, 0.70, 64)) is BinPosition.BELOW
    assert place(one(0.8, 0.90, 64)) is BinPosition.ABOVE
    for accuracy in (ends.low, 0.8, ends.high, ends.low - 1e-10, ends.high + 1e-10):
        assert place(one(0.8, accuracy, 64)) is BinPosition.INSIDE
    assert place(replace(one(1.0, 1.0, 4), accuracy=0.75)) is BinPosition.BELOW


def test_weights_widen_the_band() -> None:
    # Weights 3 and 1: (3 + 1)² / (9 + 1) = 1.6 rows, where equal ones are 2.
    [heavy] = reliability_bins(Rows.of([0.5, 0.5], [True, False], [3.0, 1.0]))
    [even] = reliability_bins(Rows.of([0.5, 0.5], [True, False]))
    assert (heavy.ess, even.ess) == pytest.approx((1.6, 2.0))


@given(st.integers(1, 40), st.integers(0, 40).map(lambda step: step / 40))
def test_a_band_holds_its_own_confidence(n: int, mean: float) -> None:
    found = band(one(mean, mean, n))
    assert 0 <= found.low <= mean <= found.high <= 1
    assert place(one(mean, mean, n)) is BinPosition.INSIDE


@given(st.lists(st.integers(0, 100).map(lambda step: step / 100), min_size=1, max_size=30))
def test_bins_count_every_row_once(confidence: list[float]) -> None:
    rows = Rows.of(confidence, [True] * len(confidence))
    found = {one.index: one.n for one in reliability_bins(rows)}
    assert sum(found.values()) == len(confidence)
    assert set(found) == set(bin_index(rows.confidence).tolist())
