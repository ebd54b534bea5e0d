"""Check that the desk is complete and unchanged: file, triggers, chains, runs, expected head."""

import hashlib
import json
import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import cache, lru_cache, partial
from itertools import pairwise
from pathlib import Path
from sqlite3 import Connection
from typing import Any

from msgspec import Struct

from reviewdesk.domain.records import Event, event_hash
from reviewdesk.errors import Cancelled, DeskError, ReviewDeskError, UsageError
from reviewdesk.store import connect, reruns, runs, schema
from reviewdesk.store.connect import ExplainedConnection, first_column, lookup, value
from reviewdesk.store.events import COUNTER, desk_id, of_desk, state_problems
from reviewdesk.store.load import ingest
from reviewdesk.store.verdicts import first_key

Objects = dict[tuple[str, str], str | None]

_OWN = ("sqlite_", "search_")
_CLAUSES = re.compile(
    r"\b(AS|CHECK|COLLATE|DEFAULT|GENERATED|ON|REFERENCES|UNIQUE)\b", re.IGNORECASE
)
"""Words in the SQL of a table that make it do more than store values."""
_PARTS = ", |[)](?= |$)"
"""Where the definition of a table is divided into columns and constraints."""
_LITERAL_OR_SPACE = re.compile(r"('[^']*')|[ \t\n\f\r]{2,}|[\t\n\f\r]")
_STORED = {"INTEGER": "integer", "REAL": "real", "TEXT": "text", "BLOB": "blob"}
"""SQLite's name for the kind of value that a column of each declared type stores."""
_UNHASHED = frozenset({"drafts", "filters", "kept_settings", "loads", "meta", "runs", "views"})
"""Small tables that no other check reads; they are searched for texts that are not UTF-8."""
_EVENTS = "SELECT count(*) FROM label_events"


class Verification(Struct, frozen=True):
    """The result of checking the label log: its length, its head, and the problems found."""

    ok: bool
    events: int
    head: str
    problems: tuple[str, ...]
    loading: tuple[str, ...] = ()
    """A sentence about each run that is being loaded, or whose load did not end."""
    older: tuple[str, ...] = ()
    """The values that were derived by older rules and differ from those of this version."""


def head(conn: Connection, first: int | None = None) -> str:
    """Return the head of the label log as ``SEQ:HASH``, or as it was after the ``first`` events.

    SEQ is the number of events, HASH the sha256 over the sorted last hashes of all chains.
    """
    limit = -1 if first is None else first
    query = """SELECT hash FROM (SELECT hash, desk, reviewer, max(seq) FROM
                 (SELECT * FROM label_events ORDER BY key LIMIT ?) GROUP BY desk, reviewer)
               ORDER BY hash"""
    hashes = "".join(first_column(conn, query, (limit,)))
    total = value(conn, "SELECT count(*) FROM (SELECT 1 FROM label_events LIMIT ?)", (limit,))
    return f"{total}:{hashlib.sha256(hashes.encode()).hexdigest()}"


NOT_HERE = "is in the log and not in the desk"
"""The problem of a run that must be loaded again, as in a backup of only what people made."""
CheckedCall = Callable[[float, int], object]
"""Takes the share of a run that was checked and the number of verdicts; it may raise to stop."""


def verify(
    conn: Connection, expected: str | None = None, full: CheckedCall | None = None
) -> Verification:
    """Check the file, its layout, chains and runs, and compare the log with a head.

    ``full`` also decides every verdict again, and compares the full-text index with the bodies.
    """
    harmful, other = layout_problems(conn)
    if harmful:
        # Nothing else is read, because a query of a foreign table or view may never end.
        return Verification(False, 0, "", tuple(harmful + other))
    # Imported here because it is long, and every start loads this module.
    from reviewdesk.store.load import hidden_runs

    problems = list(other)
    older = list[str]()
    checks: list[Callable[[Connection], Iterable[str]]] = [
        _record_problems, _chain_problems, state_problems,
        lambda conn: (text for _, text in run_problems(conn)),
        lambda conn: (text for _, text in rerun_problems(conn)),
        _kind_problems, hidden_runs.problems,
    ]  # fmt: skip
    if full is not None:
        from reviewdesk.store import search

        checks.append(partial(_decided_again, full, older))
        checks.append(partial(search.problems, told=full))
    if expected is not None:
        seq, _, digest = expected.partition(":")
        if not seq.isdecimal() or not digest:
            raise UsageError(
                f"{expected!r} is not a head", "A head reads SEQ:HASH, as printed on exit."
            )
        checks.append(partial(_head_problems, (int(seq), expected)))
    for check in checks:
        with _reading_damage(problems):
            problems.extend(check(conn))
    events = 0
    newest = ""
    loading = tuple[str, ...]()
    with _reading_damage(problems):
        events = value(conn, _EVENTS)
        newest = head(conn)
        # The values of a planted load may not even be numbers.
        if next(hidden_runs.problems(conn), None) is None:
            loading = tuple(one.sentence for one in hidden_runs.hidden_runs(conn))
    return Verification(not problems, events, newest, tuple(problems), loading, tuple(older))


@contextmanager
def _reading_damage(problems: list[str]) -> Iterator[None]:
    """Add errors of reading to the problems, as a damaged desk may hold any value anywhere."""
    try:
        yield
    except Cancelled:
        raise
    except ReviewDeskError as error:
        problems.append(str(error))
    except Exception as error:  # noqa: BLE001 - each kind of value fails in its own way
        problems.append(f"the desk contains a value of a wrong kind: {error}")


def objects(conn: Connection) -> Objects:
    """Return the SQL of a desk's objects by type and name, without SQLite's own indexes.

    SQLite's own tables are given by columns and clauses, because their SQL depends on its version.
    """
    rows = conn.execute(
        """SELECT type, name, sql FROM sqlite_master WHERE type <> 'index' OR sql IS NOT NULL
           ORDER BY type, name"""
    )
    found: Objects = {}
    for kind, name, sql in rows.fetchall():
        if kind == "table" and str(name).startswith(_OWN):
            columns = conn.execute("SELECT * FROM pragma_table_xinfo(?)", (name,)).fetchall()
            found[kind, name] = f"{[tuple(one) for one in columns]} {_CLAUSES.findall(sql or '')}"
        else:
            found[str(kind), str(name)] = _one_line(sql or "")
    return found


@lru_cache(maxsize=512)
def _one_line(sql: str) -> str:
    """Return SQL on one line; spaces in literals, and those that SQLite does not know, remain."""
    return _LITERAL_OR_SPACE.sub(lambda part: part[1] or " ", sql).strip()


@cache
def layout() -> Objects:
    with closing(sqlite3.connect(":memory:")) as fresh:
        schema.lay_out(fresh)
        schema.make_views(fresh)
        return objects(fresh)


def layout_problems(conn: Connection) -> tuple[list[str], list[str]]:
    """Return the layout's problems that may do harm as our statements run, and the others."""
    there = objects(conn)
    if not there:
        return [], []  # a new file
    version = value(conn, "PRAGMA user_version")
    ours = layout()
    if version > schema.VERSION or (version, there) == (schema.VERSION, ours):
        return [], []
    is_old = version < schema.VERSION
    known = ours | {("index", name): sql for name, sql in schema.RETIRED.items() if is_old}
    names = {name for _, name in known}
    harmful: list[str] = []
    gone = () if is_old else ours.keys() - there.keys()
    other = [f"the {kind} {name} is gone" for kind, name in gone]
    for (kind, name), sql in there.items():
        if kind == "view" and is_old and name in schema.VIEWS:
            continue  # it is dropped before anything is read
        if (kind, name) not in known:
            # A table that no statement of ours touches does nothing.
            idle = kind == "table" and name not in names and "REFERENCES" not in (sql or "").upper()
            (other if idle else harmful).append(f"the {kind} {name} is not reviewdesk's")
        elif sql != known[kind, name]:
            # An older table has parts of ours in their order, and no others.
            parts = iter(re.split(_PARTS, known[kind, name] or ""))
            older = all(part in parts for part in re.split(_PARTS, sql or ""))
            if not (is_old and kind == "table" and older):
                harmful.append(f"the {kind} {name} was changed")
    return harmful, sorted(other)


def refuse_harmful(conn: Connection, path: Path) -> None:
    """Raise DeskError if the layout may do harm; call this before anything else is read."""
    if harmful := layout_problems(conn)[0]:
        raise DeskError(
            f"{path}: {harmful[0]}, so the desk was not opened",
            "Ask desk verify for the rest, and run desk restore BACKUP, or desk repair.",
        )


def _record_problems(conn: Connection) -> Iterator[str]:
    """Report damage of the file, gaps in the keys, and records that do not match their contents."""
    # A quick check would not compare the indexes, by which most statements read, with the tables.
    found = first_column(conn, "PRAGMA integrity_check(5)")
    yield from (f"the file is damaged: {text}" for text in found if text != "ok")
    # The keys count from 1. Removing a whole chain leaves a gap.
    count, highest = conn.execute("SELECT count(*), max(key) FROM label_events").fetchone()
    given = lookup(conn, "SELECT seq FROM sqlite_sequence WHERE name = 'label_events'")
    last = max(highest or 0, given or 0)
    if count != last:
        yield f"{last} events were written and {count} are there"
    if value(conn, "SELECT max(desk = ?) FROM label_events", (desk_id(conn),)) == 0:
        yield "the desk's id is in no event of the log"
    version = value(conn, "PRAGMA user_version")
    recorded = value(conn, "SELECT count(*) FROM migrations")
    if recorded != version:
        yield f"the schema has the number {version}, and {recorded} steps to it are recorded"
    stated = json.loads(lookup(conn, connect.STATED) or "{}")
    now = connect.table_hashes(conn)[0] if stated else {}
    for table in sorted(stated.keys() | now.keys()):
        if stated.get(table) != now.get(table):
            yield f"{table} is not as it was written"


def _kind_problems(conn: Connection) -> Iterator[str]:
    """Report values of another kind than their column; no hash tells a text from a blob."""
    for table in [name for kind, name in layout() if kind == "table"]:
        columns = conn.execute("SELECT name, type FROM pragma_table_info(?)", (table,)).fetchall()
        declared = [(name, _STORED[kind]) for name, kind in columns if kind in _STORED]
        if table.startswith(_OWN) or not declared:
            continue  # SQLite's own, the full-text table, or one that is gone
        counts = [f"total(typeof({name}) NOT IN ('{kind}', 'null'))" for name, kind in declared]
        found = conn.execute(f"SELECT {', '.join(counts)} FROM {table}").fetchone()
        for (name, kind), wrong in zip(declared, found, strict=True):
            if wrong:
                yield f"{table}.{name} holds a value of a wrong kind: {wrong:.0f} not {kind}"
        if table in _UNHASHED:
            try:
                conn.execute(f"SELECT * FROM {table}").fetchall()
            except DeskError as error:
                yield f"{table} contains a value that is not text: {error}"


def _chain_problems(conn: Connection) -> Iterator[str]:
    ends: dict[tuple[str, str], tuple[int, str, int, int]] = {}
    query = f"""SELECT e.*, {COUNTER} AS counter FROM label_events e
                ORDER BY desk, reviewer, seq"""
    for row in conn.execute(query):
        chain = (row["desk"], row["reviewer"])
        seq, previous, key, counter = ends.get(chain, (0, "", 0, 0))
        place = f"event {row['seq']} of {row['reviewer']}"
        if row["seq"] != seq + 1:
            yield f"{place}: {row['seq'] - seq - 1} events before it are missing"
        elif row["prev_hash"] != previous:
            yield f"{place}: does not follow the event before it"
        elif row["key"] <= key:
            yield f"{place}: comes before the event that it follows"
        elif row["counter"] <= counter:
            yield f"{place}: its counter does not follow that of the event before it"
        if event_hash(dict(row)) != row["hash"]:
            yield f"{place}: was changed after it was written"
        ends[chain] = (row["seq"], row["hash"], row["key"], row["counter"])


def run_problems(conn: Connection) -> Iterator[tuple[int | None, str]]:
    """Yield each difference between the runs and their events, with the key of the run, if any."""
    covers: dict[str, list[Event]] = {}
    for event in of_desk(conn, "run", "rules"):
        covers.setdefault(event.run or "", []).append(event)
    removed = {event.run: event.kind == "removed" for event in of_desk(conn, "removed", "restored")}
    rows = conn.execute("SELECT key, hash, name, content, removed_at FROM runs ORDER BY key")
    for key, run_hash, name, content, removed_at in rows.fetchall():
        found = covers.pop(run_hash, [])
        problems = [] if found else ["is in no event of the log"]
        with _reading_damage(problems):
            problems += _content_problems(conn, key, content, found) if found else ()
        if found and removed.get(run_hash, False) != (removed_at is not None):
            word = "is there" if removed_at is None else "is hidden"
            problems.append(f"{word}, and the log says that it is not")
        yield from ((key, f"run {name}: {text}") for text in problems)
    for lost in covers.values():
        yield None, f"run {lost[-1].detail.get('name')}: {NOT_HERE}"


def _content_problems(
    conn: Connection, key: int, content: str, found: Sequence[Event]
) -> Iterator[str]:
    """Compare a run with its newest event; a later event may change derived values alone."""
    for before, after in pairwise(found):
        same = before.detail["content"] == after.detail["content"]
        if before.detail["rules"] >= after.detail["rules"] and not same:
            yield f"was derived again in event {after.key}, by rules that are not newer"
        held, made = (one.detail.get("columns", {}) for one in (before, after))
        changed = (name for name in runs.GIVEN if name in held and held[name] != made.get(name))
        yield from (f"event {after.key} has another column {name}" for name in changed)
    said = found[-1].detail
    first = first_key(conn, key)
    digest = runs.digest(conn, key)
    facts = runs.facts(conn, key)
    if not content == said["content"] == digest.hexdigest(facts):
        held = digest.columns()
        made = said.get("columns", held)
        names = {name.removesuffix(" sizes") for name in made if held.get(name) != made[name]}
        where = ", ".join(sorted(names)) or "its header, counts, strata or figures"
        where = where if "columns" in said else "its content hash"
        yield f"is not what was loaded; {where} differs"
    if runs.tag_hash(conn, key) != said["tags"]:
        yield "its tags are not those that were loaded"
    for name, stated in runs.about(conn, key).items():
        if stated != said[name]:
            yield f"its {name} is not what the log says"
    size = runs.by_key(conn, key).verdicts
    placed = "key >= ? AND key < ? AND +run = ? AND pos = key - ?"
    held = value(conn, "SELECT count(*) FROM verdicts WHERE run = ?", (key,))
    query = f"SELECT count(*) FROM verdicts WHERE {placed}"
    if not held == size == value(conn, query, (first, first + size, key, first)):
        yield "has verdicts that were not loaded, or verdicts out of place"
    from reviewdesk.store import measures

    if any(start != end for start, end in measures.places(conn, key)):
        yield "its packed ballots are out of place"
    yield from ingest.problems(conn, key)


def _decided_again(told: CheckedCall, older: list[str], conn: Connection) -> Iterator[str]:
    """Decide the verdicts of all runs again; what was derived by ``older`` rules may differ."""
    from reviewdesk.domain.run.digest import RULES
    from reviewdesk.store.load import rederive

    rules = {event.run: event.detail["rules"] for event in of_desk(conn, "run", "rules")}
    for key, run_hash, name in conn.execute("SELECT key, hash, name FROM runs").fetchall():
        version = rules.get(run_hash, 0)
        for text in rederive.differences(conn, key, told):
            if version == RULES:
                yield f"run {name}: {text}"
            else:
                older.append(f"run {name}: derived by older rules ({version} of {RULES}): {text}")


def rerun_problems(conn: Connection) -> Iterator[tuple[int | None, str]]:
    """Yield each difference between the re-runs and their events, with the plan, if any."""
    covers = {event.detail["plan"]: event for event in of_desk(conn, "rerun")}
    for plan in reruns.plans(conn):
        run, verdict, held = reruns.hashes(conn, plan)
        place = f"re-run {plan} of verdict {verdict}"
        said = covers.pop(plan, None)
        if said is None:
            yield plan, f"{place}: is in no event of the log"
            continue
        if (run, verdict) != (said.run, said.verdict):
            yield plan, f"{place}: was made of verdict {said.verdict}"
        for name, made in held.items():
            if said.detail[name] != made:
                yield plan, f"{place}: its {name} was changed"
    for plan, lost in covers.items():
        yield None, f"re-run {plan} of verdict {lost.verdict}: {NOT_HERE}"


def _head_problems(expected: tuple[int, str], conn: Connection) -> list[str]:
    """Report an expected head that is neither the present one nor an earlier state of the log."""
    seq, wanted = expected
    total = value(conn, _EVENTS)
    if total < seq:
        return [f"the log was cut: {seq} events expected, {total} found"]
    same = head(conn, seq) == wanted
    return [] if same else [f"the first {seq} events are not those of the expected head"]


def desk_facts(conn: ExplainedConnection, path: Path) -> dict[str, Any]:
    """Return the desk's path, id, size in bytes, schema version, journal mode, counts and loads."""
    from sqlite_utils import Database

    from reviewdesk.store.load import hidden_runs

    database = Database(conn, execute_plugins=False)
    files = (path, path.with_name(f"{path.name}-wal"))
    hidden = hidden_runs.hidden_runs(conn)
    return {
        "path": str(path),
        "desk_id": desk_id(conn),
        "bytes": sum(file.stat().st_size for file in files if file.exists()),
        "schema": value(conn, "PRAGMA user_version"),
        "journal": value(conn, "PRAGMA journal_mode"),
        "writable": not conn.read_only,
        "runs": database["runs"].count,
        "verdicts": database["verdicts"].count - sum(one.rows for one in hidden),
        "events": database["label_events"].count,
        "loading": [one.sentence for one in hidden],
    }
