"""Copy the readable rows of a damaged desk file into a new one, and people's work into a copy.

SQLite reads a copy of the file whose header was mended. Rows are read in the order of their keys,
around the damage. The log is read from the pages themselves, so that it needs no sound tree. An
event counts only if its hash is correct; one that does not continue its chain is left out.
"""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import groupby, islice
from operator import itemgetter
from pathlib import Path
from typing import Any

from reviewdesk.errors import DeskError, ReviewDeskError
from reviewdesk.store import connect, reruns
from reviewdesk.store.connect import value
from reviewdesk.store.copies.backup import UNREADABLE, Told, reading_copy, scan_events
from reviewdesk.store.events import of_desk
from reviewdesk.store.measures import places
from reviewdesk.store.runs import ABOUT, content_hash, tag_verdicts
from reviewdesk.store.verdicts import first_key

MADE = ("meta", "drafts", "seen", "filters", "kept_settings", "replies")
"""The tables, besides the log, of people's work that no report can bring back."""
_OF_RUNS = ("runs", "verdicts", "bodies", "packed", "measures", "strata", "views")
_TABLES = (*MADE, *_OF_RUNS, "reruns")
_JSON = {
    "runs": ("header", "options", "notes"),
    "views": ("state",),
    "kept_settings": ("value",),
    "reruns": ("body",),
    "replies": ("headers",),
}
_KINDS: Mapping[str, tuple[type, ...]] = {
    "TEXT": (str,), "INTEGER": (int,), "REAL": (float, int), "BLOB": (bytes,),
}  # fmt: skip
_BATCH = 500
_LAST_KEY = 1 << 62
_SINGLE = 20_000
"""The most keys of a damaged range that are tried one by one."""

Row = tuple[Any, ...]


@dataclass(slots=True)
class Carried:
    """What was carried into the new desk, and what was lost, in sentences."""

    broken: dict[int, str] = field(default_factory=dict)
    """The names of the runs that are incomplete in the new desk, by key."""
    lost: list[str] = field(default_factory=list)
    behind: list[Mapping[str, Any]] = field(default_factory=list)
    """The events beyond the end of their chain, in its order; the new desk does not have them."""


def carry(
    source: sqlite3.Connection, target: sqlite3.Connection, tables: Sequence[str], told: Told
) -> dict[str, bool]:
    """Insert the readable rows of some tables into a new desk; return which were read to the end.

    Tables that the source does not have hold no rows.
    """
    whole = {}
    for number, table in enumerate(tables):
        rows = _TableReader(source, target, table)
        if table == "meta":
            target.execute("DELETE FROM meta")
        marks = ", ".join("?" * len(rows.columns))
        query = f"INSERT OR IGNORE INTO {table} ({', '.join(rows.columns)}) VALUES ({marks})"
        found = rows.read()
        count = 0
        while some := list(islice(found, _BATCH)):
            target.execute("BEGIN")
            for row in some:
                try:
                    target.execute(query, row)
                except ReviewDeskError:
                    rows.whole = False
            target.execute("COMMIT")
            count += len(some)
            told(number / len(tables), count)
        whole[table] = rows.whole
    target.execute("DELETE FROM meta WHERE key = ?", (connect.HASHES,))
    return whole


class _TableReader:
    """Reads the readable rows of one table, one by one, and checks that their values fit."""

    def __init__(self, source: sqlite3.Connection, target: sqlite3.Connection, table: str) -> None:
        info = [tuple(row) for row in target.execute(f"PRAGMA table_info({table})")]
        self._source = source
        self._table = table
        self.whole = True
        self.columns = [name for _, name, *_ in info]
        self._kinds = [
            (_KINDS[kind], not needed and not (key and kind != "INTEGER"))
            for _, _, kind, needed, _, key in info
        ]
        self._keys = [name for _, name, *_, key in sorted(info, key=lambda one: one[5]) if key]
        layout = "SELECT sql FROM sqlite_master WHERE name = ?"
        self._has_rowid = "WITHOUT ROWID" not in value(target, layout, (table,))
        self._json = [self.columns.index(name) for name in _JSON.get(table, ())]

    def read(self) -> Iterator[Row]:
        # A view could run forever.
        query = "SELECT sql FROM sqlite_master WHERE name = ? AND type = 'table'"
        found = self._try(query, (self._table,))
        self.whole = found is not None
        if not found or not str(found[0][0]).upper().startswith("CREATE TABLE"):
            return
        rows = self._by_key() if self._has_rowid else self._from_both_ends()
        for row in rows:
            if self._fits(row):
                yield row
            else:
                self.whole = False

    def _try(self, query: str, values: Row) -> list[Row] | None:
        try:
            return self._source.execute(query, values).fetchall()
        except UNREADABLE:
            return None

    def _select(self, where: str) -> str:
        names = ", ".join(self.columns)
        return f"SELECT rowid, {names} FROM {self._table} NOT INDEXED WHERE {where}"

    def _by_key(self) -> Iterator[Row]:
        """Yield rows by their keys, and skip the damage."""
        last = 0
        while True:
            try:
                for row in self._source.execute(self._select("rowid > ? ORDER BY rowid"), (last,)):
                    if row[0] <= last:
                        break
                    last = row[0]
                    yield tuple(row[1:])
                else:
                    return
            except UNREADABLE:
                pass
            self.whole = False
            behind = self._behind(last)
            if behind is None:
                return
            if behind - last <= _SINGLE:
                for key in range(last + 1, behind + 1):
                    rows = self._try(self._select("rowid = ?"), (key,)) or ()
                    yield from (tuple(row[1:]) for row in rows)
            last = behind

    def _behind(self, last: int) -> int | None:
        """Return the key after which rows can be read again, beyond the damage after ``last``."""
        query = self._select("rowid > ? ORDER BY rowid LIMIT 1")

        def reads(key: int) -> bool:
            found = self._try(query, (key,))
            return found is not None and all(row[0] > key for row in found)

        step = 1
        while not reads(last + step):
            step *= 2
            if last + step > _LAST_KEY:
                return None
        low = last + step // 2
        high = last + step
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if reads(middle) else (middle, high)
        return high

    def _from_both_ends(self) -> Iterator[Row]:
        """Yield rows from the first up to the damage, then from the last back to it."""
        for way in ("ASC", "DESC"):
            order = ", ".join(f"{name} {way}" for name in self._keys)
            query = f"SELECT {', '.join(self.columns)} FROM {self._table} ORDER BY {order}"
            seen: set[Row] = set()
            try:
                for row in self._source.execute(query):
                    kept = tuple(row)
                    if kept in seen:
                        break
                    # A damaged tree may contain a circle.
                    seen.add(kept)
                    yield kept
                else:
                    return
            except UNREADABLE:
                pass
            self.whole = False

    def _fits(self, row: Row) -> bool:
        for found, (kinds, empty) in zip(row, self._kinds, strict=True):
            if not (empty if found is None else isinstance(found, kinds)):
                return False
        try:
            for place in self._json:
                json.loads(row[place])
        except (ValueError, RecursionError):
            return False
        return True


def chain_events(
    target: sqlite3.Connection, events: Sequence[Mapping[str, Any]]
) -> tuple[dict[int, int], list[Mapping[str, Any]]]:
    """Append the events that continue their chains; return their new keys by old, and the others.

    An event waits until the one before it is there, whatever its place in the file is.
    """
    if not events:
        return {}, []
    columns = list(events[0])
    query = f"INSERT INTO label_events VALUES ({', '.join('?' * len(columns))})"
    ends: dict[tuple[str, str], tuple[int, str]] = {}
    waiting: dict[tuple[str, str, str], Mapping[str, Any]] = {}
    keys: dict[int, int] = {}
    target.execute("BEGIN")
    for event in events:
        chain = event["desk"], event["reviewer"]
        waiting[*chain, event["prev_hash"]] = event
        while one := waiting.get((*chain, ends.get(chain, (0, ""))[1])):
            if one["seq"] != ends.get(chain, (0, ""))[0] + 1:
                break
            del waiting[*chain, one["prev_hash"]]
            keys[one["key"]] = len(keys) + 1
            target.execute(query, (keys[one["key"]], *(one[name] for name in columns[1:])))
            ends[chain] = one["seq"], one["hash"]
    target.execute("COMMIT")
    place = itemgetter("desk", "reviewer", "seq")
    return keys, sorted(waiting.values(), key=place)


def standing_labels(events: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the labels among some events that no event takes back, in their order."""
    turned = {
        (event["desk"], event["reviewer"], event["target"]): event["kind"]
        for event in events
        if event["kind"] in {"undo", "redo"}
    }
    return [
        event
        for event in events
        if event["kind"] == "label"
        and isinstance(event["item"], bytes)
        and turned.get((event["desk"], event["reviewer"], event["action"])) != "undo"
    ]


def salvage(copy: Path, target: sqlite3.Connection, told: Told) -> Carried:
    """Copy the readable rows of a working copy into an empty desk of the same schema version."""
    carried = Carried()
    columns = [row[1] for row in target.execute("PRAGMA table_info(label_events)")]
    events = scan_events(copy, columns, told)
    target.execute("PRAGMA foreign_keys=OFF")
    there = [row[0] for row in target.execute("SELECT name FROM sqlite_master")]
    with reading_copy(copy) as source:
        whole = carry(source, target, [name for name in _TABLES if name in there], told)
        written: object = None
        with suppress(*UNREADABLE):
            query = "SELECT seq FROM sqlite_sequence WHERE name = 'label_events'"
            (written,) = source.execute(query).fetchone() or (None,)
    _keep_desk_id(target, events)
    keys, carried.behind = chain_events(target, events)
    query = "SELECT ifnull(max(seq), 0) FROM label_events WHERE desk = ? AND reviewer = ?"
    for chain, some in groupby(carried.behind, itemgetter("desk", "reviewer")):
        seqs = [event["seq"] for event in some]
        end = value(target, query, chain)
        carried.lost.append(
            f"events of {chain[1]}: the chain ends early, at event {end} of {seqs[-1]}; of the "
            f"{seqs[-1] - end} after it {len(seqs)} could be read and are left out, because an "
            "event before them is lost"
        )
    if not carried.behind and isinstance(written, int) and written > len(keys):
        carried.lost.append(f"events: {written} were written and {len(keys)} could be read")
    carried.lost += [
        f"{table}: not all rows could be read" for table in MADE if not whole.get(table, True)
    ]
    for table in {"replies", "reruns"} & set(there):
        plans = [row[0] for row in target.execute(f"SELECT DISTINCT plan FROM {table}")]
        target.execute("BEGIN")
        # Keys only become smaller, so in this order each new key is free.
        for plan in sorted(plans):
            if (new := keys.get(plan)) is None:
                target.execute(f"DELETE FROM {table} WHERE plan = ?", (plan,))
            elif new != plan:
                target.execute(f"UPDATE {table} SET plan = ? WHERE plan = ?", (new, plan))
        target.execute("COMMIT")
    if "content" in {row[1] for row in target.execute("PRAGMA table_info(runs)")}:
        _follow_log(target, carried)
    _check_runs(target, carried, whole)
    return carried


def _keep_desk_id(target: sqlite3.Connection, events: Sequence[Mapping[str, Any]]) -> None:
    """Restore the desk's id, if needed from the log, so that new events continue the old chains."""
    known = Counter(event["desk"] for event in events)
    held = target.execute("SELECT value FROM meta WHERE key = 'desk_id'").fetchone()
    if held and (held[0] in known or not known):
        return
    query = "INSERT OR REPLACE INTO meta VALUES ('desk_id', ifnull(?, lower(hex(randomblob(16)))))"
    target.execute(query, (known.most_common(1)[0][0] if known else None,))


def _follow_log(target: sqlite3.Connection, carried: Carried) -> None:
    """Give runs the name and place stated in the log, and drop re-runs that contradict it."""
    for event in of_desk(target, "run", "rules", "removed", "restored"):
        if event.kind in {"run", "rules"}:
            made = {name: event.detail[name] for name in ABOUT if name in event.detail}
            made |= {"removed_at": None} if event.kind == "run" else {}
        else:
            made = {"removed_at": event.at if event.kind == "removed" else None}
        columns = ", ".join(f"{name} = ?" for name in made)
        with suppress(ReviewDeskError):
            query = f"UPDATE OR IGNORE runs SET {columns} WHERE hash = ?"
            target.execute(query, (*made.values(), event.run))
    said = {event.detail["plan"]: event.detail for event in of_desk(target, "rerun")}
    for plan in reruns.plans(target):
        try:
            made = reruns.hashes(target, plan)[2]
            same = all(said[plan][name] == value for name, value in made.items())
        except Exception:  # noqa: BLE001 - a damaged row may hold any value
            same = False
        if not same:
            target.execute("DELETE FROM reruns WHERE plan = ?", (plan,))
            carried.lost.append(f"re-run {plan}: is not as it was recorded, and is left out")


def _check_runs(target: sqlite3.Connection, carried: Carried, whole: Mapping[str, bool]) -> None:
    """Find the runs that differ from what was loaded, and those whose row is lost."""
    query = """SELECT r.key, r.name, r.verdicts, count(b.verdict) FROM runs r
               LEFT JOIN verdicts v ON v.run = r.key LEFT JOIN bodies b ON b.verdict = v.key
               GROUP BY r.key"""
    stored = map(dict, target.execute("SELECT * FROM runs"))
    hashes = {row["key"]: row.get("content") for row in stored}
    for key, name, stated, held in target.execute(query).fetchall():
        try:
            same = stated == held and (
                content_hash(target, key) == hashes[key]
                and all(start == end for start, end in places(target, key))
                if hashes.get(key)
                else whole["packed"]
            )
            if same:
                # No hash covers the places, because they follow from the keys.
                first = first_key(target, key)
                target.execute(
                    "UPDATE verdicts SET pos = key - ? WHERE run = ? AND pos IS NOT key - ?",
                    (first, key, first),
                )
        except Exception:  # noqa: BLE001 - a damaged row may hold any value
            same = False
        if not same:
            carried.broken[key] = name
    query = (
        "SELECT run, count(*) FROM verdicts WHERE run NOT IN (SELECT key FROM runs) GROUP BY run"
    )
    carried.lost += [
        f"run {run}: what was said of it is lost, and {count} of its verdicts are left out; load "
        "its report again"
        for run, count in target.execute(query).fetchall()
    ]
    if not whole["runs"]:
        carried.lost.append("runs: not all could be read; load their reports again")


def bodies_of(target: sqlite3.Connection, run: int) -> Iterator[str]:
    """Yield the readable verdicts of a run as stored, also those whose narrow row is lost.

    A verdict without its row belongs to the run of the row before it, or to the desk's only run.
    """
    query = """SELECT b.body FROM bodies b LEFT JOIN verdicts v ON v.key = b.verdict
               WHERE coalesce(v.run, (SELECT w.run FROM verdicts w WHERE w.key <= b.verdict
                                      ORDER BY w.key DESC LIMIT 1),
                              (SELECT iif(count(*) = 1, max(key), NULL) FROM runs)) = ?
               ORDER BY b.verdict"""
    for row in target.execute(query, (run,)):
        yield row[0]


def drop_runs(target: sqlite3.Connection, runs: Sequence[int]) -> None:
    """Delete some runs from the new desk, and every row that belongs to no run."""
    target.execute("BEGIN")
    target.executemany("DELETE FROM runs WHERE key = ?", [(run,) for run in runs])
    there = {row[0] for row in target.execute("SELECT name FROM sqlite_master")}
    for table in ("verdicts", "packed", "measures", "strata", "views"):
        if table in there:
            target.execute(f"DELETE FROM {table} WHERE run NOT IN (SELECT key FROM runs)")
    target.execute("DELETE FROM bodies WHERE verdict NOT IN (SELECT key FROM verdicts)")
    if "reruns" in there:
        target.execute("DELETE FROM reruns WHERE verdict NOT IN (SELECT key FROM verdicts)")
    if "case_tags" in there:
        with suppress(ReviewDeskError, ValueError):
            tag_verdicts(target)
    target.execute("COMMIT")
    target.execute("PRAGMA foreign_keys=ON")


def copy_made(
    source: sqlite3.Connection, target: sqlite3.Connection, go_on: Callable[[float, int], object]
) -> None:
    """Copy the log and people's other work into an empty desk; no report can bring it back."""
    if not all(carry(source, target, MADE, go_on).values()):
        raise DeskError("the desk is damaged", "Run: reviewdesk desk repair.")
    rows = source.execute("SELECT * FROM label_events ORDER BY key")
    query: str | None = None
    done = 0
    while some := rows.fetchmany(_BATCH):
        query = query or f"INSERT INTO label_events VALUES ({', '.join('?' * len(some[0]))})"
        target.execute("BEGIN")
        target.executemany(query, some)
        target.execute("COMMIT")
        done += len(some)
        go_on(0.5, done)
