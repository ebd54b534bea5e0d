"""The open desk: one connection, one reviewer and one clock."""

import getpass
import os
from array import array
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime
from enum import Enum, auto
from pathlib import Path
from typing import TYPE_CHECKING

from reviewdesk.desk.review import edits, items
from reviewdesk.desk.review import queue as queues
from reviewdesk.desk.review.edits import Edit
from reviewdesk.desk.team.claims import WithheldLabels
from reviewdesk.domain.records import (
    Applied,
    Event,
    Item,
    Loaded,
    Progress,
    QueueRow,
    Run,
    Truth,
    View,
)
from reviewdesk.domain.tags import checked_name
from reviewdesk.errors import DeskError, NotFoundError, ReviewDeskError, UsageError
from reviewdesk.file_output import is_desk
from reviewdesk.store import events, queue, reviewers, runs, verdicts, verification
from reviewdesk.store.connect import (
    BUSY_SECONDS,
    connect,
    connect_read_only,
    damaged,
    data_version,
    explained,
    fold,
    still_there,
    writing,
)
from reviewdesk.store.queue import RunLabels
from reviewdesk.store.repair import back_up
from reviewdesk.store.schema import is_current, migrate
from reviewdesk.store.verification import CheckedCall, Verification

if TYPE_CHECKING:
    from reviewdesk.desk import loading
    from reviewdesk.domain.labels.question import QuestionItems
    from reviewdesk.reports.bytes.source import Source


def found_damage(fault: Exception, *paths: Path) -> DeskError | None:
    """Return the damage of a desk among the files, which may be the cause of a fault, if any."""
    if isinstance(fault, ReviewDeskError):
        return None
    for path in filter(is_desk, [one.resolve() for one in paths]):
        try:
            with connect_read_only(path) as conn:
                problems = verification.verify(conn).problems
        except DeskError as error:
            return error
        if problems:
            return damaged(path, problems[0])
    return None


@contextmanager
def damage_explained(path: Path) -> Iterator[None]:
    """Raise DeskError in place of a fault, if a damaged desk explains it."""
    try:
        yield
    except Exception as fault:
        if (problem := found_damage(fault, path)) is None:
            raise
        raise problem from fault


Clock = Callable[[], datetime]


def now() -> datetime:
    return datetime.now(UTC)


def default_path() -> Path:
    """Return the path in ``REVIEWDESK_DESK``, else that of a file in the user's data folder."""
    if named := os.environ.get("REVIEWDESK_DESK"):
        return Path(named)
    from platformdirs import user_data_path

    return user_data_path("reviewdesk", appauthor=False) / "desk.db"


def default_reviewer() -> str:
    """Return the name in ``REVIEWDESK_REVIEWER``, else the login name."""
    if named := os.environ.get("REVIEWDESK_REVIEWER"):
        return named
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "reviewer"


class Access(Enum):
    """What a connection may do to the file."""

    FULL = auto()
    SHARED = auto()
    """As ``FULL``, without merging the write-ahead log into the file at the end."""
    READ = auto()
    """Nothing is written to the file nor beside it; it must exist and be up to date."""


class Desk:
    """What one reviewer can do with one desk file. Use each instance from one thread only."""

    def __init__(
        self,
        path: Path,
        reviewer: str,
        clock: Clock,
        access: Access = Access.FULL,
        only: str | None = None,
    ) -> None:
        """Open, create or migrate the file, as ``access`` allows; ``only`` is one run's hash."""
        self.path = path
        self.reviewer = checked_name(reviewer)
        self.clock = clock
        self._access = access
        self._only = only
        self.conn = connect(path, read_only=access is Access.READ)
        self.read_only = self.conn.read_only
        try:
            with explained(path):
                verification.refuse_harmful(self.conn, path)
                migrate(self.conn, path, self.at())
                if only is not None:
                    runs.show_only(self.conn, only)
        except BaseException:
            self.conn.close()
            raise
        self.double: float | None = None
        self.opinions = 2
        self._closed = False
        self._seen = self._state()
        self._idle: list[Desk] = []
        """Second connections that no worker uses at the moment."""
        self.apart = WithheldLabels(self)
        self.columns = queues.HeldColumns()
        self.asked: dict[tuple[str, tuple[str, ...]], QuestionItems] = {}
        """The items of the open question of a run, if it is about jurors."""
        self._labels: tuple[tuple[int, int] | None, RunLabels] | None = None
        """The labels of a run, and when they were read; ``None`` if they are known to be old."""
        self.still = False
        """Whether writes of others are not read, as within the step of one key."""
        self.recent: tuple[Applied, ...] = ()

    @staticmethod
    def open(
        path: Path | None = None,
        *,
        reviewer: str | None = None,
        clock: Clock = now,
        access: Access = Access.FULL,
        only: str | None = None,
    ) -> "Desk":
        """Open a desk, by default the user's own, as its default reviewer."""
        return Desk(path or default_path(), reviewer or default_reviewer(), clock, access, only)

    def reader(self) -> "Desk":
        """Open a second connection to the same desk file, for a worker thread."""
        self.still_there()
        access = Access.READ if self._access is Access.READ else Access.SHARED
        found = Desk(self.path, self.reviewer, self.clock, access, self._only)
        found.columns = self.columns
        found.asked = self.asked
        return found

    @contextmanager
    def borrowed(self) -> "Iterator[Desk]":
        """Lend a second connection to a worker thread; the next worker gets the same one."""
        self.still_there()
        reader = self._idle.pop() if self._idle else self.reader()
        reader.clock = self.clock
        reader.double = self.double
        reader.opinions = self.opinions
        reader.conn.patience = BUSY_SECONDS
        try:
            yield reader
        finally:
            self._idle.append(reader)
            if self._closed:
                self._close_idle()

    def _close_idle(self) -> None:
        while self._idle:
            self._idle.pop().conn.close()

    def close(self) -> None:
        """Merge the write-ahead log into the file, so that a copy of it is complete, and close."""
        self._closed = True
        self._close_idle()
        # Another process may hold the log. It merges the log when it closes, so nothing is lost.
        if self._access is Access.FULL and not self.read_only:
            with suppress(DeskError):
                fold(self.conn)
        self.conn.close()

    def still_there(self) -> None:
        still_there(self.conn)

    def at(self) -> str:
        """Return the clock's time in ISO 8601 with milliseconds, as events store it."""
        return self.clock().isoformat(timespec="milliseconds")

    def head(self) -> str:
        return verification.head(self.conn)

    @contextmanager
    def one_moment(self, done: Sequence[Applied] = ()) -> Iterator[None]:
        """Assume that others wrote only ``done`` since the last read, unless a write shows it."""
        for one in done:
            self.heard(one)
        self.still = True
        try:
            yield
        finally:
            self.still = False

    def heard(self, done: Applied) -> None:
        """Follow an action of this connection, once it is on disk, instead of reading it again."""
        self.recent = (*self.recent[-7:], done)
        if self._labels is None:
            return
        state, labels = self._labels
        if not labels.heard(done):
            self._labels = None, labels
        elif state is not None:
            self._labels = (self.conn.total_changes, state[1]), labels

    def changed(self) -> bool:
        """Return True if another connection has written events since the last call."""
        before = self._seen
        self._seen = self._state()
        return all(now != then for now, then in zip(self._seen, before, strict=True))

    def _state(self) -> tuple[int, int]:
        return data_version(self.conn), events.newest_key(self.conn)

    def load(
        self,
        source: "Source",
        options: "loading.LoadOptions | None" = None,
        progress: "loading.ProgressCall | None" = None,
    ) -> Loaded:
        """Load a report in one transaction, or open its run if it is loaded already."""
        from reviewdesk.desk import loading

        return loading.load(self, source, options or loading.LoadOptions(), progress)

    def runs(self) -> list[Run]:
        return runs.all_runs(self.conn)

    def run(self, name: str | None = None) -> Run:
        return runs.find(self.conn, name)

    def opened(self, run: Run) -> None:
        """Record that this run was opened last, if the desk can be written."""
        if self.read_only:
            return
        with writing(self.conn):
            runs.touch(self.conn, run.key, self.at())

    def remove(self, run: Run) -> None:
        at = self.at()
        with writing(self.conn):
            runs.set_removed(self.conn, run.key, at, at)

    def queue(self, run: Run, filter: str = "", order: str = "draw") -> "array[int]":  # noqa: A002
        return queues.keys(self, run, filter, order)

    def rows(self, keys: Sequence[int]) -> list[QueueRow]:
        return queue.rows(self.conn, keys, self.reviewer, self.apart.now)

    def progress(self, run: Run, keys: Sequence[int] | None = None) -> Progress:
        return self._labels_of(run).progress(keys, self.apart.waiting(run))

    def decided(self, run: Run) -> Container[int]:
        return self._labels_of(run).decided(self.apart.waiting(run))

    def next_undecided(
        self,
        run: Run,
        keys: "array[int]",
        after: int,
        again: Mapping[int, bool | None] | None = None,
    ) -> int | None:
        """Return the place in ``keys`` of the next undecided verdict after ``after``, or ``None``.

        It wraps around; deferred verdicts come last. ``again``: those that wait for a second label
        (True if deferred), or are left out (None).
        """
        waiting = dict.fromkeys(self.apart.waiting(run), False)
        return self._labels_of(run).next_undecided(keys, after, {**waiting, **(again or {})})

    def first_gap(self, run: Run) -> tuple[int, int] | None:
        """Return a blind queue's first undecided verdict with labels after it, and how many."""
        return self._labels_of(run).first_gap(self.conn, self.apart.waiting(run))

    def _labels_of(self, run: Run) -> RunLabels:
        before, labels = self._labels or (None, None)
        known = labels is not None and labels.run.key == run.key
        if labels is not None and known and self.still and before is not None:
            return labels
        state = self.conn.total_changes, data_version(self.conn)
        if labels is None or not known:
            labels = RunLabels(self.conn, run, self.reviewer)
        elif before != state:
            labels.read(self.conn)
        self._labels = state, labels
        return labels

    def find(self, run: Run, verdict_id: str) -> int:
        return verdicts.find(self.conn, run, verdict_id)

    def item(self, key: int, run: Run | None = None) -> Item:
        return items.item(self, key, run)

    def label(
        self,
        key: int,
        truth: Truth,
        *,
        tags: Sequence[str] = (),
        view: View | None = None,
        **facts: object,
    ) -> Event:
        """Record an item's truth with ``tags`` and ``facts``, on disk when this returns."""
        given = {name: value for name, value in facts.items() if value is not None}
        return _save(self, Edit("label", key, given, truth, tags, view))

    def note(self, key: int, text: str) -> Event:
        return _save(self, edits.note(key, text))

    def defer(self, key: int) -> Event:
        return _save(self, Edit("defer", key))

    def close_item(self, key: int) -> Event:
        item = self.item(key)
        if not edits.may_close(self, item):
            raise UsageError(
                f"{item.verdict.id}: you have not deferred it twice", "Label it, or defer it again."
            )
        return _save(self, edits.closing(key))

    def undo(self) -> Event | None:
        return edits.whole(self, "undo")

    def redo(self) -> Event | None:
        return edits.whole(self, "redo")

    def view(self, run: Run) -> View | None:
        return self.views().get(run.name)

    def views(self) -> dict[str, View]:
        return reviewers.views(self.conn, self.reviewer)

    def save_view(self, run: Run, view: View) -> None:
        """Store what the reviewer has on screen, for the next session, if the desk is writable."""
        if self.read_only:
            return
        with writing(self.conn):
            reviewers.save_view(self.conn, run.key, self.reviewer, view)

    def verify(self, expected: str | None = None, full: CheckedCall | None = None) -> Verification:
        return verification.verify(self.conn, expected, full)

    def backup(self, target: Path) -> None:
        back_up(self.conn, self.path, target)


def _save(desk: Desk, edit: Edit) -> Event:
    event = edit(desk)
    assert event is not None  # noqa: S101 - only tags can be the same already
    return event


def existing(path: Path | None, hint: str = "") -> Path:
    """Return the path of a desk that exists; NotFoundError with a hint if there is none."""
    path = path or default_path()
    if not path.exists():
        usual = (
            "Name another with --desk, or load a report into a new one: reviewdesk ingest REPORT."
        )
        raise NotFoundError(f"{path}: there is no desk", hint or usual)
    return path


def verify(
    path: Path | None, expected: str | None = None, full: CheckedCall | None = None
) -> Verification:
    """Verify a desk file, also one that ``Desk`` refuses to open; it is migrated only if whole."""
    path = existing(path)
    with closing(connect(path)) as conn, explained(path):
        found = verification.layout_problems(conn)
    if found[0]:
        return Verification(False, 0, "", tuple(found[0] + found[1]))
    try:
        with closing(Desk.open(path)) as desk:
            return desk.verify(expected, full)
    except DeskError as error:
        # A missing table is reported by name, and here it is why the file cannot be opened.
        if not found[1]:
            raise
        return Verification(False, 0, "", (*found[1], str(error)))


def glance(path: Path, reviewer: str | None) -> Desk | None:
    """Open a desk for reading; return ``None`` if that would create or migrate the file."""
    return Desk.open(path, reviewer=reviewer, access=Access.SHARED) if is_current(path) else None
