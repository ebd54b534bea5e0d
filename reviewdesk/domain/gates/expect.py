"""What a suite expects of a figure, and the result: pass, fail or skip, counted separately."""

from collections.abc import Callable, Iterable
from enum import StrEnum
from math import inf
from typing import Any, TypeGuard

from msgspec import Struct, field

from reviewdesk.domain.gates.join import JoinCounts
from reviewdesk.domain.labels.sampling import MIN_AUDIT
from reviewdesk.domain.records import Metrics
from reviewdesk.domain.stats.correction import CorrectionStatus
from reviewdesk.domain.stats.figures import Estimate, NullEce
from reviewdesk.domain.verdict import SLACK
from reviewdesk.errors import ExitCode

ECE_LIMIT = 0.10
BRIER_LIMIT = 0.25
SPECIFICITY_LIMIT = 0.80
"""The minimum lower end of specificity: a gate passes at most a fifth of the bad answers."""
FEW = 50
"""Up to this many labels, a perfectly calibrated judge often misses the limit of the ECE."""

FEWEST = MIN_AUDIT
"""The minimum number of drawn labels with which a judge may gate: the size of the smallest audit of
the draw."""
UNUSUAL = 0.05
"""The p value below which chance alone no longer explains the ECE of a judge."""


class GateStatus(StrEnum):
    """Whether a figure keeps its limit."""

    PASS = "pass"
    FAIL = "fail"
    SKIP = "skip"


class LimitCheck(Struct, frozen=True):
    """A figure checked against an upper limit; ``margin`` is the room left, negative outside."""

    target: str
    value: float | None
    limit: float | None
    status: GateStatus
    margin: float | None
    note: str = ""
    """Why the check was skipped, or what to keep in mind about the figure."""
    op: str = "<="
    """The side of its limit that the figure must be on, as JSON and the page write it."""


def ece_note(n: int, null: NullEce | None) -> str:
    """Say how large a calibrated judge's ECE would be on these rows, and if n labels are few."""
    words = [f"up to {FEW} labels, a calibrated judge often misses it"] if n <= FEW else []
    if null is not None:
        about = "" if null.exact else "about "
        words.append(f"a calibrated judge would show {about}{null.expected:.3f}")
    return "; ".join(words)


def specificity_check(found: Estimate | None) -> LimitCheck:
    """Check the lower end of specificity, as the suites that we write do."""
    low = found.low if found is not None and found.bounded else None
    lacking = "no interval" if low is None else ""
    return _checked("specificity_low", low, SPECIFICITY_LIMIT, lacking, op=">=")


def _checked(
    target: str, value: float | None, limit: float, skip: str, note: str = "", *, op: str = "<="
) -> LimitCheck:
    if skip or value is None:
        return LimitCheck(target, value, limit, GateStatus.SKIP, None, skip or "undefined", op)
    margin = limit - value if op == "<=" else value - limit
    status = GateStatus.PASS if margin >= -SLACK else GateStatus.FAIL
    return LimitCheck(target, value, limit, status, margin, note, op)


def default_checks(found: Metrics, null: NullEce | None = None) -> tuple[LimitCheck, ...]:
    """Check a judge without a suite by the limits of the judge calibration document.

    ``ece <= 0.10``, ``brier <= 0.25`` and, with counts and an observed rate, ``corrected_rate <=
    observed_positive_rate``; ``null`` adds a note to the ECE.
    """
    empty = "" if found.n else "no labels"
    checks = [
        _checked("ece", found.ece, ECE_LIMIT, empty, ece_note(found.n, null)),
        _checked("brier", found.brier, BRIER_LIMIT, empty),
    ]
    observed = found.observed_positive_rate
    if found.tp is not None and observed is not None:
        silent = found.corrected_status == CorrectionStatus.SKIPPED_NO_SIGNAL
        skip = empty or ("the judge carries no signal" if silent else "")
        checks.append(_checked("corrected_rate", found.corrected_rate, observed, skip))
    return tuple(checks)


Value = bool | float | str | None


class Span(Struct, frozen=True):
    """The values that a target can take: in words, and as a test of a value."""

    words: str
    holds: Callable[[object], bool]
    numeric: bool = False


def is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


class Origin(StrEnum):
    """Whether a value was stated by the report or recomputed from its ballots."""

    STATED = "stated"
    RECOMPUTED = "recomputed"


class MatchResult(Struct, frozen=True):
    """Whether a value fits a matcher; ``margin`` is the room left, negative outside a limit."""

    fits: bool
    margin: float | None = None
    why: str = ""
    """What is wrong, if the matcher's own words do not show it."""


class Limits(Struct, frozen=True):
    """The minimum and the maximum that a matcher sets; ``None`` if it sets none."""

    low: float | None = None
    high: float | None = None

    def nearest(self, value: float) -> float | None:
        set_ = [one for one in (self.low, self.high) if one is not None]
        return min(set_, key=lambda one: abs(value - one), default=None)

    def hold(self, low: float, high: float) -> bool:
        return (self.low is None or low >= self.low - SLACK) and (
            self.high is None or high <= self.high + SLACK
        )


class Matcher(Struct, frozen=True):
    """A condition on a value; ``written`` is the matcher as its suite file has it, as JSON."""

    written: Any
    words: str
    """The condition in words that continue "must"."""
    judge: Callable[[Value], MatchResult]
    limits: Limits = Limits()
    """The limits that it sets on a number; empty unless it has a minimum or a maximum."""


class Expectation(Struct, frozen=True):
    """One target and its matcher; ``message`` is what the suite's author says about a failure."""

    target: str
    matcher: Matcher
    message: str = ""


class TargetValue(Struct, frozen=True):
    """The value of a target and its 95% interval; if ``skip`` gives a reason, it is not checked."""

    value: Value
    origin: Origin | None = None
    metric: str | None = None
    note: str = ""
    skip: str = ""
    low: float = -inf
    high: float = inf

    @property
    def bounded(self) -> bool:
        return self.low > -inf


class Finding(Struct, frozen=True):
    """The result of one expectation; ``verdict`` and ``test`` name the jury that was checked."""

    expected: Expectation
    reading: TargetValue
    status: GateStatus
    note: str = ""
    margin: float | None = None
    verdict: str | None = None
    test: str | None = None

    @property
    def limit(self) -> float | None:
        """The minimum or maximum nearest to the value; ``None`` without one."""
        value = self.reading.value
        if value is None or isinstance(value, bool | str):
            return None
        return self.expected.matcher.limits.nearest(value)

    @property
    def reaches_past(self) -> bool | None:
        """Whether the interval reaches past a limit; ``None`` without an interval or a limit."""
        if not self.reading.bounded or self.limit is None:
            return None
        return not self.expected.matcher.limits.hold(self.reading.low, self.reading.high)


def hold(
    expected: Expectation, reading: TargetValue, verdict: str | None = None, test: str | None = None
) -> Finding:
    """Check a value against an expectation; one with a ``skip`` reason neither passes nor fails."""
    if reading.skip:
        return Finding(expected, reading, GateStatus.SKIP, reading.skip, None, verdict, test)
    result = expected.matcher.judge(reading.value)
    status = GateStatus.PASS if result.fits else GateStatus.FAIL
    note = "; ".join(text for text in ("" if result.fits else result.why, reading.note) if text)
    return Finding(expected, reading, status, note, result.margin, verdict, test)


def overall(statuses: Iterable[GateStatus]) -> GateStatus:
    found = set(statuses)
    return next(
        (one for one in (GateStatus.FAIL, GateStatus.PASS) if one in found), GateStatus.SKIP
    )


def _zero_counts() -> dict[GateStatus, int]:
    return dict.fromkeys(GateStatus, 0)


class EntryKind(StrEnum):
    """What an entry of a suite checks."""

    JURY = "jury"
    CALIBRATION = "calibration"


class GateQuestion(Struct, frozen=True):
    """A question that was asked of a run, when, after how many labels, and its answer today."""

    text: str
    asked_at: str
    labels_before: int
    reply: str = ""
    low: float | None = None
    high: float | None = None
    level: float = 0.95


class EntryResult(Struct):
    """The result of one entry: ``counts`` counts its checks by status, ``units`` its verdicts.

    ``origins`` counts stated and recomputed values; ``source`` is as the suite names it. An
    ``error`` means that the entry could not be checked. Of each status, ``keep`` findings are kept.
    """

    name: str
    kind: EntryKind
    source: str
    case: str | None = None
    keep: int | None = None
    counts: dict[GateStatus, int] = field(default_factory=_zero_counts)
    units: dict[GateStatus, int] = field(default_factory=_zero_counts)
    origins: dict[Origin, int] = {}
    findings: list[Finding] = []
    notes: tuple[str, ...] = ()
    error: str = ""
    design: str | None = None
    representative: bool | None = None
    """Whether the labels are known to represent the whole run; ``None`` for a jury."""
    doubts: tuple[str, ...] = ()
    """The reasons why a calibration entry that passes is not yet proof about the judge."""
    short: tuple[str, ...] = ()
    """The reasons why a new report says too little about its panel, whatever the checks found."""
    join: JoinCounts | None = None
    question: GateQuestion | None = None

    def add(self, found: Iterable[Finding]) -> None:
        """Count the findings of one verdict, or of a judge."""
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
        found = overall(status for status, count in self.counts.items() if count)
        return GateStatus.FAIL if self.error else found


class SuiteResult(Struct, frozen=True):
    """The results of all entries of a suite, in the order of its file."""

    suite: str
    entries: tuple[EntryResult, ...]

    def count(self, status: GateStatus) -> int:
        return sum(entry.status is status and not entry.error for entry in self.entries)

    @property
    def errors(self) -> tuple[str, ...]:
        return tuple(entry.error for entry in self.entries if entry.error)

    @property
    def unrepresentative(self) -> tuple[EntryResult, ...]:
        return tuple(one for one in self.entries if one.doubts and not one.error)

    @property
    def short(self) -> tuple[EntryResult, ...]:
        return tuple(one for one in self.entries if one.short and not one.error)

    def exit_code(self, *, strict: bool) -> ExitCode:
        """Return how ``gate`` ends; ``strict`` is ``--require-representative``."""
        if self.errors:
            return ExitCode.BAD_INPUT
        if self.count(GateStatus.FAIL):
            return ExitCode.FAILED
        unshown = self.short or (strict and self.unrepresentative)
        return ExitCode.NOT_REPRESENTATIVE if unshown else ExitCode.OK
