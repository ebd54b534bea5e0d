"""Compare the share of a panel that passed with a quorum, and that answered with a minimum."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

from reviewdesk.domain import arguments
from reviewdesk.domain.verdict import SLACK
from reviewdesk.errors import UsageError


@lru_cache(maxsize=4096)
def quorum_met(passes: int, n: int, quorum: float | str) -> bool:
    """Return True if ``passes`` of ``n`` reach the quorum, with the share rounded half up.

    The share is rounded to as many decimals as the quorum is written with, at least two: two of
    three meet 0.67. ``"k/n"`` is an exact fraction, and 1.0 needs every juror. Raise UsageError for
    a quorum outside 0..1, or for more passes than jurors.
    """
    _check(passes, n, quorum)
    if isinstance(quorum, str):
        return Fraction(passes, n) >= Fraction(quorum)
    written = Decimal(repr(float(quorum))).normalize()
    if written == 1:
        return passes == n
    decimals = max(2, -int(written.as_tuple().exponent))
    scale = 10**decimals
    rounded = Fraction(math.floor(Fraction(passes, n) * scale + Fraction(1, 2)), scale)
    return rounded >= Fraction(written)


@lru_cache(maxsize=4096)
def quorum_met_strictly(passes: int, n: int, quorum: float | str) -> bool:
    """Return True if ``passes / n >= quorum`` with 1e-9 slack and no rounding, to compare."""
    _check(passes, n, quorum)
    if isinstance(quorum, str):
        return Fraction(passes, n) >= Fraction(quorum)
    return passes / n >= quorum - SLACK


def least_answered(minimum: float | str | None, seated: int) -> int:
    """Return how many of the seated jurors must answer: a count, or a share rounded up; 0 if None.

    A count may exceed the panel, which then cannot decide.
    """
    if isinstance(minimum, str):
        return math.ceil(Fraction(minimum) * seated)
    return math.ceil(minimum or 0)


def _check(passes: int, n: int, quorum: float | str) -> None:
    arguments.quorum("quorum", quorum)
    if not 0 <= passes <= n or n < 1:
        raise UsageError(f"{passes} of {n} jurors passed", "Give 0 to n passes of n jurors, n > 0")
