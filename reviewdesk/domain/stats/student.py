"""Student's t and the binomial distribution, from the regularised incomplete beta function."""

from __future__ import annotations

import math

_TINY = 1e-300
_STEPS = 100_000


def t_two_sided(t: float, df: float) -> float:
    """Return ``P(|T| >= |t|)`` with ``df`` degrees of freedom, which need not be whole.

    Raise ValueError unless t is finite and df is above 0.
    """
    if df <= 0 or not math.isfinite(t):
        raise ValueError("t is finite and has degrees of freedom above 0")
    return _beta_tail(t * t / df, df / 2)


def t_quantile(p: float, df: float) -> float:
    """Find by bisection the t with ``P(T <= t) = p``; raise ValueError unless ``0 < p < 1``."""
    if not 0 < p < 1:
        raise ValueError("a quantile is asked for a probability between 0 and 1")
    if p == 0.5:
        return 0.0
    tail = 2 * min(p, 1 - p)
    low = 0.0
    high = 1.0
    while t_two_sided(high, df) > tail:
        low = high
        high = 2 * high
    # Sixty halvings exceed the precision of a float.
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if t_two_sided(middle, df) > tail else (low, middle)
    return math.copysign((low + high) / 2, p - 0.5)


def beta_cdf(x: float, a: float, b: float) -> float:
    """Return the regularised incomplete beta function ``I_x(a, b)``, for x in 0..1, a and b over 0.

    Source: Abramowitz and Stegun 26.5.8, on the side where the continued fraction converges fast.
    """
    if not 0 < x < 1:
        return float(x >= 1)
    logs = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    front = math.exp(logs + a * math.log(x) + b * math.log1p(-x))
    if x < (a + 1) / (a + b + 2):
        return front * _fraction(x, a, b) / a
    return 1 - front * _fraction(1 - x, b, a) / b


def _beta_tail(odds: float, a: float) -> float:
    """Return ``I_x(a, 1/2)``, ``x = 1/(1+odds)``: both tails of t, ``odds = t²/df``, ``a = df/2``.

    It uses the continued fraction of the incomplete beta, on the side where that converges fast.
    Source: Abramowitz and Stegun 26.5.8 and 26.7.1.
    """
    if odds == 0:
        return 1.0
    x = 1 / (1 + odds)
    rest = odds / (1 + odds)
    # x^a (1 - x)^(1/2) / B(a, 1/2); log1p keeps the power exact where x is nearly 1.
    front = math.exp(-a * math.log1p(odds)) * math.sqrt(rest / math.pi) * _gamma_ratio(a)
    if x < (a + 1) / (a + 2.5):
        return front * _fraction(x, a, 0.5) / a
    return 1 - front * _fraction(rest, 0.5, a) / 0.5


def _gamma_ratio(a: float) -> float:
    """Return ``Γ(a + 1/2) / Γ(a)``; by a series for large a, where the logarithms nearly cancel."""
    if a < 100:
        return math.exp(math.lgamma(a + 0.5) - math.lgamma(a))
    step = 1 / (8 * a)
    return math.sqrt(a) * (1 - step + step**2 / 2 + 5 * step**3 / 2 - 21 * step**4 / 8)


def _fraction(x: float, a: float, b: float) -> float:
    """Return the continued fraction of ``I_x(a, b)`` by the method of Lentz."""
    c = 1.0
    d = 1 / _nonzero(1 - (a + b) * x / (a + 1))
    found = d
    for m in range(1, _STEPS):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd):
            d = 1 / _nonzero(1 + term * d)
            c = _nonzero(1 + term / c)
            found *= c * d
        if abs(c * d - 1) < 1e-15:
            break
    return found


def _nonzero(value: float) -> float:
    return value if abs(value) > _TINY else _TINY
