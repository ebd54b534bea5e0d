"""Runs: finding one by name or hash, and what a reviewer last looked at in it."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import PurePath
from typing import Any

from reviewdesk.domain.assessment.flags import Flag
from reviewdesk.domain.audit.mismatches import Breach, kinds
from reviewdesk.domain.records import Run, Truth, View
from reviewdesk.domain.verdict import Decision
from reviewdesk.errors import AmbiguousError, NotFoundError
from reviewdesk.store import measures


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
        human_labels=row["human_labels"],
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


UNANIMOUS = {
    # One score has a range too, of 0, but no variance and so no mass.
    "unanimous_scores": "(mass IS NOT NULL AND range = 0)",
    "unanimous_votes": "(answered > 1 AND passes IN (0, answered))",
}
"""What of a verdict's columns says that its jurors all gave the same."""


def labelled(conn: sqlite3.Connection) -> dict[int, int]:
    """How many verdicts of each run have a label, runs without one left out."""
    rows = conn.execute(
        """SELECT v.run, count(*) AS n FROM truths t CROSS JOIN verdicts v ON v.item = t.item
           GROUP BY v.run"""
    )
    return {row["run"]: row["n"] for row in rows}


def truths(conn: sqlite3.Connection, run: int) -> dict[tuple[Truth, bool], int]:
    """The labelled verdicts of a run, counted by truth and whether a label is tentative."""
    rows = conn.execute(
        """SELECT t.truth, t.tentative, count(*) AS n FROM truths t CROSS JOIN verdicts v
           ON v.item = t.item AND v.run = ? GROUP BY t.truth, t.tentative""",
        (run,),
    )
    return {(Truth(row["truth"]), bool(row["tentative"])): row["n"] for row in rows}


@dataclass(frozen=True, slots=True)
class DecisionCounts:
    """A run's verdicts counted by decision, by each flag they carry, by each rule they break."""

    decisions: Mapping[Decision | None, int]
    flags: Mapping[Flag, int]
    breaches: Mapping[Breach, int] = field(default_factory=dict)
    unanimous_scores: int = 0
    """Verdicts whose two or more scores are all equal."""
    unanimous_votes: int = 0
    """Verdicts whose two or more votes are all the same."""
    unknown_ballots: int = 0
    """Ballots whose answer was not understood."""


def tallies(conn: sqlite3.Connection, run: int | None = None) -> dict[int, DecisionCounts]:
    """The tallies of all runs, or of one, by their keys; one query either way."""
    # All of them are read straight through, for they lie in the order of their runs.
    source = "verdicts NOT INDEXED" if run is None else "verdicts WHERE run = ?"
    rows = conn.execute(
        f"""SELECT run, decision, flags, marks, count(*) AS n,
                   sum({UNANIMOUS["unanimous_scores"]}) AS scores,
                   sum({UNANIMOUS["unanimous_votes"]}) AS votes FROM {source}
            GROUP BY run, decision, flags, marks""",
        () if run is None else (run,),
    )
    decisions: dict[int, Counter[Decision | None]] = {}
    flags: dict[int, Counter[Flag]] = {}
    breaches: dict[int, Counter[Breach]] = {}
    unanimous: dict[int, Counter[str]] = {}
    for row in rows:
        key, n = row["run"], row["n"]
        made = Decision(row["decision"]) if row["decision"] else None
        decisions.setdefault(key, Counter())[made] += n
        flags.setdefault(key, Counter()).update({f: n for f in Flag if row["flags"] & f})
        breaches.setdefault(key, Counter()).update(dict.fromkeys(kinds(Breach(row["marks"])), n))
        both = {"unanimous_scores": row["scores"] or 0, "unanimous_votes": row["votes"] or 0}
        unanimous.setdefault(key, Counter()).update(both)
    unknown = measures.unknown_ballots(conn, run)
    return {
        key: DecisionCounts(
            dict(found),
            dict(flags[key]),
            dict(breaches[key]),
            unknown_ballots=unknown.get(key, 0),
            **unanimous[key],
        )
        for key, found in decisions.items()
    }


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


def options(conn: sqlite3.Connection, key: int) -> dict[str, Any]:
    """What of the reading options made this run, among them the policy a person filled in."""
    row = conn.execute("SELECT options FROM runs WHERE key = ?", (key,)).fetchone()
    found: dict[str, Any] = json.loads(row["options"])
    return found


def file_hash(conn: sqlite3.Connection, key: int) -> str:
    """The sha256 of the bytes that a run was read from."""
    found: str = conn.execute("SELECT file_hash FROM runs WHERE key = ?", (key,)).fetchone()[0]
    return found


def strata(conn: sqlite3.Connection, key: int) -> list[tuple[int, int, int]]:
    """The strata of a run: number, size, and how many of them are audited."""
    rows = conn.execute(
        "SELECT stratum, size, audit FROM strata WHERE run = ? ORDER BY stratum", (key,)
    )
    return [(row["stratum"], row["size"], row["audit"]) for row in rows]


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
