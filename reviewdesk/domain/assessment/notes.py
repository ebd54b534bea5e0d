"""Notes on how a verdict came about that do not deserve a flag."""

from __future__ import annotations

from collections.abc import Iterator

from reviewdesk.domain.assessment.assess import Assessment, Seat, State
from reviewdesk.domain.assessment.history import trail
from reviewdesk.domain.audit.mismatches import Breach
from reviewdesk.domain.jury import family
from reviewdesk.domain.jury.trim import Breakdown
from reviewdesk.domain.verdict import Status, Strategy, Verdict

PANEL_SIZE, PANEL_FAMILIES = 5, 3
"""The smallest panel, and the fewest model families on it, that the trim rule is made for."""


def remarks(verdict: Verdict, found: Assessment) -> tuple[str, ...]:
    """Return all notes: on rounding, weights, the trim and its price, the panel and unanimity."""
    texts = (
        _quorum_rounding(verdict, found),
        _assumed_weights(found),
        *_trimming(verdict, found),
        *_panel(found),
        *_unanimity(found),
        _not_understood(found),
        _distant_kin(verdict, found),
        _committed_late(verdict, found),
    )
    return tuple(text for text in texts if text)


def _quorum_rounding(verdict: Verdict, found: Assessment) -> str | None:
    made, votes = found.decisions, found.votes
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
    """Yield notes on ties at the cut, and on how many jurors can move the trimmed mean."""
    scored = sum(seat.ballot.score is not None for seat in found.seats)
    if 0 < scored < 3:
        yield "untrimmed: one or two scores have no ends"
    tied = ", ".join(seat.ballot.id for seat in found.seats if _at_the_cut(seat, found))
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


def _at_the_cut(seat: Seat, found: Assessment) -> bool:
    if not seat.trimmed:
        return False
    kept = [
        other.ballot.score
        for other in found.seats
        if other.state is State.COUNTED and other.ballot.score is not None
    ]
    return seat.ballot.score in kept


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


def _unanimity(found: Assessment) -> Iterator[str]:
    if found.unanimous_scores:
        yield "unanimous: equal scores"
    if found.unanimous_votes:
        yield "unanimous: equal votes"


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
    return f"same family by the extended list, which the report need not know: {names}"


def _committed_late(verdict: Verdict, found: Assessment) -> str | None:
    late = trail(verdict, found).committed_late
    return "the panel was committed after its first ballot" if late else None
