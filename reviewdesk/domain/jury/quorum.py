"""Compare the share of a panel that passed with a quorum, and that answered with a minimum."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

from reviewdesk.domain import arguments
from reviewdesk.domain.verdict import FAILED_LABELS, SLACK, UNCLEAR, Decision, folded
from reviewdesk.errors import UsageError

LEAST_COMMITTED = 3
DEFAULT_SHARE = "2/3"
_UNCOMMITTED = {*FAILED_LABELS, folded(UNCLEAR), ""}


def commits(label: str | None) -> bool:
    """Return True if a juror that gives this label commits itself."""
    return folded(label) not in _UNCOMMITTED


@lru_cache(maxsize=4096)
def vote_decision(passes: int, answered: int, share: float | str | None = None) -> Decision:
    """Return the decision of a supermajority of votes; abstentions and empty seats do not commit.

    It is pass or fail if that side has at least ``share`` (2/3 by default, compared exactly) of the
    ``answered`` votes and three or more were cast, else inconclusive.
    """
    least = exact_share(share) * answered
    if answered < LEAST_COMMITTED:
        return Decision.INCONCLUSIVE
    if passes >= least:
        return Decision.PASS
    return Decision.FAIL if answered - passes >= least else Decision.INCONCLUSIVE


def exact_share(share: float | str | None) -> Fraction:
    """Return the share that is needed as an exact fraction, 2/3 for ``None``."""
    return arguments.supermajority("supermajority", DEFAULT_SHARE if share is None else share)


def own_share(share: float | str | None) -> str | None:
    """Return the share as reports and panel hashes store it: in lowest terms, ``None`` if 2/3."""
    exact = exact_share(share)
    return None if exact == exact_share(None) else str(exact)


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
