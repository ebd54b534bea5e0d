"""Describe a desk file, and answer a person's own SQL about it."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reviewdesk.desk.access import access
from reviewdesk.desk.backups import newest
from reviewdesk.desk.core import default_path
from reviewdesk.store import sql as stored
from reviewdesk.store.connect import reading
from reviewdesk.store.sql import QueryRows
from reviewdesk.store.team import chains

if TYPE_CHECKING:
    from reviewdesk.desk.core import Desk

__all__ = ["QueryRows", "info", "query"]


def info(desk: Desk) -> dict[str, Any]:
    """Return where the desk and its newest backup are, what it holds, who reviews, and the head.

    Each chain of its log is named with the number of its events and the hash of the last.
    """
    facts = stored.facts(desk.conn, desk.path)
    who = {"access": access(desk.path), "reviewer": desk.reviewer}
    backup = newest(desk.path)
    made = {} if backup is None else {"backup": str(backup.path), "backup_at": backup.at}
    with reading(desk.conn, desk.path):
        log = [
            {"reviewer": one.reviewer, "desk": one.desk, "events": one.seq, "hash": one.hash}
            for one in chains.ends(desk.conn)
        ]
        return {**facts, **who, **made, "head": desk.head(), "chains": log}


def query(
    path: Path | None, sql: str, values: Mapping[str, str]
) -> AbstractContextManager[QueryRows]:
    """Run one statement on a desk file, by default the user's own, without writing anything."""
    return stored.query(path or default_path(), sql, values)
