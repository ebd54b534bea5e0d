"""Whether the label log is whole: chains, triggers, and the head that a reviewer was shown."""

from __future__ import annotations

import hashlib
import sqlite3
from dataclasses import dataclass

from reviewdesk.errors import UsageError
from reviewdesk.store.events import event_hash

_TRIGGERS = ("label_events_next", "label_events_fixed", "label_events_kept")


@dataclass(frozen=True, slots=True)
class Audit:
    """The outcome of a verification."""

    ok: bool
    events: int
    head: str
    problems: tuple[str, ...]


def head(conn: sqlite3.Connection, first: int | None = None) -> str:
    """``SEQ:HASH``: the number of events and the sha256 over the sorted heads of all chains.

    With ``first``, the head as it was after that many events.
    """
    limit = -1 if first is None else first
    rows = conn.execute(
        """SELECT hash FROM (SELECT hash, desk, reviewer, max(seq) FROM
             (SELECT * FROM label_events ORDER BY key LIMIT :limit) GROUP BY desk, reviewer)
           ORDER BY hash""",
        {"limit": limit},
    ).fetchall()
    total = conn.execute(
        "SELECT count(*) FROM (SELECT 1 FROM label_events LIMIT :limit)", {"limit": limit}
    ).fetchone()[0]
    digest = hashlib.sha256("".join(row["hash"] for row in rows).encode()).hexdigest()
    return f"{total}:{digest}"


def verify(conn: sqlite3.Connection, expected: str | None = None) -> Audit:
    """Walk every chain, check the guards and the file, and compare with an expected head."""
    problems = [*_file_problems(conn), *_guard_problems(conn), *_chain_problems(conn)]
    if expected is not None:
        problems += _head_problems(conn, expected)
    count = conn.execute("SELECT count(*) FROM label_events").fetchone()[0]
    return Audit(not problems, count, head(conn), tuple(problems))


def _file_problems(conn: sqlite3.Connection) -> list[str]:
    found = [row[0] for row in conn.execute("PRAGMA quick_check(5)")]
    return [] if found == ["ok"] else [f"the file is damaged: {text}" for text in found]


def _guard_problems(conn: sqlite3.Connection) -> list[str]:
    there = {
        row[0]
        for row in conn.execute(
            "SELECT name FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'label_events'"
        )
    }
    return [f"the guard {name} is gone" for name in _TRIGGERS if name not in there]


def _chain_problems(conn: sqlite3.Connection) -> list[str]:
    problems = []
    ends: dict[tuple[str, str], tuple[int, str]] = {}
    for row in conn.execute("SELECT * FROM label_events ORDER BY desk, reviewer, seq"):
        chain = (row["desk"], row["reviewer"])
        seq, previous = ends.get(chain, (0, ""))
        place = f"event {row['seq']} of {row['reviewer']}"
        if row["seq"] != seq + 1:
            problems.append(f"{place}: {row['seq'] - seq - 1} events before it are missing")
        elif row["prev_hash"] != previous:
            problems.append(f"{place}: does not follow the event before it")
        if event_hash(dict(row)) != row["hash"]:
            problems.append(f"{place}: was changed after it was written")
        ends[chain] = (row["seq"], row["hash"])
    return problems


def _head_problems(conn: sqlite3.Connection, expected: str) -> list[str]:
    """An expected head must be the present one or an earlier state of the same log."""
    seq, _, digest = expected.partition(":")
    if not seq.isdecimal() or not digest:
        raise UsageError(
            f"{expected!r} is not a head", "A head reads SEQ:HASH, as printed on exit."
        )
    total = conn.execute("SELECT count(*) FROM label_events").fetchone()[0]
    if total < int(seq):
        return [f"the log was cut: {seq} events expected, {total} found"]
    if head(conn, int(seq)) != expected:
        return [f"the first {seq} events are not those of the expected head"]
    return []
