"""Derive loaded runs again from their bodies after the rules of derivation have changed."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator

from reviewdesk.domain.assessment.assess import assess
from reviewdesk.domain.canonical import stored_body
from reviewdesk.domain.verdict import Verdict, verdict_reader
from reviewdesk.store import measures, verdicts
from reviewdesk.store.connect import waiting
from reviewdesk.store.ingest import BATCH, DERIVED, derived, with_undecided
from reviewdesk.store.rows import value
from reviewdesk.store.tally import Counts

_SET = ", ".join(f"{name} = ?" for name in (*DERIVED, "flags"))


def derive_again(conn: sqlite3.Connection, where: str = "") -> None:
    """Update every verdict to what its body gives by the present rules, and the counts of each run.

    ``where`` chooses the runs, all by default. The draw stays: strata, ranks, audit and places in
    the queue are not touched, nor are items, labels and bodies. One window of verdicts is held in
    memory at a time.
    """
    for (run,) in conn.execute(f"SELECT key FROM runs {where} ORDER BY key").fetchall():
        _derive_run(conn, run)


def _derive_run(conn: sqlite3.Connection, run: int) -> None:
    counts = Counts()
    stated = bool(value(conn, "SELECT escalation_stated FROM runs WHERE key = ?", (run,)))
    with waiting(conn, measures.WINDOWS):
        writer = measures.MeasureWriter(conn)
        for window in _windows(conn, run):
            rows = []
            for key, verdict in window:
                found = assess(verdict, escalation_stated=stated)
                counts.count(verdict, found)
                writer.add(verdict, found)
                rows.append((*derived(verdict, found), int(found.flags), key))
            conn.executemany(f"UPDATE verdicts SET {_SET} WHERE key = ?", rows)
        measures.replace(conn, run, writer.finish())
    _update_counts(conn, run, counts)


def _windows(conn: sqlite3.Connection, run: int) -> Iterator[list[tuple[int, Verdict]]]:
    """Yield the verdicts of a run with their keys, a window at a time, in file order."""
    *texts, count = conn.execute(
        "SELECT header, options, verdicts FROM runs WHERE key = ?", (run,)
    ).fetchone()
    read = verdict_reader(*map(json.loads, texts))
    for start in range(0, count, BATCH):
        yield [
            (key, read(stored_body(body))) for key, body in verdicts.window(conn, run, start, BATCH)
        ]


def _update_counts(conn: sqlite3.Connection, run: int, counts: Counts) -> None:
    """Update the counts of a run that follow from its verdicts; flagged and drawn counts stay."""
    notes = value(conn, "SELECT notes FROM runs WHERE key = ?", (run,))
    noted = with_undecided(json.loads(notes), counts)
    conn.execute(
        """UPDATE runs SET failed_ballots = :ballots, confidence_source = :source, notes = :notes,
             passed = (SELECT count(*) FROM verdicts WHERE run = :run AND decision = 'pass'),
             failed = (SELECT count(*) FROM verdicts WHERE run = :run AND decision = 'fail')
           WHERE key = :run""",
        {
            "run": run,
            "ballots": counts.failed,
            "source": counts.confidence_source(),
            "notes": json.dumps(noted, ensure_ascii=False),
        },
    )
