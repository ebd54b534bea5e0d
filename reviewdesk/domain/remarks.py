"""What a reviewer should know of how a verdict came about, short of a flag."""

from __future__ import annotations

from reviewdesk.domain.assess import Assessment
from reviewdesk.domain.verdict import Verdict


def remarks(verdict: Verdict, found: Assessment) -> tuple[str, ...]:
    """Quorum rounding, weights that were assumed, panels too small to trim, and unanimity."""
    told = (
        _quorum_rounding(verdict, found),
        _assumed_weights(found),
        _untrimmed(found),
        *_unanimity(found),
    )
    return tuple(text for text in told if text)


def _quorum_rounding(verdict: Verdict, found: Assessment) -> str | None:
    made, votes = found.decisions, found.votes
    if made.quorum == made.quorum_strict:
        return None
    return (
        f"quorum rounding: {votes.passes} of {votes.seated} against {verdict.policy.quorum} is "
        f"{made.quorum} as written, {made.quorum_strict} to the letter"
    )


def _assumed_weights(found: Assessment) -> str | None:
    ballots = [seat.ballot for seat in found.seats if seat.ballot.score is not None]
    without = [ballot.id for ballot in ballots if ballot.weight is None]
    if not without or len(without) == len(ballots):
        return None
    return f"weight 1 assumed for {', '.join(without)}"


def _untrimmed(found: Assessment) -> str | None:
    scored = sum(seat.ballot.score is not None for seat in found.seats)
    return "untrimmed: one or two scores have no ends" if 0 < scored < 3 else None


def _unanimity(found: Assessment) -> tuple[str | None, str | None]:
    scores = [seat.ballot.score for seat in found.seats if seat.ballot.score is not None]
    votes = found.votes
    return (
        "unanimous: equal scores" if len(scores) > 1 and len(set(scores)) == 1 else None,
        "unanimous: equal votes" if votes.answered > 1 and not votes.split else None,
    )
