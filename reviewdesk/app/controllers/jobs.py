"""What runs in the background: jobs and their progress, and re-runs with their ballots."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct
from msgspec.structs import replace

from reviewdesk.app.controllers.requests import QuestionForm
from reviewdesk.app.workers import rerun
from reviewdesk.desk import Desk
from reviewdesk.domain.panel import rerun_result, turnout
from reviewdesk.domain.panel.rerun_result import OpenRerun
from reviewdesk.errors import DeskError, ReviewDeskError

if TYPE_CHECKING:
    from reviewdesk.desk.live.rerun_plan import ReadyRerun

INDEX, LOAD, EXPORT, FIGURES = "indexing", "loading", "writing", "calibration"
UNDO = "undoing"
RERUN, PACE, BACKUP = "asking", "pace", "backup"
PREPARING, UNFINISHED, FLIPS = "preparing", "unfinished re-runs", "flip rates"
QUEUE, COLUMNS, SEARCH, SAVING = "queue", "columns", "search", "saving"
CLAIMS, TEAM = "claims", "agreement"

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
        """Start a job; an older one of its name is stopped and not heard of again."""

    def cancel(self, name: str) -> None:
        """Stop the job of this name, if any; nothing more is heard of it."""


class Jobs:
    """The background jobs of a session: at most one load and one export, and any re-runs."""

    def __init__(self, runner: Runner) -> None:
        """Start without jobs."""
        self.runner = runner
        self.reruns: dict[str, OpenRerun] = {}
        self._share: dict[str, float] = {}
        self._stops: dict[str, rerun.TaskStop] = {}

    @property
    def text(self) -> str:
        """The running jobs and their progress, for the header."""
        shares = [f"{name} {share:.0%}" for name, share in self._share.items()]
        for one in self.reruns.values():
            if one.alone:
                came = f"{RERUN} {len(one.came)}/{len(one.asked)}"
                shares.append("stopping" if one.stopping else came)
        return " · ".join(shares)

    def runs(self, name: str) -> bool:
        """Return True if a job whose progress is shown is running."""
        return name in self._share

    @property
    def many(self) -> tuple[OpenRerun, ...]:
        """The running re-runs of several verdicts, the oldest first."""
        return tuple(one for one in self.reruns.values() if not one.alone)

    @property
    def question(self) -> QuestionForm | None:
        """What to ask before the app closes while re-runs are under way."""
        running = [one.verdict for one in self.reruns.values()]
        if not running:
            return None
        what = f"{running[0]} is" if len(running) == 1 else f"{len(running)} re-runs are"
        what = f"the re-run of {what}" if len(running) == 1 else what
        reason = "What came is kept. The verdicts that are left can be asked about later."
        return QuestionForm(f"Close, although {what} under way?", reason)

    def rerun_of(self, key: int) -> OpenRerun | None:
        """Return the running re-run that asks about a verdict, the newest of several."""
        found = (one for one in reversed(self.reruns.values()) if key in one.keys)
        return next(found, None)

    def start(
        self, name: str, work: Callable[[Desk, Report], object], ended: Ended, *, what: str = ""
    ) -> None:
        """Start a job whose progress is shown; with ``what``, refuse a second one.

        Raises:
            DeskError: ``what`` is being done already.
        """
        if what:
            if name in self._share:
                problem = f"{what} already"
                raise DeskError(problem, "Wait, or stop it with :stop.")
            self._share[name] = 0.0

        def done(found: object, error: ReviewDeskError | None) -> None:
            self._share.pop(name, None)
            ended(found, error)

        self.runner.start(Job(name, work, done, partial(self._moved, name)))

    def _moved(self, name: str, share: object) -> None:
        if isinstance(share, float):
            self._share[name] = share

    def ask_again(
        self,
        ready: ReadyRerun,
        heard: Callable[[OpenRerun], None],
        ended: Callable[[OpenRerun, object, ReviewDeskError | None], None],
    ) -> None:
        """Start a re-run that a person has agreed to; ``ended`` gets it, its result and the error.

        Raises:
            DeskError: another one asks about one of its verdicts.
        """
        keys = frozenset(ready.keys)
        self.check_rerun(keys)
        places = (RERUN if place == 1 else f"{RERUN} {place}" for place in count(1))
        name = next(one for one in places if one not in self.reruns)
        asked = tuple(call.juror.name for call in ready.first.calls)
        self.reruns[name] = rerun_result.OpenRerun(keys, ready.name, asked)
        stop = self._stops[name] = rerun.TaskStop()

        def arrived(news: object) -> None:
            now = self.reruns[name]
            if isinstance(news, rerun_result.Arrival):
                self.reruns[name] = replace(now, came=(*now.came, news))
            elif isinstance(news, turnout.LiveProgress):
                self.reruns[name] = replace(now, progress=news)
            heard(self.reruns[name])

        def done(found: object, error: ReviewDeskError | None) -> None:
            del self._stops[name]
            ended(self.reruns.pop(name), found, error)

        self.runner.start(Job(name, partial(rerun.rerun, ready, stop), done, arrived, secret=True))

    def check_rerun(self, keys: frozenset[int]) -> None:
        """Raise DeskError if one of the verdicts is being asked about."""
        busy = frozenset().union(*(keys & one.keys for one in self.reruns.values()))
        if busy:
            what = "this verdict is" if len(keys) == 1 else f"{len(busy):,} of these verdicts are"
            problem = f"{what} being asked about already"
            raise DeskError(problem, "Wait for its end, or stop it with :stop.")

    def cancel(self, name: str) -> None:
        """Stop a job whose progress is shown."""
        self.runner.cancel(name)
        self._share.pop(name, None)

    def stop(self) -> list[str]:
        """Ask every job to stop; return the names of those that ran and are shown."""
        stopped = list(self._share)
        for name in (INDEX, LOAD, EXPORT, BACKUP, UNDO):
            self.runner.cancel(name)
        self._share.clear()
        for name, one in self.reruns.items():
            self.reruns[name] = replace(one, stopping=True)
            self._stops[name].ask()
        return stopped + ([RERUN] if self.reruns else [])
