"""The targets that a suite may hold a judge's calibration to, and what they read of its labels."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from reviewdesk.domain.correction import Corrected, Status, corrected, rate_or_zero
from reviewdesk.domain.expect import Reading, Span, is_number
from reviewdesk.domain.figures import Fit
from reviewdesk.domain.gates import ece_note
from reviewdesk.domain.records import Metrics


class Target(StrEnum):
    """What a suite may ask of a judge; the corrected rates need both of their inputs."""

    ECE = "ece"
    BRIER = "brier"
    GAP = "gap"
    AUROC = "auroc"
    ECE_P = "ece_p"
    ACCURACY = "accuracy"
    N = "n"
    CORRECTED = "corrected_rate"
    CORRECTED_LOW = "corrected_rate_low"
    CORRECTED_HIGH = "corrected_rate_high"


RATES = frozenset({Target.CORRECTED, Target.CORRECTED_LOW, Target.CORRECTED_HIGH})
SPANS: dict[str, Span] = dict.fromkeys(Target, Span("a number", is_number, numeric=True))


@dataclass(frozen=True, slots=True)
class Reliability:
    """A judge against a trusted set: how often each was said, by what it should have been."""

    tp: int
    fn: int
    tn: int
    fp: int

    def correct(self, observed: float) -> Corrected:
        """The observed pass rate with the judge's mistakes taken out."""
        sensitivity = rate_or_zero(self.tp, self.tp + self.fn)
        specificity = rate_or_zero(self.tn, self.tn + self.fp)
        size = self.tp + self.fn + self.tn + self.fp
        return corrected(observed, sensitivity, specificity, size)


class Judge:
    """The figures of a labels file or a run, and the corrected rate where its inputs are given."""

    def __init__(
        self, metrics: Metrics, fit: Fit, rate: Corrected | None, *, by_default: bool
    ) -> None:
        """``by_default`` skips the corrected rate of a judge that carries no signal."""
        self._metrics, self._fit, self._rate = metrics, fit, rate
        self._by_default = by_default

    def read(self, target: Target) -> Reading:
        """The value of a target; what the labels leave undefined is skipped."""
        if target in RATES:
            return self._corrected(target)
        if target is Target.N:
            return Reading(self._metrics.n)
        value = self._value(target)
        if not self._metrics.n:
            return Reading(value, skip="there are no labels")
        note = ece_note(self._metrics.n, self._fit.null) if target is Target.ECE else ""
        return Reading(value, note=note, skip="" if value is not None else self._why(target))

    def _value(self, target: Target) -> float | None:
        if target is Target.AUROC:
            return self._fit.auroc
        if target is Target.ECE_P:
            return self._fit.null.p if self._fit.null else None
        value: float | None = getattr(self._metrics, target.value)
        return value

    def _why(self, target: Target) -> str:
        one = "every verdict was right, or every one wrong, so there is nothing to rank"
        return one if target is Target.AUROC else "undefined"

    def _corrected(self, target: Target) -> Reading:
        if self._rate is None:
            return Reading(None, skip="reliability and observed_positive_rate are not both given")
        values = {
            Target.CORRECTED: self._rate.rate,
            Target.CORRECTED_LOW: self._rate.low,
            Target.CORRECTED_HIGH: self._rate.high,
        }
        silent = self._rate.status is Status.SKIPPED_NO_SIGNAL
        note = {
            Status.SKIPPED_NO_SIGNAL: "the judge carries no signal",
            Status.WEAK_JUDGE: "a weak judge",
            Status.OK: "",
        }[self._rate.status]
        skip = note if silent and self._by_default else ""
        return Reading(values[target], note=note, skip=skip)
