"""Count the votes of a panel, and compare the share that passed with a quorum."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

from reviewdesk.domain import arguments
from reviewdesk.domain.verdict import SLACK, Ballot
from reviewdesk.errors import UsageError


@dataclass(frozen=True, slots=True)
class Votes:
    """The vote count of a panel: how many passed, how many were cast, how many seats there are."""

    passes: int
    answered: int
    seated: int
    unknown: int = 0
    """Jurors whose score needs an unknown threshold to vote; with any, no rule on votes decides."""
    withheld: int = field(default=0, compare=False)
    """Jurors that answered without casting a vote; if nobody voted, their scores decide nothing."""

    @property
    def fails(self) -> int:
        """The number of votes to fail."""
        return self.answered - self.passes

    @property
    def split(self) -> bool:
        """Whether both pass and fail were voted for."""
        return 0 < self.passes < self.answered

    @property
    def silent(self) -> bool:
        """Whether jurors answered and none of them cast a vote."""
        return self.withheld > 0 and not self.answered

    @property
    def known(self) -> bool:
        """Whether votes were cast, and every juror that answered cast or withheld its vote."""
        return self.answered > 0 and not self.unknown


def tally(ballots: Sequence[Ballot]) -> Votes:
    """Count the votes; a juror that failed or withheld its vote stays seated."""
    cast = [ballot.vote for ballot in ballots if ballot.vote is not None]
    unknown = withheld = 0
    if len(cast) < len(ballots):
        unknown = sum(ballot.undetermined for ballot in ballots)
        withheld = sum(ballot.usable and ballot.withheld for ballot in ballots)
    return Votes(sum(cast), len(cast), len(ballots), unknown, withheld)


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


def _check(passes: int, n: int, quorum: float | str) -> None:
    arguments.quorum("quorum", quorum)
    if not 0 <= passes <= n or n < 1:
        raise UsageError(f"{passes} of {n} jurors passed", "Give 0 to n passes of n jurors, n > 0")
