"""What the chains of all desks say of a run, by which a copy of it is recognised."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from typing import Any

from reviewdesk.domain.labels.chain import DESK
from reviewdesk.store.events import desk_id
from reviewdesk.store.rows import value

_ABOUT = "reviewer = ? AND kind IN ('run', 'rules') AND run = ?"


def said_of(conn: sqlite3.Connection, run_hash: str) -> list[Mapping[str, Any]]:
    """Return the facts of each event in which a desk, this or another, covers a run."""
    query = f"SELECT detail FROM label_events WHERE {_ABOUT} ORDER BY key"
    return [json.loads(row[0]) for row in conn.execute(query, (DESK, run_hash))]


def own_word(conn: sqlite3.Connection, run_hash: str) -> Mapping[str, Any]:
    """Return the facts of this desk's newest event that covers a run, which must be here."""
    query = f"""SELECT detail FROM label_events WHERE {_ABOUT} AND desk = ?
                ORDER BY seq DESC LIMIT 1"""
    found: Mapping[str, Any] = json.loads(value(conn, query, (DESK, run_hash, desk_id(conn))))
    return found
