"""Runs jobs in Textual's worker threads, and brings what they report to the app's thread."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from textual.app import App
from textual.message import Message

from reviewdesk.app.controllers.jobs import Job
from reviewdesk.desk import Desk
from reviewdesk.desk.damage import found_damage
from reviewdesk.desk.review.edits import hurry
from reviewdesk.errors import Cancelled, DeskError, ReviewDeskError

_PROGRESS_INTERVAL = 0.1
"""Seconds between two shares of progress of a job."""


@dataclass
class JobNews(Message):
    """A job reported something or ended; ``tell`` tells the controller, in the app's thread."""

    job: Job
    tell: Callable[[], None]
    last: bool = False


class WorkerRunner:
    """Runs each job in a worker of the app; only the newest job of a name is heard."""

    def __init__(self, app: App[None], desk: Desk) -> None:
        """Open connections to ``desk`` for the jobs of ``app``."""
        self._app = app
        self._desk = desk
        self._running: dict[str, Job] = {}
        self._readers: list[Desk] = []
        """The connections of the jobs, whose threads the process waits for at its end."""

    def start(self, job: Job) -> None:
        self._running[job.name] = job
        # By default the description is the work written out, with all keys of the queue.
        self._app.run_worker(
            partial(self._work, job), name=job.name, group=job.name, description=job.name,
            thread=True, exclusive=True, exit_on_error=False,
        )  # fmt: skip

    def cancel(self, name: str) -> None:
        self._running.pop(name, None)
        self._app.workers.cancel_group(self._app, name)

    def end(self) -> None:
        for reader in list(self._readers):
            hurry(reader, 0)
        self._app.exit()

    def hear(self, news: JobNews) -> Callable[[], None] | None:
        """Return what to tell the controller, ``None`` if the job was stopped or replaced."""
        if self._running.get(news.job.name) is not news.job:
            return None
        if news.last:
            del self._running[news.job.name]
        return news.tell

    def _work(self, job: Job) -> None:
        """Run a job in its thread and post its result; no error ends the session."""
        due = 0.0

        def report(news: object) -> bool:
            nonlocal due
            share = isinstance(news, float)
            if not share or (now := time.monotonic()) >= due:
                due = now + _PROGRESS_INTERVAL if share else due
                self._app.post_message(JobNews(job, partial(job.heard, news)))
            return self._running.get(job.name) is job

        found: object = None
        error: ReviewDeskError | None = None
        try:
            with self._desk.borrowed() as reader:
                self._readers.append(reader)
                try:
                    found = job.work(reader, report)
                finally:
                    self._readers.remove(reader)
        except Cancelled:
            pass
        except ReviewDeskError as problem:
            error = problem
        except Exception as problem:  # noqa: BLE001  (worker entry: a job must never end a session)
            error = self._explained(job, problem)
        self._app.post_message(JobNews(job, partial(job.ended, found, error), last=True))

    def _explained(self, job: Job, fault: Exception) -> ReviewDeskError:
        """Return what to tell of a fault in a job."""
        damage = found_damage(fault, self._desk.path)
        what = job.fault or f"{job.name} failed"
        # A library's message may repeat the headers of a request, and so a key.
        more = "" if job.secret else f": {fault}"
        return damage or DeskError(f"{what}: {type(fault).__name__}{more}")
