"""Enumerations of the words in a report: decisions, statuses, bands, strategies and regimes."""

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

    Within its verdict, a juror with any other status has the state ``failed``. The properties tell
    a call that went wrong from an answer that does not vote.
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
        """Whether the call went wrong: the ballot counts as failed, and a median may stand in.

        A juror that abstained, was not asked or was not understood did not fail.
        """
        return self not in _NOT_FAILED

    @property
    def missing(self) -> bool:
        """Whether the panel lacks this juror's answer, so that a re-run of it makes sense."""
        return self.failed or self is Status.UNKNOWN

    @property
    def words(self) -> str:
        return _STATUS_WORDS.get(self, f"failed: {self.value}")


_NOT_FAILED = frozenset({Status.OK, Status.ABSTAINED, Status.UNKNOWN, Status.NOT_ASKED})
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
    """The rule that makes one decision of the ballots."""

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
    """What depends on a verdict; it selects the rule that decides."""

    ROUTINE = "routine"
    IRREVERSIBLE = "irreversible"
    DISPUTE = "dispute"


BY_REGIME: Mapping[str, Strategy] = {
    Regime.ROUTINE: Strategy.TRIMMED_MEAN,
    Regime.IRREVERSIBLE: Strategy.MEDIAN,
}
"""The strategy of each regime, for verdicts that state none; a dispute goes to a person."""


class Rounding(StrEnum):
    """How a trim fraction becomes a whole number of jurors."""

    DOWN = "down"
    NEAREST = "nearest"
    UP = "up"


class AgreementSource(StrEnum):
    """Where an agreement and its band come from: the report, or our figures from its ballots."""

    REPORTED = "reported"
    OURS = "ours"
