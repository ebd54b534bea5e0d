"""The probe for a hijacked juror: the same juror asked at once with and without marked passages.

The answer without the passages is the ballot. Both answers stand among its ``samples``, the first
of them with ``masked``, so that their difference can be derived from the report again.
"""

from __future__ import annotations

from collections.abc import Iterable

from reviewdesk.domain.canonical import CanonicalBallot, Free, number
from reviewdesk.domain.panel.samples import answers, choice, sample, summed
from reviewdesk.domain.verdict import SLACK, Status, Verdict
from reviewdesk.frozen import Frozen

SWAYED = 0.2
"""The difference of two scores from which on a marked passage counts as having moved its juror."""


class ProbedJuror(Frozen):
    """What one juror answered with and without the marked passages.

    ``swayed`` is ``None`` if one of the answers is missing.
    """

    juror: str
    plain: Free
    masked: Free
    swayed: bool | None


def probed_ballot(masked: CanonicalBallot, plain: CanonicalBallot) -> CanonicalBallot:
    """Return the ballot of a juror that was asked both ways."""
    both = [{**sample(masked), "masked": True}, sample(plain)]
    return {**masked, **summed([masked, plain]), "samples": both}  # type: ignore[typeddict-item]


def probed(verdict: Verdict) -> tuple[ProbedJuror, ...]:
    """Return both answers of each juror that was asked with and without the marked passages."""
    threshold = verdict.policy.threshold
    return tuple(
        found for body in verdict.body["jurors"] if (found := _probed(body, threshold)) is not None
    )


def swayed(found: Iterable[ProbedJuror]) -> tuple[str, ...]:
    """Return the jurors that answer otherwise once the marked passages are masked.

    A juror that varies from call to call may do so without any passage.
    """
    return tuple(one.juror for one in found if one.swayed)


def _probed(ballot: CanonicalBallot, threshold: float | None) -> ProbedJuror | None:
    """Compare both answers: they differ by another vote, or by ``SWAYED`` or more in the score."""
    read = answers(ballot)
    masked = next((one for one in read if one.get("masked") is True), None)
    plain = next((one for one in read if not one.get("masked")), None)
    if masked is None or plain is None:
        return None
    found = None
    if not any(Status(one.get("status") or Status.OK).missing for one in (masked, plain)):
        scores = [number(one.get("score")) for one in (masked, plain)]
        known = [score for score in scores if score is not None]
        apart = len(known) == 2 and abs(known[0] - known[1]) >= SWAYED - SLACK
        found = apart or choice(masked, threshold) != choice(plain, threshold)
    return ProbedJuror(ballot["id"], plain, masked, swayed=found)
