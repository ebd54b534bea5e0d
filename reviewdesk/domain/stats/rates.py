"""Standard statistics: intervals of rates, kappa, weights from kappa, adjusted p values."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Sequence

from reviewdesk.domain.stats.correction import Z
from reviewdesk.frozen import Frozen


class RateDifference(Frozen):
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
    p, step = k / n, z * z / n
    centre = (p + step / 2) / (1 + step)
    half = z * math.sqrt(max(p * (1 - p), 0.0) / n + step / (4 * n)) / (1 + step)
    # At k = 0 and k = n one end is exactly 0 or 1, and rounding must not cross it.
    return (0.0 if k <= 0 else centre - half), (1.0 if k >= n else centre + half)


def rate_difference(k1: float, n1: float, k2: float, n2: float) -> RateDifference:
    """Return ``k1/n1 - k2/n2`` with its 95% interval; all ``None`` if either n is 0.

    The distances of both rates from the ends of their Wilson intervals are combined by squares.
    Source: Newcombe 1998, method 10.
    """
    if n1 <= 0 or n2 <= 0:
        return RateDifference(None, None, None)
    one, two = k1 / n1, k2 / n2
    (low1, high1), (low2, high2) = wilson(k1, n1), wilson(k2, n2)
    return RateDifference(
        one - two,
        one - two - math.hypot(one - low1, high2 - two),
        one - two + math.hypot(high1 - one, two - low2),
    )


def sign_test(one: int, two: int) -> float | None:
    """Return the two-sided mid-p value that ``one`` and ``two`` are halves of their sum n.

    ``2·(P(X > k) + P(X = k)/2)``, at most 1, for a binomial X of n at one half and k the larger
    count; ``None`` if n is 0. It is McNemar's test of paired answers in its mid-p form. Source:
    Fagerland, Lydersen and Laake 2013.
    """
    n, k = one + two, max(one, two)
    if not n:
        return None
    ways = 2 * sum(math.comb(n, x) for x in range(k + 1, n + 1)) + math.comb(n, k)
    return min(1.0, ways / (1 << n))


def cohen_kappa(human: Sequence[Hashable], juror: Sequence[Hashable]) -> float | None:
    """Compute Cohen's kappa ``(p_o - p_e) / (1 - p_e)`` of two raters over the same rows.

    Rows with a ``None`` are left out. ``None`` without rows, and if p_e = 1: chance alone would
    agree on every row. Raise ValueError if the lengths differ. Source: Cohen 1960.
    """
    rows = Counter(
        (one, two)
        for one, two in zip(human, juror, strict=True)
        if one is not None and two is not None
    )
    n = rows.total()
    first: Counter[Hashable] = Counter()
    second: Counter[Hashable] = Counter()
    for (one, two), times in rows.items():
        first[one] += times
        second[two] += times
    alike = sum(times for (one, two), times in rows.items() if one == two)
    by_chance = sum(times * second[value] for value, times in first.items())
    return (n * alike - by_chance) / (n * n - by_chance) if by_chance < n * n else None


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
