"""The labelled verdicts of a run, as rows for calibration and for export."""

from __future__ import annotations

import sqlite3

from reviewdesk.domain.records import Truth
from reviewdesk.domain.sampling import LabelledVerdict
from reviewdesk.domain.summary import Labelled, RunFigures
from reviewdesk.domain.verdict import Decision


def labelled(conn: sqlite3.Connection, run: int) -> list[Labelled]:
    """Every verdict of the run whose content has a label, in the order of the draw."""
    rows = conn.execute(
        """SELECT v.*, t.truth FROM truths t CROSS JOIN verdicts v
           ON v.item = t.item AND v.run = ? ORDER BY v.draw""",
        (run,),
    )
    return [
        Labelled(
            key=row["key"],
            id=row["id"],
            item=row["item"],
            decision=Decision(row["decision"]) if row["decision"] else None,
            score=row["score"],
            stated_score=row["stated_score"],
            confidence=row["confidence"],
            passes=row["passes"],
            answered=row["answered"],
            place=LabelledVerdict(row["stratum"], row["rank"], Truth(row["truth"])),
        )
        for row in rows
    ]


def run_figures(conn: sqlite3.Connection, run: int) -> RunFigures:
    """The run's totals and the sizes of its strata."""
    row = conn.execute("SELECT * FROM runs WHERE key = ?", (run,)).fetchone()
    sizes = conn.execute("SELECT stratum, size FROM strata WHERE run = ?", (run,))
    return RunFigures(
        passed=row["passed"],
        failed=row["failed"],
        confidence_source=row["confidence_source"],
        scores_stated=bool(row["scores_stated"]),
        sizes={size["stratum"]: size["size"] for size in sizes},
    )
