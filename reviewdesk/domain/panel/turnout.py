"""What became of the calls to each juror: how many answers, how many abstentions, what was lost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from reviewdesk.domain.verdict import SLACK, Body, Status


@dataclass(slots=True)
class Turnout:
    """The ballots of one juror over many cases."""

    juror: str
    answered: int = 0
    abstained: int = 0
    why: Counter[str] = field(default_factory=Counter)
    """The lost ballots by the kind of their fault."""

    @property
    def failed(self) -> int:
        """Return how many ballots were lost."""
        return self.why.total()


@dataclass(slots=True)
class Turnouts:
    """The turnout of a whole panel, juror by juror in the order in which they are first seen."""

    by_juror: dict[str, Turnout] = field(default_factory=dict)
    messages: dict[str, str] = field(default_factory=dict)
    """What the first fault of each kind says."""

    def add(self, ballots: Iterable[Body]) -> None:
        """Count canonical ballots."""
        for ballot in ballots:
            one = self.by_juror.setdefault(ballot["id"], Turnout(ballot["id"]))
            status = Status(ballot["status"])
            one.answered += status is Status.OK
            one.abstained += status is Status.ABSTAINED
            if status.failed:
                error = ballot.get("error") or {}
                kind = str(error.get("type") or status.value)
                one.why[kind] += 1
                self.messages.setdefault(kind, str(error.get("message") or ""))

    @property
    def ballots(self) -> int:
        """Return how many ballots were answered, withheld or lost."""
        return self.answered + self.abstained + self.failed

    @property
    def answered(self) -> int:
        """Return how many ballots hold an answer."""
        return sum(one.answered for one in self.by_juror.values())

    @property
    def abstained(self) -> int:
        """Return how many ballots withhold the vote."""
        return sum(one.abstained for one in self.by_juror.values())

    @property
    def failed(self) -> int:
        """Return how many ballots were lost."""
        return sum(one.failed for one in self.by_juror.values())

    @property
    def why(self) -> Counter[str]:
        """Return the lost ballots by the kind of their fault, the most frequent first."""
        kinds: Counter[str] = Counter()
        for one in self.by_juror.values():
            kinds.update(one.why)
        return Counter(dict(kinds.most_common()))


@dataclass(frozen=True, slots=True)
class Allowance:
    """How many ballots a run may lose: a count, or a share of its ballots."""

    most: float = 0
    is_share: bool = False

    def is_passed(self, lost: int, ballots: int) -> bool:
        """Return whether more were lost than allowed."""
        return lost > (self.most * ballots if self.is_share else self.most) + SLACK

    @property
    def text(self) -> str:
        """Write it as a person would."""
        return f"{self.most * 100:g}%" if self.is_share else f"{self.most:g}"


NONE_LOST = Allowance()
