"""Whose single vote the decision hangs on."""

from __future__ import annotations

from collections.abc import Sequence

from reviewdesk.domain.jury.rule import Decisions, decision_by
from reviewdesk.domain.jury.strategies import (
    STRATEGIES,
    Method,
    Reads,
    Sheet,
)
from reviewdesk.domain.jury.trim import Trim, trim
from reviewdesk.domain.jury.votes import Votes
from reviewdesk.domain.verdict import Ballot, Decision, Policy, Strategy

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
    method = STRATEGIES[strategy]
    if method.reads is Reads.VOTES:
        turning = {
            side
            for side, change in ((True, -1), (False, 1))
            if 0 <= votes.passes + change <= votes.answered
            and _with_passes(votes, votes.passes + change, method, policy) != base
        }
        return tuple(ballot.seat for ballot in ballots if ballot.vote in turning)
    return tuple(
        ballot.seat
        for ballot in counted
        if ballot.vote is not None
        and _turned(ballots, ballot, cut, method, policy) not in {base, None}
    )


def _with_passes(votes: Votes, passes: int, method: Method, policy: Policy) -> Decision | None:
    return method.decide(Votes(passes, votes.answered, votes.seated), None, policy)


def _turned(
    ballots: Sequence[Ballot], turned: Ballot, cut: Trim, method: Method, policy: Policy
) -> Decision | None:
    if turned.score is None or policy.threshold is None:
        return None
    other = policy.threshold - _JUST_UNDER if turned.vote else policy.threshold
    scores = [other if ballot.seat == turned.seat else ballot.score for ballot in ballots]
    votes = Votes(0, 0, len(ballots))
    anew = trim(scores, cut.fraction, cut.rounding) if _trims(method) else cut
    sheet = Sheet(scores, [ballot.weight for ballot in ballots], votes, anew)
    return method.decide(votes, method.value(sheet), policy)


def _trims(method: Method) -> bool:
    return method.strategy is Strategy.TRIMMED_MEAN
