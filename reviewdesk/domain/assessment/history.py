"""How a verdict came about: its audit trail, and notes that do not deserve a flag."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import UTC, datetime

from msgspec import Struct

from reviewdesk.domain.assessment.flag_words import Breach
from reviewdesk.domain.assessment.result import Assessment
from reviewdesk.domain.assessment.seats import State
from reviewdesk.domain.audit.mismatches import NOT_DERIVABLE, derivable, restated
from reviewdesk.domain.jury import family
from reviewdesk.domain.jury.trim import Breakdown
from reviewdesk.domain.panel.hash import HashStatus, panel_hash_status
from reviewdesk.domain.verdict import Status, Strategy, Verdict


class Trail(Struct, frozen=True):
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
        agreement=restated(verdict, labels=bool(found.labels)),
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


PANEL_SIZE = 5
PANEL_FAMILIES = 3
"""The smallest panel, and the fewest model families on it, that the trim rule is made for."""


def remarks(verdict: Verdict, found: Assessment) -> tuple[str, ...]:
    """Return all notes: on rounding, weights, the trim and its price, the panel and unanimity."""
    late = trail(verdict, found).committed_late
    texts = (
        _quorum_rounding(verdict, found),
        _assumed_weights(found),
        *_trimming(verdict, found),
        *_panel(found),
        "unanimous: equal scores" if found.unanimous_scores else None,
        "unanimous: equal votes" if found.unanimous_votes else None,
        _not_understood(found),
        _distant_kin(verdict, found),
        "the panel was committed after its first ballot" if late else None,
    )
    return tuple(text for text in texts if text)


def _quorum_rounding(verdict: Verdict, found: Assessment) -> str | None:
    made = found.decisions
    votes = found.votes
    if Breach.ROUNDING not in found.marks:
        return None
    return (
        f"{Breach.ROUNDING.label}: {votes.passes} of {votes.seated} against "
        f"{verdict.policy.quorum} is {made.quorum} as written, {made.quorum_strict} to the letter"
    )


def _assumed_weights(found: Assessment) -> str | None:
    ballots = [seat.ballot for seat in found.seats if seat.ballot.usable]
    without = [ballot.id for ballot in ballots if ballot.weight is None]
    if without and len(without) < len(ballots):
        return f"weight 1 assumed for {', '.join(without)}"
    return "weight 1 assumed for every juror" if found.assumed_weights else None


def _trimming(verdict: Verdict, found: Assessment) -> Iterator[str]:
    scored = sum(seat.ballot.score is not None for seat in found.seats)
    if 0 < scored < 3:
        yield "untrimmed: one or two scores have no ends"
    kept = {seat.ballot.score for seat in found.seats if seat.state is State.COUNTED} - {None}
    tied = ", ".join(
        seat.ballot.id for seat in found.seats if seat.trimmed and seat.ballot.score in kept
    )
    if tied:
        yield f"trimmed (tie): {tied} scored as much as a juror that was kept"
    named = verdict.trim.low
    if not scored or (found.rule.used is not Strategy.TRIMMED_MEAN and not named):
        return
    tolerated = found.trim.per_side if named is None else len(named)
    point = Breakdown(scored, tolerated, None)
    subject = "" if found.rule.used is Strategy.TRIMMED_MEAN else " of the stated trim"
    yield f"breakdown{subject}: {point}"
    prices = _prices(verdict, found)
    if len(prices) >= point.breaks_at:
        cost = sum(sorted(prices)[: point.breaks_at])
        yield f"bribe cost: {point.breaks_at} jurors, at least ${cost:.6g} at the ballots' prices"


def _prices(verdict: Verdict, found: Assessment) -> list[float]:
    """Return the cost of each scored ballot in US dollars; empty unless all of them state it."""
    bodies = verdict.body["jurors"]
    scored = [seat.ballot.seat for seat in found.seats if seat.ballot.score is not None]
    prices = [price for at in scored if (price := bodies[at].get("cost_usd")) is not None]
    return prices if len(prices) == len(scored) else []


def _panel(found: Assessment) -> Iterator[str]:
    """Yield notes on a panel with too few jurors or families to withstand its own members."""
    seated = len(found.seats)
    if not seated:
        return
    if seated < PANEL_SIZE:
        yield f"panel of {seated}: under five jurors"
    families = {seat.family.name for seat in found.seats if seat.family}
    unknown = sum(seat.family is None for seat in found.seats)
    if len(families) < PANEL_FAMILIES:
        known = f"{len(families)} known model families"
        yield f"panel of {known}, {unknown} of {seated} jurors unknown: under three"


def _not_understood(found: Assessment) -> str | None:
    names = [seat.ballot.id for seat in found.seats if seat.ballot.status is Status.UNKNOWN]
    if not names:
        return None
    answers = "answer" if len(names) == 1 else "answers"
    return f"{len(names)} {answers} not understood, and so not counted: {', '.join(names)}"


def _distant_kin(verdict: Verdict, found: Assessment) -> str | None:
    """Return a note on a shared family that the report denies and only the extended list shows."""
    if found.same_family is not False:
        return None
    names = ", ".join(one.id for one in family.relatives(verdict.ballots, verdict.generator))
    if not names or family.plain_kin(verdict.ballots, verdict.generator):
        return None
    return f"same model family by the extended list, which the report need not know: {names}"
