"""Back up a desk file; copy what is readable of a damaged one, or people's work, into a new desk.

SQLite reads a copy of the file whose header was mended. Rows are read from both ends of a table up
to the damage, and the log from each of its pages, so that it needs no sound tree. An event counts
only if its hash is correct; one that does not continue its chain is left out.
"""

import json
import os
import shutil
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from itertools import groupby, islice
from operator import itemgetter
from pathlib import Path
from sqlite3 import Connection
from time import sleep
from typing import Any

from reviewdesk.domain.records import event_hash
from reviewdesk.errors import Cancelled, DeskError, ReviewDeskError
from reviewdesk.file_output import whole_path
from reviewdesk.store import connect
from reviewdesk.store.connect import (
    APPLICATION_ID,
    explained,
    first_column,
    is_busy,
    is_own_file,
    lookup,
    value,
)  # fmt: skip

UNREADABLE = (sqlite3.Error, MemoryError, UnicodeError)
"""The errors of reading a damaged file: a damaged length may ask for more memory than there is, and
SQLite repeats bytes of a damaged schema that are not text."""
Told = Callable[[float, int], object]
MADE = ("meta", "drafts", "seen", "filters", "kept_settings", "replies")
"""The tables, besides the log, of people's work that no report can bring back."""
_TABLES = (*MADE, "runs", "verdicts", "bodies", "packed", "measures", "strata", "views", "reruns")
_JSON = {
    "runs": ("header", "options", "notes"), "bodies": ("body",), "views": ("state",),
    "kept_settings": ("value",), "reruns": ("body",), "replies": ("headers",),
}  # fmt: skip
_KINDS: Mapping[str, tuple[type, ...]] = {
    "TEXT": (str,), "INTEGER": (int,), "REAL": (float, int), "BLOB": (bytes,),
}  # fmt: skip
_BATCH = 500

Row = tuple[Any, ...]


def working_copy(desk: Path, folder: Path) -> Path:
    """Copy a desk file and its log into a folder, mend the copy's header, and fold the log in."""
    copy = folder / "damaged.db"
    with explained(desk):
        for beside in ("", "-wal", "-journal"):
            if (found := desk.with_name(desk.name + beside)).exists():
                shutil.copyfile(found, folder / f"{copy.name}{beside}")
    _mend_header(copy)
    try:
        with reading_copy(copy) as conn:
            conn.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    except UNREADABLE:
        # The log cannot be read, but perhaps the file itself can.
        for beside in ("-wal", "-journal", "-shm"):
            (folder / f"{copy.name}{beside}").unlink(missing_ok=True)
    _mend_header(copy)
    return copy


def _mend_header(copy: Path) -> None:
    """Write the parts of the header that are the same in every desk, and the number of pages."""
    size = connect.PAGE_SIZE
    with copy.open("r+b") as file:
        pages = max(1, -(-file.seek(0, os.SEEK_END) // size))
        file.truncate(pages * size)
        file.seek(0)
        head = bytearray(file.read(100))
        way = 2 if copy.with_name(f"{copy.name}-wal").exists() else 1
        head[:24] = b"SQLite format 3\0" + size.to_bytes(2) + bytes((way, way, 0, 64, 32, 32))
        head[28:40] = pages.to_bytes(4) + bytes(8)
        head[44:48] = (4).to_bytes(4)
        head[52:60] = bytes(4) + (1).to_bytes(4)
        head[64:92] = bytes(4) + APPLICATION_ID.to_bytes(4) + bytes(20)
        head[92:96] = head[24:28]
        file.seek(0)
        file.write(head)


@contextmanager
def reading_copy(copy: Path) -> Iterator[Connection]:
    """Open a working copy so that its schema runs nothing; damage raises an error row by row."""

    def text(data: bytes) -> str | bytes:
        """Return a text, or its bytes if they are not UTF-8, so that only their row is lost."""
        try:
            return data.decode()
        except UnicodeDecodeError:
            return data

    with closing(sqlite3.connect(copy, isolation_level=None)) as conn:
        conn.text_factory = text
        for pragma in ("trusted_schema=OFF", "writable_schema=ON", "cell_size_check=ON"):
            conn.execute(f"PRAGMA {pragma}")
        yield conn


def stated_version(copy: Path, latest: int) -> int:
    """Return a working copy's schema version, or the latest; DeskError for a newer one."""
    with copy.open("rb") as file:
        stated = int.from_bytes(file.read(64)[60:])
    if 0 < stated <= latest:
        return stated
    recorded = 0
    with suppress(*UNREADABLE), reading_copy(copy) as conn:
        recorded = int(value(conn, "SELECT count(*) FROM migrations"))
    if recorded > latest:
        raise DeskError("the desk was made by a newer reviewdesk", "Update reviewdesk.")
    return recorded or latest


def carry(source: Connection, target: Connection, tables: Sequence[str], told: Told) -> list[str]:
    """Insert the readable rows of some tables into a new desk; return the tables with losses."""
    damaged = []
    for number, table in enumerate(tables):
        if table == "meta":
            target.execute("DELETE FROM meta")
        held: set[str] = set()
        with suppress(*UNREADABLE):
            held = {row[1] for row in source.execute(f"PRAGMA table_info({table})")}
        # A table of an older version may lack the newest columns.
        every = map(tuple, target.execute(f"PRAGMA table_info({table})"))
        info = [row for row in every if not held or row[1] in held]
        names = [name for _, name, *_ in info]
        kinds = [(*_KINDS[kind], type(None)) for _, _, kind, *_ in info]
        parsed = [names.index(name) for name in _JSON.get(table, ()) if name in names]
        query = f"INSERT INTO {table} ({', '.join(names)}) VALUES ({', '.join('?' * len(names))})"
        rows = _readable(source, target, table, names)
        count = lost = 0
        while some := list(islice(rows, _BATCH)):
            target.execute("BEGIN")
            for row in some:
                if not _fits(row, kinds, parsed):
                    lost += 1
                    continue
                try:
                    target.execute(query, row)
                except ReviewDeskError:
                    lost += 1
            target.execute("COMMIT")
            count += len(some)
            told(number / len(tables), count)
        damaged += [table] * bool(lost)
    target.execute("DELETE FROM meta WHERE key = ?", (connect.HASHES,))
    return damaged


def _fits(row: Row, kinds: Sequence[tuple[type, ...]], parsed: Sequence[int]) -> bool:
    """Return True if the values of a row have their kinds; the empty row stands for damage."""
    if not row or not all(map(isinstance, row, kinds)):
        return False
    try:
        for place in parsed:
            json.loads(row[place])
    except (ValueError, TypeError, RecursionError):
        return False
    return True


def _readable(
    source: Connection, target: Connection, table: str, names: Sequence[str]
) -> Iterator[Row]:
    """Yield rows from the first up to the damage, then from the last back, then an empty one."""
    layout = "SELECT sql FROM sqlite_master WHERE name = ? AND type = 'table'"
    keys = ["rowid"]
    if "WITHOUT ROWID" in value(target, layout, (table,)):
        keys = first_column(target, "SELECT name FROM pragma_table_info(?) WHERE pk", (table,))
    seen: set[Row] = set()
    for way in ("", "DESC"):
        order = ", ".join(f"{name} {way}" for name in keys)
        query = f"SELECT {', '.join([*keys, *names])} FROM {table} NOT INDEXED ORDER BY {order}"
        with suppress(*UNREADABLE):
            # A view could run forever.
            made = source.execute(layout, (table,)).fetchone()
            if made is None or not str(made[0]).upper().startswith("CREATE TABLE"):
                break
            for key, row in ((one[: len(keys)], one[len(keys) :]) for one in source.execute(query)):
                if key in seen:
                    break  # the part that was read before, or a circle in a damaged tree
                seen.add(key)
                yield row
            else:
                return
    yield ()


def scan_events(copy: Path, columns: Sequence[str], told: Told) -> list[dict[str, Any]]:
    """Return the events with a correct hash on the pages of a file, in the order of keys."""
    size = connect.PAGE_SIZE
    with closing(sqlite3.connect(":memory:")) as made:
        made.execute(f"PRAGMA page_size={size}")
        others = ", ".join(columns[1:])
        made.execute(f"CREATE TABLE log ({columns[0]} INTEGER PRIMARY KEY, {others})")
        first = bytearray(made.serialize()[:size])
    with copy.open("r+b") as file:
        pages = file.seek(0, os.SEEK_END) // size
        leaves = [
            number
            for number in range(2, pages + 1)
            # A page that holds rows of a table begins with this byte.
            if file.seek((number - 1) * size) >= 0 and file.read(1) == bytes([13])
        ]
        first[28:32] = pages.to_bytes(4)
        file.seek(0)
        file.write(first)
    found: dict[str, dict[str, Any]] = {}
    with reading_copy(copy) as conn:
        for pragma in ("cell_size_check=OFF", "journal_mode=OFF", "synchronous=OFF"):
            conn.execute(f"PRAGMA {pragma}")
        for count, number in enumerate(leaves):
            conn.execute("UPDATE sqlite_master SET rootpage = ?", (number,))
            conn.execute("PRAGMA writable_schema=RESET")
            conn.execute("PRAGMA writable_schema=ON")
            for way in ("ASC", "DESC"):
                query = f"SELECT * FROM log WHERE length(hash) = 64 ORDER BY {columns[0]} {way}"
                with suppress(*UNREADABLE):
                    for row in conn.execute(query):
                        event = dict(zip(columns, row, strict=True))
                        if _is_event(event):
                            found.setdefault(event["hash"], event)
                    break
            if count % 1000 == 0:
                told(count / len(leaves), len(found))
    return sorted(found.values(), key=itemgetter("key", "seq"))


def _is_event(event: Mapping[str, Any]) -> bool:
    texts = ("desk", "reviewer", "kind", "at", "author", "detail", "prev_hash", "hash")
    numbers = ("key", "seq", "tentative", "action")
    try:
        return (
            all(isinstance(event[name], str) for name in texts)
            and all(type(event[name]) is int for name in numbers)
            and isinstance(event["item"], bytes | None)
            and event_hash(event) == event["hash"]
        )
    except (ValueError, TypeError):
        return False


def chain_events(
    target: Connection, events: Sequence[Mapping[str, Any]]
) -> tuple[dict[int, int], list[Mapping[str, Any]]]:
    """Append events that continue chains, in any order; return new keys, and the others."""
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
            connect.insert(target, "label_events", {**one, "key": keys[one["key"]]})
            ends[chain] = one["seq"], one["hash"]
    target.execute("COMMIT")
    return keys, sorted(waiting.values(), key=itemgetter("desk", "reviewer", "seq"))


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


def salvage(
    copy: Path, target: Connection, told: Told, *, older: bool
) -> tuple[list[str], list[Mapping[str, Any]]]:
    """Copy the readable rows of a working copy into an empty desk; an older one lacks tables.

    Return what was lost, in sentences, and the events beyond the end of their chain, in its order.
    """
    target.execute("PRAGMA foreign_keys=OFF")
    written: object = None
    with reading_copy(copy) as source:
        tables: Sequence[str] = _TABLES
        if older:
            there = first_column(source, "SELECT name FROM sqlite_master")
            tables = [name for name in _TABLES if name in there]
        damaged = carry(source, target, tables, told)
        with suppress(*UNREADABLE):
            written = lookup(source, "SELECT seq FROM sqlite_sequence WHERE name = 'label_events'")
    columns = first_column(target, "SELECT name FROM pragma_table_info('label_events')")
    events = scan_events(copy, columns, told)
    # New events must continue the chains of the desk's own id.
    known = Counter(event["desk"] for event in events).most_common(1)
    held = lookup(target, "SELECT value FROM meta WHERE key = 'desk_id'")
    if not held or (known and held not in {event["desk"] for event in events}):
        query = (
            "INSERT OR REPLACE INTO meta VALUES ('desk_id', ifnull(?, lower(hex(randomblob(16)))))"
        )
        target.execute(query, (known[0][0] if known else None,))
    keys, behind = chain_events(target, events)
    lost = [f"{table}: not all rows could be read" for table in damaged if table in MADE]
    if "runs" in damaged:
        lost.append("runs: not all could be read; load their reports again")
    for (desk, reviewer), some in groupby(behind, itemgetter("desk", "reviewer")):
        seqs = [event["seq"] for event in some]
        query = "SELECT ifnull(max(seq), 0) FROM label_events WHERE desk = ? AND reviewer = ?"
        end = value(target, query, (desk, reviewer))
        lost.append(
            f"events of {reviewer}: the chain ends early, at event {end} of {seqs[-1]}; of the "
            f"{seqs[-1] - end} after it {len(seqs)} could be read and are left out, because an "
            "event before them is lost"
        )
    if not behind and isinstance(written, int) and written > len(keys):
        lost.append(f"events: {written} were written and {len(keys)} could be read")
    for table in ("replies", "reruns"):
        target.execute("BEGIN")
        # Keys only become smaller, so in this order each new key is free.
        for plan in first_column(target, f"SELECT DISTINCT plan FROM {table} ORDER BY plan"):
            if plan in keys:
                new = (keys[plan], plan)
                target.execute(f"UPDATE {table} SET plan = ? WHERE plan = ?", new)
            else:
                target.execute(f"DELETE FROM {table} WHERE plan = ?", (plan,))
        target.execute("COMMIT")
    return lost, behind


def incomplete(target: Connection) -> list[int]:
    query = """SELECT r.key FROM runs r WHERE r.verdicts IS NOT (
                 SELECT count(*) FROM verdicts v JOIN bodies b ON b.verdict = v.key
                 WHERE v.run = r.key)"""
    return first_column(target, query)


def bodies_of(target: Connection, run: int) -> list[str]:
    query = """SELECT body FROM bodies
               WHERE verdict BETWEEN (SELECT min(key) FROM verdicts WHERE run = ?1)
                                 AND (SELECT max(key) FROM verdicts WHERE run = ?1)
               ORDER BY verdict"""
    return first_column(target, query, (run,))


def drop(target: Connection, runs: Sequence[int], plans: Sequence[int]) -> None:
    """Delete some runs and re-runs from the new desk, and every row that belongs to no run."""
    target.executemany("DELETE FROM runs WHERE key = ?", [(run,) for run in runs])
    if plans:
        target.executemany("DELETE FROM reruns WHERE plan = ?", [(plan,) for plan in plans])
    for table in ("verdicts", "packed", "measures", "strata", "views", "case_tags", "orders"):
        target.execute(f"DELETE FROM {table} WHERE run NOT IN (SELECT key FROM runs)")
    for table in ("bodies", "reruns"):
        target.execute(f"DELETE FROM {table} WHERE verdict NOT IN (SELECT key FROM verdicts)")


def copy_made(source: Connection, target: Connection, told: Told) -> None:
    """Copy the log and people's other work into an empty desk; no report can bring it back."""
    if carry(source, target, MADE, told):
        raise DeskError("the desk is damaged", "Run: reviewdesk desk repair.")
    rows = source.execute("SELECT * FROM label_events ORDER BY key")
    done = 0
    while some := rows.fetchmany(_BATCH):
        query = f"INSERT INTO label_events VALUES ({', '.join('?' * len(some[0]))})"
        target.execute("BEGIN")
        target.executemany(query, some)
        target.execute("COMMIT")
        done += len(some)
        told(0.5, done)


def back_up(
    conn: Connection,
    desk: Path,
    target: Path,
    *,
    replace: bool = False,
    go_on: Callable[[], bool] = lambda: True,
) -> None:
    """Copy the whole desk with its log to a file, which is checked before it gets its name.

    The owner, or a group that may write the desk, may read it. Raise Cancelled once ``go_on``
    returns False, and DeskError if the target exists, has no folder, or the copy is damaged.
    """
    if is_own_file(desk, target):
        raise DeskError(f"{target}: is the desk itself", "Name a new file.")
    if not replace and os.path.lexists(target):
        raise DeskError(f"{target}: already exists", "Name a new file.")
    if not target.parent.is_dir():
        raise DeskError(f"{target}: there is no such folder", "Name a file in an existing folder.")
    with explained(target), whole_path(target, replace=replace, of_desk=True) as part:
        copy = sqlite3.connect(part)
        try:
            _copy_pages(conn, copy, go_on)
            copy.set_progress_handler(lambda: not go_on(), 100_000)
            found = copy.execute("PRAGMA quick_check(1)").fetchone()[0]
        except sqlite3.OperationalError:
            if not go_on():
                raise Cancelled(_STOPPED) from None
            raise
        finally:
            copy.close()
        if found != "ok":
            raise DeskError(f"{target}: the copy is damaged: {found}", "Run desk verify.")
        if desk.stat().st_mode & 0o020:
            part.chmod(0o660)


_STOPPED = "the backup was stopped; nothing of it is left"


def _copy_pages(conn: Connection, copy: Connection, go_on: Callable[[], bool]) -> None:
    """Copy a megabyte at a time, and with a log one state, so that writers never wait."""

    def between(*_: int) -> None:
        if not go_on():
            raise Cancelled(_STOPPED)
        sleep(0.001)

    # The whole file is flushed to the disk before it gets its name.
    copy.execute("PRAGMA synchronous=OFF")
    logged = not conn.in_transaction and conn.execute("PRAGMA journal_mode").fetchone()[0] == "wal"
    if logged:
        conn.execute("BEGIN")
        conn.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone()
    try:
        conn.backup(copy, pages=64, progress=between)
    finally:
        if logged:
            conn.execute("ROLLBACK")


def copy_into(source: Connection, part: Path) -> None:
    with closing(sqlite3.connect(part)) as copy:
        source.backup(copy)


def is_in_use(path: Path) -> bool:
    """Return True if SQLite's locks on a desk show that another process has it open."""
    if not path.exists():
        return False
    with closing(sqlite3.connect(path, timeout=0, isolation_level=None)) as conn:
        try:
            # Every reader of a log shares a lock that this requests exclusively.
            conn.execute("PRAGMA locking_mode=EXCLUSIVE")
            conn.execute("BEGIN EXCLUSIVE")
            conn.execute("ROLLBACK")
        except sqlite3.Error as error:
            return is_busy(error)
    return False
