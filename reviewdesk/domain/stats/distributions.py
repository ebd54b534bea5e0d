"""Student's t and the beta distribution, and p values adjusted for their number."""

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from statistics import NormalDist

_TINY = 1e-300
_STEPS = 100_000


def t_two_sided(t: float, df: float) -> float:
    """Return ``P(|T| >= |t|)`` for a finite t and ``df`` > 0 (Abramowitz and Stegun 26.7.1)."""
    if df <= 0 or not math.isfinite(t):
        raise ValueError("t is finite and has degrees of freedom above 0")
    odds = t * t / df
    a = df / 2
    if odds == 0:
        return 1.0
    # With x = 1 / (1 + odds), this is I_x(a, 1/2).
    x = 1 / (1 + odds)
    rest = odds / (1 + odds)
    # Γ(a + 1/2) / Γ(a), by a series for large a, where the logarithms nearly cancel.
    ratio = math.exp(math.lgamma(a + 0.5) - math.lgamma(a)) if a < 100 else 1.0
    if a >= 100:
        step = 1 / (8 * a)
        ratio = math.sqrt(a) * (1 - step + step**2 / 2 + 5 * step**3 / 2 - 21 * step**4 / 8)
    # x^a (1 - x)^(1/2) / B(a, 1/2); log1p keeps the power exact where x is nearly 1.
    front = math.exp(-a * math.log1p(odds)) * math.sqrt(rest / math.pi) * ratio
    if x < (a + 1) / (a + 2.5):
        return front * _fraction(x, a, 0.5) / a
    return 1 - front * _fraction(rest, 0.5, a) / 0.5


def bisect(holds: Callable[[float], bool], low: float, high: float) -> float:
    """Return the point from ``low`` to ``high`` up to which ``holds`` is true."""
    # Sixty halvings exceed the precision of a float.
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return (low + high) / 2


@lru_cache(maxsize=256)
def t_quantile(p: float, df: float) -> float:
    """Find by Newton's method the t with ``P(T <= t) = p``; ValueError unless ``0 < p < 1``."""
    if not 0 < p < 1:
        raise ValueError("a quantile needs a probability between 0 and 1")
    tail = 2 * min(p, 1 - p)
    # The tail is convex, so the steps from the normal quantile, which is nearer, never overshoot.
    t = -NormalDist().inv_cdf(tail / 2)
    scale = math.lgamma((df + 1) / 2) - math.lgamma(df / 2) - math.log(df * math.pi) / 2
    step = t
    while abs(step) > 1e-9 * t:  # the error after a step is of the order of its square
        density = math.exp(scale - (df + 1) / 2 * math.log1p(t * t / df))
        step = (t_two_sided(t, df) - tail) / 2 / density
        t += step
    return math.copysign(t, p - 0.5)


def beta_cdf(x: float, a: float, b: float) -> float:
    """Return the incomplete beta function ``I_x(a, b)``. Source: Abramowitz and Stegun 26.5.8."""
    if not 0 < x < 1:
        return float(x >= 1)
    logs = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    front = math.exp(logs + a * math.log(x) + b * math.log1p(-x))
    if x < (a + 1) / (a + b + 2):
        return front * _fraction(x, a, b) / a
    return 1 - front * _fraction(1 - x, b, a) / b


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


def benjamini_hochberg(p: Sequence[float | None]) -> list[float | None]:
    """Adjust each p value to the false discovery rate among all m defined ones.

    ``q_(i) = min over j >= i of p_(j)·m/j``, at most 1, in ascending order of p. ``None`` stays
    ``None``. Source: Benjamini and Hochberg 1995.
    """
    order = sorted((value, place) for place, value in enumerate(p) if value is not None)
    adjusted: list[float | None] = [None] * len(p)
    least = 1.0
    for rank in range(len(order), 0, -1):
        value, place = order[rank - 1]
        least = min(least, value * (len(order) / rank))
        adjusted[place] = least
    return adjusted
