"""List the labels in a desk, and import labels from files and from the reports themselves.

An import is many short transactions, which one undo takes back.
"""

import json
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from reviewdesk.desk.protocol import OpenFile
from reviewdesk.domain.records import Design, Run, Truth
from reviewdesk.domain.tags import checked_name, usable_tags
from reviewdesk.domain.verdict import people, stored_body, without_nulls
from reviewdesk.errors import NotFoundError, UsageError
from reviewdesk.store import events, figures, queue, runs, verdicts
from reviewdesk.store.connect import writing
from reviewdesk.store.events import NewEvent
from reviewdesk.store.load.hidden_runs import LockPace

if TYPE_CHECKING:
    from reviewdesk.domain.gates.join import LabelRow

BATCH = 100
KEPT = ("pi", "weight", "selection", "stratum")
"""The sampling facts of an imported label, which are kept and never used."""
"""Rows per transaction, so that the write lock is held only briefly."""


class LabelConflict(Struct, frozen=True):
    """A row that differs from the label that the desk holds by the same reviewer."""

    line: int
    id: str
    reviewer: str
    held: Truth
    truth: Truth


class ImportResult(Struct, frozen=True):
    """The counts of an import; ``places`` are the lines of the file that match no verdict."""

    rows: int
    labelled: int
    new: int
    unknown: int
    conflicts: int
    design: Design
    places: tuple[int, ...]
    differing: tuple[LabelConflict, ...]
    unusable_tags: int


def list_labels(desk: OpenFile, run: Run) -> Iterator[dict[str, Any]]:
    for verdict in figures.labelled(desk.conn, run.key):
        for label in verdicts.of_item(desk.conn, verdict.item):
            detail = json.loads(label["detail"])
            yield {
                "run": run.name,
                "id": verdict.id,
                "item_hash": verdict.item.hex(),
                "decision": verdict.decision,
                "label": label["label"],
                "adjudicated": label["adjudicated"],
                "reviewer": label["author"],
                "at": detail.get("at") or label["at"],
                "blind": detail.get("blind"),
                "seen": detail.get("seen"),
                "note": label["note"],
                "tags": label["tags"],
            }


class _Batches:
    """The transactions of one import."""

    def __init__(self, desk: OpenFile, rows: int) -> None:
        self._desk = desk
        self._pace = LockPace()
        self._action = 0
        self.new = 0
        self.detail = {"import": desk.at()} if rows > BATCH else {}
        """What the labels of one import have in common, so that one undo finds them all."""

    def record(self, entries: Callable[[], Sequence[NewEvent]]) -> None:
        """Record the entries that a call returns; the call is made under the write lock."""
        desk = self._desk
        with self._pace.timed(), writing(desk.conn):
            if self._action and events.is_undone(desk.conn, desk.reviewer, self._action):
                raise UsageError(
                    f"the import was undone after {self.new:,} labels, and has stopped",
                    "Import the file again.",
                )
            if made := entries():
                self._action = events.append(desk.conn, desk.reviewer, [*made]).events[0].action
                self.new += len(made)
        self._pace.turn()


def import_human(desk: OpenFile, run: Run) -> str:
    """Record the human labels of a run's report, for items without a label; say how many."""
    batches = _Batches(desk, run.human_labels)
    found = 0
    held = 0
    for rows in verdicts.human(desk.conn, run.key, BATCH):

        def entries(rows: Sequence[sqlite3.Row] = rows) -> list[NewEvent]:
            nonlocal found, held
            marked = queue.marks(desk.conn, [row["item"] for row in rows])
            made = {}
            for row in rows:
                held += 1
                item = row["item"]
                found += item not in marked
                for human in people(stored_body(row["body"])) if item not in marked else ():
                    by = human.by
                    kept = without_nulls({"note": human.note or None, "at": human.at or None})
                    made[item, by] = NewEvent(
                        "label",
                        desk.at(),
                        run=run.hash,
                        verdict=row["id"],
                        item=item,
                        label=Truth(human.label),
                        author=checked_name(by, f"{row['id']}: ") if by else None,
                        detail={**batches.detail, "imported": True, **kept},
                    )
            return [*made.values()]

        batches.record(entries)
    left = held - found
    gone = run.human_labels - held
    alone = f"; {left} left alone: the item has a label" if left else ""
    absent = f"; {gone} left out: the desk does not have the verdict" if gone else ""
    return f"{batches.new} label{'s' * (batches.new != 1)} taken from the file{alone}{absent}"


def import_labels(
    desk: OpenFile, run: Run | None, rows: "Sequence[LabelRow]", *, dry: bool = False
) -> ImportResult:
    """Record the labels of a file, which one undo takes back; if ``dry``, only count them.

    A label that the desk holds by the same reviewer stays; another one in the file is a conflict.
    """
    from reviewdesk.domain.labels.label_columns import make_rows

    unknown: list[int] = []
    differing: list[LabelConflict] = []
    given: dict[tuple[bytes, str, str], Truth] = {}
    """The labels of earlier rows, by item, reviewer and kind."""
    batches = _Batches(desk, len(rows))
    for start in range(0, len(rows), BATCH):

        def entries(batch: "Sequence[LabelRow]" = rows[start : start + BATCH]) -> list[NewEvent]:
            made = []
            for row in batch:
                found = _verdict_of(desk, run, row)
                if found is None:
                    unknown.append(row.line)
                    continue
                author = checked_name(row.reviewer or desk.reviewer, f"line {row.line}: ")
                place = (found["item"], author, "adjudication" if row.adjudicated else "label")
                held = given.get(place) or verdicts.held(desk.conn, *place)
                truth = row.truth or Truth.UNSURE
                if held is None:
                    given[place] = truth
                    detail = {
                        **batches.detail,
                        "imported": True,
                        "note": row.note,
                        "blind": row.blind,
                        # Only a session on screen knows that a response was seen.
                        "seen": False if row.seen is False else None,
                        "at": row.time,
                        "tags": list(usable_tags(row.tags or ())) or None,
                        "kept": without_nulls({one: getattr(row, one) for one in KEPT}) or None,
                    }
                    entry = NewEvent(
                        "adjudicate" if row.adjudicated else "label",
                        desk.at(),
                        run=found["hash"],
                        verdict=found["id"],
                        item=found["item"],
                        label=truth,
                        author=author,
                        detail=without_nulls(detail),
                    )
                    made.append(entry)
                elif held is not truth:
                    differing.append(LabelConflict(row.line, found["id"], author, held, truth))
            return made

        if dry:
            batches.new += len(entries())
        else:
            batches.record(entries)
    design = Design.NONE
    if run is not None:
        found = figures.labelled(desk.conn, run.key)
        design = make_rows(found, figures.run_figures(desk.conn, run.key)).weighing.design
    return ImportResult(
        rows=len(rows),
        labelled=len(rows) - len(unknown) - len(differing),
        new=batches.new,
        unknown=len(unknown),
        conflicts=len(differing),
        design=design,
        places=tuple(unknown),
        differing=tuple(differing),
        unusable_tags=sum(not usable_tags([tag]) for row in rows for tag in row.tags or ()),
    )


def _verdict_of(desk: OpenFile, run: Run | None, row: "LabelRow") -> sqlite3.Row | None:
    try:
        if row.item_hash is not None:
            item = bytes.fromhex(row.item_hash)
            return verdicts.loaded(desk.conn, run.key if run else None, row.id, item)
        named = run if row.run is None else runs.find(desk.conn, row.run)
    except (ValueError, NotFoundError):
        return None
    return None if named is None else verdicts.loaded(desk.conn, named.key, row.id)
