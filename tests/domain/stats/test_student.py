from __future__ import annotations

import math
from statistics import NormalDist

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviewdesk.domain.stats.rates import t_quantile, t_two_sided


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


@given(st.floats(0.001, 0.999))
def test_the_quantile_where_it_has_a_closed_form(p: float) -> None:
    assert t_quantile(p, 1) == pytest.approx(math.tan(math.pi * (p - 0.5)), abs=1e-9)
    two = (2 * p - 1) * math.sqrt(2 / (4 * p * (1 - p)))
    assert t_quantile(p, 2) == pytest.approx(two, abs=1e-9)


@pytest.mark.parametrize(
    ("p", "df", "published"),
    [
        # Tables of the t distribution, three decimals.
        (0.975, 5, 2.571), (0.975, 10, 2.228), (0.975, 30, 2.042), (0.975, 120, 1.980),
        (0.95, 9, 1.833), (0.99, 15, 2.602), (0.995, 20, 2.845), (0.9995, 60, 3.460),
    ],
)  # fmt: skip
def test_the_quantiles_of_the_tables(p: float, df: int, published: float) -> None:
    assert t_quantile(p, df) == pytest.approx(published, abs=5e-4)


@given(st.floats(0.0001, 0.9999), st.floats(0.5, 2e6))
def test_quantile_and_cdf_are_each_other_s_inverse(p: float, df: float) -> None:
    # The last bit of x = df / (df + t²) is worth about df · 2^-52 of the distance of x from 1.
    assert cdf(t_quantile(p, df), df) == pytest.approx(p, abs=1e-12 + df * 1e-17)


def test_many_degrees_of_freedom_are_normal() -> None:
    # Cornish and Fisher: t = z + (z³ + z) / (4·df) + O(df^-2).
    z = NormalDist().inv_cdf(0.975)
    for df in (10_000, 1_000_000):
        expected = z + (z**3 + z) / (4 * df)
        assert t_quantile(0.975, df) == pytest.approx(expected, abs=10 / df**2 + 1e-10)


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
