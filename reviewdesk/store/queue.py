"""The queue in SQL: which verdicts, in which order, and the facts of the lines on screen."""

from __future__ import annotations

import sqlite3
from array import array
from collections.abc import Sequence
from dataclasses import dataclass

from reviewdesk.domain.flags import Flag
from reviewdesk.domain.queue import Filter, parse_order
from reviewdesk.domain.records import QueueRow, Truth
from reviewdesk.domain.sampling import STRATA
from reviewdesk.domain.verdict import Band, Decision
from reviewdesk.store.conditions import DEFERRED, Asked, where

_ORDERS = {
    "draw": ("v.draw",),
    "mix": ("v.mix",),
    "file": ("v.pos",),
    "score": ("v.score IS NULL", "v.score", "v.draw"),
    "agreement": ("v.agreement IS NULL", "v.agreement", "v.draw"),
    "margin": ("v.margin IS NULL", "v.margin", "v.draw"),
    "pivotal": (f"v.flags & {int(Flag.PIVOTAL)} = 0", "v.margin IS NULL", "v.margin", "v.draw"),
    "id": ("v.id",),
}
_PAGE = 900
"""Rows asked for at once, under SQLite's oldest limit on bound values."""


def keys(conn: sqlite3.Connection, run: int, kept: Filter, order: str, reviewer: str) -> array[int]:
    """The keys of the verdicts a filter keeps, in order; what is *mine* in it is the reviewer's."""
    name, descending = parse_order(order)
    columns = [
        f"{column} DESC" if descending and not column.endswith("NULL") else column
        for column in _ORDERS[name]
    ]
    clause, values = where(Asked(conn, run, reviewer), kept)
    rows = conn.execute(
        f"SELECT v.key FROM verdicts v WHERE v.run = ?{clause} ORDER BY {', '.join(columns)}",
        (run, *values),
    )
    return array("q", (row[0] for row in rows))


@dataclass(frozen=True, slots=True)
class Mark:
    """What the labels say of one item."""

    truth: Truth
    tentative: bool


@dataclass(frozen=True, slots=True)
class _Own:
    """The items that the asking reviewer put off, and those marked."""

    deferred: set[bytes]
    marked: set[bytes]


def marks(conn: sqlite3.Connection, items: Sequence[bytes]) -> dict[bytes, Mark]:
    """The truths of some items; an item without a label is absent."""
    found: dict[bytes, Mark] = {}
    for start in range(0, len(items), _PAGE):
        page = items[start : start + _PAGE]
        rows = conn.execute(
            f"""SELECT item, label, tentative FROM labels
                WHERE item IN ({", ".join("?" * len(page))})""",
            tuple(page),
        )
        for row in rows:
            mark = Mark(Truth(row["label"]), bool(row["tentative"]))
            known = found.get(row["item"])
            if known is not None:
                agreed = mark.truth if known.truth is mark.truth else Truth.DISPUTED
                mark = Mark(agreed, known.tentative or mark.tentative)
            found[row["item"]] = mark
    return found


def deferred_items(conn: sqlite3.Connection, reviewer: str) -> set[bytes]:
    """The items that a reviewer put off and has not labelled since."""
    return {row["item"] for row in conn.execute(DEFERRED, (reviewer,))}


def _marked(conn: sqlite3.Connection, items: Sequence[bytes], reviewer: str) -> set[bytes]:
    """Those of some items that a reviewer marked."""
    found: set[bytes] = set()
    for start in range(0, len(items), _PAGE):
        page = items[start : start + _PAGE]
        rows = conn.execute(
            f"""SELECT item FROM item_marks
                WHERE reviewer = ? AND item IN ({", ".join("?" * len(page))})""",
            (reviewer, *page),
        )
        found.update(row["item"] for row in rows)
    return found


def rows(conn: sqlite3.Connection, wanted: Sequence[int], reviewer: str) -> list[QueueRow]:
    """The facts of some verdicts, in the order asked for."""
    found: dict[int, sqlite3.Row] = {}
    for start in range(0, len(wanted), _PAGE):
        page = wanted[start : start + _PAGE]
        marks_ = ", ".join("?" * len(page))
        query = f"SELECT * FROM verdicts WHERE key IN ({marks_})"
        found.update({row["key"]: row for row in conn.execute(query, tuple(page))})
    items = [row["item"] for row in found.values()]
    truths = marks(conn, items)
    own = _Own(deferred_items(conn, reviewer), _marked(conn, items, reviewer))
    return [
        _queue_row(found[key], truths.get(found[key]["item"]), own)
        for key in wanted
        if key in found
    ]


def _queue_row(row: sqlite3.Row, mark: Mark | None, own: _Own) -> QueueRow:
    return QueueRow(
        key=row["key"],
        id=row["id"],
        test=row["test"],
        decision=Decision(row["decision"]) if row["decision"] else None,
        score=row["score"],
        agreement=row["agreement"],
        band=Band(row["band"]) if row["band"] else None,
        flags=Flag(row["flags"]),
        stratum=STRATA[row["stratum"]],
        audit=bool(row["audit"]),
        label=mark.truth if mark else None,
        tentative=bool(mark and mark.tentative),
        deferred=row["item"] in own.deferred,
        marked=row["item"] in own.marked,
    )
