"""What runs in the background: jobs with their progress, and writes that wait for the lock."""

from collections.abc import Callable, Iterable
from datetime import datetime
from functools import partial
from random import uniform
from threading import Event, Lock
from time import monotonic
from typing import Any, Protocol

from msgspec import Struct
from msgspec.structs import replace

from reviewdesk.app.controllers.state import PageForm, question_form
from reviewdesk.desk.core import Desk
from reviewdesk.desk.review.edits import Edit, Turn, hurry, same_items, with_key, write_at
from reviewdesk.domain.panel.rerun import OpenRerun
from reviewdesk.domain.records import Item, QueueRow
from reviewdesk.errors import BusyError, DeskError, ReviewDeskError

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
Work = Callable[[Desk, Report], object]
"""Does a job with its connection to the desk."""
Ended = Callable[[object, ReviewDeskError | None], None]
"""Takes the result of a job and its error."""


class Job(Struct, frozen=True, eq=False):
    """Work for a thread of its own, with a second connection to the desk.

    ``heard`` takes what ``work`` reports, ``ended`` its result; ``fault`` begins the message about
    an unforeseen error, whose text is left out if it may hold a ``secret``.
    """

    name: str
    work: Work
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
    """The background jobs of a session that show their progress: at most one of each name."""

    def __init__(self, runner: Runner) -> None:
        self.runner = runner
        self.rerun: OpenRerun | None = None
        self._share: dict[str, float] = {}
        self._stops: dict[str, Event] = {}

    @property
    def text(self) -> str:
        """The running jobs and their progress, for the header."""
        return " · ".join(f"{name} {share:.0%}" for name, share in self._share.items())

    def runs(self, name: str) -> bool:
        return name in self._share

    @property
    def question(self) -> PageForm | None:
        """The question before the app closes while a re-run or a try is under way."""
        if self.rerun is None and TRYING not in self._stops:
            return None
        what = "a candidate is being tried"
        reason = "The answers are kept, and the same try can continue later."
        if self.rerun is not None:
            what = f"the re-run of {self.rerun.verdict} is under way"
            reason = "The answers are kept. The verdicts that are left can be asked about later."
        return question_form(f"Close, although {what}?", reason)

    def start(
        self,
        name: str,
        work: Work,
        ended: Ended,
        *,
        what: str = "",
        heard: Callable[[object], None] | None = None,
        stop: Event | None = None,
        fault: str = "",
        secret: bool = False,
    ) -> None:
        """Start a job that ``stop`` asks to end; without ``heard``, its progress is shown.

        Raises:
            DeskError: ``what`` is given, and is under way already.
        """
        if what:
            if name in self._share:
                raise DeskError(f"{what} already", "Wait, or stop it with :stop.")
            self._share[name] = 0.0
        if stop is not None:
            self._stops[name] = stop

        def done(found: object, error: ReviewDeskError | None) -> None:
            self._share.pop(name, None)
            self._stops.pop(name, None)
            ended(found, error)

        def moved(share: object) -> None:
            if isinstance(share, float):
                self._share[name] = share

        self.runner.start(Job(name, work, done, heard or moved, fault, secret))

    def check_rerun(self) -> None:
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


PATIENCE = 0.005
"""Seconds that a key waits for the lock before the worker does; most locks are shorter."""
_PAUSE = 0.001, 0.005
"""The least and the most seconds between two attempts of the worker."""
_LONG = 1
_PAUSE_LATER = 0.03
"""After the first number of seconds, the second is the time between two attempts."""


class Write(Struct, frozen=True, eq=False):
    """One transaction of the reviewer; ``saved`` takes what ``act`` returns once it is committed.

    A write with a ``name`` is counted as being saved, and kept until it is; one that ``stands`` can
    be taken back. One that ``decides`` takes its ``item`` out of the undecided ones. ``shown``
    changes the item as the write will. A write replaces an older one of its ``slot``.
    """

    act: Callable[[Desk], Any]
    saved: Callable[[Any], object] = lambda _result: None
    name: str = ""
    item: Item | None = None
    labels: bool = False
    decides: bool = False
    stands: bool = True
    shown: Callable[[Item], Item] = lambda item: item
    slot: object = None
    at: datetime | None = None
    skips: frozenset[int] = frozenset()


class Outbox:
    """The writes that are not on disk yet, oldest first. A worker tries the first until it is."""

    def __init__(
        self, desk: Desk, runner: Runner, heard: Callable[[], None],
        failed: Callable[[ReviewDeskError], None],
    ) -> None:  # fmt: skip
        """Start empty; ``heard`` is called after a write that waited, ``failed`` for its error."""
        self._desk = desk
        self._runner = runner
        self._heard = heard
        self._failed = failed
        self._queue: list[Write] = []
        self._lock = Lock()
        self._stop = Event()
        """The lock is held during an attempt, so that nothing is taken back in the middle of it."""
        self._taken: list[Write | None] = []
        """The writes taken back; ``None`` stands for an event that the desk has undone since."""
        self._running = False
        self.error: ReviewDeskError | None = None
        """The error, other than a lock, because of which the first write cannot be saved."""
        hurry(desk, PATIENCE)

    @property
    def count(self) -> int:
        return sum(bool(write.name) for write in self._queue)

    @property
    def text(self) -> str:
        return f"{'not saved' if self.error else 'saving'} {self.count:,}" if self.count else ""

    @property
    def question(self) -> PageForm | None:
        """The question before the app closes, ``None`` if everything is on disk."""
        if not self.count:
            return None
        what = "1 change is" if self.count == 1 else f"{self.count:,} changes are"
        why = self.error or "Another process is writing to the desk."
        reason = (
            f"{why} With no, they are tried until they are saved; with yes, they are offered when"
            " the desk is opened next."
        )
        return question_form(f"Close, although {what} not saved yet?", reason)

    @property
    def skips(self) -> frozenset[int]:
        return frozenset().union(*(write.skips for write in self._queue))

    @property
    def waiting(self) -> tuple[Write, ...]:
        return tuple(self._queue)

    def labelled(self, run: int) -> Item | None:
        found = (write.item for write in reversed(self._queue) if write.labels)
        return next((item for item in found if item and item.run.key == run), None)

    def overlay(self, item: Item) -> Item:
        """Return an item with the notes, tags, marks and reveals that wait."""
        for write in list(self._queue):
            if write.item is not None and write.item.item_hash == item.item_hash:
                item = write.shown(item)
        return item

    def shown(self, rows: Iterable[QueueRow]) -> list[QueueRow]:
        """Return rows of the queue as they will be once the waiting writes are saved."""
        found = list(rows)
        for write in list(self._queue):
            item = write.item
            act = write.act
            if item is None or not isinstance(act, Edit):
                continue
            changed: dict[str, Any] = {"saving": True}
            if act.kind == "defer":
                changed["deferred"] = True
            elif act.label is not None:
                changed["label"] = act.label
            keys = write.skips | {item.row.key}
            for place, row in enumerate(found):
                if row.key in keys:
                    found[place] = replace(write.shown(replace(item, row=row)).row, **changed)
        return found

    def put(self, write: Write) -> bool:
        """Save a write at once, or keep it for the worker; return True if it is on disk.

        Raises:
            ReviewDeskError: it cannot be saved for another reason than a lock, and is not kept.
        """
        if write.stands:
            self._taken.clear()
        at = write.at or self._desk.clock()
        item = write.item
        same = same_items(self._desk, item) if item and write.decides else frozenset()
        return self._add(replace(write, at=at, skips=write.skips | same))

    def keep(self, slot: object, act: Callable[[Desk], object]) -> bool:
        """Save something other than an event, such as a draft; keep the newest of a ``slot``."""
        return self._add(Write(act, stands=False, slot=slot, at=self._desk.clock()))

    def take_back(self) -> Write | None:
        """Remove the newest write that can be taken back; ``None`` if the desk must undo one."""
        with self._lock:
            newest = next((write for write in reversed(self._queue) if write.stands), None)
            if newest is not None:
                self._queue.remove(newest)
        if newest is not None or self._taken:
            self._taken.append(newest)
        return newest

    def bring_back(self) -> Write | None:
        """Put the write taken back last; ``None`` if the desk must redo an event."""
        write = self._taken.pop() if self._taken else None
        if write is not None:
            self._add(write)
        return write

    def _add(self, write: Write) -> bool:
        # The worker removes a write after its commit, so that an empty queue is a saved one.
        if not self._queue:
            self.error = None
            try:
                found = write_at(self._desk, write.act, write.at or self._desk.clock())
            except BusyError:
                pass
            else:
                write.saved(found)
                return True
        if isinstance(write.act, Edit | Turn):
            # It may be saved by a later process as well, but once.
            act = replace(write.act, facts=with_key(write.act.facts))
            if isinstance(act, Edit):
                # By then the reviewer may have something else in view.
                act = replace(act, claim=None)
            write = replace(write, act=act)
        with self._lock:
            if write.slot is not None:
                self._queue[:] = [one for one in self._queue if one.slot != write.slot]
            self._queue.append(write)
        if self.error is None:
            self.resume()
        return False

    def resume(self) -> None:
        if self._queue and not self._running and not self._stop.is_set():
            self._running = True
            self._runner.start(Job(SAVING, self._work, self._ended, self._committed))

    def _work(self, desk: Desk, report: Report) -> None:
        """Save waiting writes in the worker's thread; short random pauses are fair to writers."""
        hurry(desk, 0)
        began = monotonic()
        while not self._stop.is_set():
            try:
                done = self._next(desk)
            except BusyError:
                # A writer that holds a lock for long takes no turns; the keys need the processor.
                late = monotonic() - began > _LONG
                self._stop.wait(_PAUSE_LATER if late else uniform(*_PAUSE))  # noqa: S311
                continue
            began = monotonic()
            if done is None:
                return
            report(done)
            # The screen's thread may be waiting for the lock.
            self._stop.wait(_PAUSE[0] / 2)

    def _next(self, desk: Desk) -> Callable[[], object] | None:
        """Save the first waiting write, and return its result; ``None`` if nothing waits."""
        with self._lock:
            # Once the app ends, its own thread alone saves the waiting writes.
            if not self._queue or (self._stop.is_set() and desk is not self._desk):
                return None
            write = self._queue[0]
            try:
                found = write_at(desk, write.act, write.at or desk.clock())
            except ReviewDeskError as error:
                # A write without a decision must not hold back a decision.
                if not write.name and not isinstance(error, BusyError):
                    self._queue.remove(write)
                raise
            self._queue.remove(write)
            return partial(write.saved, found)

    def _committed(self, tell: object) -> None:
        self.error = None
        if callable(tell):
            tell()
        self._heard()

    def _ended(self, _found: object, error: ReviewDeskError | None) -> None:
        before = self.error
        self.error = error if self._queue else None
        self._running = False
        if error is None:
            self.resume()
        elif str(error) != str(before):
            self._failed(error)

    def stop(self) -> None:
        """Stop the worker; ``drain`` saves the waiting writes."""
        self._stop.set()

    def drain(self, seconds: float) -> bool:
        """Try for some seconds to save the waiting writes; return True if all are saved."""
        self.stop()
        deadline = monotonic() + seconds
        try:
            hurry(self._desk, seconds)
            while self._next(self._desk) is not None:
                hurry(self._desk, max(0, deadline - monotonic()))
        except ReviewDeskError as error:
            self.error = error
        finally:
            hurry(self._desk, 0)
        return not self._queue
