"""How fast a reviewer decides, from the times of the events alone."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from reviewdesk.domain.records import Pace

AWAY = timedelta(minutes=5)
"""A longer gap between two events is no work on the item."""

_ENDS = frozenset({"label", "defer"})


@dataclass(frozen=True, slots=True)
class PaceEvent:
    """One event of a reviewer; ``stands`` is false where it was undone."""

    at: datetime
    kind: str
    stands: bool = True


def pace(steps: Iterable[PaceEvent]) -> Pace:
    """The pace of the labels among some steps, which come oldest first.

    The dwell of a label is the sum of the gaps between events since the standing label or defer
    before it, in seconds; without one before, or with a gap over ``AWAY`` or backwards in time, it
    has none. ``median_dwell`` is the median of the dwells, ``per_hour`` their number / their sum *
    3600. What was undone ends no dwell, so its time goes to the next label. Both are ``None``
    without dwells, ``per_hour`` also where they sum to 0.
    """
    pacing = Pacing()
    for step in steps:
        pacing.add(step)
    return pacing.pace()


@dataclass(frozen=True, slots=True)
class _Passed:
    """A step, and how things stood before it."""

    step: PaceEvent
    action: int
    spent: timedelta | None
    worked: float
    dwell: float | None


class Pacing:
    """The pace after each step, by increments: a new step costs the same however many came before.

    Undoing or redoing an action costs the steps since then.
    """

    def __init__(self) -> None:
        """Nothing was done."""
        self._passed: list[_Passed] = []
        self._dwells: list[float] = []
        self._worked = 0.0
        self._spent: timedelta | None = None

    def add(self, step: PaceEvent, action: int = 0) -> None:
        """Take in the newest step; actions are numbered in the order in which they were done."""
        before = self._passed[-1].step.at if self._passed else None
        spent, dwell = self._spent, None
        if before is not None and spent is not None:
            gap = step.at - before
            spent = spent + gap if timedelta() <= gap <= AWAY else None
        if step.stands and step.kind in _ENDS:
            if step.kind == "label" and spent is not None:
                dwell = spent.total_seconds()
            spent = timedelta()
        self._passed.append(_Passed(step, action, self._spent, self._worked, dwell))
        self._spent = spent
        if dwell is not None:
            insort(self._dwells, dwell)
            self._worked += dwell

    def turn(self, action: int, *, stands: bool) -> None:
        """Say that the steps of an action were undone, or stand again."""
        first = bisect_left(self._passed, action, key=lambda passed: passed.action)
        if first == len(self._passed) or self._passed[first].action != action:
            return
        later = []
        while len(self._passed) > first:
            later.append(self._back())
        for passed in reversed(later):
            kept = replace(passed.step, stands=stands) if passed.action == action else passed.step
            self.add(kept, passed.action)

    def _back(self) -> _Passed:
        passed = self._passed.pop()
        self._spent, self._worked = passed.spent, passed.worked
        if passed.dwell is not None:
            del self._dwells[bisect_left(self._dwells, passed.dwell)]
        return passed

    def pace(self) -> Pace:
        """The pace so far."""
        dwells, middle = self._dwells, len(self._dwells) // 2
        return Pace(
            per_hour=len(dwells) / self._worked * 3600 if self._worked else None,
            median_dwell=(dwells[middle] + dwells[~middle]) / 2 if dwells else None,
            counted=len(dwells),
        )
