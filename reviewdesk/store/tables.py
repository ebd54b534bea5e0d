"""A look at the desk file, for people who want to know what is in it."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any


def look(conn: sqlite3.Connection, path: Path) -> dict[str, Any]:
    """Path, size, schema and how many rows each table holds."""
    from sqlite_utils import Database

    database = Database(conn, execute_plugins=False)
    size = sum(
        file.stat().st_size for file in (path, path.with_name(f"{path.name}-wal")) if file.exists()
    )
    counts = {name: database[name].count for name in ("runs", "verdicts", "label_events")}
    return {
        "path": str(path),
        "desk_id": conn.execute("SELECT value FROM meta WHERE key = 'desk_id'").fetchone()[0],
        "bytes": size,
        "schema": conn.execute("PRAGMA user_version").fetchone()[0],
        "journal": conn.execute("PRAGMA journal_mode").fetchone()[0],
        "runs": counts["runs"],
        "verdicts": counts["verdicts"],
        "events": counts["label_events"],
    }
