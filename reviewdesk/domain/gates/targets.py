"""The targets that a suite may set for a jury or for a judge's calibration, and their values."""

from collections.abc import Mapping
from functools import cached_property

from msgspec import Struct

from reviewdesk.domain.assessment.result import AgreementPair, Assessment
from reviewdesk.domain.gates.expect import Origin, Span, TargetValue, ece_note, is_number
from reviewdesk.domain.jury.rules import STOPPED_EARLY, Spread
from reviewdesk.domain.records import Metrics
from reviewdesk.domain.stats.correction import Corrected, CorrectionStatus
from reviewdesk.domain.stats.figures import Estimate, Fit
from reviewdesk.domain.verdict import Band, Verdict

RATES = ("corrected_rate", "corrected_rate_low", "corrected_rate_high")
"""The targets that need both of their inputs."""
HONEST = ("honest_rate", "honest_rate_low", "honest_rate_high")
RANGED = ("accuracy", "gap", "brier", "sensitivity", "specificity", "kappa", "honest_rate")
"""The figures with an interval, by which ``--require-representative`` checks them; its ends are
targets too."""
BAND = "accuracy_band_low"
"""The lower end of the accuracy that a run may have, given that people err."""
SPLIT = "accuracy_low by "
"""The beginning of the target for a run's worst segment; the property that splits it follows."""
COMPOSITE = "composite_low"
"""The lower end of the composite of a run's worst subject."""
COMPOSITE_OF = "composite_low of "
"""The beginning of the target for the composite of one subject, whose name follows."""
ASKED = ("question_low", "question_high")
"""The ends, valid at every look, of the figure that a run was asked about."""
_OF_A_RUN = "only the labels of a loaded run give it"
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
        "specificity", "kappa", "honest_rate", BAND, COMPOSITE, *ASKED,
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


class CalibrationReadings(Struct, frozen=True):
    """The figures of a labels file or a run; ``of_run`` has the targets that only a run has.

    ``by_default`` skips the corrected rate of a judge without a signal.
    """

    metrics: Metrics
    fit: Fit
    rate: Corrected | None
    ranged: Mapping[str, Estimate]
    by_default: bool
    of_run: Mapping[str, TargetValue] = {}

    def read(self, target: str) -> TargetValue:
        """Return the value of a target; a value that the labels leave undefined is skipped."""
        alone = (BAND, COMPOSITE, *ASKED)
        if target in alone or target.startswith((SPLIT, COMPOSITE_OF)):
            return self.of_run.get(target, TargetValue(None, skip=_OF_A_RUN))
        if target in RATES:
            rate = self.rate
            if rate is None:
                skip = "reliability and observed_positive_rate are not both given"
                return TargetValue(None, skip=skip)
            note = _CORRECTIONS[rate.status]
            silent = rate.status is CorrectionStatus.SKIPPED_NO_SIGNAL and self.by_default
            corrected = (rate.rate, rate.low, rate.high)[RATES.index(target)]
            return TargetValue(corrected, note=note, skip=note if silent else "")
        if target == "n":
            return TargetValue(self.metrics.n)
        figure, _, end = target.rpartition("_")
        if target in RANGED or figure in RANGED:
            return self._of_interval(target, figure, end)
        value: float | None = self.metrics.ece
        note = ""
        lacking = "undefined"
        if target == "auroc":
            value = self.fit.auroc
            lacking = "every verdict was right, or every one wrong, so there is nothing to rank"
        elif target == "ece_p":
            value = self.fit.null.p if self.fit.null else None
        else:
            note = ece_note(self.metrics.n, self.fit.null)
        if not self.metrics.n:
            return TargetValue(value, skip=_NO_LABELS)
        return TargetValue(value, note=note, skip="" if value is not None else lacking)

    def _of_interval(self, target: str, figure: str, end: str) -> TargetValue:
        found = self.ranged.get(target if target in RANGED else figure)
        if found is None:
            return TargetValue(None, skip=_NO_LABELS)
        if target in RANGED:
            skip = "" if found.estimate is not None else found.reason or "undefined"
            return TargetValue(found.estimate, skip=skip, low=found.low, high=found.high)
        if not found.bounded:
            return TargetValue(None, skip=found.reason or "too few labels for an interval")
        return TargetValue(found.low if end == "low" else found.high)


class JuryReadings:
    """A verdict as a gate reads it: the values that its report states, else those from its ballots.

    Agreement and band are those that every view shows. If fewer than two jurors answered, the band
    reads low and the escalation true. Source: the jury consensus document.
    """

    def __init__(self, verdict: Verdict) -> None:
        """Keep the verdict; recompute nothing yet, as many reports state all that is checked."""
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
        """The agreement that views show, the spread of the ballots, and two flags.

        The first flag says that the panel stopped early, which is never so if the report states an
        agreement; the second says that neither the report nor the ballots have one.
        """
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
