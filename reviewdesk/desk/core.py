"""One open desk: a connection, a reviewer and a clock."""

from __future__ import annotations

import contextlib
import getpass
import os
from array import array
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from reviewdesk.desk import loading
from reviewdesk.desk.review import items
from reviewdesk.domain.query.filter import parse_filter
from reviewdesk.domain.records import (
    Calibration,
    Event,
    Item,
    Loaded,
    Progress,
    QueueRow,
    Run,
    Truth,
    View,
)
from reviewdesk.errors import DeskError
from reviewdesk.store import audit, events, queue, runs
from reviewdesk.store.connect import back_up, connect, explained, still_there, writing
from reviewdesk.store.events import NewEvent
from reviewdesk.store.progress import LabelledKeys, standing
from reviewdesk.store.schema import is_current, migrate

if TYPE_CHECKING:
    from reviewdesk.reports.bytes.source import Source

Clock = Callable[[], datetime]


def now() -> datetime:
    """The time in UTC; the one clock of events."""
    return datetime.now(UTC)


def default_path() -> Path:
    """``REVIEWDESK_DESK``, else a file in the user's data folder."""
    if named := os.environ.get("REVIEWDESK_DESK"):
        return Path(named)
    from platformdirs import user_data_path

    return user_data_path("reviewdesk", appauthor=False) / "desk.db"


def default_reviewer() -> str:
    """``REVIEWDESK_REVIEWER``, else the login name."""
    if named := os.environ.get("REVIEWDESK_REVIEWER"):
        return named
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "reviewer"


class Desk:
    """The use cases of one reviewer on one desk file; use it from one thread."""

    def __init__(self, path: Path, reviewer: str, clock: Clock, *, folds: bool = True) -> None:
        """Open the file, creating or migrating it where needed; ``folds`` the log on closing."""
        self.path, self.reviewer, self.clock, self._folds = path, reviewer, clock, folds
        self.conn = connect(path)
        try:
            with explained(path):
                migrate(self.conn, path, self.at())
        except BaseException:
            self.conn.close()
            raise
        self._seen = (self._data_version(), events.newest_key(self.conn))
        self._stood: tuple[tuple[int, int, int], LabelledKeys] | None = None

    @staticmethod
    def open(path: Path | None = None, *, reviewer: str | None = None, clock: Clock = now) -> Desk:
        """Open a desk, by default the user's own."""
        return Desk(path or default_path(), reviewer or default_reviewer(), clock)

    def reader(self) -> Desk:
        """An independent connection to the same desk, for a worker thread."""
        still_there(self.conn, self.path)
        return Desk(self.path, self.reviewer, self.clock, folds=False)

    def close(self) -> None:
        """Fold the log into the file, so that a plain copy of it is whole, and close."""
        # Another process may hold the log; then that one folds it, and nothing is lost.
        if self._folds:
            with contextlib.suppress(DeskError):
                self.conn.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        self.conn.close()

    def at(self) -> str:
        """The clock's time as it is written down."""
        return self.clock().isoformat(timespec="milliseconds")

    def head(self) -> str:
        """The head of the label log, ``SEQ:HASH``."""
        return audit.head(self.conn)

    def changed(self) -> bool:
        """Whether another process added an event since the last call; a growing index is none."""
        before, self._seen = self._seen, (self._data_version(), events.newest_key(self.conn))
        return before[0] != self._seen[0] and before[1] != self._seen[1]

    def _data_version(self) -> int:
        found: int = self.conn.execute("PRAGMA data_version").fetchone()[0]
        return found

    def load(
        self,
        source: Source,
        options: loading.LoadOptions | None = None,
        progress: loading.ProgressCall | None = None,
    ) -> Loaded:
        """Load a report in one transaction; a file that is known is only opened."""
        return loading.load(self, source, options or loading.LoadOptions(), progress)

    def runs(self) -> list[Run]:
        """Every loaded run, the newest last."""
        return runs.all_runs(self.conn)

    def run(self, name: str | None = None) -> Run:
        """A run by name or hash prefix; the one opened or loaded last without either."""
        return runs.find(self.conn, name)

    def opened(self, run: Run) -> None:
        """Remember a run as the one opened last."""
        with writing(self.conn, self.path):
            runs.touch(self.conn, run.key)

    def remove(self, run: Run) -> None:
        """Hide a run; its labels stay."""
        with writing(self.conn, self.path):
            runs.remove(self.conn, run.key, self.at())

    def queue(self, run: Run, filter: str = "", order: str = "draw") -> array[int]:  # noqa: A002
        """The keys of a run's verdicts that a filter keeps, in order."""
        return queue.keys(self.conn, run.key, parse_filter(filter), order, self.reviewer)

    def rows(self, keys: Sequence[int]) -> list[QueueRow]:
        """The lines of some verdicts, in the order asked for."""
        return queue.rows(self.conn, keys, self.reviewer)

    def progress(self, run: Run) -> Progress:
        """How far the labels have come."""
        return self._standing(run).progress(run)

    def next_undecided(self, run: Run, keys: array[int], after: int) -> int | None:
        """Where the next undecided verdict stands, wrapping; put-off ones come last."""
        return self._standing(run).next_undecided(keys, after)

    def _standing(self, run: Run) -> LabelledKeys:
        """How a run stands, read again only after something was written."""
        state = (run.key, self.conn.total_changes, self._data_version())
        if self._stood is None or self._stood[0] != state:
            self._stood = (state, standing(self.conn, run.key, self.reviewer))
        return self._stood[1]

    def find(self, run: Run, verdict_id: str) -> int:
        """The key of a verdict by its id."""
        return items.find(self, run, verdict_id)

    def item(self, key: int) -> Item:
        """Everything about one verdict."""
        return items.item(self, key)

    # Events: one transaction each

    def label(
        self,
        key: int,
        truth: Truth,
        *,
        tentative: bool = False,
        blind: bool | None = None,
        revealed_at: str | None = None,
        note: str | None = None,
        tags: Sequence[str] = (),
        view: View | None = None,
    ) -> Event:
        """Record an item's ground truth, and more tags; on disk when this returns."""
        detail = {"blind": blind, "revealed_at": revealed_at, "note": note}
        said = {name: value for name, value in detail.items() if value is not None}
        entry = NewEvent("label", self.at(), label=truth, tentative=tentative, detail=said)
        return self._append(key, entry, view, tags)

    def note(self, key: int, text: str) -> Event:
        """Keep a note on an item; an empty one takes the last away."""
        return self._append(key, NewEvent("note", self.at(), detail={"note": text}))

    def defer(self, key: int) -> Event:
        """Put an item off to the end of the reviewer's queue, still undecided."""
        return self._append(key, NewEvent("defer", self.at()))

    def reveal(self, key: int) -> Event:
        """Record that the reviewer saw the panel's answer."""
        return self._append(key, NewEvent("reveal", self.at()))

    def _append(
        self, key: int, entry: NewEvent, view: View | None = None, tags: Sequence[str] = ()
    ) -> Event:
        with writing(self.conn, self.path):
            run, about = items.about(self, key, entry, tags)
            if view is not None:
                runs.save_view(self.conn, run, self.reviewer, view)
            return events.append(self.conn, self.reviewer, [about])[0]

    def undo(self) -> Event | None:
        """Take back the reviewer's newest action that stands; ``None`` where there is none."""
        return self._turn("undo", events.next_undo)

    def redo(self) -> Event | None:
        """Bring back what the last undo took; ``None`` where there is nothing."""
        return self._turn("redo", events.next_redo)

    def _turn(self, kind: str, find: Callable[..., int | None]) -> Event | None:
        with writing(self.conn, self.path):
            action = find(self.conn, self.reviewer)
            if action is None:
                return None
            entry = items.turning(self, kind, action)
            return events.append(self.conn, self.reviewer, [entry])[0]

    # Figures and resuming

    def calibration(self, run: Run, confidence: str | None = None) -> Calibration:
        """The calibration of a run's judge by the labels so far."""
        from reviewdesk.domain.labels.summary import summarise
        from reviewdesk.store import figures

        with explained(self.path):
            found = figures.labelled(self.conn, run.key)
            return summarise(found, figures.run_figures(self.conn, run.key), confidence)

    def view(self, run: Run) -> View | None:
        """What the reviewer last had on screen in a run."""
        return runs.view(self.conn, run.key, self.reviewer)

    def save_view(self, run: Run, view: View) -> None:
        """Keep what the reviewer has on screen."""
        with writing(self.conn, self.path):
            runs.save_view(self.conn, run.key, self.reviewer, view)

    def verify(self, expected: str | None = None) -> audit.Verification:
        """Whether the label log is whole, and continues an expected head."""
        return audit.verify(self.conn, expected)

    def backup(self, target: Path) -> None:
        """Copy the desk whole, what the log holds included."""
        back_up(self.conn, target)


def glance(path: Path | None, reviewer: str | None) -> Desk | None:
    """Open a desk to read from it, and return ``None`` where that would create or migrate it."""
    path = path or default_path()
    if not is_current(path):
        return None
    return Desk(path, reviewer or default_reviewer(), now, folds=False)
