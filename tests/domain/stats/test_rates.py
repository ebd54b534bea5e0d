import math
from fractions import Fraction
from statistics import NormalDist

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviewdesk.domain.stats.correction import (
    Cells,
    CorrectionStatus,
    Z,
    lang_reiczigel,
    rogan_gladen,
    wald,
)
from reviewdesk.domain.stats.distributions import benjamini_hochberg, t_quantile, t_two_sided
from reviewdesk.domain.stats.kappa import cohen_kappa, kappa_weights
from reviewdesk.domain.stats.rates import rate_difference, wilson

COUNTS = st.integers(1, 400).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@given(COUNTS)
def test_wilson_s_ends_are_where_the_score_test_just_holds(counts: tuple[int, int]) -> None:
    # An inner end e solves (p - e)² = z²·e(1 - e)/n.
    k, n = counts
    low, high = wilson(k, n)
    assert 0 <= low <= k / n <= high <= 1
    for end in (low, high):
        if 0 < end < 1:
            assert (k / n - end) ** 2 == pytest.approx(Z * Z * end * (1 - end) / n, abs=1e-12)


def test_newcombe_s_own_example() -> None:
    # Newcombe 1998, table II, method 10, 56/70 - 48/80: 0.0524 to 0.3339.
    found = rate_difference(56, 70, 48, 80)
    assert (found.diff, found.low, found.high) == pytest.approx((0.2, 0.0524, 0.3339), abs=5e-5)


@pytest.mark.parametrize("counts", [(0, 0, 1, 2), (1, 2, 0, 0), (0, 0, 0, 0)])
def test_a_rate_without_data_has_no_difference(counts: tuple[int, int, int, int]) -> None:
    found = rate_difference(*counts)
    assert (found.diff, found.low, found.high) == (None, None, None)


@given(st.lists(st.tuples(st.booleans(), st.booleans()), max_size=60))
def test_kappa_by_its_definition(votes: list[tuple[bool, bool]]) -> None:
    human, juror = [a for a, _ in votes], [b for _, b in votes]
    found, n = cohen_kappa(human, juror), len(votes)
    if not n:
        assert found is None
        return
    alike = Fraction(sum(a == b for a, b in votes), n)
    passes = Fraction(sum(human), n), Fraction(sum(juror), n)
    chance = passes[0] * passes[1] + (1 - passes[0]) * (1 - passes[1])
    if chance == 1:
        assert found is None
    else:
        assert found == pytest.approx(float((alike - chance) / (1 - chance)))


def test_kappa_takes_any_words_and_skips_who_said_nothing() -> None:
    # a a b against a b a: alike 1/3, by chance (2·2 + 1·1)/9 = 5/9; (1/3 - 5/9) / (4/9) = -1/2.
    assert cohen_kappa(["a", "a", "b", None], ["a", "b", "a", "a"]) == pytest.approx(-0.5)
    assert cohen_kappa([None], [True]) is None


def test_weights_are_clipped_and_sum_to_one() -> None:
    assert kappa_weights([0.6, 0.2, -0.1]) == pytest.approx([0.75, 0.25, 0.0])
    assert kappa_weights([0.6, None, 0.2]) == pytest.approx([0.75, None, 0.25])
    assert kappa_weights([-1.0, 0.0]) == [0.5, 0.5]
    assert kappa_weights([None]) == [None]


def test_benjamini_and_hochberg_by_hand() -> None:
    # Of 4: .005·4/1 = .02, .01·4/2 = .02, .03·4/3 = .04, .9·4/4 = .9; in the order asked.
    found = benjamini_hochberg([0.03, 0.005, None, 0.9, 0.01])
    assert found == pytest.approx([0.04, 0.02, None, 0.9, 0.02])
    # .04·2/1 = .08 is over .05·2/2 = .05, which carries down.
    assert benjamini_hochberg([0.04, 0.05]) == pytest.approx([0.05, 0.05])
    assert benjamini_hochberg([]) == []


def cdf(t: float, df: float) -> float:
    """P(T <= t), from both tails."""
    half = t_two_sided(t, df) / 2
    return half if t < 0 else 1 - half


@given(st.floats(-50, 50))
def test_the_cdf_where_it_has_a_closed_form(t: float) -> None:
    # One degree of freedom is Cauchy's; two: 1/2 + t / (2·sqrt(2 + t²)); three and four as
    # integrated by parts.
    assert cdf(t, 1) == pytest.approx(0.5 + math.atan(t) / math.pi, abs=1e-12)
    assert cdf(t, 2) == pytest.approx(0.5 + t / (2 * math.sqrt(2 + t * t)), abs=1e-12)
    u = t / math.sqrt(3)
    three = 0.5 + (u / (1 + u * u) + math.atan(u)) / math.pi
    assert cdf(t, 3) == pytest.approx(three, abs=1e-12)
    x = t / math.sqrt(4 + t * t)
    assert cdf(t, 4) == pytest.approx(0.5 + (3 * x - x**3) / 4, abs=1e-12)


@given(st.floats(0.0001, 0.9999), st.floats(0.5, 2e6))
def test_quantile_and_cdf_are_each_other_s_inverse(p: float, df: float) -> None:
    # The last bit of x = df / (df + t²) is worth about df · 2^-52 of the distance of x from 1.
    assert cdf(t_quantile(p, df), df) == pytest.approx(p, abs=1e-12 + df * 1e-17)


def test_z_is_the_two_sided_95_percent_point_and_many_degrees_of_freedom_are_normal() -> None:
    # Cornish and Fisher: t = z + (z³ + z) / (4·df) + O(df^-2).
    z = NormalDist().inv_cdf(0.975)
    for df in (10_000, 1_000_000):
        expected = z + (z**3 + z) / (4 * df)
        assert t_quantile(0.975, df) == pytest.approx(expected, abs=10 / df**2 + 1e-10)
    # Oracle: the standard library's inverse normal.
    assert pytest.approx(NormalDist().inv_cdf(0.975), abs=1e-12) == Z


@given(st.floats(0, 20))
def test_the_series_for_many_degrees_meets_the_exact_gamma(t: float) -> None:
    # On both sides of 200 degrees, where the way to the gamma ratio changes.
    below, above = t_two_sided(t, 199.999999999), t_two_sided(t, 200)
    assert above == pytest.approx(below, rel=1e-9)


@pytest.mark.parametrize("p", [0.0, 1.0, -0.1, float("nan")])
def test_a_probability_at_the_ends_has_no_quantile(p: float) -> None:
    with pytest.raises(ValueError, match="probability"):
        t_quantile(p, 3)


@pytest.mark.parametrize(("t", "df"), [(1.0, 0.0), (math.inf, 3.0), (math.nan, 3.0)])
def test_what_is_no_t_is_refused(t: float, df: float) -> None:
    with pytest.raises(ValueError, match="finite"):
        t_two_sided(t, df)


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


def test_the_correction_without_a_trusted_set_or_a_signal() -> None:
    found = Cells().correct(0.5)
    assert found.low == found.high == 0.5
    found = Cells(25, 25, 25, 25).correct(0.5)
    assert (found.rate, found.status) == (0.5, CorrectionStatus.SKIPPED_NO_SIGNAL)
    # z * sqrt(.25 / 100) = .0979982.
    assert (found.low, found.high) == pytest.approx((0.4020018, 0.5979982), abs=1e-6)
    # z·√(.25/1) = .98 on either side of a half: clamped, the whole range.
    assert wald(0.5, 1.0, 1.0, 1) == (0.0, 1.0)
    assert wald(0.5, 0.9, 0.8, 0) == pytest.approx((3 / 7, 3 / 7))


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
