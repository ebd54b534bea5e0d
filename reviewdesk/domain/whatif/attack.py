"""How far bought jurors could carry a panel: the value and the decision under a rule."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from reviewdesk.domain.verdict import SLACK, Ballot, Decision, Verdict
from reviewdesk.domain.whatif.item import outcomes
from reviewdesk.domain.whatif.policies import PolicyResult, Variant

MOST_TRIES = 400
"""Ways to buy so many jurors of a panel; where there are more, that number is left out."""


@dataclass(frozen=True, slots=True)
class Attack:
    """What ``bought`` jurors could force: the values they reach, and other decisions."""

    bought: int
    low: float | None
    high: float | None
    change: float | None
    """The largest distance from the panel's value as it stands; ``None`` where either has none."""
    decisions: tuple[Decision | None, ...]
    """Those that differ from the one that the rule gives now."""


def attacks(verdict: Verdict, variant: Variant) -> tuple[Attack, ...]:
    """What 1, 2, ... of the jurors that answered could force under a rule, up to all of them.

    Every set of that size is tried, all of them giving 0, 1, or a score of the panel. The rules of
    the registry rise with every score, so that 0 and 1 are the ends; of the rules on outliers,
    which do not, the range is what was found and may be wider. A bought vote follows the score.
    """
    [base] = outcomes(verdict, [variant])
    seats = [ballot.seat for ballot in verdict.ballots if ballot.usable]
    offers = sorted({0.0, 1.0, *(b.score for b in verdict.ballots if b.score is not None)})
    if variant.outliers is None:
        offers = [0.0, 1.0]
    return tuple(
        _attack(base, bought, list(_reached(verdict, variant, seats, bought, offers)))
        for bought in range(1, len(seats) + 1)
        if math.comb(len(seats), bought) * len(offers) <= MOST_TRIES
    )


def _reached(
    verdict: Verdict, variant: Variant, seats: Sequence[int], bought: int, offers: Sequence[float]
) -> Iterator[PolicyResult]:
    for chosen in combinations(seats, bought):
        for offer in offers:
            ballots = tuple(
                _bought(one, offer, verdict) if one.seat in chosen else one
                for one in verdict.ballots
            )
            yield from outcomes(replace(verdict, ballots=ballots), [variant])


def _bought(ballot: Ballot, offer: float, verdict: Verdict) -> Ballot:
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
