"""Read chains of the log whole, and put those of other desks beside them."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

from reviewdesk.domain.labels.chain import COLUMNS, DESK, ChainEvent, ChainProblem, checked
from reviewdesk.errors import DeskError
from reviewdesk.store import label_state
from reviewdesk.store.audit import refuse_harmful
from reviewdesk.store.connect import connect_read_only
from reviewdesk.store.events import NewEvent, append, changed_items, desk_id
from reviewdesk.store.explain import explained
from reviewdesk.store.rows import insert, value
from reviewdesk.store.schema import MIGRATIONS


class ChainEnd(Struct, frozen=True):
    """How far a chain is here: the number and the hash of its last event."""

    desk: str
    reviewer: str
    seq: int
    hash: str


def ends(conn: sqlite3.Connection) -> list[ChainEnd]:
    """Return the end of each chain, by desk; the chain of the desk itself comes first."""
    rows = conn.execute(
        """SELECT desk, reviewer, max(seq), hash FROM label_events GROUP BY desk, reviewer
           ORDER BY desk, reviewer <> ?, reviewer""",
        (DESK,),
    )
    return [ChainEnd(*row) for row in rows]


def end(conn: sqlite3.Connection, desk: str, reviewer: str) -> ChainEnd:
    """Return the end of one chain; its number is 0 if nothing of it is here."""
    row = conn.execute(
        """SELECT seq, hash FROM label_events WHERE desk = ? AND reviewer = ?
           ORDER BY seq DESC LIMIT 1""",
        (desk, reviewer),
    ).fetchone()
    return ChainEnd(desk, reviewer, *(row or (0, "")))


def hash_at(conn: sqlite3.Connection, desk: str, reviewer: str, seq: int) -> str | None:
    """Return the hash of one event of a chain, ``None`` if it is not here."""
    query = "SELECT hash FROM label_events WHERE desk = ? AND reviewer = ? AND seq = ?"
    row = conn.execute(query, (desk, reviewer, seq)).fetchone()
    return row[0] if row else None


def events_of(conn: sqlite3.Connection, desk: str, reviewer: str) -> Iterator[ChainEvent]:
    """Yield the events of a chain, the oldest first.

    Raises:
        ChainProblem: a row of another desk's file is no event.
    """
    query = f"""SELECT {", ".join(COLUMNS)} FROM label_events WHERE desk = ? AND reviewer = ?
                ORDER BY seq"""
    for place, row in enumerate(conn.execute(query, (desk, reviewer)), 1):
        values = dict(zip(COLUMNS, row, strict=True))
        seq = values["seq"]
        yield checked(values, seq if type(seq) is int else place)


def begin(conn: sqlite3.Connection, at: str) -> None:
    """Append the first event of a desk that has none, as its id is known by its events."""
    query = "SELECT 1 FROM label_events WHERE desk = ? LIMIT 1"
    if conn.execute(query, (desk_id(conn),)).fetchone() is None:
        append(conn, DESK, [NewEvent("joined", at)])


def put(conn: sqlite3.Connection, found: Sequence[tuple[ChainEvent, int | None]]) -> int:
    """Put the next events of a chain, and return how many were new.

    Each comes with its counter, unless it carries one itself. Must run inside a write transaction.
    What another process has put meanwhile is left as it is.

    Raises:
        ChainProblem: they do not continue the chain that is here.
    """
    desk, reviewer = found[0][0].desk, found[0][0].reviewer
    here = end(conn, desk, reviewer)
    new = [(event, counter) for event, counter in found if event.seq > here.seq]
    if not new:
        return 0
    if (new[0][0].seq, new[0][0].prev_hash) != (here.seq + 1, here.hash):
        raise ChainProblem(new[0][0].seq, "does not continue the chain that is here")
    for event, counter in new:
        key = insert(conn, "label_events", event.row())
        if counter is not None:
            conn.execute("INSERT INTO event_places VALUES (?, ?)", (key, counter))
    every = [event for event, _ in new]
    label_state.follow(conn, changed_items(conn, desk, reviewer, every))
    return len(new)


@contextmanager
def elsewhere(path: Path) -> Iterator[sqlite3.Connection]:
    """Open the desk file of somebody else for reading, once nothing in it can do harm.

    Raises:
        DeskError: it is no desk, holds what is not reviewdesk's, or is of another version.
    """
    with connect_read_only(path) as conn, explained(path):
        conn.execute("PRAGMA trusted_schema=OFF")
        conn.execute("BEGIN")
        refuse_harmful(conn, path)
        version, newest = value(conn, "PRAGMA user_version"), len(MIGRATIONS)
        if version > newest:
            raise DeskError(f"{path}: made by a newer reviewdesk", "Update reviewdesk.")
        if version < newest:
            raise DeskError(
                f"{path}: made by an older reviewdesk, whose events have no counters",
                f"Open it once with this one: reviewdesk --desk {path} desk info.",
            )
        yield conn
