"""A re-run in the background: one at a time, stopped at once, and what came back is kept."""

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
    """A re-run that is on its way: who is asked, and what came so far."""

    key: int
    verdict: str
    asked: tuple[str, ...]
    came: tuple[Arrival, ...] = ()
    stopping: bool = False

    @property
    def text(self) -> str:
        """How far it is, for the header."""
        return "stopping" if self.stopping else f"{RERUN} {len(self.came)}/{len(self.asked)}"


@dataclass(frozen=True, slots=True)
class RerunEnded:
    """What came of a re-run; ``told`` is ``None`` where there is no new verdict."""

    key: int
    verdict: str
    before: Decision | None
    told: RerunRecord | None
    answered: int
    failed: int
    asked: int
    stopped: bool


class TaskStop:
    """Ends the asyncio task of another thread, once, from whatever thread asks for it."""

    def __init__(self) -> None:
        """Nobody has asked yet."""
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[Any] | None = None
        self.asked = False

    def ask(self) -> None:
        """Cancel the task now, or as soon as there is one."""
        with self._lock:
            first, self.asked = not self.asked, True
            # A second cancel would cut short the writing down of what came back.
            if first and self._loop is not None and self._task is not None:
                self._loop.call_soon_threadsafe(self._task.cancel)

    def __enter__(self) -> Self:
        """The running task is the one to be ended."""
        with self._lock:
            if self.asked:
                raise asyncio.CancelledError
            self._loop, self._task = asyncio.get_running_loop(), asyncio.current_task()
        return self

    def __exit__(self, *_: object) -> None:
        """There is no task any more."""
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
        """How far it is; empty where none runs."""
        return "" if self.running is None else self.running.text

    def start(self, prepared: PreparedRerun) -> None:
        """Ask what a person has agreed to."""
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
        """Refuse a second one.

        Raises:
            DeskError: one is on its way.
        """
        if self.running is not None:
            problem = f"{self.running.verdict}: is being asked again at this moment"
            raise DeskError(problem, "Wait for its end, or stop it with :stop.")

    def stop(self) -> bool:
        """End it at once; whether one ran."""
        if self.running is None:
            return False
        self.running = replace(self.running, stopping=True)
        self._stop.ask()
        return True

    def arrived(self, arrival: Arrival) -> None:
        """Keep a ballot in view."""
        if self.running is not None:
            self.running = replace(self.running, came=(*self.running.came, arrival))

    def ended(self) -> None:
        """Forget the job."""
        self.running = None

    def _work(self, prepared: PreparedRerun, stop: TaskStop) -> None:
        """Run in the worker. Whatever happens, the session goes on."""
        found: RerunRecord | None = None
        error: ReviewDeskError | None = None
        came: list[Arrival] = []

        def told(ballot: Mapping[str, Any]) -> bool:
            came.append(arrival := arrival_of(ballot))
            self._app.post_message(BallotArrived(arrival))
            return True

        try:
            reader = self._app.review_session.desk.reader()
            try:
                found = asyncio.run(_ask(reader, prepared, stop, told))
            except asyncio.CancelledError:
                pass
            finally:
                reader.close()
        except ReviewDeskError as problem:
            error = problem
        except Exception as problem:  # noqa: BLE001  (worker entry: a job must never end a session)
            # The kind alone: what a library says of a request may repeat its headers.
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
    desk: Desk, prepared: PreparedRerun, stop: TaskStop, told: BallotCall
) -> RerunRecord:
    from reviewdesk.desk.live.rerun import ask

    with stop:
        return (await ask(desk, [prepared], told))[0]


def arrival_of(ballot: Mapping[str, Any]) -> Arrival:
    """What a ballot of a canonical body says, in one line's worth."""
    error = ballot.get("error") or {}
    return Arrival(
        juror=str(ballot["id"]),
        vote=ballot.get("pass"),
        score=ballot.get("score"),
        status=str(ballot.get("status") or "ok"),
        error=str(error.get("message") or "") if error else "",
    )
