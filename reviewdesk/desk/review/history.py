"""What a reviewer did, newest first, and how fast."""

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
    """The reviewer's own events in a run or in all, newest first, marked where they were undone.

    With ``before``, those of a smaller ``seq`` alone, so that a list can go on where it ended.
    """
    return events.newest(desk.conn, desk.reviewer, run.hash if run else None, limit, before)


def pace(desk: Desk, run: Run) -> Pace:
    """How fast the reviewer labels in a run; imported labels are no work."""
    return timing.pace(
        timing.PaceEvent(datetime.fromisoformat(at), kind, stands)
        for at, kind, stands in events.steps(desk.conn, desk.reviewer, run.hash)
    )
