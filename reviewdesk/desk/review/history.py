"""A reviewer's events, the newest first, and the reviewer's pace."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from reviewdesk.domain.labels import pace as timing
from reviewdesk.domain.records import Event, Pace, Run
from reviewdesk.store import events

if TYPE_CHECKING:
    from reviewdesk.desk.core import Desk


_MOST = 500
"""The most events that are listed."""


def session_history(desk: Desk, run: Run | None) -> list[Event]:
    """Return the reviewer's newest events in one run or in all runs, each marked if undone."""
    return events.newest(desk.conn, desk.reviewer, run.hash if run else None, _MOST)


def pace(desk: Desk, run: Run) -> Pace:
    """Measure how fast the reviewer labels in a run, without imported labels."""
    return timing.pace(
        timing.PaceEvent(datetime.fromisoformat(at), kind, stands)
        for at, kind, stands in events.steps(desk.conn, desk.reviewer, run.hash)
    )
