from statistics import NormalDist

import pytest

from reviewdesk.domain.stats.correction import (
    Cells,
    CorrectionStatus,
    Z,
    lang_reiczigel,
    rogan_gladen,
    wald,
)


def test_z_is_the_two_sided_95_percent_point() -> None:
    # Oracle: the standard library's inverse normal.
    assert pytest.approx(NormalDist().inv_cdf(0.975), abs=1e-12) == Z


@pytest.mark.parametrize(
    ("observed", "sensitivity", "specificity", "rate", "status"),
    [
        # (.5 + .8 - 1) / .7.
        (0.5, 0.9, 0.8, 3 / 7, CorrectionStatus.OK),
        # A perfect judge needs none.
        (0.37, 1.0, 1.0, 0.37, CorrectionStatus.OK),
        # J = .5 is not weak; (.5 + .7 - 1) / .5.
        (0.5, 0.8, 0.7, 0.4, CorrectionStatus.OK),
        # J = .3: (.5 + .6 - 1) / .3.
        (0.5, 0.7, 0.6, 1 / 3, CorrectionStatus.WEAK_JUDGE),
        # (.1 + .8 - 1) / .7 is negative; (.95 - .2) / .7 is over one.
        (0.1, 0.9, 0.8, 0.0, CorrectionStatus.OK),
        (0.95, 0.9, 0.8, 1.0, CorrectionStatus.OK),
        # Youden's J is 0, then negative.
        (0.3, 0.5, 0.5, 0.3, CorrectionStatus.SKIPPED_NO_SIGNAL),
        (0.3, 0.2, 0.3, 0.3, CorrectionStatus.SKIPPED_NO_SIGNAL),
        # .9 + .1 - 1 and .7 + .3 - 1 are zero but for rounding.
        (0.3, 0.9, 0.1, 0.3, CorrectionStatus.SKIPPED_NO_SIGNAL),
        (0.3, 0.7, 0.3, 0.3, CorrectionStatus.SKIPPED_NO_SIGNAL),
        (0.3, 0.0, 0.0, 0.3, CorrectionStatus.SKIPPED_NO_SIGNAL),
        # A rounding error over a coin flip would else divide by 2**-50.
        (0.3, 0.5, 0.5 + 2**-50, 0.3, CorrectionStatus.SKIPPED_NO_SIGNAL),
    ],
)
def test_rogan_gladen(
    observed: float, sensitivity: float, specificity: float, rate: float, status: CorrectionStatus
) -> None:
    found, how = rogan_gladen(observed, sensitivity, specificity)
    assert found == pytest.approx(rate, abs=1e-12)
    assert how is status


def test_no_trusted_set_has_zero_width() -> None:
    found = Cells().correct(0.5)
    assert found.low == found.high == 0.5


def test_a_judge_without_signal_keeps_the_raw_band() -> None:
    found = Cells(25, 25, 25, 25).correct(0.5)
    assert (found.rate, found.status) == (0.5, CorrectionStatus.SKIPPED_NO_SIGNAL)
    # z * sqrt(.25 / 100) = .0979982.
    assert (found.low, found.high) == pytest.approx((0.4020018, 0.5979982), abs=1e-6)


def test_lang_reiczigel_against_the_published_script() -> None:
    # Oracle: Reiczigel's R script, 60 of 120 passed by a judge of 40/50 and 45/50.
    found = lang_reiczigel(60, 120, 40, 10, 45, 5)
    assert found == pytest.approx((0.40859019253515555, 0.7495038960312235), abs=1e-12)


@pytest.mark.parametrize(
    ("k", "n", "cells"),
    [
        (0, 0, (9, 1, 9, 1)),
        (5, 10, (0, 0, 9, 1)),
        (5, 10, (9, 1, 0, 0)),
        # (5+1)/12 + (5+1)/12 - 1 = 0, and below.
        (5, 10, (5, 5, 5, 5)),
        (5, 10, (1, 9, 1, 9)),
    ],
)
def test_lang_reiczigel_is_undefined(k: int, n: int, cells: tuple[int, int, int, int]) -> None:
    assert lang_reiczigel(k, n, *cells) is None


def test_one_label_is_a_trusted_set_and_none_is_not() -> None:
    # z·√(.25/1) = .98 on either side of a half: clamped, the whole range.
    assert wald(0.5, 1.0, 1.0, 1) == (0.0, 1.0)
    assert wald(0.5, 0.9, 0.8, 0) == pytest.approx((3 / 7, 3 / 7))
