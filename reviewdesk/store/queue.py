"""The queue in SQL: which verdicts, in which order, and the facts of the lines on screen."""

from __future__ import annotations

import sqlite3
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from reviewdesk.domain.flags import Flag
from reviewdesk.domain.queue import Filter, Term, parse_order
from reviewdesk.domain.records import QueueRow, Truth
from reviewdesk.domain.sampling import STRATA
from reviewdesk.domain.verdict import SLACK, Band, Decision

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
_LABELLED = "(SELECT item FROM truths)"
_PAGE = 900
"""Rows asked for at once, under SQLite's oldest limit on bound values."""


def keys(conn: sqlite3.Connection, run: int, where: Filter, order: str) -> array[int]:
    """The keys of the verdicts a filter keeps, in order."""
    name, descending = parse_order(order)
    columns = [
        f"{column} DESC" if descending and not column.endswith("NULL") else column
        for column in _ORDERS[name]
    ]
    clause, values = _where(where)
    rows = conn.execute(
        f"SELECT v.key FROM verdicts v WHERE v.run = ?{clause} ORDER BY {', '.join(columns)}",
        (run, *values),
    )
    return array("q", (row[0] for row in rows))


def _where(where: Filter) -> tuple[str, list[Any]]:
    clause, values = "", []
    for group in where.groups:
        parts = []
        for term in group:
            text, bound = _condition(term)
            parts.append(f"NOT ifnull({text}, 0)" if term.negated else text)
            values += bound
        clause += f" AND ({' OR '.join(parts)})"
    return clause, values


def _condition(term: Term) -> tuple[str, list[Any]]:
    if term.kind == "flag":
        return "v.flags & ? != 0", [int(term.value)]
    if term.kind == "number":
        return _comparison(term)
    if term.kind == "text":
        escaped = term.value.replace("\\", r"\\").replace("%", r"\%").replace("_", r"\_")
        return rf"v.{term.name} LIKE ? ESCAPE '\'", [f"%{escaped}%"]
    if term.name == "label":
        if term.value == "none":
            return f"v.item NOT IN {_LABELLED}", []
        return "v.item IN (SELECT item FROM truths WHERE truth = ?)", [term.value]
    if term.name == "warn":
        bits = {"bias": Flag.BIAS_WARNING, "same-family": Flag.SAME_FAMILY}
        return "v.flags & ? != 0", [int(bits.get(term.value, bits["bias"] | bits["same-family"]))]
    if term.value == "none":
        return f"v.{term.name} IS NULL", []
    return f"v.{term.name} = ?", [term.value]


def _comparison(term: Term) -> tuple[str, list[Any]]:
    column, number = f"v.{term.name}", float(term.value)
    if term.op == "=":
        return f"abs({column} - ?) <= {SLACK}", [number]
    slack = SLACK if term.op in {"<=", ">"} else -SLACK
    return f"{column} {term.op} ?", [number + slack]


@dataclass(frozen=True, slots=True)
class Mark:
    """What the labels say of one item."""

    truth: Truth
    tentative: bool


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
    rows = conn.execute(
        """SELECT item FROM standing_events d WHERE d.kind = 'defer' AND d.reviewer = ?
           AND d.item NOT IN (SELECT item FROM labels WHERE author = d.reviewer)""",
        (reviewer,),
    )
    return {row["item"] for row in rows}


def rows(conn: sqlite3.Connection, wanted: Sequence[int], reviewer: str) -> list[QueueRow]:
    """The facts of some verdicts, in the order asked for."""
    found: dict[int, sqlite3.Row] = {}
    for start in range(0, len(wanted), _PAGE):
        page = wanted[start : start + _PAGE]
        marks_ = ", ".join("?" * len(page))
        query = f"SELECT * FROM verdicts WHERE key IN ({marks_})"
        found.update({row["key"]: row for row in conn.execute(query, tuple(page))})
    truths = marks(conn, [row["item"] for row in found.values()])
    put_off = deferred_items(conn, reviewer)
    return [
        _queue_row(found[key], truths.get(found[key]["item"]), put_off)
        for key in wanted
        if key in found
    ]


def _queue_row(row: sqlite3.Row, mark: Mark | None, put_off: set[bytes]) -> QueueRow:
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
        deferred=row["item"] in put_off,
    )
