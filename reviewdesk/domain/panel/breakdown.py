"""How many bought jurors each strategy bears, beside the trim rule's own breakdown."""

from __future__ import annotations

from reviewdesk.domain.jury.supermajority import LEAST_COMMITTED, exact_share
from reviewdesk.domain.jury.trim import Breakdown, breakdown
from reviewdesk.domain.jury.votes import quorum_met
from reviewdesk.domain.panel.panel import PanelRule
from reviewdesk.domain.verdict import Strategy

_ONE_IS_ENOUGH = frozenset(
    {
        Strategy.MEAN,
        Strategy.WEIGHTED_AVERAGE,
        Strategy.HIGHEST,
        Strategy.LOWEST,
        Strategy.UNANIMOUS,
        Strategy.FIRST_DISAGREEMENT,
    }
)
"""A mean follows any one score, an extreme is one score, and one vote ends unanimity."""


def strategy_breakdown(strategy: Strategy, rule: PanelRule, seats: int) -> Breakdown | None:
    """What ``strategy`` bears on a panel of ``seats``, and the seats that break it.

    For values it is the breakdown point, the fewest scores that can carry the value anywhere. For
    votes it is the fewest that can turn a decision on which all the others agree. The median and
    the strict majority break at the half, ``(n - 1) // 2`` being borne; a quorum of ``c`` seats
    breaks at ``c`` false passes or at ``n - c + 1`` false fails; a supermajority of share ``s``
    bears ``floor(n (1 - s))``, and ``n - 3`` at most. ``None`` where nobody can say, as
    of votes that are weighed by what the jurors claim themselves.
    """
    if strategy is Strategy.TRIMMED_MEAN:
        return breakdown(seats, rule.trim, rule.rounding)
    if strategy in {Strategy.MEDIAN, Strategy.MAJORITY}:
        return Breakdown(seats, (seats - 1) // 2, None)
    if strategy is Strategy.QUORUM:
        passing = next(c for c in range(1, seats + 1) if _meets(c, seats, rule))
        return Breakdown(seats, min(passing, seats - passing + 1) - 1, None)
    if strategy is Strategy.SUPERMAJORITY:
        # A bought juror may vote the other way, or abstain until too few are left to decide.
        borne = int(seats * (1 - exact_share(rule.supermajority)))
        left = seats - LEAST_COMMITTED
        return None if left < 0 else Breakdown(seats, min(borne, left), None)
    return Breakdown(seats, 0, None) if strategy in _ONE_IS_ENOUGH else None


def _meets(passes: int, seats: int, rule: PanelRule) -> bool:
    return quorum_met(passes, seats, rule.quorum)
