"""The questions asked of runs, and when each item was labelled."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

from msgspec import Struct

from reviewdesk.domain.records import Event, Truth
from reviewdesk.store.events import to_event
from reviewdesk.store.label_state import COUNTER

KIND = "question"


class StoredQuestion(Struct, frozen=True):
    """A question of a run, its place among the events of all desks, and whether it is closed."""

    event: Event
    counter: int
    closed: bool


class LabelGiven(Struct, frozen=True):
    """A label that an item got at some time, undone or not, with the item's place in the draw."""

    item: bytes
    unit: tuple[int, int]
    truth: Truth
    counter: int


def newest(conn: sqlite3.Connection, run: str) -> StoredQuestion | None:
    """Return the newest question of a run; ``None`` if none was asked."""
    closed = False
    rows = conn.execute(
        f"""SELECT e.*, {COUNTER} AS counter FROM label_events e
            WHERE e.item IS NULL AND e.kind = ? AND e.run = ? ORDER BY counter DESC, e.key DESC""",
        (KIND, run),
    )
    for row in rows:
        event = to_event(row)
        if "question" in event.detail:
            return StoredQuestion(event, row["counter"], closed)
        closed = True
    return None


def labels_given(conn: sqlite3.Connection, run: int) -> Iterator[LabelGiven]:
    """Yield every label that the items of a run ever got, oldest first."""
    rows = conn.execute(
        f"""SELECT e.item, e.label, {COUNTER} AS counter, v.stratum, v.rank
            FROM label_events e JOIN verdicts v ON v.key = (
                SELECT min(o.key) FROM verdicts o WHERE o.item = e.item AND o.run = ?)
            WHERE e.kind IN ('label', 'adjudicate') AND e.label IS NOT NULL
            ORDER BY counter, e.key""",
        (run,),
    )
    for item, label, counter, stratum, rank in rows:
        yield LabelGiven(item, (stratum, rank), Truth(label), counter)


def guesses(conn: sqlite3.Connection, run: int, figure: str) -> dict[int, float]:
    """Return the mean that the votes predict in each stratum, for the figure of a question.

    The probability that a verdict is right is the share of its votes for its decision, limited to
    between a half and 19 of 20.
    """
    share = """min(0.95, max(0.5,
                 1.0 * iif(decision = 'pass', passes, answered - passes) / answered))"""
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
