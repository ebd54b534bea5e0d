"""The targets that a suite may set for a jury, and how their values are read from a verdict."""

from __future__ import annotations

from enum import StrEnum
from functools import cached_property
from typing import Any

from reviewdesk.domain.assessment.result import Assessment
from reviewdesk.domain.gates.expect import Origin, Span, TargetValue, is_number
from reviewdesk.domain.jury import family
from reviewdesk.domain.jury.records import STOPPED_EARLY, AgreementPair, Spread
from reviewdesk.domain.verdict import Band, Verdict


class JuryTarget(StrEnum):
    """A value of a jury that a suite may check."""

    AGREEMENT = "jury.agreement"
    CONFIDENCE = "jury.confidence"
    ESCALATE = "jury.escalate"
    SAME_FAMILY = "jury.same_family"
    BIAS_WARNING = "jury.bias_warning"


def _is_unit(value: object) -> bool:
    return isinstance(value, int | float) and is_number(value) and 0 <= value <= 1


_FLAG = Span("true or false", lambda value: isinstance(value, bool))
SPANS: dict[str, Span] = {
    JuryTarget.AGREEMENT: Span(
        "a number from 0 to 1, or null",
        lambda value: value is None or _is_unit(value),
        numeric=True,
    ),
    JuryTarget.CONFIDENCE: Span(
        '"high", "medium" or "low"', lambda value: isinstance(value, str) and value in set(Band)
    ),
    JuryTarget.ESCALATE: _FLAG,
    JuryTarget.SAME_FAMILY: _FLAG,
    JuryTarget.BIAS_WARNING: Span(
        "a text or null", lambda value: value is None or isinstance(value, str)
    ),
}

_ALONE = "fewer than two jurors answered, so there is no agreement"
_STOPPED = "stopped early: not every juror was asked, so there is no agreement"
_UNDEFINED = "the report states it as undefined"
_BAND_ALONE = "the report states a band and no agreement"


class JuryReadings:
    """A verdict as a gate reads it: what its report states, else what its ballots give.

    Agreement and band are the pair that every view shows together. If agreement is undefined
    because fewer than two jurors answered, the band reads low and the escalation true, whatever
    the report's defaults say. Source: the jury consensus document.
    """

    def __init__(self, verdict: Verdict) -> None:
        """Keep the verdict; recompute nothing yet, as many reports state all that is checked."""
        self._verdict = verdict

    def read(self, target: JuryTarget) -> TargetValue:
        """Return the value of a target, and where it comes from."""
        if target is JuryTarget.AGREEMENT:
            return self._agreement()
        if target is JuryTarget.CONFIDENCE:
            return self._confidence()
        if target is JuryTarget.ESCALATE:
            return self._escalate()
        if target is JuryTarget.SAME_FAMILY:
            return self._same_family()
        if self._verdict.bias_warning is not None:
            return TargetValue(self._verdict.bias_warning, Origin.STATED)
        return TargetValue(self._assessment.bias_warning, Origin.RECOMPUTED)

    @cached_property
    def _assessment(self) -> Assessment:
        # Imported here because it loads numpy.
        from reviewdesk.domain.assessment.assess import assess

        return assess(self._verdict)

    @cached_property
    def _columns(self) -> Any:
        # Imported here because it loads numpy.
        from reviewdesk.domain.jury.verdicts import verdicts_of

        return verdicts_of([self._verdict])

    @cached_property
    def _own_spread(self) -> Spread:
        from reviewdesk.domain.assessment.assess import spread_in

        return spread_in(self._columns)

    @property
    def _stopped(self) -> bool:
        """Whether the panel stopped early, and its report states no agreement."""
        return not self._pair.reported and self._own_spread.reason == STOPPED_EARLY

    @cached_property
    def _pair(self) -> AgreementPair:
        from reviewdesk.domain.assessment.assess import pair_of

        return pair_of(self._verdict, self._columns)

    @property
    def _lacks_agreement(self) -> bool:
        """Whether neither the report nor the ballots give an agreement."""
        return self._pair.value is None and self._own_spread.raw is None

    def _agreement(self) -> TargetValue:
        """Return the pair's value, clamped to 0..1; r_WG and alpha can be negative."""
        pair = self._pair
        origin = Origin.STATED if pair.reported else Origin.RECOMPUTED
        if pair.value is None:
            reason = _UNDEFINED if pair.metric else _BAND_ALONE
            metric = pair.metric if pair.reported else None
            reason = _ALONE if self._lacks_agreement else reason
            return TargetValue(None, origin, metric, skip=_STOPPED if self._stopped else reason)
        value = min(max(pair.value, 0.0), 1.0)
        note = "" if value == pair.value else f"{pair.value:.6g} before it is clamped to 0..1"
        return TargetValue(value, origin, pair.metric, note=note)

    def _confidence(self) -> TargetValue:
        pair = self._pair
        ours = self._own_spread
        if self._verdict.band is not None:
            return TargetValue(self._verdict.band.value, Origin.STATED)
        if self._stopped:
            return TargetValue(None, Origin.RECOMPUTED, skip=_STOPPED)
        if self._lacks_agreement:
            return TargetValue(Band.LOW.value, Origin.RECOMPUTED, note=f"{_ALONE}: reads low")
        if pair.band is not None and pair.reported:
            return TargetValue(
                pair.band.value, Origin.STATED, note=f"of the {_agreement_text(pair)}"
            )
        if ours.band is None:
            note = f"{self._why_recomputed()}: reads low"
            return TargetValue(Band.LOW.value, Origin.RECOMPUTED, note=note)
        return TargetValue(ours.band.value, Origin.RECOMPUTED, note=self._why_recomputed())

    def _escalate(self) -> TargetValue:
        pair = self._pair
        stated = self._verdict.escalate
        why = self._assessment.absent
        alone = self._lacks_agreement and not self._stopped
        if stated is None and why and not alone:
            return TargetValue(True, Origin.RECOMPUTED, note=why)
        if self._stopped and stated is None:
            return TargetValue(None, Origin.RECOMPUTED, skip=_STOPPED)
        if self._lacks_agreement and not stated:
            return TargetValue(True, Origin.RECOMPUTED, note=f"{_ALONE}: reads true")
        if stated is not None:
            return TargetValue(stated, Origin.STATED)
        if pair.reported and pair.value is not None and pair.band is not None:
            note = f"the {_agreement_text(pair)} is {pair.band}"
            return TargetValue(pair.band is Band.LOW, Origin.STATED, note=note)
        if self._own_spread.raw is None:
            return TargetValue(
                True, Origin.RECOMPUTED, note=f"{self._why_recomputed()}: reads true"
            )
        return TargetValue(
            bool(self._assessment.escalation), Origin.RECOMPUTED, note=self._why_recomputed()
        )

    def _why_recomputed(self) -> str:
        """Return why our value is used although the report states part of the agreement."""
        pair = self._pair
        ours = self._own_spread
        if not pair.reported:
            return ""
        none = "the report states no agreement"
        reason = none if pair.value is None else f"the {_agreement_text(pair)} has no band"
        return (
            f"{reason}, computed as r_WG {'undefined' if ours.raw is None else f'{ours.raw:.6g}'}"
        )

    def _same_family(self) -> TargetValue:
        if self._verdict.same_family is not None:
            return TargetValue(self._verdict.same_family, Origin.STATED)
        found = family.same_family(self._verdict.ballots, self._verdict.generator)
        note = "the families are not known: reads false" if found is None else ""
        return TargetValue(bool(found), Origin.RECOMPUTED, note=note)


def _agreement_text(pair: AgreementPair) -> str:
    value = "" if pair.value is None else f" {pair.value:.6g}"
    return f"stated {pair.metric}{value}"
