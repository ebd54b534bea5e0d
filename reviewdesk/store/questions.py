"""The questions asked of runs, and when each item was first labelled."""

from __future__ import annotations

import json
import sqlite3

from msgspec import Struct

from reviewdesk.domain.records import Event, Truth
from reviewdesk.store.events import to_event
from reviewdesk.store.label_state import COUNTER

KIND = "question"


class Placed(Struct, frozen=True):
    """An event with its place among the events of all desks."""

    event: Event
    counter: int


def newest(conn: sqlite3.Connection, run: str) -> list[Placed]:
    """Return the newest question of a run, and after it the event that closed it, if any."""
    rows = conn.execute(
        f"""SELECT e.*, {COUNTER} AS counter FROM label_events e
            WHERE e.item IS NULL AND e.kind = ? AND e.run = ?
            ORDER BY counter DESC, e.key DESC LIMIT 2""",
        (KIND, run),
    ).fetchall()
    made = [Placed(to_event(row), row["counter"]) for row in rows]
    return made[::-1] if made and "question" not in made[0].event.detail else made[:1]


def first_labels(conn: sqlite3.Connection, run: int) -> dict[bytes, tuple[int, Truth]]:
    """Return the first label that each item of a run ever got, and its place among events."""
    rows = conn.execute(
        f"""SELECT e.item, e.label, {COUNTER} AS counter FROM label_events e
            WHERE e.kind IN ('label', 'adjudicate') AND e.label IS NOT NULL AND EXISTS (
                SELECT 1 FROM verdicts v WHERE v.item = e.item AND v.run = ?)
            ORDER BY counter DESC, e.key DESC""",
        (run,),
    )
    return {item: (counter, Truth(label)) for item, label, counter in rows}


def guesses(conn: sqlite3.Connection, run: int, figure: str) -> dict[int, float]:
    """Return the mean that the votes predict in each stratum, for a figure that is asked about.

    A verdict is as likely right as the share of its votes that its decision has, between a half
    and 19 of 20.
    """
    share = "min(0.95, max(0.5, iif(decision = 'pass', 1.0, 0.0) * passes / answered"
    share += " + iif(decision = 'fail', 1.0, 0.0) * (answered - passes) / answered))"
    value = {
        "accuracy": share,
        "pass_rate": f"iif(decision = 'pass', {share}, 1 - {share})",
        "brier": f"{share} * (1 - {share})",
    }[figure]
    rows = conn.execute(
        f"""SELECT stratum, avg({value}) FROM verdicts
            WHERE run = ? AND answered > 0 AND decision IN ('pass', 'fail') GROUP BY stratum""",
        (run,),
    )
    return {h: round(mean, 6) for h, mean in rows}


def keys_at(
    conn: sqlite3.Connection, run: int, places: list[tuple[int, int]]
) -> dict[tuple[int, int], list[int]]:
    """Return the keys of the verdicts at places (stratum, rank) of the draw, in file order."""
    rows = conn.execute(
        """SELECT stratum, rank, key FROM verdicts
           WHERE run = ? AND (stratum, rank) IN (
               SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(?))
           ORDER BY key""",
        (run, json.dumps(places)),
    )
    found: dict[tuple[int, int], list[int]] = {}
    for h, rank, key in rows:
        found.setdefault((h, rank), []).append(key)
    return found
