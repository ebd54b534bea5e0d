"""Find the jurors whose vote alone would change the decision."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from reviewdesk.domain.jury.agreement import stopped_early
from reviewdesk.domain.jury.rule import Decisions, decision_by
from reviewdesk.domain.jury.strategies import STRATEGIES, Method, Reads, Sheet, Votes
from reviewdesk.domain.jury.trim import Trim, trim
from reviewdesk.domain.verdict import Ballot, Decision, Policy, Strategy, Verdict

JUST_UNDER = 1e-6
"""How far below the threshold a pass is moved to turn it into a fail."""


def pivotal_seats(
    verdict: Verdict,
    counted: Sequence[Ballot],
    votes: Votes,
    cut: Trim,
    strategy: Strategy | None,
    made: Decisions,
) -> tuple[int, ...]:
    """Return the seats whose vote, turned alone, would change the decision of the rule.

    For rules on votes, any vote that was cast is turned. For rules on scores, the score of a
    counted ballot is moved just across the threshold. Return no seats if the rule decides nothing,
    or the panel stopped before every juror was asked.
    """
    ballots, policy = verdict.ballots, verdict.policy
    base = decision_by(strategy, made, votes, policy)
    if strategy is None or base is None or stopped_early(ballots):
        return ()
    method = STRATEGIES[strategy]
    if method.reads is Reads.VOTES:
        turning = turning_votes(method, votes, base, policy)
        return tuple(ballot.seat for ballot in ballots if ballot.vote in turning)
    return tuple(
        ballot.seat
        for ballot in counted
        if ballot.vote is not None
        and _with_turned(ballots, ballot, votes, cut, method, policy) not in {base, None}
    )


def turning_votes(method: Method, votes: Votes, base: Decision, policy: Policy) -> set[bool]:
    """Return which votes, one of them turned, would change the decision of a rule on votes."""
    turning = set()
    for side, passes in ((True, votes.passes - 1), (False, votes.passes + 1)):
        if not 0 <= passes <= votes.answered:
            continue
        if method.decide(replace(votes, passes=passes), None, policy) != base:
            turning.add(side)
    return turning


def _with_turned(
    ballots: Sequence[Ballot],
    turned: Ballot,
    votes: Votes,
    cut: Trim,
    method: Method,
    policy: Policy,
) -> Decision | None:
    if turned.score is None or policy.threshold is None:
        return None
    other = policy.threshold - JUST_UNDER if turned.vote else policy.threshold
    scores = [other if ballot.seat == turned.seat else ballot.score for ballot in ballots]
    if method.strategy is Strategy.TRIMMED_MEAN:
        cut = trim(scores, cut.fraction, cut.rounding)
    sheet = Sheet(scores, [ballot.weight for ballot in ballots], votes, cut)
    return method.decide(votes, method.value(sheet), policy)
