"""Read the stored verdicts of a run in file order, a window at a time."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

from reviewdesk.domain.assessment.flags import Flag
from reviewdesk.domain.labels.sampling import FIRST_REST
from reviewdesk.domain.records import Run
from reviewdesk.store.search import first_key

_WINDOW = 200


@dataclass(frozen=True, slots=True)
class Body:
    """One verdict's canonical JSON, and that of each re-run of it made in this desk."""

    text: str
    reruns: tuple[str, ...]


def bodies(conn: sqlite3.Connection, run: Run) -> Iterator[Body]:
    """Yield every verdict of a run in file order, each with its re-runs, oldest first."""
    first = first_key(conn, run.key)
    for start in range(first, first + run.verdicts, _WINDOW):
        span = (start, min(start + _WINDOW, first + run.verdicts))
        rerun_rows = conn.execute(
            """SELECT verdict, body FROM reruns WHERE verdict >= ? AND verdict < ?
               ORDER BY verdict, plan""",
            span,
        )
        reruns = {
            key: tuple(row["body"] for row in rows)
            for key, rows in groupby(rerun_rows.fetchall(), key=lambda row: row["verdict"])
        }
        rows = conn.execute(
            "SELECT verdict, body FROM bodies WHERE verdict >= ? AND verdict < ? ORDER BY verdict",
            span,
        ).fetchall()
        for row in rows:
            yield Body(row["body"], reruns.get(row["verdict"], ()))


def first_keys(conn: sqlite3.Connection, run: Run, most: int) -> list[int]:
    """Return up to ``most`` keys of a run's verdicts, in file order within three groups.

    The flagged verdicts come first, then the labelled ones, then the rest.
    """
    rows = conn.execute(
        """SELECT key FROM verdicts WHERE run = ?
           ORDER BY stratum >= ?, item NOT IN (SELECT item FROM labels), pos LIMIT ?""",
        (run.key, FIRST_REST, most),
    )
    return [row["key"] for row in rows]


def escalated(conn: sqlite3.Connection, run: Run, most: int) -> list[int]:
    """Return the keys of the first ``most`` escalated verdicts of a run, in file order."""
    rows = conn.execute(
        "SELECT key FROM verdicts WHERE run = ? AND flags & ? ORDER BY pos LIMIT ?",
        (run.key, int(Flag.ESCALATED), most),
    )
    return [row["key"] for row in rows]
