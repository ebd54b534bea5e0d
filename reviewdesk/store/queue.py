"""Read the columns of a run for its queue, and the facts of the rows on screen."""

import json
from array import array
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import chain
from sqlite3 import Connection, Cursor, Row
from typing import Any, Self

from msgspec import Struct

from reviewdesk.domain.labels.sampling import AUDIT, COPY, FLAGGED, STRATA, TRUTH, TRUTHS, UNSEEN
from reviewdesk.domain.query.places import members
from reviewdesk.domain.query.words import CODES, TYPES, UNANIMOUS
from reviewdesk.domain.records import (
    NOT_WITHHELD,
    Applied,
    Progress,
    QueueRow,
    Run,
    Truth,
    Withheld,
)
from reviewdesk.store import events, runs
from reviewdesk.store.connect import first_column, in_pages, record, value
from reviewdesk.store.load import ingest
from reviewdesk.store.verdicts import first_key


class DecidedKeys(Struct, frozen=True):
    """The verdicts of a run that had a label at one moment, by key, without those ``waiting``."""

    first: int
    marks: bytes
    waiting: frozenset[int] = frozenset()

    def __contains__(self, key: object) -> bool:
        return isinstance(key, int) and key not in self.waiting and self.marks[key - self.first] > 0


class RunLabels:
    """A run's labels as one byte for each verdict, and what one reviewer deferred."""

    def __init__(self, conn: Connection, run: Run, reviewer: str) -> None:
        """Read all labels of a run."""
        self.run = run
        self._reviewer = reviewer
        self._first = first_key(conn, run.key)
        self._queue: Sequence[int] | None = None
        self._members = bytearray()
        """The verdicts that represent the contents of the last queue asked for."""
        self._contents: array[int] | None = None
        """A number for the content of each verdict; ``None`` if no two share one."""
        if run.contents != run.verdicts:
            query = "SELECT 6 * rank + stratum FROM verdicts WHERE run = ? ORDER BY key"
            self._contents = array("q", first_column(conn, query, (run.key,)))
        self.read(conn)

    def read(self, conn: Connection) -> Self:
        """Read all labels again; return the same object."""
        # The newest event that the labels surely include: one that comes meanwhile is read again.
        self._newest = events.newest_key(conn)
        self._marks = events.marks(conn, self._first, self.run.verdicts)
        query = """SELECT v.key, v.stratum, v.rank
                   FROM current_events d CROSS JOIN verdicts v ON v.item = d.item AND v.run = ?
                   WHERE d.slot = 'defer' AND d.label IS NULL AND d.author = ?
                   ORDER BY d.key, v.draw"""
        deferred = conn.execute(query, (self.run.key, self._reviewer)).fetchall()
        self.put_off: list[int] = [key for key, _, _ in deferred]
        self._deferred = len({(stratum, rank) for _, stratum, rank in deferred})
        return self

    def heard(self, done: Applied) -> bool:
        """Apply labels of the reviewer; return False if all labels must be read again instead."""
        if done.head.key <= self._newest:
            return True
        if done.first != self._newest + 1 or {one.kind for one in done.events} != {"label"}:
            return False
        first = self._first
        keys = [key for key in done.marks if first <= key < first + self.run.verdicts]
        if not {*keys}.isdisjoint(self.put_off):
            return False
        for key in keys:
            self._marks[key - first] = done.marks[key]
        self._newest = done.head.key
        return True

    def _counted(self) -> Counter[int]:
        """Return how many labelled verdicts have each byte."""
        given = self._marks.translate(None, bytes(1))
        # Faster than one by one, as there are few different bytes.
        return Counter({byte: given.count(byte) for byte in set(given)})

    def decided(self, waiting: frozenset[int] = frozenset()) -> DecidedKeys:
        return DecidedKeys(self._first, bytes(self._marks), waiting)

    def progress(
        self, keys: Sequence[int] | None = None, waiting: Collection[int] = ()
    ) -> Progress:
        """Count contents; ``left`` are those of the queue ``keys``, with the ``waiting`` ones."""
        held = Counter(self._marks[key - self._first] for key in waiting)
        # Of the verdicts on one content, one is counted.
        counts = (self._counted() - held).items()
        run = self.run
        found = {byte: n for byte, n in counts if byte and not byte & COPY}
        truths = {truth: sum(n for b, n in found.items() if TRUTHS[b & TRUTH] is truth)
                  for truth in (Truth.UNSURE, Truth.DISPUTED)}  # fmt: skip
        labelled = sum(found.values())
        left = run.contents - labelled
        if keys is not None and len(keys) != run.verdicts:
            if self._queue is not keys:
                self._queue = keys
                self._members = members(keys, self._first, len(self._marks), self._contents)
            apart = [key - self._first for key in waiting]
            left = sum(self._members[at] for at in apart if self._marks[at])
            # A member is a byte that is 1; one without a label has a mark that is 0.
            unmarked = int.from_bytes(self._marks.translate(_OPEN))
            left += (int.from_bytes(self._members) & unmarked).bit_count()
        return Progress(
            verdicts=run.contents,
            labelled=labelled,
            flagged=run.flagged,
            flagged_done=sum(n for byte, n in found.items() if byte & FLAGGED),
            audit=run.audit,
            audit_done=sum(n for byte, n in found.items() if byte & AUDIT),
            deferred=self._deferred,
            unsure=truths[Truth.UNSURE],
            disputed=truths[Truth.DISPUTED],
            left=left,
        )

    def first_gap(self, conn: Connection, waiting: Collection[int] = ()) -> tuple[int, int] | None:
        """Return the first verdict without a label in a blind queue, and how many labels follow."""
        apart = {key - self._first for key in waiting}
        given = {byte: n for byte, n in self._counted().items() if byte and not byte & UNSEEN}
        count = sum(n for byte, n in given.items() if not byte & COPY)
        count -= sum(self._marks[at] in given and not self._marks[at] & COPY for at in apart)
        before = 0
        for at in ingest.read(conn, self.run.key, "mix", 0, sum(given.values()) + 1):
            if self._marks[at] not in given or at in apart:
                return (self._first + at, count - before) if count > before else None
            before += not self._marks[at] & COPY
        return None

    def next_undecided(
        self, keys: "array[int]", after: int, again: Mapping[int, bool | None]
    ) -> int | None:
        """Return the index of the next verdict without a label after ``after``, or ``None``.

        The search wraps around. Deferred verdicts come last; if the one at ``after`` is deferred,
        the search among them starts there. Verdicts in ``again`` count as unlabelled, and as
        deferred if the value is True; those with ``None`` are left out.
        """
        put_off = [*self.put_off, *(key for key, late in again.items() if late)]
        waiting = set(put_off)
        marks = self._marks
        first = self._first
        skip = {key for key, late in again.items() if late is None}
        for place in chain(range(after + 1, len(keys)), range(min(after + 1, len(keys)))):
            key = keys[place]
            open_ = not marks[key - first] or key in again
            if open_ and key not in waiting and key not in skip:
                return place
        here = keys[after] if 0 <= after < len(keys) else None
        turn = put_off.index(here) + 1 if here in waiting and here is not None else 0
        for key in (*put_off[turn:], *put_off[:turn]):
            if key in keys and key not in skip:
                return keys.index(key)
        return None


_OPEN = bytes([1]) + bytes(255)


DEFERRED = """SELECT item FROM current_events
              WHERE slot = 'defer' AND label IS NULL AND author = ?"""


def marks(conn: Connection, items: Sequence[bytes]) -> dict[bytes, Truth]:
    query = "SELECT item, truth FROM truths WHERE item IN (*)"
    return {item: Truth(truth) for item, truth in in_pages(conn, query, items)}


def _queue_rows(
    conn: Connection,
    stored: Sequence[Row | Mapping[str, Any]],
    items: Sequence[bytes],
    reviewer: str,
    withheld: Withheld,
) -> tuple[list[QueueRow], dict[bytes, dict[str, str]]]:
    """Return the queue rows of stored verdicts, and the notes by item and author."""
    truths = marks(conn, items)
    own: dict[str, set[bytes]] = {"defer": set(), "mark": set()}
    noted: dict[bytes, dict[str, str]] = {}
    query = """SELECT c.item, c.slot, c.author, e.detail
               FROM current_events c JOIN label_events e ON e.key = c.key
               WHERE c.slot IN ('mark', 'defer', 'note') AND c.item IN (*)"""
    for item, slot, author, text in in_pages(conn, query, items):
        # SQLite's json_extract ends a text at NUL.
        detail = json.loads(text)
        if slot == "note":
            if detail["note"]:
                noted.setdefault(item, {})[author] = detail["note"]
        elif author == reviewer and (slot == "defer" or detail["on"]):
            own[slot].add(item)
    made = []
    for row in stored:
        item = row["item"]
        authors = set(noted.get(item, ()))
        hidden = withheld.hides(item)
        if hidden:
            authors &= {reviewer}
        queued = record(
            QueueRow,
            row,
            stratum=STRATA[row["stratum"]],
            audit=row["audit"] & 1,
            label=None if hidden else truths.get(item),
            deferred=item in own["defer"],
            marked=item in own["mark"],
            noted=reviewer in authors,
            noted_by_others=bool(authors - {reviewer}),
            labelled_by_other=item in withheld.others,
        )
        made.append(queued)
    return made, noted


def row_and_note(
    conn: Connection,
    stored: Mapping[str, Any],
    known: Sequence[bytes],
    reviewer: str,
    withheld: Withheld,
) -> tuple[QueueRow, str | None]:
    """Return a verdict's row and the reviewer's note; ``known`` holds its item if it has events."""
    [row], noted = _queue_rows(conn, [stored], known, reviewer, withheld)
    return row, noted.get(stored["item"], {}).get(reviewer)


def rows(
    conn: Connection, wanted: Sequence[int], reviewer: str, withheld: Withheld = NOT_WITHHELD
) -> list[QueueRow]:
    """Return the queue rows of known verdicts, without what others did on ``withheld`` items."""
    stored = in_pages(conn, "SELECT * FROM verdicts WHERE key IN (*)", wanted)
    found = {row["key"]: row for row in stored}
    items = [row["item"] for row in found.values()]
    kept = [found[key] for key in wanted if key in found]
    return _queue_rows(conn, kept, items, reviewer, withheld)[0]


NONE = 9e999
"""The value that stands for a missing number, as SQLite has no NaN: no verdict holds infinity."""
NUMBER = "ifnull({}, 9e999)"


def code(name: str) -> str:
    cases = " ".join(f"WHEN '{word}' THEN {code}" for code, word in enumerate(CODES[name]))
    return f"CASE {name} {cases} ELSE -1 END"


def confidence(source: str, stated: str) -> str:
    """Return SQL for a confidence as ``LabelColumns.confidences`` has it; NULL if undecided."""
    score = f"iif({stated}, stated_score, score)"
    shown = f"iif({source} = 'vote_share', 1.0 * passes / nullif(answered, 0), {score})"
    return f"""CASE WHEN decision NOT IN ('pass', 'fail') THEN NULL
               WHEN {source} = 'score' THEN {score} WHEN {source} = 'reported' THEN confidence
               WHEN decision = 'pass' THEN {shown} ELSE 1 - {shown} END"""


_COLUMNS: Mapping[str, str] = {
    **{name: NUMBER.format(name) for name in ("score", "agreement", "margin", "range")},
    "confidence": NUMBER.format(
        f"(SELECT {confidence('r.confidence_source', 'r.scores_stated')}"
        " FROM runs r WHERE r.key = :run)"
    ),
    **{name: code(name) for name in ("decision", "band")},
    "flags": "flags",
    **{name: f"ifnull({sql}, 0)" for name, sql in runs.UNANIMOUS.items() if name in UNANIMOUS},
}


class RunKeys(Struct, frozen=True):
    """The keys of a run, which are consecutive in file order."""

    run: int
    first: int
    size: int

    @property
    def values(self) -> dict[str, int]:
        return {"run": self.run, "first": self.first, "end": self.first + self.size}


def span(conn: Connection, run: int) -> RunKeys:
    size = int(value(conn, "SELECT verdicts FROM runs WHERE key = ?", (run,)))
    return RunKeys(run, first_key(conn, run), size)


def loaded_runs(conn: Connection) -> tuple[int, ...]:
    query = "SELECT key FROM runs WHERE removed_at IS NULL ORDER BY key"
    return tuple(first_column(conn, query))


def read_columns(
    conn: Connection, of: RunKeys, names: Collection[str]
) -> "dict[str, array[float]]":
    """Read columns by name, each with an entry for every verdict of the run, in file order."""
    found = {name: _READERS[name](conn, of) for name in names if name in _READERS}
    plain = [name for name in names if name in _COLUMNS]
    if plain:
        columns = ", ".join(f"{_COLUMNS[name]} AS {name}" for name in plain)
        query = f"""SELECT {columns} FROM verdicts
                    WHERE key >= :first AND key < :end AND +run = :run ORDER BY key"""
        # Multiplied, as a growing array takes more memory than it needs, and leaves gaps.
        blank: list[array[Any]] = [array(TYPES[name], [0]) for name in plain]
        made = filled([one * of.size for one in blank], conn.execute(query, of.values))
        found |= zip(plain, made, strict=True)
    return found


def filled(made: "list[array[float]]", rows: Cursor) -> "list[array[float]]":
    """Return columns with the values of rows written into them, in the order of both."""
    at = 0
    rows.row_factory = None
    while batch := rows.fetchmany(512):
        end = at + len(batch)
        for column, values in zip(made, zip(*batch, strict=True), strict=True):
            column[at:end] = array(column.typecode, values)
        at = end
    return made


def _swing(conn: Connection, of: RunKeys) -> "array[float]":
    made = array(TYPES["swing"], [NONE]) * of.size
    query = """WITH loaded AS (SELECT key FROM runs WHERE removed_at IS NULL),
                    shared AS (SELECT DISTINCT m.item FROM loaded r CROSS JOIN verdicts o
                               ON o.run = r.key AND r.key != :run
                               CROSS JOIN verdicts m ON m.item = o.item AND m.run = :run),
                    means AS (SELECT s.item, avg(v.score) AS score
                              FROM shared s CROSS JOIN verdicts v ON v.item = s.item
                              WHERE v.score IS NOT NULL AND v.run IN loaded GROUP BY s.item, v.run)
               SELECT v.key - :first, swing
               FROM (SELECT item, max(score) - min(score) AS swing FROM means
                     GROUP BY item HAVING count(*) > 1) m
               CROSS JOIN verdicts v ON v.item = m.item AND v.run = :run"""
    for row, swing in conn.execute(query, of.values):
        made[row] = swing
    return made


_READERS: "Mapping[str, Callable[[Connection, RunKeys], array[Any]]]" = {
    "draw": lambda conn, of: ingest.read(conn, of.run, "draw"),
    "mix": lambda conn, of: ingest.read(conn, of.run, "mix"),
    "id": lambda conn, of: array("q", (key - of.first for key in keys_in_file(conn, of, "id"))),
    "swing": _swing,
}


INDEXED: Mapping[str, str] = {"file": "key", "id": "id"}
"""The orders of a whole run for which the file has an index, and their columns."""
IN_FILE = frozenset({*INDEXED, *ingest.NAMES})
"""The orders of a whole run that are read from the file."""


def keys_in_file(conn: Connection, of: RunKeys, order: str) -> "array[int]":
    """Return the keys of a whole run in an order of ``IN_FILE``."""
    name = order.removeprefix("-")
    way = " DESC" if order.startswith("-") else ""
    if name in ingest.NAMES:
        places = ingest.read(conn, of.run, name, 0, of.size)
        return array("q", (of.first + place for place in (reversed(places) if way else places)))
    column = INDEXED[name]
    of_run = "key >= :first AND key < :end AND +run" if column == "key" else "run"
    query = f"""SELECT key FROM verdicts WHERE {of_run} = :run
                ORDER BY {column}{way}"""
    return array("q", first_column(conn, query, of.values))
