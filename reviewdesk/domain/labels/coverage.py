"""Estimates rates of a run from a part's labels, and how many more a gate needs; no numpy."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from msgspec import Struct

from reviewdesk.domain.gates.limits import BRIER_LIMIT, ECE_LIMIT, Op
from reviewdesk.domain.records import Metrics
from reviewdesk.domain.stats.correction import lang_reiczigel, rogan_gladen
from reviewdesk.domain.stats.figures import Part
from reviewdesk.domain.stats.stratified import drawn_rate, more_audits

NO_LABEL = "no label that counts for the draw says pass or fail"
OF_ITSELF = "a labels file describes its own rows: name a run that it was not drawn from"
NO_SIGNAL = "the trusted set lacks a class, or the judge carries no signal"
NO_RATE = "no number of labels is promised: it is not a rate"


class RateMethod(StrEnum):
    """How a rate over a run was estimated."""

    STRATIFIED = "stratified"
    LANG_REICZIGEL = "lang_reiczigel"
    NONE = "none"


class RunRate(Struct, frozen=True):
    """A rate over all verdicts that a judge decided, with its 95% interval.

    If ``estimate`` is ``None``, ``reason`` says why, and the ends, if any, are bounds: labelled
    strata lie at the ends of their intervals, and the others may have any rate.
    """

    method: RateMethod
    estimate: float | None
    low: float | None
    high: float | None
    reason: str | None = None


class LabelsNeeded(Struct, frozen=True):
    """How many more labels bring the whole interval of a figure within its limit, if rates stay.

    ``labels`` is 0 if the interval is within the limit already. If it is ``None``, ``reason`` says
    why.
    """

    target: str
    op: Op
    limit: float | None
    labels: int | None
    reason: str | None = None


def of_strata(found: Sequence[Part], described: str | None = None) -> RunRate:
    """Return the stratified estimate; without any label, neither an estimate nor bounds.

    ``described`` says what the labels describe if a stratum has none; it then becomes the reason.
    """
    if not any(part.labelled for part in found):
        return RunRate(RateMethod.NONE, None, None, None, described or NO_LABEL)
    made = drawn_rate(found)
    reason = None if made.estimate is not None else described or made.reason
    return RunRate(RateMethod.STRATIFIED, made.estimate, made.low, made.high, reason)


def of_trusted(k: float, n: float, tp: float, fn: float, tn: float, fp: float) -> RunRate:
    """Return the corrected rate of k passes among n with the interval of Lang and Reiczigel.

    The trusted set must not be drawn from the run. The estimate is ``None`` if n is 0, a class is
    empty or the judge carries no signal.
    """
    found = lang_reiczigel(k, n, tp, fn, tn, fp)
    if found is None:
        return RunRate(RateMethod.NONE, None, None, None, NO_SIGNAL)
    rate, _ = rogan_gladen(k / n, tp / (tp + fn), tn / (tn + fp))
    return RunRate(RateMethod.LANG_REICZIGEL, rate, *found)


def more(passes: Sequence[Part], line: Metrics) -> tuple[LabelsNeeded, ...]:
    """Return for each default gate how many more audits would settle it at the present rates.

    The stratified pass rate must be at most the observed rate. ECE and Brier are not rates, so no
    number is given for them.
    """
    return (
        LabelsNeeded("ece", Op.AT_MOST, ECE_LIMIT, None, NO_RATE),
        LabelsNeeded("brier", Op.AT_MOST, BRIER_LIMIT, None, NO_RATE),
        more_for("pass_rate", passes, Op.AT_MOST, line.observed_positive_rate),
    )


def more_for(target: str, found: Sequence[Part], op: Op, limit: float | None) -> LabelsNeeded:
    """Return how many more audits bring the interval of a stratified rate within a limit."""
    if limit is None:
        return LabelsNeeded(
            target, op, None, None, "the judge decided nothing, so there is no limit"
        )
    estimate = drawn_rate(found).estimate
    if estimate is None:
        return LabelsNeeded(target, op, limit, None, "a group has no label to take a rate from")
    labels = more_audits(found, limit, "<=" if op is Op.AT_MOST else ">=")
    reason = None if labels is not None else "the estimate itself is beyond the limit"
    return LabelsNeeded(target, op, limit, labels, reason)
