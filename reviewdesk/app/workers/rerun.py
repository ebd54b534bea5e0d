"""The work of a re-run in its thread; stopping it keeps the ballots that came back."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Self

from reviewdesk.desk import Desk
from reviewdesk.domain.canonical import CanonicalBallot
from reviewdesk.domain.panel.rerun_result import Arrival, RerunSummary

if TYPE_CHECKING:
    from reviewdesk.desk.live.batch import BatchState
    from reviewdesk.desk.live.rerun_plan import ReadyRerun

_INTERVAL = 0.2
"""Seconds between two reports of the progress of a re-run of several verdicts."""


class TaskStop:
    """Cancels the asyncio task of another thread, once; any thread may ask for it."""

    def __init__(self) -> None:
        """Start without a task and without a request to stop."""
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[Any] | None = None
        self.asked = False

    def ask(self) -> None:
        """Cancel the task now, or as soon as there is one."""
        with self._lock:
            first, self.asked = not self.asked, True
            # A second cancel would interrupt the saving of the ballots that came back.
            if first and self._loop is not None and self._task is not None:
                self._loop.call_soon_threadsafe(self._task.cancel)

    def __enter__(self) -> Self:
        """Register the running task; raise CancelledError if a stop was requested already."""
        with self._lock:
            if self.asked:
                raise asyncio.CancelledError
            self._loop, self._task = asyncio.get_running_loop(), asyncio.current_task()
        return self

    def __exit__(self, *_: object) -> None:
        """Forget the task."""
        with self._lock:
            self._loop = self._task = None


def rerun(
    ready: ReadyRerun, stop: TaskStop, desk: Desk, report: Callable[[object], bool]
) -> RerunSummary | None:
    """Ask the jurors; return what it brought, ``None`` if it was stopped before it began.

    Of one verdict it reports each ballot, of several the progress.
    """
    from reviewdesk.desk.live.batch import BatchEnvironment
    from reviewdesk.desk.live.rerun_batch import RerunListener, carry_out

    ends: list[RerunSummary] = []
    due = 0.0

    def told(state: BatchState) -> None:
        nonlocal due
        if state.counts.seconds >= due:
            due = state.counts.seconds + _INTERVAL
            report(state.progress)

    def came(_key: int, ballot: CanonicalBallot) -> None:
        report(arrival_of(ballot))

    listener = RerunListener(told=told, ended=ends.append)
    if len(ready.keys) == 1:
        listener = RerunListener(came, ended=ends.append)

    async def asking() -> None:
        with stop:
            await carry_out(desk, ready, listener, BatchEnvironment.real())

    with suppress(asyncio.CancelledError):
        asyncio.run(asking())
    return ends[0] if ends else None


def arrival_of(ballot: CanonicalBallot) -> Arrival:
    """Return the fields of a canonical ballot that the screen shows on one line."""
    error = ballot.get("error")
    return Arrival(
        juror=ballot["id"],
        vote=ballot.get("pass"),
        score=ballot.get("score"),
        status=ballot.get("status") or "ok",
        error=error["message"] if error else "",
    )
