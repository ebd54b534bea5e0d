"""Measures how fast a reviewer decides, from the times of the events alone."""

from __future__ import annotations

from bisect import bisect_left
from datetime import datetime, timedelta

from msgspec import Struct
from msgspec.structs import replace

from reviewdesk.domain.records import Pace

AWAY = timedelta(minutes=5)
"""A longer gap between two events does not count as work on the item."""

_ENDS = frozenset({"label", "defer", "repeat"})


class PaceEvent(Struct, frozen=True):
    """One event of a reviewer; ``stands`` is False if it was undone."""

    at: datetime
    kind: str
    stands: bool = True


class _StepRecord(Struct, frozen=True):
    """A step with the state before it, and the dwell that it ended, if any."""

    step: PaceEvent
    action: int
    spent: timedelta | None
    worked: float
    dwell: float | None


class Pacing:
    """The pace after each step, updated at a cost that does not grow with the steps before.

    The dwell of a label is the sum of the gaps between events since the previous standing label,
    repeat or defer, in seconds. A label has no dwell if there is none before it, or if a gap is
    over ``AWAY`` or negative. An undone event ends no dwell, so its time goes to the next label.
    Undoing or redoing an action replays the steps since that action.
    """

    def __init__(self) -> None:
        """Start without any step."""
        self._records: list[_StepRecord] = []
        self._counted = 0
        self._worked = 0.0
        self._spent: timedelta | None = None

    def add(self, step: PaceEvent, action: int = 0) -> None:
        """Add the newest step; actions are numbered in the order in which they were done."""
        before = self._records[-1].step.at if self._records else None
        spent = self._spent
        dwell = None
        if before is not None and spent is not None:
            gap = step.at - before
            spent = spent + gap if timedelta() <= gap <= AWAY else None
        if step.stands and step.kind in _ENDS:
            if step.kind == "label" and spent is not None:
                dwell = spent.total_seconds()
            spent = timedelta()
        self._records.append(_StepRecord(step, action, self._spent, self._worked, dwell))
        self._spent = spent
        if dwell is not None:
            self._counted += 1
            self._worked += dwell

    def turn(self, action: int, *, stands: bool) -> None:
        """Mark the steps of an action as undone, or as standing again."""
        first = bisect_left(self._records, action, key=lambda passed: passed.action)
        if first == len(self._records) or self._records[first].action != action:
            return
        later = []
        while len(self._records) > first:
            later.append(self._pop())
        for passed in reversed(later):
            kept = replace(passed.step, stands=stands) if passed.action == action else passed.step
            self.add(kept, passed.action)

    def _pop(self) -> _StepRecord:
        passed = self._records.pop()
        self._spent = passed.spent
        self._worked = passed.worked
        if passed.dwell is not None:
            self._counted -= 1
        return passed

    def pace(self) -> Pace:
        """Return the pace so far: the number of dwells / their sum * 3600, unless that sum is 0."""
        per_hour = self._counted / self._worked * 3600 if self._worked else None
        return Pace(per_hour, self._counted)
