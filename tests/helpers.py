"""Builders that the tests share: canonical bodies and reports, a clock, a desk, processes."""

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from reviewdesk.desk.core import Desk
from reviewdesk.desk.loading import LoadOptions
from reviewdesk.desk.review import edits
from reviewdesk.domain.gates.join import LabelRow
from reviewdesk.domain.labels.label_columns import make_rows
from reviewdesk.domain.labels.sampling import LabelledRow
from reviewdesk.domain.records import Calibration, Event, Run, Truth, event_hash
from reviewdesk.domain.verdict import Decision
from reviewdesk.reports import Source
from reviewdesk.reports.canonical.rules import checked_verdict
from reviewdesk.reports.wording import FieldError
from reviewdesk.store import connect, events, figures, runs, schema

ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared"
SAMPLES = ROOT / "sample_runs"

POSIX = pytest.mark.skipif(sys.platform == "win32", reason="a terminal, signal or limit of POSIX")

START = datetime(2025, 1, 31, 12, tzinfo=UTC)
THRESHOLD = 0.6


BEFORE = {
    "add_search": 4, "add_measures": 5, "pair_agreement_and_band": 8, "measure_every_run": 9,
    "add_kept_settings": 10, "add_loads": 12, "keep_label_state": 13, "cover_runs": 14,
    "keep_orders": 15, "add_counters": 19, "derive_by_rules_2": 20, "draw_contents": 21,
    "derive_by_rules_4": 24,
}  # fmt: skip
"""The version of the layout before each change of it."""


def set_back(conn: sqlite3.Connection, name: str) -> None:
    """Let a desk say that it lacks the changes from the one with this name on."""
    conn.execute(f"PRAGMA user_version={BEFORE[name]}")
    conn.execute("DELETE FROM migrations WHERE rowid > ?", (BEFORE[name],))


@dataclass
class Clock:
    """A clock that moves on by a second each time somebody looks at it."""

    time: datetime = START
    step: timedelta = field(default=timedelta(seconds=1))

    def __call__(self) -> datetime:
        self.time += self.step
        return self.time


def mostly_slow(values: Iterable[Any], every: int = 3) -> list[Any]:
    """Return values to parametrize by, of which one in ``every`` runs with README's command."""
    return [
        pytest.param(
            *(value if isinstance(value, tuple) else (value,)),
            marks=pytest.mark.slow if at % every else (),
        )
        for at, value in enumerate(values)
    ]


def jurors(scores: Iterable[float | None]) -> list[dict[str, Any]]:
    """One ballot per score; ``None`` is a juror that failed."""
    return [
        {"id": f"j{seat}", "score": None, "pass": None, "error": {"message": "timed out"}}
        if score is None
        else {"id": f"j{seat}", "score": score, "pass": score >= THRESHOLD, "reason": f"r{seat}"}
        for seat, score in enumerate(scores, start=1)
    ]


def verdict(name: str, *scores: float | None, **more: Any) -> dict[str, Any]:
    """A verdict whose content is its own, decided by the mean against the threshold.

    ``flagged`` states the escalation; every other keyword is a key of the body.
    """
    seats = jurors(scores or (0.9, 0.8, 0.7))
    counted = [seat["score"] for seat in seats if seat["score"] is not None]
    mean = round(sum(counted) / len(counted), 6) if counted else None
    decided = None if mean is None else "pass" if mean >= THRESHOLD else "fail"
    body = {
        "id": name, "case": {"test": f"test of {name}"}, "input": f"question {name}",
        "output": f"answer {name}", "rubric": "is right", "decision": decided, "score": mean,
        "escalate_for_review": more.pop("flagged", False), "jurors": seats,
    }  # fmt: skip
    return {**body, **more}


def report(*verdicts: dict[str, Any], **header: Any) -> bytes:
    """A canonical report; ``header`` adds to or replaces its keys, ``None`` leaves one out."""
    head = {
        "schema": "reviewdesk.report/1",
        "report_id": "run",
        "defaults": {"threshold": THRESHOLD, "quorum": 0.5, "strategy": "mean"},
    }
    stated = {name: value for name, value in {**head, **header}.items() if value is not None}
    return json.dumps({**stated, "verdicts": verdicts}).encode()


def numbered(count: int, **header: Any) -> bytes:
    """A report of ``v0``, ``v1``, ...: every third fails, every fourth is flagged."""
    return report(
        *(
            verdict(
                f"v{i}", *((0.2, 0.3, 0.1) if i % 3 == 0 else (0.9, 0.8, 0.7)), flagged=i % 4 == 0
            )
            for i in range(count)
        ),
        **header,
    )


def source(data: bytes, name: str = "report.json") -> Source:
    """Bytes as a report to read."""
    return Source.from_bytes(name, data)


def open_desk(path: Path, reviewer: str = "ann", clock: Clock | None = None) -> Desk:
    """A desk with a clock of its own."""
    return Desk.open(path, reviewer=reviewer, clock=clock or Clock())


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock of a desk from another connection meanwhile."""
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield


@contextmanager
def traced(conn: sqlite3.Connection) -> Iterator[list[str]]:
    """The statements that a connection runs meanwhile."""
    seen: list[str] = []
    conn.set_trace_callback(seen.append)
    yield seen
    conn.set_trace_callback(None)


def tag(desk: Desk, key: int, *tags: Sequence[str]) -> Event | None:
    """Replace the reviewer's tags on an item."""
    return edits.tags(key, *tags)(desk)


def mark(desk: Desk, key: int, on: bool) -> Event:
    """Mark an item, or remove the reviewer's mark."""
    event = edits.mark(key, on)(desk)
    assert event is not None
    return event


def load(desk: Desk, data: bytes, name: str = "report.json", **options: Any) -> Run:
    """Load a report and return its run."""
    return desk.load(source(data, name), LoadOptions(**options)).run


def opened(folder: Path, *verdicts: dict[str, Any], **header: Any) -> tuple[Desk, Run]:
    """Open a desk in a folder and load one report of these verdicts."""
    desk = open_desk(folder / "desk.db")
    return desk, load(desk, report(*verdicts, **header))


def events_of(desk: Desk, run: Run) -> list[Event]:
    """What the desk's reviewer did in a run, newest first."""
    query = "SELECT key FROM label_events WHERE reviewer = ? AND run = ? ORDER BY seq DESC"
    rows = desk.conn.execute(query, (desk.reviewer, run.hash))
    return [events.by_key(desk.conn, row["key"]) for row in rows]


def figures_of(desk: Desk, run: Run) -> Calibration:
    """The calibration of a run's judge by the labels given so far, without a page around it."""
    found = figures.labelled(desk.conn, run.key)
    return make_rows(found, figures.run_figures(desk.conn, run.key)).lines


def contents(desk: Desk) -> dict[str, list[Any]]:
    """Every row of every table of a desk, but for the hashes of the small tables."""
    tables = desk.conn.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    return {
        row["name"]: [
            tuple(line)
            for line in desk.conn.execute(f"SELECT * FROM {row['name']}")
            if tuple(line)[:1] != (connect.HASHES,)
        ]
        for row in tables
    }


def unload(conn: sqlite3.Connection) -> None:
    """Take a desk back to the schema before runs were loaded out of sight, but for its version."""
    conn.execute("DROP TABLE loads")
    conn.execute("ALTER TABLE runs DROP COLUMN content")
    uncover(conn)


@contextmanager
def unguarded(conn: sqlite3.Connection, *, restored: bool = True) -> Iterator[None]:
    """Take the triggers of a desk away meanwhile, or for good."""
    guards = conn.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
    for name, _ in guards:
        conn.execute(f"DROP TRIGGER {name}")
    yield
    for _, sql in guards if restored else ():
        conn.execute(sql)


def uncover(conn: sqlite3.Connection) -> None:
    """Take the desk's own events out of the log, as an older version wrote none."""
    with unguarded(conn):
        conn.execute("DELETE FROM label_events WHERE reviewer = '@desk'")
        keys = [row["key"] for row in conn.execute("SELECT key FROM label_events ORDER BY key")]
        conn.executemany("UPDATE label_events SET key = ? WHERE key = ?", list(enumerate(keys, 1)))
        query = "UPDATE sqlite_sequence SET seq = ? WHERE name = 'label_events'"
        conn.execute(query, (len(keys),))


def unmeasure(conn: sqlite3.Connection) -> None:
    """Take a desk back to the schema before runs were measured, as an older version left it."""
    schema.drop_views(conn)
    for name in ("packed", "measures"):
        conn.execute(f"DROP TABLE {name}")
    for name in ("range", "mass", "marks", "agreement_source", "ours_band"):
        conn.execute(f"ALTER TABLE verdicts DROP COLUMN {name}")
    for name in ("replies", "reruns"):
        conn.execute(f"DROP TABLE {name}")
    conn.execute("ALTER TABLE runs DROP COLUMN human_labels")
    unload(conn)
    drop_label_state(conn)
    set_back(conn, "add_measures")


def content_hash(conn: sqlite3.Connection, key: int) -> str:
    return runs.digest(conn, key).hexdigest(runs.facts(conn, key))


def drawn_by_verdict(conn: sqlite3.Connection) -> None:
    """Let a desk say of its runs that verdicts were drawn, as an older version did."""
    conn.execute("UPDATE runs SET contents = NULL")
    conn.execute("UPDATE strata SET passed = NULL, failed = NULL")
    for (key,) in conn.execute("SELECT key FROM runs WHERE content IS NOT NULL").fetchall():
        found = content_hash(conn, key)
        conn.execute("UPDATE runs SET content = ? WHERE key = ?", (found, key))


def undraw_contents(conn: sqlite3.Connection) -> None:
    """Take a desk back to the layout from before contents were drawn; the ranks stay.

    Replies have no costs then.
    """
    schema.drop_views(conn)
    for table, names in (("runs", ("contents",)), ("strata", ("passed", "failed"))):
        there = {row["name"] for row in conn.execute(f"PRAGMA table_info({table})")}
        for name in there.intersection(names):
            conn.execute(f"ALTER TABLE {table} DROP COLUMN {name}")
    if "usd" in {row["name"] for row in conn.execute("PRAGMA table_info(replies)")}:
        conn.execute("ALTER TABLE replies DROP COLUMN usd")
        conn.execute("DROP INDEX replies_by_call")
        conn.execute("CREATE INDEX replies_by_plan ON replies (plan, seat)")


def without_counters(path: Path) -> None:
    """Take a desk back to the version before counters, of which no event had one."""
    with closing(open_desk(path)) as desk:
        conn = desk.conn
        drawn_by_verdict(conn)
        hashes = dict(map(tuple, conn.execute("SELECT hash, content FROM runs")))
        rows = [dict(row) for row in conn.execute("SELECT * FROM label_events ORDER BY key")]
        ends: dict[str, str] = {}
        for row in rows:
            detail = json.loads(row["detail"])
            del detail["counter"]
            if detail.pop("drawn", None):
                detail["content"] = hashes[row["run"]]
            row |= {"detail": json.dumps(detail), "prev_hash": ends.get(row["reviewer"], "")}
            row["hash"] = ends[row["reviewer"]] = event_hash(row)
        with unguarded(conn):
            query = "UPDATE label_events SET detail = ?, prev_hash = ?, hash = ? WHERE key = ?"
            for row in rows:
                conn.execute(query, (row["detail"], row["prev_hash"], row["hash"], row["key"]))
        conn.execute("DROP TABLE event_places")
        undraw_contents(conn)
        conn.execute("DELETE FROM meta WHERE key = ?", (connect.HASHES,))
        set_back(conn, "add_counters")


def drop_label_state(conn: sqlite3.Connection) -> None:
    """Drop the tables beside the log, as a desk has none before ``keep_label_state``."""
    schema.drop_views(conn)  # else no column could be dropped
    if "archive" in {row["name"] for row in conn.execute("PRAGMA table_info(runs)")}:
        conn.execute("ALTER TABLE runs DROP COLUMN archive")
    undraw_contents(conn)
    for name in ("current_events", "label_marks", "tag_uses", "event_places"):
        conn.execute(f"DROP TABLE IF EXISTS {name}")


def placed(h: int, rank: int, truth: Truth, score: float | None = 0.8, **more: Any) -> LabelledRow:
    """A labelled verdict at a place of the draw, decided as its stratum says."""
    fields: dict[str, Any] = {
        "key": 1000 * h + rank, "id": "v", "item": b"",
        "decision": {0: Decision.PASS, 1: Decision.FAIL}.get(h % 3), "score": score,
        "stated_score": None, "confidence": None, "passes": 2, "answered": 3,
    }  # fmt: skip
    return LabelledRow(**fields | {"stratum": h, "rank": rank, "truth": truth} | more)


def label_row(
    item: str, author: str, truth: Truth, tags: tuple[str, ...] = (), *, seen: bool | None = None
) -> LabelRow:
    """A row of a labels file that names a verdict by its id."""
    return LabelRow(line=1, id=item, truth=truth, reviewer=author, tags=tags, seen=seen)


def environment(desk: Path, reviewer: str = "ann") -> dict[str, str]:
    """The variables of a child process that works on a desk of its own."""
    ours = ("REVIEWDESK", "TEXTUAL_FPS")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    return {
        **kept, "REVIEWDESK_CONFIG": os.devnull, "REVIEWDESK_DESK": str(desk),
        "REVIEWDESK_REVIEWER": reviewer, "PYTHONPATH": str(ROOT),
    }  # fmt: skip


def program(desk: Path, *arguments: str | Path, **how: Any) -> subprocess.CompletedProcess[bytes]:
    """Run the program on a desk, in a process of its own."""
    line = [sys.executable, "-m", "reviewdesk", *arguments]
    usual: dict[str, Any] = {"env": environment(desk), "cwd": ROOT, "capture_output": True}
    return subprocess.run(line, check=False, **(usual | how))


def printed(code: str, *arguments: str) -> str:
    """Run code in a Python of its own, and return what it printed."""
    line = [sys.executable, "-c", code, *arguments]
    return subprocess.run(line, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout


def spawn(code: str, desk: Path, reviewer: str, *arguments: str) -> subprocess.Popen[str]:
    """A Python process that waits for what its code reads from stdin."""
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        env=environment(desk, reviewer),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )


def controls(text: str) -> set[str]:
    """Characters that would act on a terminal or hide from a reader; a line break is none."""
    return {
        char
        for char in text
        if (char < " " and char != "\n")
        or "\x7f" <= char <= "\x9f"
        or "\u202a" <= char <= "\u202e"
        or "\u2066" <= char <= "\u2069"
        or char in "\u200e\u200f\u061c\u2028\u2029\u200b\ufeff"
        or "\ud800" <= char <= "\udfff"
    }


def verdict_problem(verdict: Any) -> FieldError | None:
    """The first problem of a verdict, or None."""
    made = checked_verdict(verdict)
    return made if isinstance(made, FieldError) else None
