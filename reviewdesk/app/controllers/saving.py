"""The writes of the screen, kept in order while another process has the lock, and its claims."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from functools import partial
from random import uniform
from threading import Event, Lock
from time import monotonic
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from reviewdesk.app.controllers.jobs import CLAIMS, SAVING, Job, Report, Runner
from reviewdesk.app.controllers.state import Page, PageForm, Session, question_form
from reviewdesk.desk import Desk
from reviewdesk.desk.review.edits import Edit, Turn, hurry, same_items, with_key, write_at
from reviewdesk.desk.team import claims
from reviewdesk.domain.records import Item, QueueRow, Run
from reviewdesk.errors import BusyError, ReviewDeskError

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
                found = self._try(desk, write)
            except BusyError:
                raise
            except ReviewDeskError:
                # A write without a decision must not hold back a decision.
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
        """Stop the worker; ``drain`` saves the waiting writes."""
        self._stop.set()

    def drain(self, seconds: float) -> bool:
        """Try for so long to save the waiting writes; return True if all are saved."""
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


_REST = 0.1
"""The fewest seconds between the starts of two jobs."""
_PATIENCE = 1
"""Seconds that a job waits for the lock; the next one tries again."""
_TRIES = 8
"""How many items are tried for the next one: others may claim them at the same time."""


class ItemClaims:
    """The claims of one session, and what the other reviewers of the desk have open."""

    def __init__(
        self, desk: Desk, runner: Runner | None = None, clock: Callable[[], float] = lambda: 0.0
    ) -> None:
        self._desk = desk
        self._runner = runner
        self._clock = clock
        self.next: int | None = None
        """The verdict that is claimed as the next one."""
        self.offered: int | None = None
        """The verdict in view, if it was reached by going to the next undecided one."""
        self.open_with: Mapping[int, str] = {}
        """The verdicts that others have open, with their names, as they were read last."""
        self._claimed: tuple[int, bytes | None] | None = None
        """What was claimed last: the run, and the item in view."""
        self._at = float("-inf")
        self._running = False
        self.pressed = False
        """Whether a key came since the last job began."""

    def read(self, run: Run) -> bool:
        """Read which verdicts of a run others have open now; return True if they changed."""
        old = self.open_with
        if self._runner is not None and not self._desk.still:
            self.open_with = claims.open_with(self._desk, run)
        return self.open_with != old

    def offer(self, key: int) -> None:
        self.offered = key
        self.next = None

    def shown(self, row: QueueRow) -> QueueRow:
        name = self.open_with.get(row.key)
        return row if name is None else replace(row, open_with=name)

    def follow(
        self,
        session: Session,
        skips: frozenset[int],
        lost: Callable[[int], None],
        *,
        rested: bool = False,
    ) -> None:
        """Claim the item in view and the next; ``lost`` is called for an item that another has.

        ``skips`` are not to come next; ``rested`` says that the item has been in view for a while.
        """
        wanted = _open_item(session)
        now = self._clock()
        if self._runner is None or self._desk.read_only or self._running:
            return
        if wanted == self._claimed:
            if wanted[1] is None or not self.pressed or now - self._at < claims.RENEWED:
                return
        elif not rested:
            item = session.item if wanted[1] else None
            stepped = item is not None and item.row.key != self.offered
            if stepped or now - self._at < _REST:
                return
        self._claimed = wanted
        self._at = now
        self._running = True
        self.pressed = False
        work = partial(self._work, session, skips, wanted[1])
        key = None if session.item is None else session.item.row.key
        ended = partial(self._ended, key, lost)
        self._runner.start(Job(CLAIMS, work, ended))

    @property
    def active(self) -> bool:
        return self._runner is not None and not self._desk.read_only and not self._running

    def took(self, session: Session, claimed: Sequence[int], held: Collection[bytes]) -> None:
        """Take the claims made with a label: the item due to come into view, and the next one.

        ``follow`` handles items that somebody else got instead.
        """
        wanted = _open_item(session)
        key = None if session.item is None else session.item.row.key
        if claimed and key == claimed[0] and wanted[1] in held:
            self._claimed = wanted
            self._at = self._clock()
            self.pressed = False
            self.next = claimed[1] if len(claimed) == len(held) == 2 else None

    def _work(
        self, session: Session, skips: frozenset[int], item: bytes | None, desk: Desk, _: Report
    ) -> tuple[bool, int | None]:
        """Write the claims, in the worker's thread.

        Return whether the item in view is the reviewer's, and the key of the next one.
        """
        hurry(desk, _PATIENCE)
        items = frozenset() if item is None else frozenset({item})
        if item is None or session.index is None:
            held = claims.claim(desk, items)
            key = None
        else:
            held, key = _claim_next(desk, session, session.index, items, skips)
        # The previous holder may have labelled it since it came into view. An item that the
        # reviewer labelled has come back.
        won = item in held and session.item and not _taken(desk, session.item.row.key)
        return item is None or bool(won), key

    def _ended(
        self, key: int | None, lost: Callable[[int], None], found: object,
        error: ReviewDeskError | None,
    ) -> None:  # fmt: skip
        self._running = False
        if isinstance(found, tuple):
            mine, self.next = found
            if key is not None and not mine:
                # The item that comes into view instead is claimed at once.
                self._at = float("-inf")
                lost(key)
        elif error is not None:
            # The desk is busy or gone; other writes report that, and this is tried again.
            self._claimed = None

    def release(self) -> None:
        """Give up all claims, for good."""
        runner = self._runner
        self._runner = None
        if runner is not None:
            runner.cancel(CLAIMS)
            claims.release(self._desk)


def _claim_next(
    desk: Desk, session: Session, after: int, items: Collection[bytes], skips: frozenset[int]
) -> tuple[frozenset[bytes], int | None]:
    """Claim items together with the next undecided one of the queue that nobody holds.

    Return the claims that the reviewer then holds, and the key of the next item or ``None``.
    """
    # Read before the labels: an item is labelled before it is given up.
    left_out: dict[int, bool | None] = dict.fromkeys((*skips, *claims.open_with(desk, session.run)))
    held = None
    for _ in range(_TRIES):
        place = desk.next_undecided(session.run, session.keys, after, left_out)
        if place is None or place == after:
            break
        key = session.keys[place]
        item = claims.item_of(desk, key)
        held = claims.claim(desk, {*items, item})
        if item in held:
            return held, key
        left_out[key] = None
    return claims.claim(desk, items) if held is None else held, None


def _open_item(session: Session) -> tuple[int, bytes | None]:
    """Return the run, and the item that is open for a label or ``None``."""
    item = session.item
    if session.page is not Page.ITEM or item is None or item.row.decided:
        return session.run.key, None
    return session.run.key, bytes.fromhex(item.item_hash)


def _taken(desk: Desk, key: int) -> bool:
    return desk.rows([key])[0].decided and not desk.item(key).labelled_before
