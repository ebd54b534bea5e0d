"""Count the votes of a panel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from reviewdesk.domain.verdict import Ballot


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
