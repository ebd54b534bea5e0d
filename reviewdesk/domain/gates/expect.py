"""The targets that a suite may set for a jury or a judge, their values, and what checks found."""

from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from functools import cached_property
from math import inf
from typing import Any, TypeGuard

from msgspec import Struct, field

from reviewdesk.domain.assessment.result import AgreementPair, Assessment
from reviewdesk.domain.gates.join import JoinCounts
from reviewdesk.domain.jury.rules import STOPPED_EARLY, Spread
from reviewdesk.domain.labels.sampling import MIN_AUDIT
from reviewdesk.domain.records import Metrics
from reviewdesk.domain.stats.correction import Corrected, CorrectionStatus
from reviewdesk.domain.stats.figures import Estimate, Fit, NullEce
from reviewdesk.domain.verdict import SLACK, Band, Verdict
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
    """Check a judge without a suite by the limits of the judge calibration document."""
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


class Matcher(Struct, frozen=True):
    """A condition on a value; ``written`` is the matcher as its suite file has it, as JSON."""

    written: Any
    words: str
    """The condition in words that continue "must"."""
    judge: Callable[[Value], MatchResult]
    limits: Limits = Limits()


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
        limits = self.expected.matcher.limits
        given = [one for one in (limits.low, limits.high) if one is not None]
        return min(given, key=lambda one: abs(value - one), default=None)

    @property
    def reaches_past(self) -> bool | None:
        """Whether the interval reaches past a limit; ``None`` without an interval or a limit."""
        if not self.reading.bounded or self.limit is None:
            return None
        limits = self.expected.matcher.limits
        below = limits.low is not None and self.reading.low < limits.low - SLACK
        return below or (limits.high is not None and self.reading.high > limits.high + SLACK)


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


RATES = ("corrected_rate", "corrected_rate_low", "corrected_rate_high")
"""The targets that need both of their inputs."""
HONEST = ("honest_rate", "honest_rate_low", "honest_rate_high")
RANGED = ("accuracy", "gap", "brier", "sensitivity", "specificity", "kappa", "honest_rate")
"""The figures with an interval, by which ``--require-representative`` checks them; its ends are
targets too."""
SPLIT = "accuracy_low by "
"""The beginning of the target for a run's worst segment; the property that splits it follows."""
COMPOSITE = "composite_low"
COMPOSITE_OF = "composite_low of "
"""The beginning of the target for the composite of one subject, whose name follows."""
ASKED = ("question_low", "question_high")
"""The ends, valid at every look, of the figure that a run was asked about."""
OF_A_RUN = TargetValue(None, skip="only the labels of a loaded run give it")
_SHARE = Span("a number from 0 to 1", lambda one: is_number(one) and 0 <= one <= 1, numeric=True)
_SIGNED = Span("a number from -1 to 1", lambda one: is_number(one) and -1 <= one <= 1, numeric=True)
_OTHERS = (
    ("n", Span("a number from 0", lambda one: is_number(one) and one >= 0, numeric=True)),
    (("gap", "kappa", "question"), _SIGNED),
)
CALIBRATION_SPANS: dict[str, Span] = {
    target: next((span for start, span in _OTHERS if target.startswith(start)), _SHARE)
    for target in (
        "ece", "brier", "gap", "auroc", "ece_p", "accuracy", "n", *RATES, "sensitivity",
        "specificity", "kappa", "honest_rate", COMPOSITE, *ASKED,
        *(f"{one}_{end}" for one in RANGED for end in ("low", "high")),
    )
}  # fmt: skip
_FLAG = Span("true or false", lambda value: isinstance(value, bool))
JURY_SPANS: dict[str, Span] = {
    "jury.agreement": Span(
        "a number from 0 to 1, or null",
        lambda value: value is None or (is_number(value) and 0 <= value <= 1),
        numeric=True,
    ),
    "jury.confidence": Span(
        '"high", "medium" or "low"', lambda value: isinstance(value, str) and value in set(Band)
    ),
    "jury.escalate": _FLAG,
    "jury.same_family": _FLAG,
    "jury.bias_warning": Span(
        "a text or null", lambda value: value is None or isinstance(value, str)
    ),
}

_NO_LABELS = "there are no labels"
_ALONE = "fewer than two jurors answered, so there is no agreement"
_STOPPED = "stopped early: not every juror was asked, so there is no agreement"
_CORRECTIONS = {
    CorrectionStatus.SKIPPED_NO_SIGNAL: "the judge carries no signal",
    CorrectionStatus.WEAK_JUDGE: "too close to guessing to correct",
    CorrectionStatus.OK: "",
}


def calibration_readings(
    metrics: Metrics,
    fit: Fit,
    rate: Corrected | None,
    ranged: Mapping[str, Estimate],
    *,
    by_default: bool,
) -> dict[str, TargetValue]:
    """Return the figures of a labels file or a run by target; an undefined one is skipped.

    ``by_default`` skips the corrected rate of a judge without a signal.
    """
    made = {"n": TargetValue(metrics.n)}
    nothing = "every verdict was right, or every one wrong, so there is nothing to rank"
    for target, value, note, lacking in (
        ("ece", metrics.ece, ece_note(metrics.n, fit.null), "undefined"),
        ("ece_p", fit.null.p if fit.null else None, "", "undefined"),
        ("auroc", fit.auroc, "", nothing),
    ):
        skip = lacking if value is None else ""
        made[target] = TargetValue(value, note=note, skip=skip if metrics.n else _NO_LABELS)
    for name in RANGED:
        found = ranged.get(name) or Estimate(None, reason=_NO_LABELS)
        skip = "" if found.estimate is not None else found.reason or "undefined"
        made[name] = TargetValue(found.estimate, skip=skip, low=found.low, high=found.high)
        skip = "" if found.bounded else found.reason or "too few labels for an interval"
        for end, value in (("low", found.low), ("high", found.high)):
            made[f"{name}_{end}"] = TargetValue(None if skip else value, skip=skip)
    if rate is None:
        skip = "reliability and observed_positive_rate are not both given"
        return made | dict.fromkeys(RATES, TargetValue(None, skip=skip))
    note = _CORRECTIONS[rate.status]
    silent = by_default and rate.status is CorrectionStatus.SKIPPED_NO_SIGNAL
    for target, value in zip(RATES, (rate.rate, rate.low, rate.high), strict=True):
        made[target] = TargetValue(value, note=note, skip=note if silent else "")
    return made


class JuryReadings:
    """A verdict as a gate reads it: the values that its report states, else its ballots'."""

    def __init__(self, verdict: Verdict) -> None:
        self._verdict = verdict

    def read(self, target: str) -> TargetValue:
        found: TargetValue = getattr(self, f"_{target.removeprefix('jury.')}")()
        return found

    def _bias_warning(self) -> TargetValue:
        if self._verdict.bias_warning is not None:
            return TargetValue(self._verdict.bias_warning, Origin.STATED)
        return TargetValue(self._assessment.bias_warning, Origin.RECOMPUTED)

    @cached_property
    def _assessment(self) -> Assessment:
        # Imported here because it loads numpy.
        from reviewdesk.domain.assessment.assess import assess

        return assess(self._verdict)

    @cached_property
    def _both(self) -> tuple[AgreementPair, Spread, bool, bool]:
        """The shown agreement, the ballots' spread, if they stopped early, if neither has one."""
        from reviewdesk.domain.assessment.assess import pair_of, spread_in
        from reviewdesk.domain.jury.verdicts import verdicts_of

        columns = verdicts_of([self._verdict])
        pair = pair_of(self._verdict, columns)
        ours = spread_in(columns)
        stopped = not pair.reported and ours.reason == STOPPED_EARLY
        return pair, ours, stopped, pair.value is None and ours.raw is None

    def _agreement(self) -> TargetValue:
        """Return the pair's value, clamped to 0..1; r_WG and alpha can be negative."""
        pair, _, stopped, lacking = self._both
        origin = Origin.STATED if pair.reported else Origin.RECOMPUTED
        if pair.value is None:
            reason = "the report states a band and no agreement"
            reason = "the report states it as undefined" if pair.metric else reason
            metric = pair.metric if pair.reported else None
            reason = _ALONE if lacking else reason
            return TargetValue(None, origin, metric, skip=_STOPPED if stopped else reason)
        value = min(max(pair.value, 0.0), 1.0)
        note = "" if value == pair.value else f"{pair.value:.6g} before it is clamped to 0..1"
        return TargetValue(value, origin, pair.metric, note=note)

    def _confidence(self) -> TargetValue:
        if self._verdict.band is not None:
            return TargetValue(self._verdict.band.value, Origin.STATED)
        pair, ours, stopped, lacking = self._both
        if stopped:
            return TargetValue(None, Origin.RECOMPUTED, skip=_STOPPED)
        if lacking:
            return TargetValue(Band.LOW.value, Origin.RECOMPUTED, note=f"{_ALONE}: reads low")
        if pair.band is not None and pair.reported:
            return TargetValue(pair.band.value, Origin.STATED, note=f"of the stated {pair.metric}")
        return TargetValue((ours.band or Band.LOW).value, Origin.RECOMPUTED)

    def _escalate(self) -> TargetValue:
        stated = self._verdict.escalate
        if stated:
            return TargetValue(stated, Origin.STATED)
        pair, ours, stopped, lacking = self._both
        if stated is not None and not lacking:
            return TargetValue(stated, Origin.STATED)
        if lacking and not (stopped and stated is None):
            return TargetValue(True, Origin.RECOMPUTED, note=f"{_ALONE}: reads true")
        if why := self._assessment.absent:
            return TargetValue(True, Origin.RECOMPUTED, note=why)
        if stopped:
            return TargetValue(None, Origin.RECOMPUTED, skip=_STOPPED)
        if pair.reported and pair.value is not None and pair.band is not None:
            note = f"the stated {pair.metric} is {pair.band}"
            return TargetValue(pair.band is Band.LOW, Origin.STATED, note=note)
        low = ours.raw is None or bool(self._assessment.escalation)
        return TargetValue(low, Origin.RECOMPUTED)

    def _same_family(self) -> TargetValue:
        if self._verdict.same_family is not None:
            return TargetValue(self._verdict.same_family, Origin.STATED)
        found = self._assessment.same_family
        note = "the families are not known: reads false" if found is None else ""
        return TargetValue(bool(found), Origin.RECOMPUTED, note=note)
