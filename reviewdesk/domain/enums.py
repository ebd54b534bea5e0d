"""The words of a report, each kind as an enumeration."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum


class Decision(StrEnum):
    """What a panel decided about an item."""

    PASS = "pass"
    FAIL = "fail"
    INCONCLUSIVE = "inconclusive"
    ERROR = "error"


class Status(StrEnum):
    """How a juror's call ended; only ``ok`` votes.

    A juror whose call ended otherwise has the state ``failed`` within its verdict. The properties
    tell those apart whose call went wrong from those that said something else, or nothing.
    """

    OK = "ok"
    ERROR = "error"
    TIMEOUT = "timeout"
    PARSE_FAIL = "parse_fail"
    EMPTY = "empty"
    ABSTAINED = "abstained"
    MISSING_KEY = "missing_key"
    UNKNOWN = "unknown"
    NOT_ASKED = "not_asked"

    @property
    def failed(self) -> bool:
        """Whether the call went wrong: what failed ballots count, and what a median stands in for.

        A juror that abstains, was not asked, or gave an answer nobody understands did not fail.
        """
        return self not in _SAID_OTHERWISE

    @property
    def missing(self) -> bool:
        """Whether the panel lacks this juror's answer, so that it is worth asking again."""
        return self.failed or self is Status.UNKNOWN

    @property
    def degrades(self) -> bool:
        """Whether the panel decides by fewer answers than it asked for."""
        return self.missing or self is Status.ABSTAINED

    @property
    def words(self) -> str:
        """The status as a person reads it."""
        return _STATUS_WORDS.get(self, f"failed: {self.value}")


_SAID_OTHERWISE = frozenset({Status.OK, Status.ABSTAINED, Status.UNKNOWN, Status.NOT_ASKED})
_STATUS_WORDS = {
    Status.OK: "answered",
    Status.ABSTAINED: "abstained",
    Status.UNKNOWN: "answer not understood",
    Status.NOT_ASKED: "not asked",
}


class Band(StrEnum):
    """How closely the jurors agree."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


class Strategy(StrEnum):
    """How the ballots become one decision."""

    QUORUM = "quorum"
    MAJORITY = "majority"
    UNANIMOUS = "unanimous"
    WEIGHTED_AVERAGE = "weighted_average"
    MEAN = "mean"
    MEDIAN = "median"
    HIGHEST = "highest"
    LOWEST = "lowest"
    TRIMMED_MEAN = "trimmed_mean"
    WEIGHTED_VOTE = "weighted_vote"
    FIRST_DISAGREEMENT = "first_disagreement"
    SINGLE = "single"
    EXTERNAL = "external"
    SUPERMAJORITY = "supermajority"


class Regime(StrEnum):
    """What hangs on a verdict, and so how it is to be decided."""

    ROUTINE = "routine"
    IRREVERSIBLE = "irreversible"
    DISPUTE = "dispute"


BY_REGIME: Mapping[str, Strategy] = {
    Regime.ROUTINE: Strategy.TRIMMED_MEAN,
    Regime.IRREVERSIBLE: Strategy.MEDIAN,
}
"""The rule of a regime where a verdict states no strategy of its own; a dispute has none."""


class Rounding(StrEnum):
    """How a trim fraction becomes a whole number of jurors."""

    DOWN = "down"
    NEAREST = "nearest"
    UP = "up"
