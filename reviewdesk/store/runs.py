"""Runs: finding one by name or hash, and what a reviewer last looked at in it."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import PurePath
from typing import Any

from reviewdesk.domain.records import Run, View
from reviewdesk.errors import AmbiguousError, NotFoundError


def to_run(row: Mapping[str, Any]) -> Run:
    """A stored run as a record."""
    return Run(
        key=row["key"],
        hash=row["hash"],
        name=row["name"],
        file=row["file"],
        format=row["format"],
        loaded_at=row["loaded_at"],
        seed=row["seed"],
        verdicts=row["verdicts"],
        ballots=row["ballots"],
        flagged=row["flagged"],
        audit=row["audit"],
        failed_ballots=row["failed_ballots"],
        skipped=row["skipped"],
        notes=tuple(json.loads(row["notes"])),
        header=json.loads(row["header"]),
        escalation_stated=bool(row["escalation_stated"]),
    )


def all_runs(conn: sqlite3.Connection) -> list[Run]:
    """Every run that was not removed, the newest last."""
    rows = conn.execute("SELECT * FROM runs WHERE removed_at IS NULL ORDER BY key")
    return [to_run(dict(row)) for row in rows]


def find(conn: sqlite3.Connection, name: str | None) -> Run:
    """A run by its name or a unique prefix of its hash; the one opened last without either."""
    if name is None:
        row = conn.execute(
            "SELECT * FROM runs WHERE removed_at IS NULL ORDER BY opened DESC LIMIT 1"
        ).fetchone()
        if row is None:
            raise NotFoundError("no run is loaded yet", "Load one: reviewdesk open REPORT.")
        return to_run(dict(row))
    named = [run for run in all_runs(conn) if run.name == name]
    hashed = [run for run in all_runs(conn) if len(name) >= 4 and run.hash.startswith(name)]
    found = named or hashed
    if not found:
        known = ", ".join(run.name for run in all_runs(conn)) or "none"
        raise NotFoundError(f"no run {name!r}", f"Loaded runs: {known}.")
    if len(found) > 1:
        names = ", ".join(run.name for run in found)
        raise AmbiguousError(f"{name!r} fits several runs: {names}", "Give more of the hash.")
    return found[0]


def by_hash(conn: sqlite3.Connection, run_hash: str) -> Run | None:
    """The run of this identity, removed ones included."""
    row = conn.execute("SELECT * FROM runs WHERE hash = ?", (run_hash,)).fetchone()
    return to_run(dict(row)) if row else None


def by_file_hash(conn: sqlite3.Connection, file_hash: str) -> Run | None:
    """The first run loaded from the same bytes, under whatever options."""
    row = conn.execute(
        "SELECT * FROM runs WHERE file_hash = ? AND removed_at IS NULL ORDER BY key LIMIT 1",
        (file_hash,),
    ).fetchone()
    return to_run(dict(row)) if row else None


def by_key(conn: sqlite3.Connection, key: int) -> Run:
    """The run with this key."""
    return to_run(dict(conn.execute("SELECT * FROM runs WHERE key = ?", (key,)).fetchone()))


def unique_name(conn: sqlite3.Connection, wanted: str, file: str) -> str:
    """A name no other run has: the report's own, else the file's stem, with ``#2`` if taken."""
    base = wanted or PurePath(file).name.split(".")[0] or file
    taken = {row[0] for row in conn.execute("SELECT name FROM runs")}
    name, number = base, 2
    while name in taken:
        name, number = f"{base}#{number}", number + 1
    return name


def touch(conn: sqlite3.Connection, run: int) -> None:
    """Make a run the one opened last, and show it again if it had been removed."""
    conn.execute(
        """UPDATE runs SET removed_at = NULL, opened = (SELECT max(opened) + 1 FROM runs)
           WHERE key = ?""",
        (run,),
    )


def remove(conn: sqlite3.Connection, run: int, at: str) -> None:
    """Hide a run; its verdicts and all labels stay."""
    conn.execute("UPDATE runs SET removed_at = ? WHERE key = ?", (at, run))


def view(conn: sqlite3.Connection, run: int, reviewer: str) -> View | None:
    """What a reviewer last had on screen in a run."""
    row = conn.execute(
        "SELECT state FROM views WHERE run = ? AND reviewer = ?", (run, reviewer)
    ).fetchone()
    return View(**json.loads(row["state"])) if row else None


def save_view(conn: sqlite3.Connection, run: int, reviewer: str, state: View) -> None:
    """Keep what a reviewer has on screen."""
    conn.execute(
        "INSERT OR REPLACE INTO views VALUES (?, ?, ?)", (run, reviewer, json.dumps(asdict(state)))
    )
