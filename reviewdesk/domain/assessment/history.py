"""How a verdict came about, as far as its report tells: what an audit trail keeps of it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, datetime

from reviewdesk.domain.assessment.assess import Assessment
from reviewdesk.domain.audit.band import NOT_DERIVABLE, derivable, restated
from reviewdesk.domain.panel.hash import HashStatus, panel_hash_status
from reviewdesk.domain.verdict import Strategy, Verdict


@dataclass(frozen=True, slots=True)
class Trail:
    """The steps from the ballots to the decision; ``None`` is what the report leaves unsaid.

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
        """The first and the last of the ballots' times."""
        given = sorted((text for text in self.ballots_at if text), key=_moment)
        return (given[0], given[-1]) if given else None

    @property
    def committed_late(self) -> bool:
        """Whether the panel was committed after a ballot had come in."""
        if self.committed_at is None or self.span is None:
            return False
        return _moment(self.span[0]) < _moment(self.committed_at) < _UNREADABLE


def trail(verdict: Verdict, found: Assessment) -> Trail:
    """Gather the trail of one verdict."""
    told = verdict.body.get("provenance") or {}
    return Trail(
        pre_trim=tuple(ballot.score for ballot in verdict.ballots),
        post_trim=_kept_mean(verdict, found),
        rule_version=(verdict.body.get("trim") or {}).get("rule_version"),
        strategy=found.rule.strategy,
        strategy_used=found.rule.used,
        fallback_reason=found.rule.reason,
        panel_hash=told.get("panel_hash") or None,
        panel_hash_status=panel_hash_status(verdict),
        committed_at=told.get("committed_at") or None,
        ballots_at=tuple(juror.get("at") for juror in verdict.body.get("jurors") or ()),
        agreement=restated(verdict),
        agreement_reason=None if derivable(verdict) else NOT_DERIVABLE,
    )


def _kept_mean(verdict: Verdict, found: Assessment) -> float | None:
    """The mean of what is left after the trim: the report's own where it states one, else ours."""
    if verdict.trim.low is None:
        return found.values.trimmed_mean
    kept = [
        seat.ballot.score
        for seat in found.seats
        if not seat.trimmed and seat.ballot.score is not None
    ]
    return math.fsum(kept) / len(kept) if kept else None


_UNREADABLE = datetime.max.replace(tzinfo=UTC)


def _moment(text: str) -> datetime:
    """A time as it is compared: one without a zone is taken as UTC, an unreadable one as last."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return _UNREADABLE
    return found if found.tzinfo else found.replace(tzinfo=UTC)
