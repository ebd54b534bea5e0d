"""Background jobs: indexing a run, loading and writing a report, re-running jurors.

Each job has its own thread and connection, reports its progress at most ten times a second, and can
be stopped.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from textual.worker import Worker, get_current_worker

from reviewdesk.app.messages import JobEnded, JobMoved
from reviewdesk.app.workers.rerun import RERUN, RerunJob
from reviewdesk.domain.records import Loaded, Run
from reviewdesk.errors import Cancelled, DeskError, ReviewDeskError

if TYPE_CHECKING:
    from reviewdesk.app.app import ReviewApp
    from reviewdesk.desk import Desk, LoadOptions

INDEX, LOAD, EXPORT = "indexing", "loading", "writing"
_PROGRESS_INTERVAL = 0.1
"""Seconds between two progress messages of a job."""


class Jobs:
    """The background jobs of an app, at most one of each kind."""

    def __init__(self, app: ReviewApp) -> None:
        """Work for ``app``."""
        self._app = app
        self._workers: dict[str, Worker[None]] = {}
        self._share: dict[str, float] = {}
        self.rerun = RerunJob(app)

    @property
    def text(self) -> str:
        """The running jobs and their progress, for the header."""
        shares = [f"{name} {share:.0%}" for name, share in self._share.items()]
        return " · ".join([*shares, *filter(None, [self.rerun.text])])

    def index(self, run: Run) -> None:
        """Start to index a run's texts, which takes one query if that is done."""
        self._start(INDEX, partial(_index, run=run))

    def load(self, path: str, options: LoadOptions) -> None:
        """Start to load a report; raise DeskError if one is being loaded."""
        if LOAD in self._share:
            raise DeskError("a report is being loaded already", "Wait, or stop it with :stop.")
        self._share[LOAD] = 0.0
        self._start(LOAD, partial(_load, path=path, options=options))

    def export(self, run: Run, path: Path) -> None:
        """Start to write a run to a file; raise DeskError if one is being written."""
        if EXPORT in self._share:
            raise DeskError("a run is being written already", "Wait, or stop it with :stop.")
        self._share[EXPORT] = 0.0
        self._start(EXPORT, partial(_export, run=run, path=path))

    def stop(self) -> list[str]:
        """Ask every job to stop; return the names of those that ran."""
        stopped = list(self._share)
        for worker in self._workers.values():
            worker.cancel()
        self._share.clear()
        return [*stopped, RERUN] if self.rerun.stop() else stopped

    def moved(self, message: JobMoved) -> None:
        """Store the progress of a job, unless the job was stopped."""
        worker = self._workers.get(message.name)
        if worker is not None and not worker.is_cancelled:
            self._share[message.name] = message.share

    def ended(self, message: JobEnded) -> None:
        """Forget a job that has ended."""
        if message.name == RERUN:
            self.rerun.ended()
        self._share.pop(message.name, None)

    def _start(self, name: str, work: Callable[[Desk, Callable[[float], bool]], object]) -> None:
        self._workers[name] = self._app.run_worker(
            partial(self._work, name, work),
            name=name,
            group=name,
            thread=True,
            exclusive=True,
            exit_on_error=False,
        )

    def _work(self, name: str, work: Callable[[Desk, Callable[[float], bool]], object]) -> None:
        """Run ``work`` in the worker thread and post its result; no error ends the session."""
        worker, due = get_current_worker(), 0.0

        def go_on(share: float) -> bool:
            nonlocal due
            if (now := time.monotonic()) >= due and not worker.is_cancelled:
                due = now + _PROGRESS_INTERVAL
                self._app.post_message(JobMoved(name, share))
            return not worker.is_cancelled

        found: object = None
        error: ReviewDeskError | None = None
        try:
            reader = self._app.review_session.desk.reader()
            try:
                found = work(reader, go_on)
            finally:
                reader.close()
        except Cancelled:
            pass
        except ReviewDeskError as problem:
            error = problem
        except Exception as problem:  # noqa: BLE001  (worker entry: a job must never end a session)
            error = DeskError(f"{name} failed: {type(problem).__name__}: {problem}")
        if not worker.is_cancelled:
            self._app.post_message(JobEnded(name, found, error))


def _index(desk: Desk, go_on: Callable[[float], bool], *, run: Run) -> object:
    from reviewdesk.desk.review import search

    return search.index(desk, run, lambda share, _count: go_on(share))


def _load(desk: Desk, go_on: Callable[[float], bool], *, path: str, options: LoadOptions) -> Loaded:
    from reviewdesk.desk.files import open_file

    return open_file(desk, path, options, lambda share, _count: go_on(share))


def _export(desk: Desk, go_on: Callable[[float], bool], *, run: Run, path: Path) -> Path:
    from reviewdesk.desk.files import write_run

    write_run(desk, run, path, lambda share, _count: go_on(share))
    return path
