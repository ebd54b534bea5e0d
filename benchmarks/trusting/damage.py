"""Desks that are damaged at random: each is named damaged, and no command fails on one."""

from __future__ import annotations

import asyncio
import io
import os
import random
import sqlite3
from contextlib import closing, redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass, field
from pathlib import Path
from unittest import mock

from reviewdesk.cli.program import run
from reviewdesk.desk.archive import put_together
from reviewdesk.desk.core import Desk
from reviewdesk.desk.loading import LoadOptions
from reviewdesk.desk.review import edits
from reviewdesk.desk.setup import load_samples
from reviewdesk.desk.team.claims import claim
from reviewdesk.domain.panel.juror import Juror
from reviewdesk.domain.panel.spec import PanelRule, PanelSpec
from reviewdesk.domain.records import Truth, View
from reviewdesk.store import reviewers
from reviewdesk.store.connect import writing
from reviewdesk.store.verification import NOT_HERE
from tests.desk.archive.archivekit import Here, verdicts, write_parts
from tests.helpers import load, mark, numbered, open_desk, tag
from tests.live.server import Server
from tests.rerunkit import carried, ready
from trusting.rows import FaultRow, environment

PAGE = 16384
READS = (
    ["runs"],
    ["queue", "--run", "run"],
    ["queue", "--run", "run", "--filter", "text~answer"],
    ["queue", "--run", "run", "--order", "margin", "--json"],
    ["show", "v1", "--run", "run"],
    ["show", "v4", "--run", "run", "--json"],
    ["calibrate", "--run", "run"],
    ["calibrate", "--run", "run", "--jurors"],
    ["labels", "list", "--run", "run"],
    ["labels", "export", "--run", "run", "-o", "-"],
    ["labels", "tags", "--run", "run"],
    ["labels", "agreement", "--run", "run"],
    ["filters"],
    ["whatif", "--run", "run", "--strategy", "mean"],
    ["compare", "run", "second"],
    ["export", "report", "--run", "run", "-o", "-"],
    ["desk", "info"],
)
"""Commands that read; their output says whether damage changed what our statements read."""
WRITES = (
    ["label", "v2", "pass", "--run", "run"],
    ["undo"],
    ["defer", "v3", "--run", "run"],
    ["labels", "adjudicate", "v1", "fail", "--run", "run"],
    ["ingest", "more.json"],
    ["desk", "merge", "other.db"],
    ["desk", "backup", "/dev/null"],
)
_ODD = (
    b"\xff\x00", "x", -1, 1 << 62, 1e308, float("inf"), None, "[" * 2000, '{"a":' * 900,
    "\x1b[2J\u202e", b"", "", 0, "9" * 400, '"\\ud800"', "NaN", "{}", "[]", "null", 1, 2, "pass",
    '{"note": 1, "tags": 3}', '{"tags": [1, null]}', 0.5, b"\x00" * 4096, "2025-99-99", "\x00",
)  # fmt: skip
_SCHEMA = (
    (" INTEGER", " TEXT"), ("TEXT", "BLOB"), ("(", "(("), ("NOT NULL", ""), ("key", "kay"),
    (")", ", extra AS (hex(zeroblob(99))) STORED)"), (")", ", extra DEFAULT 7)"),
    (")", ", CHECK (1))"), ("CREATE", "CRAETE"), ("SELECT", "SELECT DISTINCT"), ("'", ""),
)  # fmt: skip


def shapes(folder: Path) -> dict[str, bytes]:
    """Make desks of several kinds, and in the folder the files that commands on them name."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "more.json").write_bytes(numbered(4, report_id="more"))
    made = {name: folder / f"{name}.db" for name in ("small", "other", "team", "archive")}
    with closing(open_desk(made["small"])) as desk:
        found = load(desk, numbered(30))
        for place in range(9):
            desk.label(desk.find(found, f"v{place}"), (Truth.PASS, Truth.FAIL)[place % 2])
    with closing(open_desk(made["other"])) as desk:
        found = load(desk, numbered(6))
        desk.label(desk.find(found, "v1"), Truth.UNSURE)
    _make_team(made["team"], made["other"])
    with closing(open_desk(made["archive"])) as desk:
        load(desk, numbered(12, report_id="second"))
        parts = write_parts(folder / "parts", verdicts(80, stated=True), 2)
        run_of = put_together(desk, parts, LoadOptions(seed="s"), Here()).run
        for key in desk.queue(run_of)[:5]:
            desk.label(key, Truth.PASS)
    return {name: path.read_bytes() for name, path in made.items()}


def _make_team(path: Path, other: Path) -> None:
    with closing(open_desk(path)) as ann, closing(open_desk(path, "ben")) as ben:
        load_samples(ann)
        second = load(ann, numbered(12, report_id="second"))
        found = load(ann, numbered(40))
        for place in range(20):
            desk = ben if place % 3 == 0 else ann
            key = desk.find(found, f"v{place}")
            desk.label(key, (Truth.PASS, Truth.FAIL)[place % 2], note=f"answer {place}" * 20)
        ben.label(ben.find(found, "v1"), Truth.PASS)
        tag(ann, ann.find(found, "v4"), ["tone", "facts"])
        mark(ann, ann.find(found, "v5"), True)
        ben.defer(ben.find(found, "v30"))
        ann.undo()
        asyncio.run(_ask_again(ann, ann.find(found, "v4")))
        ann.save_view(found, View("text~answer", "margin", item="v4"))
        edits.keep(ann, {"columns": ["score"]})
        with writing(ann.conn):
            reviewers.save_draft(ann.conn, ann.find(found, "v6"), "ann", "half a note")
            reviewers.save_seen(ann.conn, [ann.find(found, "v7")], "ann")
            reviewers.keep_texts(ann.conn, "filters", "ann", {"odd": "text~answer"})
        claim(ben, ben.conn.execute("SELECT key FROM verdicts").fetchone()[0])
        ann.opened(second)
        ann.opened(found)
    quiet(path, ["queue", "--run", "run", "--filter", "text~answer"])
    quiet(path, ["desk", "merge", str(other)])


async def _ask_again(desk: Desk, key: int) -> None:
    async with Server() as server:
        jurors = tuple(
            Juror(f"j{seat}", f"m{seat}", "custom", base_url=server.url, api_key_env="TEST_KEY")
            for seat in range(1, 4)
        )
        await carried(desk, ready(desk, key, PanelSpec("local", jurors, PanelRule())))


def quiet(desk: Path, words: list[str]) -> tuple[int | str, str]:
    """Run a command on a desk in this process; return its code, or its fault, and what it said."""
    out = io.BytesIO()
    said = io.TextIOWrapper(out, "utf-8", errors="backslashreplace")
    with redirect_stdout(said), redirect_stderr(said):
        try:
            code: int | str = run(["--desk", str(desk), "--reviewer", "ann", *words])
        except Exception as fault:  # noqa: BLE001 - any is a finding
            code = f"{type(fault).__name__}: {fault}"
    said.flush()
    lines = out.getvalue().decode().splitlines()
    # What follows the last page of a file is no part of the desk.
    return code, "\n".join(line for line in lines if not line.startswith("bytes "))


def damaged(data: bytes, dice: random.Random, folder: Path) -> tuple[bytes, str]:
    """Damage a desk in one way, and return it with what was done."""
    kind = dice.choice(["bits", "bytes", "page", "copied", "cut", "zeroed", "cell", "cell", "cell",
                        "cell", "row", "schema"])  # fmt: skip
    changed, pages = bytearray(data), len(data) // PAGE
    place = dice.randrange(pages) * PAGE
    if kind == "bits":
        for _ in range(dice.choice([1, 3, 30])):
            changed[dice.randrange(len(changed))] ^= 1 << dice.randrange(8)
    elif kind == "bytes":
        # Pages are mostly empty, so most of these hit what is stored.
        used = [at for at in range(place, place + PAGE) if data[at]] or [place]
        for _ in range(dice.choice([1, 1, 4])):
            changed[dice.choice(used)] = dice.randrange(256)
    elif kind == "page":
        changed[place : place + PAGE] = dice.randbytes(PAGE)
    elif kind == "zeroed":
        changed[place : place + PAGE] = bytes(PAGE)
    elif kind == "copied":
        other = dice.randrange(pages) * PAGE
        changed[place : place + PAGE] = data[other : other + PAGE]
    elif kind == "cut":
        del changed[dice.randrange(len(changed)) :]
    else:
        path = folder / "cells.db"
        path.write_bytes(data)
        with closing(sqlite3.connect(path, isolation_level=None)) as conn:
            conn.execute("PRAGMA journal_mode=DELETE")
            conn.execute("PRAGMA ignore_check_constraints=ON")
            what = _CHANGES[kind](conn, dice)
        return path.read_bytes(), f"{kind} {what}"
    return bytes(changed), f"{kind} {place // PAGE + 1}"


def _tables(conn: sqlite3.Connection) -> list[str]:
    query = "SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE '%VIRTUAL%'"
    return [row[0] for row in conn.execute(query)]


def _any(conn: sqlite3.Connection, dice: random.Random, table: str) -> tuple[str, tuple[object]]:
    """Return a condition that one row of a table fulfils."""
    info = conn.execute(f"PRAGMA table_info({table})").fetchall()
    names = [row[1] for row in info if row[5]] or ["rowid"]
    rows = conn.execute(f"SELECT {', '.join(names)} FROM {table}").fetchall()
    return " AND ".join(f"{name} IS ?" for name in names), dice.choice(rows)


def _set_cell(conn: sqlite3.Connection, dice: random.Random) -> str:
    guards = conn.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
    for name, _ in guards:
        conn.execute(f"DROP TRIGGER {name}")
    done = 0
    while not done:
        table = dice.choice(_tables(conn))
        column = dice.choice(conn.execute(f"PRAGMA table_info({table})").fetchall())[1]
        if not conn.execute(f"SELECT count(*) FROM {table}").fetchone()[0]:
            continue
        where, key = _any(conn, dice, table)
        now = conn.execute(f"SELECT {column} FROM {table} WHERE {where}", key).fetchone()[0]
        odd = dice.choice((*_ODD, _nearly(now, dice), _nearly(now, dice), _nearly(now, dice)))
        if (type(odd), odd) == (type(now), now):
            continue
        with suppress(sqlite3.Error):
            query = f"UPDATE {table} SET {column} = ? WHERE {where}"
            done = conn.execute(query, (odd, *key)).rowcount
    for _, sql in guards:
        conn.execute(sql)
    return f"{table}.{column} = {str(odd)[:20]!r}"


def _nearly(value: object, dice: random.Random) -> object:
    """Return a value that is nearly the same."""
    if isinstance(value, int | float):
        return value + dice.choice([1, -1])
    if isinstance(value, bytes) and value:
        at = dice.randrange(len(value))
        return value[:at] + bytes([value[at] ^ 1]) + value[at + 1 :]
    if isinstance(value, str) and value:
        at = dice.randrange(len(value))
        return value[:at] + dice.choice('x0"') + value[at + 1 :]
    return value


def _change_rows(conn: sqlite3.Connection, dice: random.Random) -> str:
    """Delete a row or give it another key, as the guards of the log allow in other programs."""
    for (name,) in conn.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
        conn.execute(f"DROP TRIGGER {name}")
    tables = [one for one in _tables(conn) if conn.execute(f"SELECT 1 FROM {one}").fetchone()]
    table = dice.choice(tables)
    where, key = _any(conn, dice, table)
    conn.execute(f"DELETE FROM {table} WHERE {where}", key)
    return f"{table} lost one"


def _edit_schema(conn: sqlite3.Connection, dice: random.Random) -> str:
    conn.execute("PRAGMA writable_schema=ON")
    name, sql = dice.choice(
        conn.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall()
    )
    before, after = dice.choice([one for one in _SCHEMA if one[0] in sql])
    at = dice.choice(["first", "last"])
    parts = sql.split(before, 1) if at == "first" else sql.rsplit(before, 1)
    conn.execute("UPDATE sqlite_master SET sql = ? WHERE name = ?", (after.join(parts), name))
    version = conn.execute("PRAGMA schema_version").fetchone()[0]
    conn.execute(f"PRAGMA schema_version={version + 1}")
    return f"{name}: {before!r} -> {after!r}"


_CHANGES = {"cell": _set_cell, "row": _change_rows, "schema": _edit_schema}


@dataclass
class Findings:
    """What went wrong on damaged desks, each with the damage; ``changed`` counts what matters."""

    tried: int = 0
    changed: int = 0
    whole: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    repairs: list[str] = field(default_factory=list)
    invented: list[str] = field(default_factory=list)


def row(folder: Path, count: int, seed: int = 1) -> FaultRow:
    """Damage so many desks, and ask commands of every kind about each."""
    with mock.patch.dict(os.environ, environment(folder)):
        made = shapes(folder)
        found = try_damage(folder, made, random.Random(seed), count)
    return FaultRow(
        f"{count:,} desks of {len(made)} kinds damaged at random (bits, pages, cuts, odd cells, "
        "lost rows, SQL of the schema)",
        "0 called whole of those that change what a command prints, 0 `fault in reviewdesk`, "
        "0 repairs that fail, 0 invented events",
        f"{found.changed} change what is printed, {len(found.whole)} of these called whole; "
        f"{len(found.faults)} faults, {len(found.repairs)} repairs that fail, "
        f"{len(found.invented)} invented events",
        not (found.whole or found.faults or found.repairs or found.invented),
        ("shell", "library", "import", "sync", "export"),
    )


def try_damage(  # noqa: C901 - one round from top to bottom
    folder: Path, made: dict[str, bytes], dice: random.Random, tries: int, reads: int = 6
) -> Findings:
    """Damage desks at random, and ask ``reads`` commands, repair and verify about each."""
    found = Findings()
    desk, repaired = folder / "desk.db", folder / "repaired.db"
    said = {}
    known = {}
    for name, data in made.items():
        _put(desk, data)
        said[name] = [quiet(desk, list(words)) for words in READS]
        known[name] = _events(desk)
    for _ in range(tries):
        name = dice.choice(list(made))
        data, what = damaged(made[name], dice, folder)
        what = f"{name}: {what}"
        found.tried += 1
        _put(desk, data)
        full, text = _asked(desk, ["desk", "verify", "--full"], what, found)
        _put(desk, data)
        plain, _ = _asked(desk, ["desk", "verify"], what, found)
        changes = []
        for at in dice.sample(range(len(READS)), reads):
            _put(desk, data)
            if _asked(desk, list(READS[at]), what, found) != said[name][at]:
                changes.append(" ".join(READS[at]))
        if changes:
            found.changed += 1
            # Only --full compares the words of the search index.
            if plain == 0 and (full == 0 or "search index" not in text):
                found.whole.append(f"{what}: whole, and changed: {', '.join(changes)}")
        _put(desk, data)
        words = dice.choice(WRITES)
        files = {one: str(folder / one) for one in words if (folder / one).is_file()}
        _asked(desk, [files.get(one, one) for one in words], what, found)
        _put(desk, data)
        _clear(repaired)
        done, text = quiet(desk, ["desk", "repair", "-o", str(repaired)])
        if done not in {0, 1, 2} or "a fault in" in text:
            found.repairs.append(f"{what}: {done} {text[-300:]}")
        if repaired.exists():
            invented = _events(repaired) - known[name]
            if invented:
                found.invented.append(f"{what}: {len(invented)}")
            problems = quiet(repaired, ["desk", "verify"])[1].splitlines()[1:]
            if not all(line.endswith(NOT_HERE) for line in problems):
                found.repairs.append(f"{what}: repaired, and then: {problems}")
    return found


def _asked(desk: Path, words: list[str], what: str, found: Findings) -> tuple[int | str, str]:
    code, text = quiet(desk, words)
    if not isinstance(code, int) or code == 70 or "a fault in" in text or "Traceback" in text:
        found.faults.append(f"{what}: {' '.join(words)}: {code} {text[-200:]}")
    return code, text


def _clear(desk: Path) -> None:
    for beside in ("", "-wal", "-shm", "-journal"):
        desk.with_name(desk.name + beside).unlink(missing_ok=True)


def _put(desk: Path, data: bytes) -> None:
    _clear(desk)
    desk.write_bytes(data)


def _events(desk: Path) -> set[str]:
    """Return the hashes of what people did, as the desk itself adds to its own chain."""
    with closing(sqlite3.connect(desk)) as conn:
        query = "SELECT hash FROM label_events WHERE reviewer <> '@desk'"
        return {row[0] for row in conn.execute(query)}
