"""How often people err, by second opinions, and the band of an accuracy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviewdesk.domain.labels.team import error_rate, reviewer_error, sensitivity
from reviewdesk.domain.stats.figures import Estimate, Part
from reviewdesk.domain.stats.stratified import drawn_rate
from tests.helpers import mostly_slow


@given(st.floats(0, 0.5))
def test_two_people_who_err_so_often_differ_so_often(e: float) -> None:
    # One errs and the other does not, either way: d = 2e(1 - e).
    assert error_rate(2 * e * (1 - e)) == pytest.approx(e, abs=1e-7)


def test_error_rate_with_its_interval() -> None:
    # 18 of 100 differ: e = (1 - √.64)/2 = .1.
    found = reviewer_error(100, Estimate(0.82, 0.73, 0.885))
    assert found.rate.estimate == pytest.approx(0.1)
    assert found.rate.low == pytest.approx((1 - (1 - 2 * 0.115) ** 0.5) / 2)
    assert found.rate.high == pytest.approx((1 - (1 - 2 * 0.27) ** 0.5) / 2)
    assert found.ceiling == pytest.approx(0.9)
    # Half the width takes about four times the items.
    assert 250 <= found.more <= 350


def test_without_second_opinions_nothing_is_known() -> None:
    found = reviewer_error(0, Estimate(None, 0, 1))
    assert (found.rate.estimate, found.ceiling, found.more) == (None, None, 0)
    assert "two labels" in found.rate.reason
    assert sensitivity(Estimate(0.9, 0.8, 0.95), found) is None


def test_the_band_holds_every_reading_of_the_errors() -> None:
    error = reviewer_error(100, Estimate(0.82, 0.82, 0.82))
    band = sensitivity(Estimate(0.8, 0.8, 0.8), error)
    assert band is not None
    # (.8 - .1)/(1 - .2) = .875; a - d = .62; a + e = .9.
    assert band.estimate == pytest.approx(0.875)
    assert band.low == pytest.approx(0.62)
    assert band.high == pytest.approx(0.9)


KINDS = ("apart", "with the panel", "against it")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("accuracy", mostly_slow([0.8, 0.9]))
def test_the_band_holds_the_truth_however_people_err(kind: str, accuracy: float) -> None:
    """A tenth of 100 labels is wrong; a quarter of them have a second opinion."""
    rng = np.random.default_rng(5)
    held = plain = 0
    for _ in range(200):
        right = rng.random(400) < accuracy
        chance = {
            "apart": np.full(400, 0.1),
            "with the panel": np.where(right, 0.0, 0.1 / (1 - accuracy)).clip(0, 0.5),
            "against it": np.where(right, 0.1 / accuracy, 0.0),
        }[kind]
        picked = rng.permutation(400)[:100]
        wrong = rng.random((2, 100)) < chance[picked]
        first, second = right[picked] ^ wrong
        agree = int((first == second)[:25].sum())
        found = drawn_rate([Part(400, 100, int(first.sum()))])
        band = sensitivity(found, reviewer_error(25, drawn_rate([Part(400, 25, agree)])))
        assert band is not None
        held += band.low <= right.mean() <= band.high
        plain += found.low <= right.mean() <= found.high
    assert held >= 0.92 * 200
    assert plain < held
