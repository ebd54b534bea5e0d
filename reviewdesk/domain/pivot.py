"""Whose single vote the decision hangs on."""

from __future__ import annotations

from collections.abc import Sequence

from reviewdesk.domain.panel import Decisions, Votes, decide, decision_by, score_by, values
from reviewdesk.domain.trim import Trim
from reviewdesk.domain.verdict import Ballot, Policy, Strategy

_BY_VOTES = frozenset({Strategy.QUORUM, Strategy.MAJORITY, Strategy.UNANIMOUS, Strategy.SINGLE})
_JUST_UNDER = 1e-6
"""How far below the threshold a turned pass is put: the least change that turns a vote."""


def pivotal_seats(
    ballots: Sequence[Ballot],
    counted: Sequence[Ballot],
    votes: Votes,
    cut: Trim,
    strategy: Strategy | None,
    made: Decisions,
    policy: Policy,
) -> tuple[int, ...]:
    """The seats whose vote, turned alone, turns the decision under the rule.

    Rules on votes turn any vote that was cast. Rules on scores move the score of a counted ballot
    to the other side of the threshold and no further. Empty where the rule decides nothing.
    """
    base = decision_by(strategy, made, votes)
    if strategy is None or base is None:
        return ()
    if strategy in _BY_VOTES:
        turning = {
            side
            for side, change in ((True, -1), (False, 1))
            if 0 <= votes.passes + change <= votes.answered
            and _by_votes(votes, votes.passes + change, strategy, policy) != base
        }
        return tuple(ballot.seat for ballot in ballots if ballot.vote in turning)
    return tuple(
        ballot.seat
        for ballot in counted
        if ballot.vote is not None
        and _turned(ballots, ballot, cut, strategy, policy) not in {base, None}
    )


def _by_votes(votes: Votes, passes: int, strategy: Strategy, policy: Policy) -> object:
    changed = Votes(passes, votes.answered, votes.seated)
    nothing = values((), (), 0.0)
    return decision_by(strategy, decide(changed, nothing, policy), changed)


def _turned(
    ballots: Sequence[Ballot], turned: Ballot, cut: Trim, strategy: Strategy, policy: Policy
) -> object:
    if turned.score is None or policy.threshold is None:
        return None
    other = policy.threshold - _JUST_UNDER if turned.vote else policy.threshold
    scores = [other if ballot.seat == turned.seat else ballot.score for ballot in ballots]
    found = values(scores, [ballot.weight for ballot in ballots], cut.fraction, cut.rounding)
    if score_by(strategy, found) is None:
        return None
    empty = Votes(0, 0, len(ballots))
    return decision_by(strategy, decide(empty, found, policy), empty)
