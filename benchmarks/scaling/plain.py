"""The plain program that ingest is held against: one loads, two executemany, nothing checked.

Run it as ``python plain.py REPORT DESK``, or without DESK for the loads alone.
"""

from __future__ import annotations

import sqlite3
import sys
from pathlib import Path

try:
    from orjson import dumps, loads
except ImportError:
    from msgspec.json import decode as loads
    from msgspec.json import encode as dumps


def main() -> None:
    """Read a report and write its verdicts and ballots."""
    document = loads(Path(sys.argv[1]).read_bytes())
    if len(sys.argv) < 3:
        return
    conn = sqlite3.connect(sys.argv[2])
    conn.execute("PRAGMA journal_mode = WAL")
    conn.execute("CREATE TABLE verdicts (id TEXT, decision TEXT, score REAL, body TEXT)")
    conn.execute("CREATE TABLE ballots (verdict INTEGER, juror TEXT, score REAL, reason TEXT)")
    found = document["verdicts"]
    conn.executemany(
        "INSERT INTO verdicts VALUES (?, ?, ?, ?)",
        ((one["id"], one["decision"], one["score"], dumps(one).decode()) for one in found),
    )
    conn.executemany(
        "INSERT INTO ballots VALUES (?, ?, ?, ?)",
        (
            (at, juror["id"], juror.get("score"), juror.get("reason"))
            for at, one in enumerate(found)
            for juror in one["jurors"]
        ),
    )
    conn.commit()


if __name__ == "__main__":
    main()
