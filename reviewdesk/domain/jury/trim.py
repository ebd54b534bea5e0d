"""The trim rule: which scores are left out at each end, and the mean of the rest."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

from msgspec import Struct

from reviewdesk.domain import arguments
from reviewdesk.domain.verdict import DEFAULT_TRIM_FRACTION, Rounding
from reviewdesk.errors import UsageError


class Trim(Struct, frozen=True):
    """The result of the trim rule: the seats left out at each end.

    ``tied`` holds those that scored as much as a kept seat, so that seat order alone cut them.
    """

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
    """Return how many of ``n`` scores are dropped at each end.

    ``x = fraction * n`` in exact arithmetic; ``down`` floors but drops one where the floor is 0 and
    x > 1/2, ``nearest`` rounds half to even, ``up`` takes the ceiling; at most ``(n - 1) // 2``,
    and none of one or two. Raise UsageError unless 0 <= fraction < 0.5 and the rounding is known.
    Source: the jury trim rule, with its rounding named.
    """
    # Convert before the cached call: a str equals the Rounding it names, and has the same hash.
    return _trim_count(n, fraction, rounding_named(rounding))


def rounding_named(word: Rounding | str) -> Rounding:
    """Return the rounding of that name; raise UsageError, listing all names, if there is none."""
    return word if isinstance(word, Rounding) else arguments.member(Rounding, word, "no rounding")


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


class Breakdown(Struct, frozen=True):
    """How many bought jurors a trimmed panel tolerates, and the price of enough to break it."""

    jurors: int
    tolerates: int
    bribe: float | None
    """The price of ``breaks_at`` jurors; ``None`` if no price is given."""

    @property
    def breaks_at(self) -> int:
        """The smallest number of jurors that can move the value anywhere."""
        return self.tolerates + 1

    def __str__(self) -> str:
        """Return both numbers; one percentage would hide which of two conventions it follows."""
        return f"tolerates {self.tolerates} of {self.jurors}, breaks at {self.breaks_at}"


def breakdown(
    n: int,
    fraction: float = DEFAULT_TRIM_FRACTION,
    rounding: Rounding | str = Rounding.DOWN,
    price: float | None = None,
) -> Breakdown:
    """Return the breakdown point of the trim rule: of ``n`` scores it tolerates g, breaks at g + 1.

    ``g`` is ``trim_count(n, fraction, rounding)`` and the bribe costs ``(g + 1) * price``, where
    ``price`` is that of one juror. Raise UsageError for a panel of nobody, or a price that is
    negative or not finite.
    """
    if n < 1:
        raise UsageError(f"breakdown of {n} jurors", "A panel has at least one juror")
    if price is not None and not (math.isfinite(price) and price >= 0):
        raise UsageError(f"price {price} is no amount", "Give the price of one juror, 0 or more")
    tolerated = trim_count(n, fraction, rounding)
    return Breakdown(n, tolerated, None if price is None else (tolerated + 1) * price)
