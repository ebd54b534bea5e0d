"""The same content in several runs: what another panel, or the same one again, made of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from reviewdesk.domain.records import Run
from reviewdesk.store import runs

if TYPE_CHECKING:
    from reviewdesk.desk.core import Desk


@dataclass(frozen=True, slots=True)
class OtherRunVerdict:
    """A verdict of another run on the same content."""

    run: Run
    key: int


@dataclass(frozen=True, slots=True)
class Flips:
    """Two runs compared by content: how many items both judged, and how many were turned over."""

    shared: int
    flipped: int


def twins(desk: Desk, key: int) -> list[OtherRunVerdict]:
    """The verdicts of other loaded runs on this verdict's content, the newest run first."""
    rows = desk.conn.execute(
        """SELECT o.run, min(o.key) AS key FROM verdicts v
           JOIN verdicts o ON o.item = v.item AND o.run != v.run
           JOIN runs r ON r.key = o.run AND r.removed_at IS NULL
           WHERE v.key = ? GROUP BY o.run ORDER BY o.run DESC""",
        (key,),
    ).fetchall()
    return [OtherRunVerdict(runs.by_key(desk.conn, row["run"]), row["key"]) for row in rows]


def flips(desk: Desk, run: Run, other: Run) -> Flips:
    """How many contents both runs judged, and on how many their decisions differ."""
    row = desk.conn.execute(
        """SELECT count(DISTINCT v.item) AS shared,
                  count(DISTINCT iif(v.decision != o.decision, v.item, NULL)) AS flipped
           FROM verdicts v JOIN verdicts o ON o.item = v.item AND o.run = ? WHERE v.run = ?""",
        (other.key, run.key),
    ).fetchone()
    return Flips(row["shared"], row["flipped"])
