"""The targets that a suite may hold a jury to, and what they read of a verdict."""

from __future__ import annotations

from enum import StrEnum
from functools import cached_property

from reviewdesk.domain import bias
from reviewdesk.domain.agreement import Spread, band, verdict_agreement
from reviewdesk.domain.assess import Assessment, assess
from reviewdesk.domain.expect import Origin, Reading, Span, is_number
from reviewdesk.domain.verdict import Band, Verdict


class Target(StrEnum):
    """What a suite may ask of a jury."""

    AGREEMENT = "jury.agreement"
    CONFIDENCE = "jury.confidence"
    ESCALATE = "jury.escalate"
    SAME_FAMILY = "jury.same_family"
    BIAS_WARNING = "jury.bias_warning"


_FLAG = Span("true or false", lambda value: isinstance(value, bool))
SPANS: dict[str, Span] = {
    Target.AGREEMENT: Span(
        "a number or null", lambda value: value is None or is_number(value), numeric=True
    ),
    Target.CONFIDENCE: Span(
        '"high", "medium" or "low"', lambda value: isinstance(value, str) and value in set(Band)
    ),
    Target.ESCALATE: _FLAG,
    Target.SAME_FAMILY: _FLAG,
    Target.BIAS_WARNING: Span(
        "a text or null", lambda value: value is None or isinstance(value, str)
    ),
}

_ALONE = "fewer than two jurors answered, so there is no agreement"


class Jury:
    """A verdict as a gate reads it: what its report states, else what its ballots give.

    Source: the jury consensus document. Where agreement is undefined for want of a second ballot,
    the band reads low and the escalation true, whatever the report's defaults say.
    """

    def __init__(self, verdict: Verdict) -> None:
        """Recompute nothing yet: many reports state all that a suite asks for."""
        self._verdict = verdict

    def read(self, target: Target) -> Reading:
        """The value of a target, and where it comes from."""
        if target is Target.AGREEMENT:
            return self._agreement()
        if target is Target.CONFIDENCE:
            return self._confidence()
        if target is Target.ESCALATE:
            return self._escalate()
        if target is Target.SAME_FAMILY:
            return self._same_family()
        if self._verdict.bias_warning is not None:
            return Reading(self._verdict.bias_warning, Origin.STATED)
        return Reading(self._found.bias_warning, Origin.RECOMPUTED)

    @cached_property
    def _found(self) -> Assessment:
        return assess(self._verdict)

    @cached_property
    def _scores(self) -> list[float]:
        return [one.score for one in self._verdict.ballots if one.score is not None]

    @cached_property
    def _spread(self) -> Spread:
        votes = [one.vote for one in self._verdict.ballots if one.vote is not None]
        return verdict_agreement(self._scores, votes)

    @property
    def _alone(self) -> bool:
        """Whether neither the report nor the ballots know an agreement."""
        stated = self._verdict.agreement
        return (stated is None or stated.value is None) and self._spread.raw is None

    def _agreement(self) -> Reading:
        stated = self._verdict.agreement
        if stated is not None:
            undefined = "" if stated.value is not None else "the report states it as undefined"
            skip = _ALONE if self._alone else undefined
            return Reading(stated.value, Origin.STATED, stated.metric, skip=skip)
        # Without scores the votes speak: 2P - 1, P the share of pairs that agree.
        metric = "r_wg" if len(self._scores) >= 2 else "pairwise"
        if self._spread.raw is None:
            return Reading(None, Origin.RECOMPUTED, skip=_ALONE)
        return Reading(self._spread.raw, Origin.RECOMPUTED, metric)

    def _confidence(self) -> Reading:
        if self._verdict.band is not None:
            return Reading(self._verdict.band.value, Origin.STATED)
        if self._alone:
            return Reading(Band.LOW.value, Origin.RECOMPUTED, note=f"{_ALONE}: reads low")
        stated = self._verdict.agreement
        found = self._spread.band or band(stated.value if stated else None)
        return Reading((found or Band.LOW).value, Origin.RECOMPUTED)

    def _escalate(self) -> Reading:
        stated = self._verdict.escalate
        if self._alone and not stated:
            return Reading(True, Origin.RECOMPUTED, note=f"{_ALONE}: reads true")
        if stated is not None:
            return Reading(stated, Origin.STATED)
        if self._spread.raw is None:
            return Reading(self._confidence().value == Band.LOW, Origin.RECOMPUTED)
        return Reading(bool(self._found.escalation), Origin.RECOMPUTED)

    def _same_family(self) -> Reading:
        if self._verdict.same_family is not None:
            return Reading(self._verdict.same_family, Origin.STATED)
        found = bias.same_family(self._verdict.ballots, self._verdict.generator)
        note = "the families are not known: reads false" if found is None else ""
        return Reading(bool(found), Origin.RECOMPUTED, note=note)
