"""The writes of the screen: tried at once, and kept in order while another process has the lock."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from random import uniform
from threading import Event, Lock
from time import monotonic
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from reviewdesk.app.controllers.jobs import SAVING, Job, Report, Runner
from reviewdesk.app.controllers.state import QuestionForm
from reviewdesk.desk import Desk
from reviewdesk.desk.review.edits import Edit, Turn, hurry, same_items, with_key, write_at
from reviewdesk.domain.records import Item, QueueRow
from reviewdesk.errors import BusyError, ReviewDeskError

PATIENCE = 0.005
"""Seconds that a key waits for the lock before the worker does; most hold it for less."""
_PAUSE = 0.001, 0.005
"""The least and the most seconds between two attempts of the worker."""
_LONG = 1
_PAUSE_LATER = 0.03
"""After so many seconds there are so many between two attempts."""


class Write(Struct, frozen=True, eq=False):
    """One transaction of the reviewer; ``saved`` takes what ``act`` returns once it is committed.

    A write with a ``name`` is counted as being saved, and kept until it is; one that ``stands`` can
    be taken back. One that ``decides`` leaves its ``item`` out of what is undecided. ``shown``
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


def with_waiting(rows: list[QueueRow], writes: Sequence[Write]) -> list[QueueRow]:
    """Return rows of the queue as they will be once these writes are saved."""
    found = list(rows)
    for write in writes:
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
                shown = write.shown(replace(item, row=row)).row
                found[place] = replace(shown, **changed)
    return found


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
        """What was taken back; ``None`` stands for an event that the desk has undone since."""
        self._running = False
        self.error: ReviewDeskError | None = None
        """Why the first write cannot be saved, if not for a lock."""
        hurry(desk, PATIENCE)

    @property
    def count(self) -> int:
        return sum(bool(write.name) for write in self._queue)

    @property
    def text(self) -> str:
        return f"{'not saved' if self.error else 'saving'} {self.count:,}" if self.count else ""

    @property
    def question(self) -> QuestionForm | None:
        """What to ask before the app closes, ``None`` if everything is on disk."""
        if not self.count:
            return None
        what = "1 change is" if self.count == 1 else f"{self.count:,} changes are"
        why = self.error or "Another process is writing to the desk."
        reason = (
            f"{why} With no, they are tried until they are saved; with yes, they are offered when"
            " the desk is opened next."
        )
        return QuestionForm(f"Close, although {what} not saved yet?", reason)

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
        """Save what is no event, such as a draft; only the newest of a ``slot`` is kept."""
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
        """Put what was taken back last; ``None`` if the desk must redo an event."""
        write = self._taken.pop() if self._taken else None
        if write is not None:
            self._add(write)
        return write

    def _add(self, write: Write) -> bool:
        # The worker removes a write after its commit, so that an empty queue is a saved one.
        if not self._queue:
            self.error = None
            try:
                found = self._try(self._desk, write)
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
                act = replace(act, claims=None)
            write = replace(write, act=act)
        with self._lock:
            if write.slot is not None:
                self._queue[:] = [one for one in self._queue if one.slot != write.slot]
            self._queue.append(write)
        if self.error is None:
            self.resume()
        return False

    @staticmethod
    def _try(desk: Desk, write: Write) -> Any:
        return write_at(desk, write.act, write.at or desk.clock())

    def resume(self) -> None:
        if self._queue and not self._running and not self._stop.is_set():
            self._running = True
            self._runner.start(Job(SAVING, self._work, self._ended, self._committed))

    def _work(self, desk: Desk, report: Report) -> None:
        """Save what waits, in the worker's thread; short random pauses are fair to all writers."""
        hurry(desk, 0)
        began = monotonic()
        while not self._stop.is_set():
            try:
                done = self._next(desk)
            except BusyError:
                # Whoever holds a lock for long takes no turns, and the keys need the processor.
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
        """Save the first write; return what tells its result, or ``None`` if there is none."""
        with self._lock:
            # Once the app ends, what waits is written by its own thread alone.
            if not self._queue or (self._stop.is_set() and desk is not self._desk):
                return None
            write = self._queue[0]
            try:
                found = self._try(desk, write)
            except BusyError:
                raise
            except ReviewDeskError:
                # What nobody has decided must not keep back what was.
                if not write.name:
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
        """Stop the worker; what waits is left to ``drain``."""
        self._stop.set()

    def drain(self, seconds: float) -> bool:
        """Try for so long to save what waits; return True if all of it is saved."""
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
