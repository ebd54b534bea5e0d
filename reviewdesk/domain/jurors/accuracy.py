"""How often each juror was right over the verdicts that people labelled, as counts."""

from __future__ import annotations

from msgspec import Struct

from reviewdesk.domain.canonical import CanonicalVerdict
from reviewdesk.domain.verdict import stated_trim


class JurorCounts(Struct, frozen=True):
    """One juror's votes against the labels; a positive is a response that should pass.

    ``seat`` is the lowest seat the juror ever had. A dissent is a vote against a pass or a fail of
    the panel; it is lone if no other juror dissented, or if the trim left the juror out.
    """

    name: str
    seat: int
    tp: int
    fn: int
    tn: int
    fp: int
    abstained: int
    failed: int
    trimmed: int
    dissents: int
    dissents_right: int
    lone_dissents: int = 0
    lone_right: int = 0

    @property
    def votes(self) -> int:
        return self.right + self.wrong

    @property
    def right(self) -> int:
        return self.tp + self.tn

    @property
    def wrong(self) -> int:
        return self.fn + self.fp


def trim_named(body: CanonicalVerdict) -> set[int] | None:
    """Return the seats that the report itself says were trimmed; ``None`` if it states no trim."""
    stated = stated_trim(body)
    if stated.low is None:
        return None
    named = {*stated.low, *(stated.high or ())}
    return {seat for seat, juror in enumerate(body["jurors"]) if juror["id"] in named}
