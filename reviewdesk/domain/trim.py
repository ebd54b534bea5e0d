"""The trim rule: which scores are left out at each end, and what the rest say."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from reviewdesk.domain.verdict import Rounding


@dataclass(frozen=True, slots=True)
class Trim:
    """The outcome of the rule: seats left out at each end, and those cut by seat order alone."""

    fraction: float
    rounding: Rounding
    per_side: int
    low: tuple[int, ...]
    high: tuple[int, ...]
    tied: frozenset[int]


@lru_cache(maxsize=4096)
def trim_count(n: int, fraction: float, rounding: Rounding = Rounding.DOWN) -> int:
    """How many of ``n`` scores are dropped at each end.

    ``x = fraction * n`` in exact arithmetic; ``down`` floors but drops one where the floor is 0 and
    x > 1/2, ``nearest`` rounds half to even, ``up`` takes the ceiling; at most ``(n - 1) // 2``,
    and none of one or two. Source: the jury trim rule, with its rounding named.
    """
    if n < 3:
        return 0
    exact = Fraction(repr(float(fraction))) * n
    if rounding is Rounding.DOWN:
        count = math.floor(exact) or int(exact > Fraction(1, 2))
    elif rounding is Rounding.NEAREST:
        count = round(exact)
    else:
        count = math.ceil(exact)
    return min(count, (n - 1) // 2)


def trim(
    scores: Sequence[float | None], fraction: float, rounding: Rounding = Rounding.DOWN
) -> Trim:
    """Drop the ends of a panel's scores, ordered by (score, seat); ``None`` is an empty seat."""
    ranked = sorted((score, seat) for seat, score in enumerate(scores) if score is not None)
    count = trim_count(len(ranked), fraction, rounding)
    low, kept, high = (
        ranked[:count],
        ranked[count : len(ranked) - count],
        ranked[len(ranked) - count :],
    )
    tied: set[int] = set()
    if count:
        tied |= {seat for score, seat in low if score == kept[0][0]}
        tied |= {seat for score, seat in high if score == kept[-1][0]}
    return Trim(
        fraction,
        rounding,
        count,
        tuple(seat for _, seat in low),
        tuple(seat for _, seat in high),
        frozenset(tied),
    )


def trimmed_mean(
    scores: Sequence[float | None], fraction: float, rounding: Rounding = Rounding.DOWN
) -> float | None:
    """Mean of the scores that the trim keeps; ``None`` without a score."""
    cut = trim(scores, fraction, rounding)
    gone = {*cut.low, *cut.high}
    kept = [score for seat, score in enumerate(scores) if score is not None and seat not in gone]
    return math.fsum(kept) / len(kept) if kept else None
