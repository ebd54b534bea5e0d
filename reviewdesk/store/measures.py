"""Store a run's ballots as packed columns, with the figures computed from all of them."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial, reduce
from itertools import islice
from math import isclose
from sqlite3 import Connection
from typing import TYPE_CHECKING, Any

from reviewdesk.domain.run.details import RunAlphas, RunMeasures
from reviewdesk.domain.run.packing import COLUMNS, UNKNOWN, PackedRun
from reviewdesk.store.connect import insert, record, value

if TYPE_CHECKING:
    from reviewdesk.domain.run.window import VerdictWindow, WindowReader
    from reviewdesk.domain.stats.dense import Floats

SHOWN = "run IN (SELECT key FROM runs)"
"""SQL condition on rows of verdicts and packed columns: their run is not being loaded."""
_NAMES = ", ".join(COLUMNS)
_MARKS = ", ".join("?" * len(COLUMNS))
_ALPHAS = ("alpha", "alpha_low", "alpha_high", "alpha_votes", "alpha_ordinal")
_ROUNDING = 1e-9
"""Figures this close are the same: the last digits of sums depend on the machine."""


def put_window(conn: Connection, run: int, window: "VerdictWindow") -> None:
    conn.execute(
        f"INSERT OR REPLACE INTO packed (run, first, {_NAMES}) VALUES (?, ?, {_MARKS})",
        (run, window.first, *(window.packed[name] for name in COLUMNS)),
    )


def figures(conn: Connection, run: int, reader: "WindowReader") -> RunMeasures:
    """Compute the figures of a run from the columns that its windows left in the desk."""
    # Imported here because they load numpy, which commands that only read do not need.
    from reviewdesk.domain.run.columns import score_units, vote_units
    from reviewdesk.domain.run.stats import run_measures
    from reviewdesk.domain.stats.alpha import AlphaState, NominalState

    def scores() -> "Iterator[Floats]":
        return map(score_units, _blocks(conn, run, "seated", "scores"))

    cast = map(vote_units, _blocks(conn, run, "seated", "votes"))
    votes = reduce(NominalState.merge, (NominalState.of(one.T) for one in cast), NominalState())
    state = reduce(AlphaState.merge, (AlphaState.of(one.T) for one in scores()), AlphaState())
    return run_measures(reader.known.names, reader.known.quorums, scores, state, votes)


def _blocks(conn: Connection, run: int, *names: str) -> Iterator[PackedRun]:
    every = windows(conn, run, names)
    # As many windows as have some ten thousands of verdicts.
    while some := [columns for _, columns in islice(every, 16)]:
        joined = {name: b"".join([columns[name] for columns in some]) for name in names}
        yield PackedRun(joined, (), ())


def enter(conn: Connection, run: int, found: RunMeasures) -> None:
    conn.execute("DELETE FROM measures WHERE run = ?", (run,))
    insert(conn, "measures", {"run": run, **_row(found)})


def rename(conn: Connection, run: int, reader: "WindowReader") -> None:
    """Write the names that the packed columns of a run index; its figures do not change."""
    conn.execute(
        "UPDATE measures SET names = ?, quorums = ? WHERE run = ?",
        (json.dumps(list(reader.known.names)), json.dumps(list(reader.known.quorums)), run),
    )


def _row(found: RunMeasures) -> dict[str, Any]:
    texts = {"names": found.names, "quorums": found.quorums, "reasons": found.alphas.reasons}
    row: dict[str, Any] = {name: json.dumps(made) for name, made in texts.items()}
    figures = {name: getattr(found.alphas, name) for name in _ALPHAS}
    return {**row, "mass": found.mass, **figures}


def holds(conn: Connection, run: int, found: RunMeasures) -> bool:
    row = _row(found)
    close = partial(isclose, rel_tol=_ROUNDING, abs_tol=_ROUNDING)
    query = f"SELECT {', '.join(row)} FROM measures WHERE run = ?"
    held = conn.execute(query, (run,)).fetchone() or ()
    return len(held) == len(row) and all(
        one == made or (isinstance(one, float) and isinstance(made, float) and close(one, made))
        for one, made in zip(held, row.values(), strict=True)
    )


def alphas(conn: Connection, run: int | None = None) -> dict[int, RunAlphas]:
    rows = conn.execute("SELECT * FROM measures WHERE run = ifnull(?, run)", (run,))
    return {row["run"]: record(RunAlphas, row, reasons=json.loads(row["reasons"])) for row in rows}


def unknown_ballots(conn: Connection, run: int | None = None) -> dict[int, int]:
    """Count the ballots whose answer could not be read, by run key."""
    found: Counter[int] = Counter()
    where = SHOWN if run is None else f"run = {int(run)}"
    for key, failed in conn.execute(f"SELECT run, failed FROM packed WHERE {where}"):
        found[key] += failed.count(UNKNOWN)
    return found


def packed(conn: Connection, run: int) -> PackedRun:
    """Return the packed columns of a run; each is read when it is asked for, and not kept."""
    row = conn.execute("SELECT names, quorums FROM measures WHERE run = ?", (run,)).fetchone()
    names_of, quorums = (tuple(json.loads(text)) for text in row)
    return PackedRun(_StoredColumns(conn, run), names_of, quorums)


class _StoredColumns(dict[str, bytearray]):
    """The packed columns of a run by name, in the file: only one is in memory at a time."""

    def __init__(self, conn: Connection, run: int) -> None:
        self._conn = conn
        self._run = run

    def __missing__(self, name: str) -> bytearray:
        found = bytearray()
        for _, columns in windows(self._conn, self._run, (name,)):
            found += columns[name]
        return found


def windows(
    conn: Connection, run: int, names: Sequence[str]
) -> Iterator[tuple[int, dict[str, bytes]]]:
    """Yield the named packed columns of a run by window, each with the index of its first row."""
    query = f"SELECT first, {', '.join(names)} FROM packed WHERE run = ? ORDER BY first"
    for row in conn.execute(query, (run,)):
        yield row["first"], {name: row[name] for name in names}


def places(conn: Connection, run: int) -> Iterator[tuple[int, int]]:
    """Yield where each window of a run's packed columns begins, and where the one before ends."""
    end = 0
    rows = conn.execute(
        "SELECT first, length(strategy) FROM packed WHERE run = ? ORDER BY first", (run,)
    )
    for first, size in rows:
        yield first, end
        end += size


def names(conn: Connection, run: int) -> tuple[str, ...]:
    """Return the names of a run's seats, which its packed column ``juror`` indexes."""
    return tuple(json.loads(value(conn, "SELECT names FROM measures WHERE run = ?", (run,))))
