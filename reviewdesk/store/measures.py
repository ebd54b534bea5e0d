"""Store a run's ballots as packed columns, with the figures computed from all of them."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from reviewdesk.domain.run.measures import RunAlphas, RunMeasures, Undefined
from reviewdesk.domain.run.packing import COLUMNS, UNKNOWN, PackedRun

if TYPE_CHECKING:
    from reviewdesk.domain.run.window import VerdictWindow, WindowReader

SHOWN = "run IN (SELECT key FROM runs)"
"""SQL condition on rows of verdicts and packed columns: theirs is no run that is being loaded."""
_NAMES = ", ".join(COLUMNS)
_MARKS = ", ".join("?" * len(COLUMNS))
_ALPHAS = ("alpha", "alpha_low", "alpha_high", "alpha_votes", "alpha_ordinal")


def put_window(conn: sqlite3.Connection, run: int, window: VerdictWindow) -> None:
    """Write a window's columns, inside the caller's transaction."""
    conn.execute(
        f"INSERT OR REPLACE INTO packed (run, first, {_NAMES}) VALUES (?, ?, {_MARKS})",
        (run, window.first, *(window.packed[name] for name in COLUMNS)),
    )


def figures(conn: sqlite3.Connection, run: int, reader: WindowReader) -> RunMeasures:
    """Compute the figures of a run from the columns that its windows left in the desk."""
    # Imported here because it loads numpy, which commands that only read do not need.
    from reviewdesk.domain.run.alphas import run_measures

    def read(*names: str) -> PackedRun:
        columns = _read(conn, "packed WHERE run = ?", names, run)
        return PackedRun(columns, reader.names, reader.quorums)

    return run_measures(read)


def enter(conn: sqlite3.Connection, run: int, found: RunMeasures) -> None:
    """Write the figures of a run, inside the caller's transaction."""
    row = {"run": run, **_row(found)}
    conn.execute(
        f"""INSERT OR REPLACE INTO measures ({", ".join(row)})
            VALUES ({", ".join("?" * len(row))})""",
        tuple(row.values()),
    )


def rename(conn: sqlite3.Connection, run: int, reader: WindowReader) -> None:
    """Write what the packed columns of a run index, and leave its figures as they are."""
    conn.execute(
        "UPDATE measures SET names = ?, quorums = ? WHERE run = ?",
        (json.dumps(reader.names), json.dumps(reader.quorums), run),
    )


def _row(found: RunMeasures) -> dict[str, Any]:
    """Return the figures of a run as a row holds them."""
    texts = {"names": found.names, "quorums": found.quorums, "reasons": found.alphas.reasons}
    row: dict[str, Any] = {name: json.dumps(made) for name, made in texts.items()}
    figures = {name: getattr(found.alphas, name) for name in _ALPHAS}
    return {**row, "mass": found.mass, **figures}


def holds(conn: sqlite3.Connection, run: int, found: RunMeasures) -> bool:
    """Return True if these are the figures that the desk holds of a run."""
    row = _row(found)
    query = f"SELECT {', '.join(row)} FROM measures WHERE run = ?"
    return tuple(conn.execute(query, (run,)).fetchone() or ()) == tuple(row.values())


def alphas(conn: sqlite3.Connection, run: int | None = None) -> dict[int, RunAlphas]:
    """Return the alphas of every measured run, or of one, by run key."""
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
    """Count the ballots with an answer that was not understood, by run key."""
    source = f"packed WHERE {SHOWN}" if run is None else "packed WHERE run = ?"
    found: dict[int, int] = {}
    for row in conn.execute(f"SELECT run, failed FROM {source}", () if run is None else (run,)):
        found[row["run"]] = found.get(row["run"], 0) + row["failed"].count(UNKNOWN)
    return found


def packed(conn: sqlite3.Connection, run: int) -> PackedRun:
    """Return the packed columns of a run; each is read when it is asked for, and not kept."""
    row = conn.execute("SELECT names, quorums FROM measures WHERE run = ?", (run,)).fetchone()
    names, quorums = (tuple(json.loads(row[name])) for name in ("names", "quorums"))
    return PackedRun(_StoredColumns(conn, run), names, quorums)


class _StoredColumns(Mapping[str, bytearray]):
    """The packed columns of a run by name, in the file: two whole ones are never in memory."""

    def __init__(self, conn: sqlite3.Connection, run: int) -> None:
        self._conn, self._run = conn, run

    def __getitem__(self, name: str) -> bytearray:
        return _read(self._conn, "packed WHERE run = ?", (name,), self._run)[name]

    def __iter__(self) -> Iterator[str]:
        return iter(COLUMNS)

    def __len__(self) -> int:
        return len(COLUMNS)


def windows(
    conn: sqlite3.Connection, run: int, names: Sequence[str]
) -> Iterator[tuple[int, dict[str, bytes]]]:
    """Yield the named packed columns of a run by window, each with the row that it begins at."""
    query = f"SELECT first, {', '.join(names)} FROM packed WHERE run = ? ORDER BY first"
    for row in conn.execute(query, (run,)):
        yield row["first"], {name: row[name] for name in names}


def places(conn: sqlite3.Connection, run: int) -> Iterator[tuple[int, int]]:
    """Yield where each window of a run's packed columns begins, and where the one before ends."""
    end = 0
    rows = conn.execute(
        "SELECT first, length(strategy) FROM packed WHERE run = ? ORDER BY first", (run,)
    )
    for first, size in rows:
        yield first, end
        end += size


def names(conn: sqlite3.Connection, run: int) -> tuple[str, ...]:
    """Return the names of a run's seats, which its packed column ``juror`` indexes."""
    row = conn.execute("SELECT names FROM measures WHERE run = ?", (run,)).fetchone()
    return tuple(json.loads(row["names"]))


def _read(
    conn: sqlite3.Connection, source: str, names: Sequence[str], *values: Any
) -> dict[str, bytearray]:
    """Return the named columns, each joined over all windows."""
    query = f"SELECT {', '.join(names)} FROM {source} ORDER BY first"
    joined = {name: bytearray() for name in names}
    for row in conn.execute(query, values):
        for name, window in zip(names, row, strict=True):
            joined[name] += window
    return joined
