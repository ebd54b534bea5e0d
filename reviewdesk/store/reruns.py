"""Live replies as they came, and the verdicts that were made of them; nothing here is changed."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class StoredRerun:
    """A finished re-run with the event that committed it."""

    plan: int
    verdict: int
    at: str
    reviewer: str
    detail: Mapping[str, Any]
    stopped: bool
    body: str


def keep_reply(conn: sqlite3.Connection, plan: int, reply: Mapping[str, Any]) -> None:
    """Write one reply, whole, inside the caller's transaction."""
    row = {**reply, "plan": plan, "headers": json.dumps(dict(reply["headers"]))}
    marks = ", ".join(f":{name}" for name in row)
    conn.execute(f"INSERT INTO replies ({', '.join(row)}) VALUES ({marks})", row)


def replies(conn: sqlite3.Connection, plan: int) -> list[dict[str, Any]]:
    """The replies of one re-run in the order in which they came."""
    rows = conn.execute("SELECT * FROM replies WHERE plan = ? ORDER BY key", (plan,))
    return [{**dict(row), "headers": json.loads(row["headers"])} for row in rows]


def enter(
    conn: sqlite3.Connection, plan: int, verdict: int, ended_at: str, body: str, *, stopped: bool
) -> None:
    """Write the verdict of a re-run, inside the caller's transaction."""
    conn.execute(
        "INSERT INTO reruns VALUES (?, ?, ?, ?, ?)", (plan, verdict, ended_at, int(stopped), body)
    )


_STORED = """SELECT r.plan, r.verdict, r.stopped, r.body, e.at, e.reviewer, e.detail
             FROM reruns r JOIN label_events e ON e.key = r.plan"""


def of_verdict(conn: sqlite3.Connection, verdict: int) -> list[StoredRerun]:
    """The re-runs of one verdict, the oldest first."""
    return _read(conn.execute(f"{_STORED} WHERE r.verdict = ? ORDER BY r.plan", (verdict,)))


def of_run(conn: sqlite3.Connection, run: int) -> list[StoredRerun]:
    """The re-runs of all verdicts of a run, by verdict and the oldest first."""
    rows = conn.execute(
        f"""{_STORED} JOIN verdicts v ON v.key = r.verdict WHERE v.run = ?
            ORDER BY v.pos, r.plan""",
        (run,),
    )
    return _read(rows)


def newest(conn: sqlite3.Connection, run: int) -> int:
    """The newest plan whose re-run of a run has ended; 0 before the first."""
    found: int = conn.execute(
        """SELECT ifnull(max(r.plan), 0) FROM reruns r JOIN verdicts v ON v.key = r.verdict
           WHERE v.run = ?""",
        (run,),
    ).fetchone()[0]
    return found


def _read(rows: sqlite3.Cursor) -> list[StoredRerun]:
    return [
        StoredRerun(
            plan=row["plan"],
            verdict=row["verdict"],
            at=row["at"],
            reviewer=row["reviewer"],
            detail=json.loads(row["detail"]),
            stopped=bool(row["stopped"]),
            body=row["body"],
        )
        for row in rows
    ]
