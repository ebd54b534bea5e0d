"""The background re-run: one at a time; stopping it keeps the ballots that came back."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Self

from reviewdesk.app.messages import Arrival, BallotArrived, JobEnded
from reviewdesk.errors import DeskError, ReviewDeskError

if TYPE_CHECKING:
    from reviewdesk.app.app import ReviewApp
    from reviewdesk.desk import Desk
    from reviewdesk.desk.live.rerun import BallotCall, PreparedRerun
    from reviewdesk.desk.live.rerun_history import RerunRecord
    from reviewdesk.domain.verdict import Decision

RERUN = "asking"


@dataclass(frozen=True, slots=True)
class OpenRerun:
    """A running re-run: the jurors that are asked, and the ballots so far."""

    key: int
    verdict: str
    asked: tuple[str, ...]
    came: tuple[Arrival, ...] = ()
    stopping: bool = False

    @property
    def text(self) -> str:
        """The progress of the re-run, for the header."""
        return "stopping" if self.stopping else f"{RERUN} {len(self.came)}/{len(self.asked)}"


@dataclass(frozen=True, slots=True)
class RerunEnded:
    """The result of a re-run; ``told`` is ``None`` if there is no new verdict."""

    key: int
    verdict: str
    before: Decision | None
    told: RerunRecord | None
    answered: int
    failed: int
    asked: int
    stopped: bool


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


class RerunJob:
    """The re-run of an app, at most one."""

    def __init__(self, app: ReviewApp) -> None:
        """Work for ``app``."""
        self._app = app
        self._stop = TaskStop()
        self.running: OpenRerun | None = None

    @property
    def text(self) -> str:
        """The progress of the re-run; empty if none is running."""
        return "" if self.running is None else self.running.text

    def start(self, prepared: PreparedRerun) -> None:
        """Start the re-run that a person has agreed to; raise DeskError if one is running."""
        self.check()
        asked = tuple(call.juror.name for call in prepared.calls)
        item, self._stop = prepared.item, TaskStop()
        self.running = OpenRerun(item.row.key, item.verdict.id, asked)
        self._app.run_worker(
            partial(self._work, prepared, self._stop),
            name=RERUN,
            group=RERUN,
            thread=True,
            exit_on_error=False,
        )

    def check(self) -> None:
        """Refuse a second re-run.

        Raises:
            DeskError: a re-run is running.
        """
        if self.running is not None:
            problem = f"{self.running.verdict}: is being asked again at this moment"
            raise DeskError(problem, "Wait for its end, or stop it with :stop.")

    def stop(self) -> bool:
        """Stop the re-run at once; return True if one was running."""
        if self.running is None:
            return False
        self.running = replace(self.running, stopping=True)
        self._stop.ask()
        return True

    def arrived(self, arrival: Arrival) -> None:
        """Add a ballot to the running re-run."""
        if self.running is not None:
            self.running = replace(self.running, came=(*self.running.came, arrival))

    def ended(self) -> None:
        """Forget the re-run, which has ended."""
        self.running = None

    def _work(self, prepared: PreparedRerun, stop: TaskStop) -> None:
        """Ask the jurors in the worker thread and post the result; no error ends the session."""
        found: RerunRecord | None = None
        error: ReviewDeskError | None = None
        came: list[Arrival] = []

        def on_ballot(ballot: Mapping[str, Any]) -> bool:
            came.append(arrival := arrival_of(ballot))
            self._app.post_message(BallotArrived(arrival))
            return True

        try:
            reader = self._app.review_session.desk.reader()
            try:
                found = asyncio.run(_ask(reader, prepared, stop, on_ballot))
            except asyncio.CancelledError:
                pass
            finally:
                reader.close()
        except ReviewDeskError as problem:
            error = problem
        except Exception as problem:  # noqa: BLE001  (worker entry: a job must never end a session)
            # The exception's type alone: a library's message may repeat the request's headers.
            error = DeskError(f"{RERUN} failed: {type(problem).__name__}")
        item, asked = prepared.item, len(prepared.calls)
        failed = sum(one.failed for one in came)
        ended = RerunEnded(
            item.row.key,
            item.verdict.id,
            item.assessment.decision,
            found,
            len(came) - failed,
            failed,
            asked,
            stop.asked and len(came) < asked,
        )
        self._app.post_message(JobEnded(RERUN, ended, error))


async def _ask(
    desk: Desk, prepared: PreparedRerun, stop: TaskStop, on_ballot: BallotCall
) -> RerunRecord:
    from reviewdesk.desk.live.rerun import ask

    with stop:
        return (await ask(desk, [prepared], on_ballot))[0]


def arrival_of(ballot: Mapping[str, Any]) -> Arrival:
    """Return the fields of a canonical ballot that the screen shows on one line."""
    error = ballot.get("error") or {}
    return Arrival(
        juror=str(ballot["id"]),
        vote=ballot.get("pass"),
        score=ballot.get("score"),
        status=str(ballot.get("status") or "ok"),
        error=str(error.get("message") or "") if error else "",
    )
