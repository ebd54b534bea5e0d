"""Record the labels of a file in short transactions, which one undo takes back."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from reviewdesk.desk.open_file import OpenFile
from reviewdesk.domain.records import Run, Truth
from reviewdesk.domain.verdict import stored_body
from reviewdesk.errors import UsageError
from reviewdesk.store import events, queue, verdicts
from reviewdesk.store.connect import writing
from reviewdesk.store.events import NewEvent
from reviewdesk.store.load.hidden_runs import LockPace

Row = TypeVar("Row")
BATCH = 100
"""Rows per transaction, so that the write lock is held only briefly."""


def sliced(rows: Sequence[Row]) -> Iterator[Sequence[Row]]:
    """Yield rows a batch at a time."""
    for start in range(0, len(rows), BATCH):
        yield rows[start : start + BATCH]


class Batches:
    """The transactions of one import."""

    def __init__(self, desk: OpenFile, rows: int) -> None:
        """Start an import of so many rows."""
        self._desk = desk
        self._pace = LockPace()
        self._action = 0
        self.new = 0
        """The number of labels that were recorded."""
        self.detail = {"import": desk.at()} if rows > BATCH else {}
        """What the labels of one import have in common, so that one undo finds them all."""

    def record(self, entries: Callable[[], Sequence[NewEvent]]) -> None:
        """Record the entries that a call returns; the call is made under the write lock.

        Raises:
            UsageError: another window took the import back while it ran.
        """
        desk = self._desk
        with self._pace.timed(), writing(desk.conn, desk.path):
            if self._action and events.is_undone(desk.conn, desk.reviewer, self._action):
                raise UsageError(
                    f"the import was taken back after {self.new:,} labels, and has stopped",
                    "Import the file again.",
                )
            if made := entries():
                self._action = events.append(desk.conn, desk.reviewer, [*made]).events[0].action
                self.new += len(made)
        self._pace.turn()


def import_human(desk: OpenFile, run: Run) -> str:
    """Record the human labels of a run's report, for items without a label; say how many."""
    batches = Batches(desk, run.human_labels)
    found = 0
    held = 0
    for rows in verdicts.human(desk.conn, run.key, BATCH):

        def entries(rows: Sequence[verdicts.HumanLabel] = rows) -> list[NewEvent]:
            nonlocal found, held
            marked = queue.marks(desk.conn, [row.item for row in rows])
            fresh = [row for row in rows if row.item not in marked]
            found += len(fresh)
            held += len(rows)
            made = (_human_events(desk, run, row, batches.detail) for row in fresh)
            return [*{one.item: one for pair in made for one in pair}.values()]

        batches.record(entries)
    left = held - found
    gone = run.human_labels - held
    alone = f"; {left} left alone: the item has a label" if left else ""
    absent = f"; {gone} left out: the desk does not hold the verdict" if gone else ""
    return f"{batches.new} label{'s' * (batches.new != 1)} taken from the file{alone}{absent}"


def _human_events(
    desk: OpenFile, run: Run, row: verdicts.HumanLabel, detail: dict[str, str]
) -> Iterator[NewEvent]:
    if (human := stored_body(row.body).get("human")) is None:
        return
    kept = {name: human[name] for name in ("note", "at") if human.get(name)}
    yield NewEvent(
        "label",
        desk.at(),
        run=run.hash,
        verdict=row.id,
        item=row.item,
        label=Truth(human["label"]),
        author=human.get("by"),
        detail={**detail, "imported": True, **kept},
    )
