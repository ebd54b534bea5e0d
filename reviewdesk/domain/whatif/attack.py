"""How far bought jurors could move a panel's value and decision under a rule."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from reviewdesk.domain.verdict import SLACK, Ballot, Decision, Verdict
from reviewdesk.domain.whatif.item import outcomes
from reviewdesk.domain.whatif.policies import PolicyResult, Variant

MOST_TRIES = 400
"""The most tries for one number of bought jurors; a number that needs more is left out."""


@dataclass(frozen=True, slots=True)
class Attack:
    """What ``bought`` jurors could force: the range of values, and other decisions."""

    bought: int
    low: float | None
    high: float | None
    change: float | None
    """The largest distance from the panel's present value; ``None`` if either value is missing."""
    decisions: tuple[Decision | None, ...]
    """The reachable decisions that differ from the one that the rule gives now."""


def attacks(verdict: Verdict, variant: Variant) -> tuple[Attack, ...]:
    """Return what 1, 2, ... bought jurors could force under a rule, up to all that answered.

    Every set of jurors of each size is tried, and all of the set give the same score. A strategy
    never falls when a score rises, so the scores 0 and 1 give the ends of the range. A rule on
    outliers may fall, so each score of the panel is tried too, and the true range may be wider
    than the one returned. A bought vote follows the bought score.
    """
    [base] = outcomes(verdict, [variant])
    seats = [ballot.seat for ballot in verdict.ballots if ballot.usable]
    offers = sorted({0.0, 1.0, *(b.score for b in verdict.ballots if b.score is not None)})
    if variant.outliers is None:
        offers = [0.0, 1.0]
    return tuple(
        _attack(base, bought, list(_bought_results(verdict, variant, seats, bought, offers)))
        for bought in range(1, len(seats) + 1)
        if math.comb(len(seats), bought) * len(offers) <= MOST_TRIES
    )


def _bought_results(
    verdict: Verdict, variant: Variant, seats: Sequence[int], bought: int, offers: Sequence[float]
) -> Iterator[PolicyResult]:
    for chosen in combinations(seats, bought):
        for offer in offers:
            ballots = tuple(
                _bought_ballot(one, offer, verdict) if one.seat in chosen else one
                for one in verdict.ballots
            )
            yield from outcomes(replace(verdict, ballots=ballots), [variant])


def _bought_ballot(ballot: Ballot, offer: float, verdict: Verdict) -> Ballot:
    threshold = verdict.policy.threshold
    line = 0.5 if threshold is None else threshold
    score = None if ballot.score is None else offer
    return replace(ballot, score=score, vote=offer >= line - SLACK, withheld=False)


def _attack(base: PolicyResult, bought: int, found: Sequence[PolicyResult]) -> Attack:
    values = [one.value for one in found if one.value is not None]
    low, high = min(values, default=None), max(values, default=None)
    change = None
    if base.value is not None and low is not None and high is not None:
        change = max(base.value - low, high - base.value, 0.0)
    others = {one.decision for one in found} - {base.decision}
    return Attack(bought, low, high, change, tuple(sorted(others, key=str)))
