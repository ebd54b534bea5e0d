"""The audit trail of a verdict: how it came about, as far as its report states."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, datetime

from reviewdesk.domain.assessment.assess import Assessment
from reviewdesk.domain.audit.stated_band import NOT_DERIVABLE, derivable, restated
from reviewdesk.domain.panel.hash import HashStatus, panel_hash_status
from reviewdesk.domain.verdict import Strategy, Verdict


@dataclass(frozen=True, slots=True)
class Trail:
    """The steps from the ballots to the decision; ``None`` if the report does not state a step.

    Scores and times are in seat order. ``agreement`` is the report's metric recomputed, and
    ``agreement_reason`` says why a single verdict's ballots cannot give it.
    """

    pre_trim: tuple[float | None, ...]
    post_trim: float | None
    rule_version: str | None
    strategy: Strategy | None
    strategy_used: Strategy | None
    fallback_reason: str | None
    panel_hash: str | None
    panel_hash_status: HashStatus | None
    committed_at: str | None
    ballots_at: tuple[str | None, ...]
    agreement: float | None
    agreement_reason: str | None

    @property
    def span(self) -> tuple[str, str] | None:
        """The earliest and the latest time of a ballot; ``None`` if no ballot has a time."""
        given = sorted((text for text in self.ballots_at if text), key=_comparable_time)
        return (given[0], given[-1]) if given else None

    @property
    def committed_late(self) -> bool:
        """Whether the panel was committed after its first ballot came in."""
        if self.committed_at is None or self.span is None:
            return False
        return _comparable_time(self.span[0]) < _comparable_time(self.committed_at) < _UNREADABLE


def trail(verdict: Verdict, found: Assessment) -> Trail:
    """Collect the audit trail of one verdict."""
    provenance = verdict.body.get("provenance") or {}
    return Trail(
        pre_trim=tuple(ballot.score for ballot in verdict.ballots),
        post_trim=_kept_mean(verdict, found),
        rule_version=(verdict.body.get("trim") or {}).get("rule_version"),
        strategy=found.rule.strategy,
        strategy_used=found.rule.used,
        fallback_reason=found.rule.reason,
        panel_hash=provenance.get("panel_hash") or None,
        panel_hash_status=panel_hash_status(verdict),
        committed_at=provenance.get("committed_at") or None,
        ballots_at=tuple(juror.get("at") for juror in verdict.body["jurors"]),
        agreement=restated(verdict),
        agreement_reason=None if derivable(verdict) else NOT_DERIVABLE,
    )


def _kept_mean(verdict: Verdict, found: Assessment) -> float | None:
    """Return the mean after the report's own trim if it names the jurors, else after ours."""
    if verdict.trim.low is None:
        return found.values.trimmed_mean
    kept = [
        seat.ballot.score
        for seat in found.seats
        if not seat.trimmed and seat.ballot.score is not None
    ]
    return math.fsum(kept) / len(kept) if kept else None


_UNREADABLE = datetime.max.replace(tzinfo=UTC)


def _comparable_time(text: str) -> datetime:
    """Parse a time for comparison: UTC if it has no zone, the latest possible if unreadable."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return _UNREADABLE
    return found if found.tzinfo else found.replace(tzinfo=UTC)
