"""Ballots built by hand, for panels whose jurors another program has called."""

from __future__ import annotations

from reviewdesk.domain import values
from reviewdesk.domain.verdict import (
    Ballot,
    CanonicalBallot,
    Policy,
    Status,
    read_ballot,
    without_nulls,
)
from reviewdesk.errors import UsageError


def ballot(
    juror: str,
    score: float | None = None,
    *,
    passed: bool | None = None,
    label: str | None = None,
    confidence: float | None = None,
    weight: float | None = None,
    model: str | None = None,
    vendor: str | None = None,
    reason: str | None = None,
    error: str | None = None,
    status: Status | str | None = None,
    withheld: bool = False,
) -> Ballot:
    """Build one juror's ballot from a score, a vote, a label, or the error of a failed call.

    Scores and confidences lie on 0..1. Without ``passed`` a score votes by the panel's threshold,
    unless the vote is ``withheld``. Raise UsageError, naming juror and value, for anything else.
    """
    place = f"ballot of {juror!r}"
    if not isinstance(juror, str) or not juror:
        raise UsageError(f"a juror is named {juror!r}", "Give a name that is not empty")
    if not isinstance(label, str | None):
        raise UsageError(f"{place}: label is {label!r}", "Give a word")
    found = None if status is None else values.member(Status, status, f"{place}: status is")
    if (error is not None or found not in {None, Status.OK}) and (score, passed) != (None, None):
        raise UsageError(f"{place}: it failed and has a score or a vote", "Leave one of them out")
    cast: CanonicalBallot = {
        "id": juror, "label": label, "model": model, "vendor": vendor, "reason": reason,
        "score": _unit(f"{place}: score", score),
        "confidence": _unit(f"{place}: confidence", confidence),
        "weight": None if weight is None else values.weight(f"{place}: weight", weight),
        "error": None if error is None else {"message": error},
    }  # fmt: skip
    if found is not None:
        cast["status"] = found
    if not isinstance(passed, bool | None) or (withheld and passed is not None):
        raise UsageError(f"{place}: passed is {passed!r}", "Give True or False, or withhold it")
    if withheld or passed is not None:
        cast["pass"] = passed
    return read_ballot(0, cast, Policy())


def as_juror(cast: Ballot) -> CanonicalBallot:
    """Return a ballot as a juror of a canonical report; reading it back gives the same ballot."""
    fields: CanonicalBallot = {
        "id": cast.id,
        "model": cast.model,
        "vendor": cast.vendor,
        "score": cast.score,
        "label": cast.label,
        "confidence": cast.confidence,
        "weight": cast.weight,
        "reason": cast.reason,
        "error": None if cast.error is None else {"message": cast.error},
        "status": cast.status.value,
    }
    known = without_nulls(fields)
    if cast.withheld or cast.stated_pass is not None:
        known["pass"] = cast.stated_pass
    return known


def _unit(place: str, value: float | None) -> float | None:
    return None if value is None else values.unit(place, value)
