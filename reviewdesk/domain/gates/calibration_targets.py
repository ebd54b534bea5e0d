"""The targets that a suite may set for a judge's calibration, and how their values are read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum

from msgspec.structs import astuple

from reviewdesk.domain.gates.expect import Span, TargetValue, ece_note, is_number
from reviewdesk.domain.records import Metrics
from reviewdesk.domain.stats.correction import Cells, Corrected, CorrectionStatus, whole
from reviewdesk.domain.stats.figures import Fit, Ranged
from reviewdesk.domain.verdict import SLACK


class CalibrationTarget(StrEnum):
    """A figure of a judge that a suite may check; the corrected rates need both of their inputs."""

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
    SENSITIVITY = "sensitivity"
    SPECIFICITY = "specificity"
    KAPPA = "kappa"
    HONEST = "honest_rate"
    ACCURACY_LOW = "accuracy_low"
    ACCURACY_HIGH = "accuracy_high"
    GAP_LOW = "gap_low"
    GAP_HIGH = "gap_high"
    BRIER_LOW = "brier_low"
    BRIER_HIGH = "brier_high"
    SENSITIVITY_LOW = "sensitivity_low"
    SENSITIVITY_HIGH = "sensitivity_high"
    SPECIFICITY_LOW = "specificity_low"
    SPECIFICITY_HIGH = "specificity_high"
    KAPPA_LOW = "kappa_low"
    KAPPA_HIGH = "kappa_high"
    HONEST_LOW = "honest_rate_low"
    HONEST_HIGH = "honest_rate_high"


RATES = frozenset(one for one in CalibrationTarget if one.startswith("corrected_rate"))
HONEST = frozenset(one for one in CalibrationTarget if one.startswith("honest_rate"))
RANGED = (
    frozenset(one for one in CalibrationTarget if f"{one}_low" in set(CalibrationTarget)) - RATES
)
"""The figures with an interval, by which ``--require-representative`` checks them; its ends are
targets too."""
SPANS: dict[str, Span] = dict.fromkeys(CalibrationTarget, Span("a number", is_number, numeric=True))


class Reliability(Cells, frozen=True):
    """A judge against a trusted set: the counts of its decisions by what they should have been.

    If the labels stand for different numbers of verdicts, the cells are weights instead of counts,
    scaled to the number of labels.
    """

    @staticmethod
    def of(counts: Sequence[float], mass: Cells) -> Reliability:
        """Return the counts; if rows differ in weight, the weights scaled to the number of rows."""
        n = sum(counts)
        total = mass.n
        scaled = [cell * n / total if total else cell for cell in astuple(mass)]
        even = all(
            abs(one - count) <= SLACK * max(n, 1) for one, count in zip(scaled, counts, strict=True)
        )
        return Reliability(*map(whole, counts if even else scaled))


_NO_LABELS = "there are no labels"


class CalibrationReadings:
    """The figures of a labels file or a run, with the corrected rate if its inputs are given."""

    def __init__(
        self,
        metrics: Metrics,
        fit: Fit,
        rate: Corrected | None,
        ranged: Mapping[str, Ranged],
        *,
        by_default: bool,
    ) -> None:
        """Keep the figures; ``by_default`` skips the corrected rate of a judge without a signal."""
        self._metrics = metrics
        self._fit = fit
        self._rate = rate
        self._ranged = ranged
        self._by_default = by_default

    def read(self, target: CalibrationTarget) -> TargetValue:
        """Return the value of a target; a value that the labels leave undefined is skipped."""
        if target in RATES:
            return self._corrected_rate(target)
        if target is CalibrationTarget.N:
            return TargetValue(self._metrics.n)
        figure, _, end = target.rpartition("_")
        if target in RANGED or figure in RANGED:
            return self._of_interval(target, figure, end)
        value: float | None = self._metrics.ece
        note = ""
        lacking = "undefined"
        if target is CalibrationTarget.AUROC:
            value = self._fit.auroc
            lacking = "every verdict was right, or every one wrong, so there is nothing to rank"
        elif target is CalibrationTarget.ECE_P:
            value = self._fit.null.p if self._fit.null else None
        else:
            note = ece_note(self._metrics.n, self._fit.null)
        if not self._metrics.n:
            return TargetValue(value, skip=_NO_LABELS)
        return TargetValue(value, note=note, skip="" if value is not None else lacking)

    def _of_interval(self, target: CalibrationTarget, figure: str, end: str) -> TargetValue:
        found = self._ranged.get(target if target in RANGED else figure)
        if found is None:
            return TargetValue(None, skip=_NO_LABELS)
        if target in RANGED:
            skip = "" if found.value is not None else found.reason or "undefined"
            return TargetValue(found.value, skip=skip, low=found.low, high=found.high)
        value = found.low if end == "low" else found.high
        skip = "" if value is not None else found.reason or "too few labels for an interval"
        return TargetValue(value, skip=skip)

    def _corrected_rate(self, target: CalibrationTarget) -> TargetValue:
        if self._rate is None:
            return TargetValue(
                None, skip="reliability and observed_positive_rate are not both given"
            )
        values = {
            CalibrationTarget.CORRECTED: self._rate.rate,
            CalibrationTarget.CORRECTED_LOW: self._rate.low,
            CalibrationTarget.CORRECTED_HIGH: self._rate.high,
        }
        silent = self._rate.status is CorrectionStatus.SKIPPED_NO_SIGNAL
        note = {
            CorrectionStatus.SKIPPED_NO_SIGNAL: "the judge carries no signal",
            CorrectionStatus.WEAK_JUDGE: "too close to guessing to correct",
            CorrectionStatus.OK: "",
        }[self._rate.status]
        skip = note if silent and self._by_default else ""
        return TargetValue(values[target], note=note, skip=skip)
