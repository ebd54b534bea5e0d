"""What a suite expects of a figure, and what became of that: pass, fail or skip, kept apart."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol, TypeAlias

from reviewdesk.domain.gates.limits import GateStatus
from reviewdesk.domain.verdict import SLACK

Value: TypeAlias = bool | float | str | None


@dataclass(frozen=True, slots=True)
class Span:
    """What a target can be: in words, and as a test of a value."""

    words: str
    holds: Callable[[object], bool]
    numeric: bool = False


def is_number(value: object) -> bool:
    """Whether a value is a number; true and false are none."""
    return isinstance(value, int | float) and not isinstance(value, bool)


class Origin(StrEnum):
    """Whether a value is the report's own word or was worked out from its ballots."""

    STATED = "stated"
    RECOMPUTED = "recomputed"


@dataclass(frozen=True, slots=True)
class MatchResult:
    """Whether a value fits; ``margin`` is the room left, negative outside a plain limit."""

    fits: bool
    margin: float | None = None
    why: str = ""
    """What is wrong, where the matcher's own words do not tell."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The minimum and the maximum that a matcher sets; ``None`` where it sets none."""

    low: float | None = None
    high: float | None = None

    def nearest(self, value: float) -> float | None:
        """The limit that a value is nearest to."""
        set_ = [one for one in (self.low, self.high) if one is not None]
        return min(set_, key=lambda one: abs(value - one), default=None)

    def hold(self, low: float, high: float) -> bool:
        """Whether an interval lies within both limits; 1e-9 is forgiven."""
        return (self.low is None or low >= self.low - SLACK) and (
            self.high is None or high <= self.high + SLACK
        )


class Matcher(Protocol):
    """What a value is held to; ``written`` is the matcher as its suite has it."""

    @property
    def written(self) -> Any:
        """The matcher as JSON."""

    @property
    def limits(self) -> Limits:
        """The limits it sets to a number; none unless it asks for a minimum or a maximum."""

    def words(self, *, negated: bool = False) -> str:
        """What it asks for, after "must"."""

    def judge(self, value: Value) -> MatchResult:
        """Hold a value to it."""


@dataclass(frozen=True, slots=True)
class Expectation:
    """One target held to one matcher; ``message`` is the author's own word on a failure."""

    target: str
    matcher: Matcher
    message: str = ""


@dataclass(frozen=True, slots=True)
class TargetValue:
    """The value of a target; a reason under ``skip`` means that it is not held to anything.

    ``low`` and ``high`` are the ends of its 95% interval, ``None`` where it has none.
    """

    value: Value
    origin: Origin | None = None
    metric: str | None = None
    note: str = ""
    skip: str = ""
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """What became of one expectation; ``verdict`` and ``test`` name the jury it was held to."""

    expected: Expectation
    reading: TargetValue
    status: GateStatus
    note: str = ""
    margin: float | None = None
    verdict: str | None = None
    test: str | None = None

    @property
    def limit(self) -> float | None:
        """The minimum or maximum that the value is nearest to; ``None`` without one."""
        value = self.reading.value
        if value is None or isinstance(value, bool | str):
            return None
        return self.expected.matcher.limits.nearest(value)

    @property
    def reaches_past(self) -> bool | None:
        """Whether the interval reaches past a limit; ``None`` without an interval or a limit."""
        low, high = self.reading.low, self.reading.high
        if low is None or high is None or self.limit is None:
            return None
        return not self.expected.matcher.limits.hold(low, high)


def hold(
    expected: Expectation, reading: TargetValue, verdict: str | None = None, test: str | None = None
) -> Finding:
    """Hold a reading to what is expected of it; one that says ``skip`` neither passes nor fails."""
    if reading.skip:
        return Finding(expected, reading, GateStatus.SKIP, reading.skip, None, verdict, test)
    judged = expected.matcher.judge(reading.value)
    status = GateStatus.PASS if judged.fits else GateStatus.FAIL
    note = "; ".join(text for text in ("" if judged.fits else judged.why, reading.note) if text)
    return Finding(expected, reading, status, note, judged.margin, verdict, test)


def overall(statuses: Iterable[GateStatus]) -> GateStatus:
    """A fail where anything fails, else a pass where anything passes, else a skip."""
    found = set(statuses)
    return next(
        (one for one in (GateStatus.FAIL, GateStatus.PASS) if one in found), GateStatus.SKIP
    )


def _no_counts() -> dict[GateStatus, int]:
    return dict.fromkeys(GateStatus, 0)


@dataclass(slots=True)
class FindingTally:
    """The findings of an entry as they come; of each status but a few are kept, if so bounded."""

    keep: int | None = None
    counts: dict[GateStatus, int] = field(default_factory=_no_counts)
    units: dict[GateStatus, int] = field(default_factory=_no_counts)
    origins: dict[Origin, int] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)

    def add(self, found: Iterable[Finding]) -> None:
        """Take the findings of one verdict, or of one labels file."""
        statuses = []
        for one in found:
            statuses.append(one.status)
            self.counts[one.status] += 1
            if (origin := one.reading.origin) is not None:
                self.origins[origin] = self.origins.get(origin, 0) + 1
            if self.keep is None or self.counts[one.status] <= self.keep:
                self.findings.append(one)
        self.units[overall(statuses)] += 1

    @property
    def status(self) -> GateStatus:
        """How the entry as a whole came out; one that held nothing to anything is skipped."""
        return overall(status for status, count in self.counts.items() if count)


class EntryKind(StrEnum):
    """What an entry of a suite looks at."""

    JURY = "jury"
    CALIBRATION = "calibration"


@dataclass(frozen=True, slots=True)
class EntryResult:
    """One entry of a suite: ``counts`` are of its checks, ``units`` of its verdicts.

    ``origins`` say how many of the values that were read are the report's own. ``source`` is the
    report, run or labels file as the suite names it; ``notes`` say what else to know. An ``error``
    means that it could not be held to anything.
    """

    name: str
    kind: EntryKind
    source: str
    case: str | None
    status: GateStatus
    counts: dict[GateStatus, int]
    units: dict[GateStatus, int]
    origins: dict[Origin, int]
    findings: tuple[Finding, ...]
    notes: tuple[str, ...] = ()
    error: str = ""
    design: str | None = None
    representative: bool | None = None
    """Whether the labels are known to stand for the whole run; ``None`` of a jury."""
    doubts: tuple[str, ...] = ()
    """Why a calibration entry that passes does not yet speak for the judge."""


@dataclass(frozen=True, slots=True)
class SuiteResult:
    """All entries of a suite, in the order of its file."""

    suite: str
    entries: tuple[EntryResult, ...]

    def count(self, status: GateStatus) -> int:
        """How many entries came out so; one with an error counts for none."""
        return sum(entry.status is status and not entry.error for entry in self.entries)

    @property
    def errors(self) -> tuple[str, ...]:
        """What kept entries from being held to anything, a line each."""
        return tuple(entry.error for entry in self.entries if entry.error)

    @property
    def unrepresentative(self) -> tuple[EntryResult, ...]:
        """The calibration entries that ``--require-representative`` does not accept."""
        return tuple(one for one in self.entries if one.doubts and not one.error)
