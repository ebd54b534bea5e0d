"""What a desk keeps of a run's ballots for arithmetic over all of them: columns and figures."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence
from typing import Any

from reviewdesk.domain.assessment.assess import Assessment
from reviewdesk.domain.run.measures import (
    Measures,
    RunAlphas,
    RunMeasures,
    Undefined,
)
from reviewdesk.domain.run.packing import (
    COLUMNS,
    UNKNOWN,
    PackedRun,
    Packer,
)
from reviewdesk.domain.verdict import Verdict
from reviewdesk.store.search import first_key
from reviewdesk.store.staging import apart

WINDOW = 4096
"""Verdicts packed into one row."""
_NAMES = ", ".join(COLUMNS)
_MARKS = ", ".join("?" * len(COLUMNS))
WINDOWS = {"staged_windows": f"(first INTEGER PRIMARY KEY, {_NAMES})"}
"""Where the columns of a run wait until they are written down."""
LATER = {"staged_measures": "(pos INTEGER PRIMARY KEY, range, mass, marks)"}
"""Where the measures of verdicts wait that are in the desk already."""
_FOR_ALPHAS = ("seated", "scores", "votes")
_ALPHAS = ("alpha", "alpha_low", "alpha_high", "alpha_votes", "alpha_ordinal")


class MeasureWriter:
    """Packs the verdicts of one run, in the order of the file, into the waiting table."""

    def __init__(self, conn: sqlite3.Connection) -> None:
        """Start with nothing packed; ``WINDOWS`` must be there."""
        self._conn, self._packer, self._first = conn, Packer(), 0

    def add(self, verdict: Verdict, found: Assessment) -> None:
        """Take in the next verdict."""
        self._packer.add(verdict, found)
        if len(self._packer) == WINDOW:
            self._flush()

    def finish(self) -> RunMeasures:
        """Put down what is left, and work out the figures of the run."""
        # It loads numpy, which a command that only reads has no use for.
        from reviewdesk.domain.run.alphas import run_measures

        self._flush()
        columns = _read(self._conn, "staged_windows", _FOR_ALPHAS)
        return run_measures(PackedRun(columns, self._packer.names, self._packer.quorums))

    def _flush(self) -> None:
        if not (size := len(self._packer)):
            return
        window = self._packer.window()
        row = (self._first, *(window[name] for name in COLUMNS))
        with apart(self._conn) as put:
            put(f"INSERT INTO staged_windows (first, {_NAMES}) VALUES (?, {_MARKS})", [row])
        self._first += size


def enter(conn: sqlite3.Connection, run: int, found: RunMeasures) -> None:
    """Write the waiting columns and the figures of a run, inside the caller's transaction."""
    conn.execute(
        f"""INSERT INTO packed (run, first, {_NAMES})
            SELECT ?, first, {_NAMES} FROM staged_windows ORDER BY first""",
        (run,),
    )
    figures = [getattr(found.alphas, name) for name in _ALPHAS]
    conn.execute(
        f"""INSERT INTO measures (run, names, quorums, mass, reasons, {", ".join(_ALPHAS)})
            VALUES (?, ?, ?, ?, ?, {", ".join("?" * len(_ALPHAS))})""",
        (
            run, json.dumps(found.names), json.dumps(found.quorums), found.mass,
            json.dumps(found.alphas.reasons), *figures,
        ),
    )  # fmt: skip


def replace(conn: sqlite3.Connection, run: int, found: RunMeasures) -> None:
    """``enter`` for a run whose columns and figures are there and are worked out again."""
    for table in ("packed", "measures"):
        conn.execute(f"DELETE FROM {table} WHERE run = ?", (run,))
    enter(conn, run, found)


def wait_for(conn: sqlite3.Connection, rows: Iterable[tuple[int, Measures]]) -> None:
    """Keep the measures of verdicts of the desk, each with its place in the run, for ``fill``."""
    with apart(conn) as put:
        put(
            "INSERT INTO staged_measures VALUES (?, ?, ?, ?)",
            ((pos, made.range, made.mass, int(made.marks)) for pos, made in rows),
        )


def fill(conn: sqlite3.Connection, run: int, found: RunMeasures) -> None:
    """``enter`` for a run that is in the desk already, whose verdicts get their measures."""
    conn.execute(
        """UPDATE verdicts SET (range, mass, marks) =
             (SELECT range, mass, marks FROM staged_measures s WHERE s.pos = verdicts.pos)
           WHERE key >= ? AND run = ?""",
        (first_key(conn, run), run),
    )
    enter(conn, run, found)


def bodies(conn: sqlite3.Connection, run: int, start: int, count: int) -> list[str]:
    """The bodies of a run's next verdicts, from the ``start``-th in the order of the file."""
    first = first_key(conn, run) + start
    rows = conn.execute(
        """SELECT b.body FROM verdicts v JOIN bodies b ON b.verdict = v.key
           WHERE v.key >= ? AND v.key < ? AND +v.run = ? ORDER BY v.key""",
        (first, first + count, run),
    )
    return [row["body"] for row in rows]


def known(conn: sqlite3.Connection, run: int) -> bool:
    """Whether a run has been measured; one that an older version loaded may not be."""
    return conn.execute("SELECT 1 FROM measures WHERE run = ?", (run,)).fetchone() is not None


def alphas(conn: sqlite3.Connection, run: int | None = None) -> dict[int, RunAlphas]:
    """The alphas of every run that has been measured, or of one, by their keys."""
    source = "measures" if run is None else "measures WHERE run = ?"
    rows = conn.execute(
        f"SELECT run, reasons, {', '.join(_ALPHAS)} FROM {source}", () if run is None else (run,)
    )
    return {
        row["run"]: RunAlphas(
            reasons={name: Undefined(why) for name, why in json.loads(row["reasons"]).items()},
            **{name: row[name] for name in _ALPHAS},
        )
        for row in rows
    }


def unknown_ballots(conn: sqlite3.Connection, run: int | None = None) -> dict[int, int]:
    """How many ballots of every measured run, or of one, gave an answer that nobody understood."""
    source = "packed" if run is None else "packed WHERE run = ?"
    found: dict[int, int] = {}
    for row in conn.execute(f"SELECT run, failed FROM {source}", () if run is None else (run,)):
        found[row["run"]] = found.get(row["run"], 0) + row["failed"].count(UNKNOWN)
    return found


def packed(conn: sqlite3.Connection, run: int) -> PackedRun | None:
    """The columns of a run; ``None`` where it has not been measured."""
    row = conn.execute("SELECT names, quorums FROM measures WHERE run = ?", (run,)).fetchone()
    if row is None:
        return None
    names, quorums = (tuple(json.loads(row[name])) for name in ("names", "quorums"))
    return PackedRun(_read(conn, "packed WHERE run = ?", tuple(COLUMNS), run), names, quorums)


def waiting_packed(conn: sqlite3.Connection, found: RunMeasures) -> PackedRun:
    """The columns that wait, for a desk into which they cannot be written."""
    columns = _read(conn, "staged_windows", tuple(COLUMNS))
    return PackedRun(columns, found.names, found.quorums)


def _read(
    conn: sqlite3.Connection, source: str, names: Sequence[str], *values: Any
) -> dict[str, bytes]:
    """Some columns of all windows, each as one piece."""
    query = f"SELECT {', '.join(names)} FROM {source} ORDER BY first"
    parts: list[list[bytes]] = [[] for _ in names]
    for row in conn.execute(query, values):
        for part, window in zip(parts, row, strict=True):
            part.append(window)
    return {name: b"".join(part) for name, part in zip(names, parts, strict=True)}
