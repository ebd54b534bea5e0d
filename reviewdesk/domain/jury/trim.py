"""The trim rule: which scores are left out at each end, and what the rest say."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from reviewdesk.domain import arguments
from reviewdesk.domain.verdict import DEFAULT_TRIM_FRACTION, Rounding
from reviewdesk.errors import UsageError


@dataclass(frozen=True, slots=True)
class Trim:
    """The outcome of the rule: seats left out at each end, and those cut by seat order alone."""

    fraction: float
    rounding: Rounding
    per_side: int
    low: tuple[int, ...]
    high: tuple[int, ...]
    tied: frozenset[int]


def trim_count(
    n: int,
    fraction: float = DEFAULT_TRIM_FRACTION,
    rounding: Rounding | str = Rounding.DOWN,
) -> int:
    """How many of ``n`` scores are dropped at each end.

    ``x = fraction * n`` in exact arithmetic; ``down`` floors but drops one where the floor is 0 and
    x > 1/2, ``nearest`` rounds half to even, ``up`` takes the ceiling; at most ``(n - 1) // 2``,
    and none of one or two. A fraction outside 0..0.5 or an unknown rounding is an error. Source:
    the jury trim rule, with its rounding named.
    """
    # Read before the cache: a word is equal to the rounding it names, and has the same hash.
    return _trim_count(n, fraction, rounding_named(rounding))


def rounding_named(word: Rounding | str) -> Rounding:
    """The rounding of that name; an unknown one is an error that lists those there are."""
    if isinstance(word, Rounding):
        return word
    try:
        return Rounding(word)
    except ValueError:
        known = ", ".join(rounding.value for rounding in Rounding)
        raise UsageError(f"no rounding {word!r}", f"Known: {known}") from None


@lru_cache(maxsize=4096)
def _trim_count(n: int, fraction: float, rounding: Rounding) -> int:
    arguments.trim_fraction("fraction", fraction)
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
    scores: Sequence[float | None],
    fraction: float = DEFAULT_TRIM_FRACTION,
    rounding: Rounding | str = Rounding.DOWN,
) -> Trim:
    """Drop the ends of a panel's scores, ordered by (score, seat); ``None`` is an empty seat."""
    rounding = rounding_named(rounding)
    ranked = [(score, seat) for seat, score in enumerate(scores) if score is not None]
    arguments.total("a score", [score for score, _ in ranked])
    ranked.sort()
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


def kept_mean(scores: Sequence[float | None], cut: Trim) -> float | None:
    """Mean of the scores that a trim leaves; ``None`` without a score."""
    gone = {*cut.low, *cut.high}
    kept = [score for seat, score in enumerate(scores) if score is not None and seat not in gone]
    return math.fsum(kept) / len(kept) if kept else None


def trimmed_mean(
    scores: Sequence[float | None],
    fraction: float = DEFAULT_TRIM_FRACTION,
    rounding: Rounding | str = Rounding.DOWN,
) -> float | None:
    """Mean of the scores that the trim keeps; ``None`` without a score."""
    return kept_mean(scores, trim(scores, fraction, rounding))


@dataclass(frozen=True, slots=True)
class Breakdown:
    """How many bought jurors a trimmed panel bears, and what the first that turn it would cost."""

    jurors: int
    tolerates: int
    bribe: float | None
    """Price of ``breaks_at`` jurors; ``None`` where no price is given."""

    @property
    def breaks_at(self) -> int:
        """The fewest jurors that can carry the value anywhere."""
        return self.tolerates + 1

    def __str__(self) -> str:
        """The two numbers; one percentage would hide which of two conventions it follows."""
        return f"tolerates {self.tolerates} of {self.jurors}, breaks at {self.breaks_at}"


def breakdown(
    n: int,
    fraction: float = DEFAULT_TRIM_FRACTION,
    rounding: Rounding | str = Rounding.DOWN,
    price: float | None = None,
) -> Breakdown:
    """The breakdown point of the trim rule over ``n`` scores: it bears g and breaks at g + 1.

    ``g`` is ``trim_count(n, fraction, rounding)`` and the bribe cost ``(g + 1) * price``, with the
    price of one juror. A panel of nobody, or a price that is no amount, is an error.
    """
    if n < 1:
        raise UsageError(f"breakdown of {n} jurors", "A panel has at least one juror")
    if price is not None and not (math.isfinite(price) and price >= 0):
        raise UsageError(f"price {price} is no amount", "Give the price of one juror, 0 or more")
    borne = trim_count(n, fraction, rounding)
    return Breakdown(n, borne, None if price is None else (borne + 1) * price)
