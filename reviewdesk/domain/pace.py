"""How fast a reviewer decides, from the times of the events alone."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import median

from reviewdesk.domain.records import Pace

AWAY = timedelta(minutes=5)
"""A longer gap between two events is no work on the item."""

_ENDS = frozenset({"label", "defer"})


@dataclass(frozen=True, slots=True)
class Step:
    """One event of a reviewer; ``stands`` is false where it was undone."""

    at: datetime
    kind: str
    stands: bool = True


def pace(steps: Iterable[Step]) -> Pace:
    """The pace of the labels among some steps, which come oldest first.

    The dwell of a label is the sum of the gaps between events since the standing label or defer
    before it, in seconds; without one before, or with a gap over ``AWAY`` or backwards in time, it
    has none. ``median_dwell`` is the median of the dwells, ``per_hour`` their number / their sum *
    3600. What was undone ends no dwell, so its time goes to the next label. Both are ``None``
    without dwells, ``per_hour`` also where they sum to 0.
    """
    dwells: list[float] = []
    spent: timedelta | None = None
    before: datetime | None = None
    for step in steps:
        if before is not None and spent is not None:
            gap = step.at - before
            spent = spent + gap if timedelta() <= gap <= AWAY else None
        before = step.at
        if step.stands and step.kind in _ENDS:
            if step.kind == "label" and spent is not None:
                dwells.append(spent.total_seconds())
            spent = timedelta()
    worked = sum(dwells)
    return Pace(
        per_hour=len(dwells) / worked * 3600 if worked else None,
        median_dwell=median(dwells) if dwells else None,
        counted=len(dwells),
    )
