"""What runs in the background: jobs and their progress, and re-runs with their ballots."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from contextlib import suppress
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Protocol, cast

from msgspec import Struct
from msgspec.structs import replace

from reviewdesk.app.controllers.state import PageForm, question_form
from reviewdesk.desk import Desk
from reviewdesk.desk.review import items
from reviewdesk.domain.panel import rerun, turnout
from reviewdesk.domain.panel.rerun import (
    FlipRate,
    OpenRerun,
    RerunHistory,
    RerunResult,
    RerunSummary,
    outcome,
)
from reviewdesk.domain.records import Event, Item
from reviewdesk.domain.verdict import CanonicalBallot
from reviewdesk.errors import DeskError, ReviewDeskError
from reviewdesk.views.queue import pauses_text

if TYPE_CHECKING:
    from reviewdesk.desk.improve.tries import PreparedTry, TryAnswer
    from reviewdesk.desk.live.rerun import ReadyRerun


_INTERVAL = 0.2
"""Seconds between two reports of the progress of a re-run or a try."""


_LOOK = 0.05
"""Seconds between two looks whether a re-run or a try is to stop."""


def _seldom(tell: Callable[[turnout.LiveProgress], object]) -> Callable[..., None]:
    """Return a function that passes on the progress of asking, at most once in the interval."""
    due = 0.0

    def told(progress: turnout.LiveProgress) -> None:
        nonlocal due
        if progress.seconds >= due:
            due = progress.seconds + _INTERVAL
            tell(progress)

    return told


def _run(asking: Coroutine[Any, Any, Any], stop: threading.Event) -> Any:
    """Run a coroutine until it ends; return ``None`` if it was stopped."""

    async def until_stopped() -> Any:
        task = asyncio.ensure_future(asking)
        while not task.done() and not stop.is_set():
            await asyncio.wait({task}, timeout=_LOOK)
        # Once: a second cancel would interrupt the saving of the ballots that came back.
        task.cancel()
        with suppress(asyncio.CancelledError):
            return await task
        return None

    return asyncio.run(until_stopped())


def run_rerun(
    ready: ReadyRerun, stop: threading.Event, desk: Desk, report: Callable[[object], bool]
) -> RerunSummary | None:
    """Ask the jurors; return the result, ``None`` if it was stopped before it began.

    It reports the progress and, for a single verdict, each ballot.
    """
    from reviewdesk.desk.live.rerun import RerunListener, carry_out

    ends: list[RerunSummary] = []

    def came(_key: int, ballot: CanonicalBallot) -> None:
        if len(ready.keys) == 1:
            report(ballot)

    listener = RerunListener(came, _seldom(report), ends.append)
    _run(carry_out(desk, ready, listener), stop)
    return ends[0] if ends else None


def run_try(
    ready: PreparedTry, stop: threading.Event, desk: Desk, report: Callable[[object], bool]
) -> TryAnswer | None:
    """Carry out a try, and report the share that is done; ``None`` if it was stopped."""
    from reviewdesk.desk.improve.tries import carry_out

    told = _seldom(lambda progress: report(progress.done / max(progress.cases, 1)))
    found: TryAnswer | None = _run(carry_out(desk, ready, told=told), stop)
    return found


INDEX = "indexing"
LOAD = "loading"
EXPORT = "writing"
FIGURES = "calibration"
UNDO = "undoing"
RERUN = "asking"
BACKUP = "backup"
PREPARING = "preparing"
QUEUE = "queue"
SAVING = "saving"
CLAIMS = "claims"
TRYING = "trying"

Report = Callable[[object], bool]
"""Takes news of a job from its thread; returns False once the job shall stop."""
Ended = Callable[[object, ReviewDeskError | None], None]
"""Takes the result of a job and its error."""


class Job(Struct, frozen=True, eq=False):
    """Work for a thread of its own, with a second connection to the desk.

    ``heard`` takes what ``work`` reports, ``ended`` its result; ``fault`` begins the message about
    an unforeseen error, whose text is left out if it may hold a ``secret``.
    """

    name: str
    work: Callable[[Desk, Report], object]
    ended: Ended
    heard: Callable[[object], None] = lambda _news: None
    fault: str = ""
    secret: bool = False


class Runner(Protocol):
    """Runs jobs; it calls ``heard`` and ``ended`` in the thread of the controller."""

    def start(self, job: Job) -> None:
        """Start a job; an older job of its name is stopped and reports nothing more."""

    def cancel(self, name: str) -> None:
        """Stop the job of this name, if any; it reports nothing more."""


class Jobs:
    """The background jobs of a session: at most one load, export and re-run."""

    def __init__(self, runner: Runner) -> None:
        self.runner = runner
        self.rerun: OpenRerun | None = None
        self._share: dict[str, float] = {}
        self._stops: dict[str, threading.Event] = {}

    @property
    def text(self) -> str:
        """The running jobs and their progress, for the header."""
        shares = [f"{name} {share:.0%}" for name, share in self._share.items()]
        if (one := self.rerun) is not None and one.alone:
            came = f"{RERUN} {len(one.came)}/{len(one.asked)}"
            if one.progress is not None and one.progress.pauses:
                came += f" · paused: {pauses_text(one.progress)}"
            shares.append("stopping" if one.stopping else came)
        return " · ".join(shares)

    def runs(self, name: str) -> bool:
        return name in self._share

    @property
    def question(self) -> PageForm | None:
        """The question before the app closes while a re-run or a try is under way."""
        if self.rerun is None and TRYING in self._stops:
            reason = "The answers are kept, and the same try can continue later."
            return question_form("Close, although a candidate is being tried?", reason)
        if self.rerun is None:
            return None
        reason = "The answers are kept. The verdicts that are left can be asked about later."
        what = f"Close, although the re-run of {self.rerun.verdict} is under way?"
        return question_form(what, reason)

    def rerun_of(self, key: int) -> OpenRerun | None:
        return self.rerun if self.rerun and key in self.rerun.keys else None

    def start(
        self,
        name: str,
        work: Callable[[Desk, Report], object],
        ended: Ended,
        *,
        what: str = "",
        secret: bool = False,
    ) -> None:
        """Start a job whose progress is shown; with ``what``, refuse a second one.

        Raises:
            DeskError: ``what`` is under way already.
        """
        if what:
            if name in self._share:
                problem = f"{what} already"
                raise DeskError(problem, "Wait, or stop it with :stop.")
            self._share[name] = 0.0

        def done(found: object, error: ReviewDeskError | None) -> None:
            self._share.pop(name, None)
            ended(found, error)

        def moved(share: object) -> None:
            if isinstance(share, float):
                self._share[name] = share

        self.runner.start(Job(name, work, done, moved, secret=secret))

    def try_candidate(
        self, ready: PreparedTry, ended: Callable[[Any, ReviewDeskError | None], None]
    ) -> None:
        """Start a try that a person has agreed to; ``ended`` gets its outcome, and the error.

        Raises:
            DeskError: a candidate is being tried.
        """
        stop = threading.Event()

        def done(found: object, error: ReviewDeskError | None) -> None:
            self._stops.pop(TRYING, None)
            ended(found, error)

        work = partial(run_try, ready, stop)
        self.start(TRYING, work, done, what="a candidate is being tried", secret=True)
        self._stops[TRYING] = stop

    def ask_again(
        self,
        ready: ReadyRerun,
        heard: Callable[[OpenRerun], None],
        ended: Callable[[OpenRerun, object, ReviewDeskError | None], None],
    ) -> None:
        """Start a re-run that a person agreed to; ``ended`` gets the re-run, its result and error.

        Raises:
            DeskError: another one is under way.
        """
        self.check_rerun()
        asked = tuple(call.juror.name for call in ready.first.calls)
        running = OpenRerun(frozenset(ready.keys), ready.name, asked)
        self.rerun = running
        stop = self._stops[RERUN] = threading.Event()

        def arrived(news: object) -> None:
            nonlocal running
            if isinstance(news, dict):
                running = replace(running, came=(*running.came, cast(CanonicalBallot, news)))
            elif isinstance(news, turnout.LiveProgress):
                running = replace(running, progress=news)
            self.rerun = running = replace(running, stopping=stop.is_set())
            heard(running)

        def done(found: object, error: ReviewDeskError | None) -> None:
            del self._stops[RERUN]
            self.rerun = None
            ended(replace(running, stopping=stop.is_set()), found, error)

        self.runner.start(Job(RERUN, partial(run_rerun, ready, stop), done, arrived, secret=True))

    def check_rerun(self) -> None:
        """Raise DeskError if a re-run is under way."""
        if self.rerun is not None:
            problem = "a re-run is under way already"
            raise DeskError(problem, "Wait for its end, or stop it with :stop.")

    def cancel(self, name: str) -> None:
        self.runner.cancel(name)
        self._share.pop(name, None)

    def stop(self) -> list[str]:
        """Ask every job to stop; return the names of the running jobs that are shown."""
        stopped = list(self._share)
        for name in (INDEX, LOAD, EXPORT, BACKUP, UNDO):
            self.runner.cancel(name)
        self._share.clear()
        if self.rerun is not None:
            self.rerun = replace(self.rerun, stopping=True)
        for asked in self._stops.values():
            asked.set()
        return stopped + ([RERUN] if self.rerun else [])


def rerun_history(
    desk: Desk,
    item: Item,
    in_run: tuple[FlipRate, ...] = (),
    running: OpenRerun | None = None,
) -> RerunHistory:
    """Read the re-runs of ``item``; without rates of its run, it has those of the item."""
    made = items.of_item(desk, item)
    here = rerun.flip_rates([(item.verdict, made)])
    return RerunHistory(made, here, in_run or here, running)


def outcomes(desk: Desk) -> Callable[[Event], RerunResult | None]:
    """Return a function from the event of an ended re-run to its result; it reads a verdict once.

    ``None`` stands for an event that has no result, or whose run is gone.
    """

    @cache
    def read(run: str, verdict: str) -> dict[int, RerunResult]:
        try:
            item = desk.item(desk.find(desk.run(run), verdict))
            records = items.of_item(desk, item)
        except ReviewDeskError:
            # The event can be shown without the verdict.
            return {}
        return {one.plan: outcome(item, one) for one in records if one.plan}

    def of(event: Event) -> RerunResult | None:
        if event.run is None or event.verdict is None or "answered" not in event.detail:
            return None
        return read(event.run, event.verdict).get(event.detail.get("plan", 0))

    return of
