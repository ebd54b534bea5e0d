"""A reviewer's events, the newest first, and the reviewer's pace."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from reviewdesk.domain.labels.repeats import PaceEvent, Pacing
from reviewdesk.domain.records import Event, Pace, Run
from reviewdesk.store import events
from reviewdesk.store.reviewer import Done, done

if TYPE_CHECKING:
    from reviewdesk.desk.core import Desk


_MOST = 500
"""The most events that are listed."""


def session_history(desk: Desk, run: Run | None) -> list[Event]:
    """Return the reviewer's newest events in one run or in all runs, each marked if undone."""
    return events.newest(desk.conn, desk.reviewer, run.hash if run else None, _MOST)


def last_label(desk: Desk, run: Run) -> Event | None:
    """Return the last label that the reviewer gave in a run by hand, also if it was undone."""
    return events.newest_label(desk.conn, desk.reviewer, run.hash)


class PaceReader:
    """A reviewer's pace in one run, up to the last event of the log that was read."""

    def __init__(self) -> None:
        self._pacing = Pacing()
        self._seq = 0

    def pace(self, desk: Desk, run: Run) -> Pace:
        """Read the new events of the log and return the pace; imported labels do not count."""
        return self.read(desk, run).pace()

    def read(self, desk: Desk, run: Run) -> Pacing:
        """Read the new events of the log and return the pacing of all."""
        for event in done(desk.conn, desk.reviewer, self._seq):
            self._take(event, run, untimed=event.untimed)
        return self._pacing

    def follow(self, events: Sequence[Event], run: Run) -> None:
        """Take in the next events of the reviewer, which are labels."""
        for event in events:
            facts = event.detail
            untimed = facts.get("blind") is None or facts.get("together", 1) > 1
            self._take(event, run, untimed=untimed or "imported" in facts)

    @property
    def now(self) -> Pace:
        return self._pacing.pace()

    def _take(self, event: Done | Event, run: Run, *, untimed: bool) -> None:
        self._seq = event.seq
        if event.target is not None:
            self._pacing.turn(event.target, stands=event.kind == "redo")
        if event.run == run.hash and not untimed:
            step = PaceEvent(datetime.fromisoformat(event.at), event.kind)
            self._pacing.add(step, event.action)
