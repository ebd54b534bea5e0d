"""The verdicts of a run as they are stored, in the order of its file, a window at a time."""

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
    """One verdict's canonical JSON, and that of the re-runs this desk made of it."""

    text: str
    reruns: tuple[str, ...]


def bodies(conn: sqlite3.Connection, run: Run) -> Iterator[Body]:
    """Every verdict of a run with its re-runs, the oldest first."""
    first = first_key(conn, run.key)
    for start in range(first, first + run.verdicts, _WINDOW):
        span = (start, min(start + _WINDOW, first + run.verdicts))
        again = conn.execute(
            """SELECT verdict, body FROM reruns WHERE verdict >= ? AND verdict < ?
               ORDER BY verdict, plan""",
            span,
        )
        made = {
            key: tuple(row["body"] for row in rows)
            for key, rows in groupby(again.fetchall(), key=lambda row: row["verdict"])
        }
        rows = conn.execute(
            "SELECT verdict, body FROM bodies WHERE verdict >= ? AND verdict < ? ORDER BY verdict",
            span,
        ).fetchall()
        for row in rows:
            yield Body(row["body"], made.get(row["verdict"], ()))


def telling_first(conn: sqlite3.Connection, run: Run, most: int) -> list[int]:
    """The keys of a run's verdicts: the flagged ones first, then the labelled, then the rest."""
    rows = conn.execute(
        """SELECT key FROM verdicts WHERE run = ?
           ORDER BY stratum >= ?, item NOT IN (SELECT item FROM labels), pos LIMIT ?""",
        (run.key, FIRST_REST, most),
    )
    return [row["key"] for row in rows]


def escalated(conn: sqlite3.Connection, run: Run, most: int) -> list[int]:
    """The keys of the first escalated verdicts, in the order of the file."""
    rows = conn.execute(
        "SELECT key FROM verdicts WHERE run = ? AND flags & ? ORDER BY pos LIMIT ?",
        (run.key, int(Flag.ESCALATED), most),
    )
    return [row["key"] for row in rows]
