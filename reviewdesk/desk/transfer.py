"""Labels out of a desk and into it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from reviewdesk.domain.records import Design, Run, Truth
from reviewdesk.domain.sampling import STRATA
from reviewdesk.domain.summary import Labelled, Rowed, make_rows
from reviewdesk.domain.tags import usable_tags
from reviewdesk.errors import NotFoundError
from reviewdesk.store import events, figures, runs, tags
from reviewdesk.store.connect import writing
from reviewdesk.store.events import Entry

if TYPE_CHECKING:
    from reviewdesk.desk.core import Desk
    from reviewdesk.reports.labelsfile import LabelRow


@dataclass(frozen=True, slots=True)
class Exported:
    """Rows to write, and what the person should know about them."""

    rows: tuple[dict[str, Any], ...]
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import did; ``places`` are the file's lines that fit no verdict.

    ``unusable_tags`` counts the file's tags that cannot be tags; their rows are kept.
    """

    rows: int
    labelled: int
    new: int
    unknown: int
    conflicts: int
    design: Design
    places: tuple[int, ...]
    unusable_tags: int


def score_rows(desk: Desk, run: Run, source: str | None) -> Exported:
    """The two keys per row that a calibration file holds, and no more."""
    made = _made(desk, run, source)
    weighted = made.weighing.design in {Design.WEIGHTED, Design.CENSUS}
    kept = [
        {"confidence": float(confidence), "correct": bool(correct)}
        for confidence, correct, weight in zip(
            made.rows.confidence, made.rows.correct, made.weights, strict=True
        )
        if weight > 0 or not weighted
    ]
    warnings = []
    if left := len(made.verdicts) - len(kept):
        warnings.append(
            f"{left} labels are left out: an earlier item of the draw has no label yet, and they "
            "count once it has one"
        )
    if weighted and any(abs(weight - 1) > 1e-9 for weight in made.weights if weight):
        warnings.append(
            "the rows stand for different numbers of verdicts, and this format cannot say so; "
            "use --format full"
        )
    if not weighted and kept:
        warnings.append(f"design: {made.weighing.design}")
    return Exported(tuple(kept), tuple(warnings))


def full_rows(desk: Desk, run: Run, source: str | None) -> Exported:
    """Every label of a run with all that is known of it; those without a row say ``null``."""
    made = _made(desk, run, source)
    rowed = {
        verdict.key: (float(made.rows.confidence[i]), bool(made.rows.correct[i]), made.weights[i])
        for i, verdict in enumerate(made.verdicts)
    }
    head = desk.head()
    rows = [
        _full_row(run, verdict, label, rowed.get(verdict.key), made, head)
        for verdict in figures.labelled(desk.conn, run.key)
        for label in _labels_of(desk, verdict.item)
    ]
    return Exported(tuple(rows), ())


def _made(desk: Desk, run: Run, source: str | None) -> Rowed:
    labelled = figures.labelled(desk.conn, run.key)
    return make_rows(labelled, figures.run_figures(desk.conn, run.key), source)


def _labels_of(desk: Desk, item: bytes) -> list[dict[str, Any]]:
    """The labels of an item, each with its author's newest note and tags, whenever given."""
    # SQLite's json_extract ends a text at NUL, so only the choice of the event is made there.
    rows = desk.conn.execute(
        """SELECT l.*, (SELECT n.detail FROM standing_events n
                        WHERE n.item = l.item AND n.author = l.author
                          AND json_type(n.detail, '$.note') IS NOT NULL
                        ORDER BY n.key DESC LIMIT 1) AS noted
           FROM labels l WHERE l.item = ? ORDER BY l.author""",
        (item,),
    )
    tagged = tags.of_item(desk.conn, item)
    return [
        {
            **dict(row),
            "note": (json.loads(row["noted"])["note"] if row["noted"] else None) or None,
            "tags": list(tagged.get(row["author"], ())),
        }
        for row in rows
    ]


def _full_row(
    run: Run,
    verdict: Labelled,
    label: dict[str, Any],
    row: tuple[float, bool, float] | None,
    made: Rowed,
    head: str,
) -> dict[str, Any]:
    detail = json.loads(label["detail"])
    confidence, correct, weight = row or (None, None, 0.0)
    return {
        "confidence": confidence,
        "correct": correct,
        "confidence_source": made.source,
        "id": verdict.id,
        "run": run.name,
        "item_hash": verdict.item.hex(),
        "decision": verdict.decision,
        "truth": label["label"],
        "tentative": bool(label["tentative"]),
        "stratum": STRATA[verdict.place.stratum],
        "pi": made.weighing.inclusion.get(verdict.place.stratum),
        "weight": weight,
        "selection": "draw" if made.drawn[verdict.key] else "ad hoc",
        "blind": detail.get("blind"),
        "reviewer": label["author"],
        "time": detail.get("at") or label["at"],
        "note": label["note"],
        "tags": label["tags"],
        "head": head,
    }


def list_labels(desk: Desk, run: Run) -> Iterator[dict[str, Any]]:
    """Every standing label of a run, in the order of the draw."""
    for verdict in figures.labelled(desk.conn, run.key):
        for label in _labels_of(desk, verdict.item):
            detail = json.loads(label["detail"])
            yield {
                "run": run.name,
                "id": verdict.id,
                "item_hash": verdict.item.hex(),
                "decision": verdict.decision,
                "label": label["label"],
                "tentative": bool(label["tentative"]),
                "reviewer": label["author"],
                "at": detail.get("at") or label["at"],
                "blind": detail.get("blind"),
                "note": label["note"],
                "tags": label["tags"],
            }


def import_labels(desk: Desk, run: Run | None, rows: Sequence[LabelRow]) -> Imported:
    """Record the labels of a file as one action, so that one undo takes the whole file back.

    A label the desk already holds by the same reviewer stands; a different one in the file is a
    conflict, counted and left out.
    """
    labelled = unknown = conflicts = 0
    places: list[int] = []
    entries: dict[tuple[bytes, str], Entry] = {}
    with writing(desk.conn, desk.path):
        for row in rows:
            found = _verdict_of(desk, run, row)
            if found is None:
                unknown += 1
                places.append(row.line)
                continue
            author = row.reviewer or desk.reviewer
            held = _held(desk, found["item"], author)
            if (waiting := entries.get((found["item"], author))) is not None:
                held = waiting.label
            if held is None:
                entries[found["item"], author] = _entry(desk, found, row, author)
            conflicts += held is not None and held is not Truth(row.truth)
            labelled += held is None or held is Truth(row.truth)
        if entries:
            events.append(desk.conn, desk.reviewer, list(entries.values()))
    return Imported(
        rows=len(rows),
        labelled=labelled,
        new=len(entries),
        unknown=unknown,
        conflicts=conflicts,
        design=desk.calibration(run).design if run else Design.NONE,
        places=tuple(places),
        unusable_tags=sum(not usable_tags([tag]) for row in rows for tag in row.tags),
    )


def _held(desk: Desk, item: bytes, author: str) -> Truth | None:
    row = desk.conn.execute(
        "SELECT label FROM labels WHERE item = ? AND author = ?", (item, author)
    ).fetchone()
    return Truth(row["label"]) if row else None


def _verdict_of(desk: Desk, run: Run | None, row: LabelRow) -> dict[str, Any] | None:
    """The verdict a row speaks of; a content hash that is given must be that of the verdict."""
    query = """SELECT v.id, v.item, r.hash FROM verdicts v JOIN runs r ON r.key = v.run
               WHERE r.removed_at IS NULL AND """
    if row.item_hash is not None:
        try:
            item = bytes.fromhex(row.item_hash)
        except ValueError:
            return None
        here = run.key if run else -1
        found = desk.conn.execute(
            query + "v.item = ? ORDER BY v.run = ? DESC, v.id = ? DESC LIMIT 1",
            (item, here, row.id),
        )
    elif row.id is not None:
        if (named := _run_of(desk, run, row.run)) is None:
            return None
        found = desk.conn.execute(query + "v.run = ? AND v.id = ?", (named.key, row.id))
    else:
        return None
    verdict = found.fetchone()
    return dict(verdict) if verdict else None


def _run_of(desk: Desk, run: Run | None, name: str | None) -> Run | None:
    if name is None:
        return run
    try:
        return runs.find(desk.conn, name)
    except NotFoundError:
        return None


def _entry(desk: Desk, found: dict[str, Any], row: LabelRow, author: str) -> Entry:
    detail = {
        "imported": True,
        "note": row.note,
        "blind": row.blind,
        "at": row.time,
        "tags": list(usable_tags(row.tags)) or None,
        "kept": dict(row.kept) or None,
    }
    return Entry(
        "label",
        desk.at(),
        run=found["hash"],
        verdict=found["id"],
        item=found["item"],
        label=Truth(row.truth),
        author=author,
        tentative=row.tentative,
        detail={name: value for name, value in detail.items() if value is not None},
    )
