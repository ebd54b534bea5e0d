"""Standard statistics: intervals of rates, kappa, weights from kappa, adjusted p values."""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import lru_cache
from statistics import NormalDist

from msgspec import Struct

from reviewdesk.domain.stats.correction import Z

_TINY = 1e-300
_STEPS = 100_000


def t_two_sided(t: float, df: float) -> float:
    """Return ``P(|T| >= |t|)`` with ``df`` degrees of freedom, which need not be whole.

    Raise ValueError unless t is finite and df is above 0. Source: Abramowitz and Stegun 26.7.1.
    """
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
    """Return the regularised incomplete beta function ``I_x(a, b)``, for a and b over 0.

    It is 0 for x under 0, and 1 for x over 1. Source: Abramowitz and Stegun 26.5.8.
    """
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


class RateDifference(Struct, frozen=True):
    """The difference of two rates with its 95% interval; all ``None`` if a rate has no data."""

    diff: float | None
    low: float | None
    high: float | None


def wilson(k: float, n: float, z: float = Z) -> tuple[float, float]:
    """Return Wilson's score interval of ``k`` of ``n``, 95% by default; (0, 1) without data.

    ``(p + z²/2n ± z·√(p(1-p)/n + z²/4n²)) / (1 + z²/n)``. Source: Wilson 1927.
    """
    if n <= 0:
        return 0.0, 1.0
    p = k / n
    step = z * z / n
    centre = (p + step / 2) / (1 + step)
    half = z * math.sqrt(max(p * (1 - p), 0.0) / n + step / (4 * n)) / (1 + step)
    # At k = 0 and k = n one end is exactly 0 or 1, and rounding must not cross it.
    return (0.0 if k <= 0 else centre - half), (1.0 if k >= n else centre + half)


MANY = 200
"""With more hits and more misses than this, Wilson's interval and the mid-p interval agree."""


def midp(k: float, n: float, z: float = Z) -> tuple[float, float]:
    """Return the mid-p interval of ``k`` of ``n``, 95% by default; (0, 1) without data.

    The lower end is the rate at which ``P(X > k) + P(X = k)/2`` of a binomial X is the upper tail
    of z, 2.5% by default; the upper end likewise. Counts may be fractions: the probabilities are
    those of the beta distribution. Each end misses about half as often as ``z`` allows for both,
    while Wilson's upper end misses in up to 10% of strata with few labels and few misses. Source:
    Lancaster 1961; Berry and Armitage 1995.
    """
    if n <= 0:
        return 0.0, 1.0
    if min(k, n - k) > MANY:
        return wilson(k, n, z)
    tail = math.erfc(z / math.sqrt(2)) / 2
    return _midp_low(k, n, tail), 1 - _midp_low(n - k, n, tail)


@lru_cache(1 << 14)
def _midp_low(k: float, n: float, tail: float) -> float:
    """Find by Newton's method, in logarithms, the rate with ``P(X > k) + P(X = k)/2 = tail``."""
    if k <= n * 1e-12:
        return 0.0
    misses = n - k
    if misses <= n * 1e-12:
        return math.pow(2 * tail, 1 / n)
    ways = math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(misses + 1)
    x = max(wilson(k, n)[0], k / n / 4)
    for _ in range(60):
        at = math.exp(ways + k * math.log(x) + misses * math.log1p(-x))
        above = beta_cdf(x, k + 1, misses) + at / 2
        # The logarithm of the tail is concave in that of x, so that the steps cannot overshoot.
        step = math.log(above / tail) * above / (at * (misses * x / (1 - x) + k) / 2)
        x = min(x * math.exp(-step), k / n)
        # With far less than one hit the end is closer to 0 than a float can be.
        if abs(step) < 1e-10 or x < 1e-300:
            break
    return x


def rate_difference(k1: float, n1: float, k2: float, n2: float) -> RateDifference:
    """Return ``k1/n1 - k2/n2`` with its 95% interval; all ``None`` if either n is 0.

    The distances of both rates from the ends of their Wilson intervals are combined by squares.
    Source: Newcombe 1998, method 10.
    """
    if n1 <= 0 or n2 <= 0:
        return RateDifference(None, None, None)
    one = k1 / n1
    two = k2 / n2
    (low1, high1) = wilson(k1, n1)
    (low2, high2) = wilson(k2, n2)
    return RateDifference(
        one - two,
        one - two - math.hypot(one - low1, high2 - two),
        one - two + math.hypot(high1 - one, two - low2),
    )


def sign_test(one: int, two: int) -> float | None:
    """Return the two-sided mid-p value for ``one`` and ``two`` being halves of their sum n.

    ``2·(P(X > k) + P(X = k)/2)``, at most 1, for a binomial X of n at one half and k the larger
    count; ``None`` if n is 0. It is McNemar's test of paired answers in its mid-p form. Source:
    Fagerland, Lydersen and Laake 2013.
    """
    n = one + two
    k = max(one, two)
    if not n:
        return None
    ways = 2 * sum(math.comb(n, x) for x in range(k + 1, n + 1)) + math.comb(n, k)
    return min(1.0, ways / (1 << n))


def tango(gained: float, lost: float, n: float, z: float = Z) -> float:
    """Return an end of Tango's score interval of ``(gained - lost)/n``, paired on n items.

    It is the difference δ at which ``(gained - lost - nδ) / √(n(2q + δ(1-δ)))`` is z, with q the
    most likely share lost if the difference is δ: the lower end for a z above 0, the upper one for
    a z below. Source: Tango 1998.
    """

    def score(delta: float) -> float:
        b = (2 * n - gained + lost) * delta - gained - lost
        root = math.sqrt(max(b * b + 8 * n * lost * delta * (1 - delta), 0.0))
        variance = n * ((root - b) / (2 * n) + delta * (1 - delta))
        off = gained - lost - n * delta
        return off / math.sqrt(variance) if variance > 0 else off

    return bisect(lambda delta: score(delta) > z, -1.0, 1.0)


def cohen_kappa(human: Sequence[Hashable], juror: Sequence[Hashable]) -> float | None:
    """Compute Cohen's kappa ``(p_o - p_e) / (1 - p_e)`` of two raters over the same rows.

    Rows with a ``None`` are left out. ``None`` without rows, and if p_e = 1: chance alone would
    agree on every row. Raise ValueError if the lengths differ. Source: Cohen 1960.
    """
    pairs = Counter(zip(human, juror, strict=True))
    return kappa_of({pair: n for pair, n in pairs.items() if None not in pair})


def kappa_of(rows: Mapping[tuple[Hashable, Hashable], float]) -> float | None:
    """Compute Cohen's kappa, as ``cohen_kappa`` does, from the weight of each pair of answers."""
    n = math.fsum(rows.values())
    first = defaultdict[Hashable, float](float)
    second = defaultdict[Hashable, float](float)
    alike = 0.0
    for (one, two), mass in rows.items():
        first[one] += mass
        second[two] += mass
        alike += mass if one == two else 0.0
    by_chance = math.fsum(mass * second[value] for value, mass in first.items())
    # Weights are not whole numbers, so rounding may leave a little where the room is 0.
    room = n * n - by_chance
    return (n * alike - by_chance) / room if room > 1e-12 * n * n else None


def kappa_weights(kappas: Sequence[float | None]) -> list[float | None]:
    """Return weights from kappas: clipped at 0 and scaled to sum 1, or equal if none is above 0.

    A juror without a kappa gets ``None``, and the others share all the weight.
    """
    clipped = [None if kappa is None else max(kappa, 0.0) for kappa in kappas]
    known = [kappa for kappa in clipped if kappa is not None]
    total = math.fsum(known)
    if total <= 0:
        return [None if kappa is None else 1 / len(known) for kappa in clipped]
    return [None if kappa is None else kappa / total for kappa in clipped]


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
