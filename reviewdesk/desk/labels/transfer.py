"""List the labels in a desk, and import labels from files."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from reviewdesk.desk.labels.batches import Batches, sliced
from reviewdesk.domain.records import Design, Run, Truth
from reviewdesk.domain.tags import usable_tags
from reviewdesk.errors import NotFoundError
from reviewdesk.store import figures, runs, verdicts
from reviewdesk.store.events import NewEvent
from reviewdesk.store.reviewers import check_name

if TYPE_CHECKING:
    from reviewdesk.desk.core import Desk
    from reviewdesk.reports.labels.reader import LabelRow


class LabelConflict(Struct, frozen=True):
    """A row that differs from the label that the desk holds by the same reviewer."""

    line: int
    id: str
    reviewer: str
    held: Truth
    truth: Truth


class ImportResult(Struct, frozen=True):
    """The counts of an import; ``places`` are the lines of the file that match no verdict.

    ``differing`` has the rows that differ from the desk. ``unusable_tags`` counts
    the invalid tags in the file, whose rows are imported without them.
    """

    rows: int
    labelled: int
    new: int
    unknown: int
    conflicts: int
    design: Design
    places: tuple[int, ...]
    differing: tuple[LabelConflict, ...]
    unusable_tags: int


def list_labels(desk: Desk, run: Run) -> Iterator[dict[str, Any]]:
    """Yield every current label of a run, in the order of the draw."""
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


def import_labels(
    desk: Desk, run: Run | None, rows: Sequence[LabelRow], *, dry: bool = False
) -> ImportResult:
    """Record the labels of a file, which one undo takes back; if ``dry``, only count them.

    A label that the desk already holds by the same reviewer stays. If the file has a different one,
    it is counted as a conflict and left out. Other processes may write between two batches of rows.

    Raises:
        UsageError: another window took the import back while it ran.
    """
    seen = _Seen()
    batches = Batches(desk, len(rows))
    for batch in sliced(rows):
        entries = partial(_new_entries, desk, run, batch, batches.detail, seen)
        if dry:
            batches.new += len(entries())
        else:
            batches.record(entries)
    return ImportResult(
        rows=len(rows),
        labelled=len(rows) - len(seen.unknown) - len(seen.differing),
        new=batches.new,
        unknown=len(seen.unknown),
        conflicts=len(seen.differing),
        design=desk.calibration(run).design if run else Design.NONE,
        places=tuple(seen.unknown),
        differing=tuple(seen.differing),
        unusable_tags=sum(not usable_tags([tag]) for row in rows for tag in row.tags),
    )


class _Seen(Struct):
    """The findings of an import: the lines that match no verdict, and the rows that differ."""

    unknown: list[int] = field(default_factory=list)
    differing: list[LabelConflict] = field(default_factory=list)
    given: dict[tuple[bytes, str, str], Truth] = field(default_factory=dict)
    """The labels of earlier rows, by item, reviewer and kind."""


def _new_entries(
    desk: Desk,
    run: Run | None,
    rows: Sequence[LabelRow],
    started: Mapping[str, str],
    seen: _Seen,
) -> list[NewEvent]:
    """Return the labels that the desk does not hold yet; note other findings in ``seen``."""
    entries = []
    for row in rows:
        found = _verdict_of(desk, run, row)
        if found is None:
            seen.unknown.append(row.line)
            continue
        author = row.reviewer or desk.reviewer
        check_name(author, f"line {row.line}: ")
        slot = "adjudication" if row.adjudicated else "label"
        place = (found["item"], author, slot)
        held = seen.given.get(place) or verdicts.held(desk.conn, *place)
        truth = Truth(row.truth)
        if held is None:
            seen.given[place] = truth
            entries.append(_label_event(desk, found, row, author, started))
        elif held is not truth:
            seen.differing.append(LabelConflict(row.line, found["id"], author, held, truth))
    return entries


def _verdict_of(desk: Desk, run: Run | None, row: LabelRow) -> sqlite3.Row | None:
    """Find the verdict of a row by the row's content hash if it has one, else by id and run."""
    if row.item_hash is not None:
        try:
            item = bytes.fromhex(row.item_hash)
        except ValueError:
            return None
        return verdicts.by_item(desk.conn, item, run.key if run else None, row.id)
    if row.id is None or (named := _run_of(desk, run, row.run)) is None:
        return None
    return verdicts.by_id(desk.conn, named.key, row.id)


def _run_of(desk: Desk, run: Run | None, name: str | None) -> Run | None:
    if name is None:
        return run
    try:
        return runs.find(desk.conn, name)
    except NotFoundError:
        return None


def _label_event(
    desk: Desk, found: sqlite3.Row, row: LabelRow, author: str, started: Mapping[str, str]
) -> NewEvent:
    detail = {
        **started,
        "imported": True,
        "note": row.note,
        "blind": row.blind,
        # Only a session on screen knows that a response was seen; a file cannot prove it.
        "seen": False if row.seen is False else None,
        "at": row.time,
        "tags": list(usable_tags(row.tags)) or None,
        "kept": dict(row.kept) or None,
    }
    return NewEvent(
        "adjudicate" if row.adjudicated else "label",
        desk.at(),
        run=found["hash"],
        verdict=found["id"],
        item=found["item"],
        label=Truth(row.truth),
        author=author,
        detail={name: value for name, value in detail.items() if value is not None},
    )
