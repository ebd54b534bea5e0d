"""Read the columns of a run for its queue, and the facts of the rows on screen."""

from __future__ import annotations

import json
import sqlite3
from array import array
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any

from msgspec import Struct

from reviewdesk.domain.assessment.flags import Flag
from reviewdesk.domain.enums import AgreementSource
from reviewdesk.domain.labels.sampling import STRATA
from reviewdesk.domain.labels.second_opinions import NOTHING, Withheld
from reviewdesk.domain.query.columns import CODES, TYPES
from reviewdesk.domain.records import QueueRow, Truth
from reviewdesk.domain.verdict import Band
from reviewdesk.store import runs
from reviewdesk.store.load import orders
from reviewdesk.store.rows import decision, in_pages, value

DEFERRED = """SELECT item FROM current_events
              WHERE slot = 'defer' AND label IS NULL AND author = ?"""
"""Query for the items that a reviewer deferred and has not labelled since."""


class Mark(Struct, frozen=True):
    """The truth of one item by its labels.

    ``seen`` is False if every label says that its response was not on screen.
    """

    truth: Truth
    seen: bool


class _ReviewerItems(Struct, frozen=True):
    """The items that the reviewer deferred and marked, and who wrote a note on each item."""

    deferred: set[bytes]
    marked: set[bytes]
    noted: dict[bytes, dict[str, str]]
    reviewer: str
    withheld: Withheld


def marks(conn: sqlite3.Connection, items: Sequence[bytes]) -> dict[bytes, Mark]:
    """Return the truth of each given item by its labels; items without a label are absent."""
    query = "SELECT item, truth, seen FROM truths WHERE item IN (*)"
    return {
        row["item"]: Mark(Truth(row["truth"]), bool(row["seen"]))
        for row in in_pages(conn, query, items)
    }


def _own(
    conn: sqlite3.Connection, items: Sequence[bytes], reviewer: str, withheld: Withheld
) -> _ReviewerItems:
    """Read what people did with some items beside labels: marks, deferrals and standing notes."""
    found = _ReviewerItems(set(), set(), {}, reviewer, withheld)
    query = """SELECT c.item, c.slot, c.author, e.detail
               FROM current_events c JOIN label_events e ON e.key = c.key
               WHERE c.slot IN ('mark', 'defer', 'note') AND c.item IN (*)"""
    for item, slot, author, text in in_pages(conn, query, items):
        # SQLite's json_extract ends a text at NUL.
        detail = json.loads(text)
        if slot == "note":
            if detail["note"]:
                found.noted.setdefault(item, {})[author] = detail["note"]
        elif author == reviewer and (slot == "defer" or detail["on"]):
            (found.deferred if slot == "defer" else found.marked).add(item)
    return found


def row_and_note(
    conn: sqlite3.Connection, stored: Mapping[str, Any], reviewer: str, withheld: Withheld
) -> tuple[QueueRow, str | None]:
    """Return the queue row of a verdict, given as it is stored, and the reviewer's note on it."""
    item = stored["item"]
    own = _own(conn, [item], reviewer, withheld)
    note = own.noted.get(item, {}).get(reviewer)
    return _queue_row(stored, marks(conn, [item]).get(item), own), note


def rows(
    conn: sqlite3.Connection, wanted: Sequence[int], reviewer: str, withheld: Withheld = NOTHING
) -> list[QueueRow]:
    """Return the queue rows of the given verdicts, in the given order; unknown keys are skipped.

    What others gave an item is left out of its row if it is ``withheld``.
    """
    stored = in_pages(conn, "SELECT * FROM verdicts WHERE key IN (*)", wanted)
    found = {row["key"]: row for row in stored}
    items = [row["item"] for row in found.values()]
    truths = marks(conn, items)
    own = _own(conn, items, reviewer, withheld)
    return [
        _queue_row(found[key], truths.get(found[key]["item"]), own)
        for key in wanted
        if key in found
    ]


def _queue_row(
    row: sqlite3.Row | Mapping[str, Any], mark: Mark | None, own: _ReviewerItems
) -> QueueRow:
    item = row["item"]
    authors = set(own.noted.get(row["item"], ()))
    if own.withheld.hides(item):
        mark = None
        authors = authors & {own.reviewer}
    return QueueRow(
        key=row["key"],
        id=row["id"],
        test=row["test"],
        decision=decision(row),
        score=row["score"],
        agreement=row["agreement"],
        band=Band(row["band"]) if row["band"] else None,
        flags=Flag(row["flags"]),
        stratum=STRATA[row["stratum"]],
        audit=bool(row["audit"] & 1),
        label=mark.truth if mark else None,
        deferred=row["item"] in own.deferred,
        marked=row["item"] in own.marked,
        noted=own.reviewer in authors,
        noted_by_others=bool(authors - {own.reviewer}),
        labelled_by_other=item in own.withheld.others,
        agreement_source=AgreementSource(row["agreement_source"]),
    )


_BATCH = 512
_PIECE = 1 << 16
"""How many rows are fetched at once, and how many are read as one text."""
NONE = 9e999
"""What a missing number is read as, because SQLite has no NaN: infinity, which no verdict holds."""
NUMBER = "ifnull({}, 9e999)"
"""SQL for a number."""


def code(name: str) -> str:
    """Return SQL for the code of a word in a column."""
    cases = " ".join(f"WHEN '{word}' THEN {code}" for code, word in enumerate(CODES[name]))
    return f"CASE {name} {cases} ELSE -1 END"


_COLUMNS: Mapping[str, str] = {
    **{name: NUMBER.format(name) for name in ("score", "agreement", "margin", "range")},
    # Confidence follows the run's own source, as ``summary.confidence`` does.
    "confidence": NUMBER.format(
        """(SELECT CASE decision WHEN 'pass' THEN said WHEN 'fail' THEN 1 - said END
            FROM (SELECT CASE WHEN r.confidence_source = 'vote_share'
                         THEN 1.0 * passes / nullif(answered, 0)
                         WHEN r.scores_stated THEN stated_score
                         ELSE score END AS said
                  FROM runs r WHERE r.key = :run))"""
    ),
    **{name: code(name) for name in ("decision", "band", "ours_band")},
    "flags": "flags",
    **{name: f"ifnull({sql}, 0)" for name, sql in runs.UNANIMOUS.items()},
}
"""SQL for the facts of one verdict."""
FACTS = frozenset(_COLUMNS)
"""The columns that the row of one verdict tells."""


class RunKeys(Struct, frozen=True):
    """The keys of a run, which are consecutive in file order."""

    run: int
    first: int
    size: int

    @property
    def values(self) -> dict[str, int]:
        """The values that a query names."""
        return {"run": self.run, "first": self.first, "end": self.first + self.size}


def span(conn: sqlite3.Connection, run: int) -> RunKeys:
    """Return where a run lies among the verdicts."""
    row = conn.execute(
        "SELECT key - pos AS first FROM verdicts WHERE run = ? LIMIT 1", (run,)
    ).fetchone()
    size = int(value(conn, "SELECT verdicts FROM runs WHERE key = ?", (run,)))
    return RunKeys(run, row["first"] if row else 0, size)


def loaded_runs(conn: sqlite3.Connection) -> tuple[int, ...]:
    """Return the keys of the runs that were not removed."""
    rows = conn.execute("SELECT key FROM runs WHERE removed_at IS NULL ORDER BY key")
    return tuple(row["key"] for row in rows)


def read_columns(
    conn: sqlite3.Connection, of: RunKeys, names: Collection[str]
) -> dict[str, array[float]]:
    """Read columns by name, each with an entry for every verdict of the run, in file order."""
    found = {name: _READERS[name](conn, of) for name in names if name in _READERS}
    for read, kind in ((_numbers, True), (_codes, False)):
        plain = [name for name in names if name in _COLUMNS and (TYPES[name] == "d") is kind]
        if plain:
            found |= dict(zip(plain, read(conn, of, plain), strict=True))
    return found


def read_rows(
    conn: sqlite3.Connection, run: int, keys: array[int], names: list[str]
) -> dict[str, array[float]]:
    """Read facts of some verdicts, by name of ``FACTS``, in the order of their keys as given."""
    columns = ", ".join(_COLUMNS[name] for name in names)
    rows = conn.execute(
        f"""SELECT {columns} FROM json_each(:keys) k CROSS JOIN verdicts v ON v.key = k.value
            ORDER BY k.key""",
        {"run": run, "keys": json.dumps(keys.tolist())},
    )
    return dict(zip(names, filled([_blank(name, len(keys)) for name in names], rows), strict=True))


def _facts(names: list[str]) -> str:
    """Return a query for columns of the verdicts between two keys, in file order."""
    columns = ", ".join(f"{_COLUMNS[name]} AS {name}" for name in names)
    return f"""SELECT {columns} FROM verdicts
               WHERE key >= :first AND key < :end AND +run = :run ORDER BY key"""


def _codes(conn: sqlite3.Connection, of: RunKeys, names: list[str]) -> list[array[float]]:
    """Return columns of whole numbers, a text for each piece: a row for each takes twice as long.

    SQLite concatenates in the order of the rows.
    """
    made = [_blank(name, of.size) for name in names]
    joined = ", ".join(f"group_concat({name})" for name in names)
    for at in range(0, of.size, _PIECE):
        first = of.first + at
        end = min(at + _PIECE, of.size)
        piece = {"run": of.run, "first": first, "end": of.first + end}
        texts = conn.execute(f"SELECT {joined} FROM ({_facts(names)})", piece).fetchone()
        for column, text in zip(made, texts, strict=True):
            # Empty if the run was removed meanwhile.
            values: array[float] = array(column.typecode)
            values.extend(map(int, text.split(",") if text else ()))
            column[at : at + len(values)] = values
    return made


def _blank(name: str, size: int) -> array[float]:
    """Return a column to fill: one that grows takes more memory than it needs, and leaves gaps."""
    made: array[float] = array(TYPES[name], [0])
    return made * size


def _numbers(conn: sqlite3.Connection, of: RunKeys, names: list[str]) -> list[array[float]]:
    rows = conn.execute(_facts(names), of.values)
    return filled([_blank(name, of.size) for name in names], rows)


def filled(made: list[array[float]], rows: sqlite3.Cursor) -> list[array[float]]:
    """Return columns with the values of rows written into them, in the order of both."""
    at = 0
    rows.row_factory = None
    while batch := rows.fetchmany(_BATCH):
        end = at + len(batch)
        for column, values in zip(made, zip(*batch, strict=True), strict=True):
            column[at:end] = array(column.typecode, values)
        at = end
    return made


def _order(name: str, conn: sqlite3.Connection, of: RunKeys) -> array[int]:
    return orders.read(conn, of.run, name)


def _ids(conn: sqlite3.Connection, of: RunKeys) -> array[float]:
    """Return the rows of a run in the order of their ids."""
    rows = conn.execute("SELECT key - :first FROM verdicts WHERE run = :run ORDER BY id", of.values)
    return filled([_blank("id", of.size)], rows)[0]


def _swing(conn: sqlite3.Connection, of: RunKeys) -> array[float]:
    """Return the range of each item's mean scores over two or more runs."""
    made = array(TYPES["swing"], [NONE]) * of.size
    rows = conn.execute(
        """WITH loaded AS (SELECT key FROM runs WHERE removed_at IS NULL),
                shared AS (SELECT DISTINCT m.item FROM loaded r CROSS JOIN verdicts o
                           ON o.run = r.key AND r.key != :run
                           CROSS JOIN verdicts m ON m.item = o.item AND m.run = :run),
                means AS (SELECT s.item, avg(v.score) AS score
                          FROM shared s CROSS JOIN verdicts v ON v.item = s.item
                          WHERE v.score IS NOT NULL AND v.run IN loaded GROUP BY s.item, v.run)
           SELECT v.key - :first, swing
           FROM (SELECT item, max(score) - min(score) AS swing FROM means
                 GROUP BY item HAVING count(*) > 1) m
           CROSS JOIN verdicts v ON v.item = m.item AND v.run = :run""",
        of.values,
    )
    for row, swing in rows:
        made[row] = swing
    return made


_READERS: Mapping[str, Callable[[sqlite3.Connection, RunKeys], array[Any]]] = {
    **{name: partial(_order, name) for name in orders.NAMES},
    "id": _ids,
    "swing": _swing,
}


INDEXED: Mapping[str, str] = {"file": "key", "id": "id"}
"""The orders of a whole run that the file has in an index, and their columns."""
IN_FILE = frozenset({*INDEXED, *orders.NAMES})
"""The orders of a whole run whose first page is read from the file at once."""


def first_keys(
    conn: sqlite3.Connection, of: RunKeys, order: str, most: int | None = None
) -> array[int]:
    """Return the keys of a whole run in an order of ``IN_FILE``: all, or the first ``most``."""
    name = order.removeprefix("-")
    way = " DESC" if order.startswith("-") else ""
    if name in orders.NAMES:
        last = of.size if most is None else min(most, of.size)
        span = (of.size - last, of.size) if way else (0, last)
        places = orders.read(conn, of.run, name, *span)
        return array("q", (of.first + place for place in (reversed(places) if way else places)))
    column = INDEXED[name]
    of_run = "key >= :first AND key < :end AND +run" if column == "key" else "run"
    rows = conn.execute(
        f"""SELECT key FROM verdicts WHERE {of_run} = :run
            ORDER BY {column}{way} LIMIT {-1 if most is None else most}""",
        of.values,
    )
    rows.row_factory = None
    return array("q", (row[0] for row in rows))
