"""A reviewer's events, the newest first, and the reviewer's pace."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from reviewdesk.domain.labels import pace as timing
from reviewdesk.domain.records import Event, Pace, Run
from reviewdesk.store import events

if TYPE_CHECKING:
    from reviewdesk.desk.core import Desk


def session_history(
    desk: Desk, run: Run | None, limit: int = 500, before: int | None = None
) -> list[Event]:
    """Return the reviewer's events in one run or in all runs, the newest first.

    Events that were undone are marked. With ``before``, only events with a smaller ``seq`` are
    returned, so that a list can continue where it ended.
    """
    return events.newest(desk.conn, desk.reviewer, run.hash if run else None, limit, before)


def pace(desk: Desk, run: Run) -> Pace:
    """Measure how fast the reviewer labels in a run, without imported labels."""
    return timing.pace(
        timing.PaceEvent(datetime.fromisoformat(at), kind, stands)
        for at, kind, stands in events.steps(desk.conn, desk.reviewer, run.hash)
    )
