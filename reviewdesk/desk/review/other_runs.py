"""Find verdicts on the same content in other runs, and compare two runs by content."""

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
    """Counts of the items that two runs share, and of those on which their decisions differ."""

    shared: int
    flipped: int


def other_runs(desk: Desk, key: int) -> list[OtherRunVerdict]:
    """Return the verdicts of other loaded runs on the same content, the newest run first."""
    rows = desk.conn.execute(
        """SELECT o.run, min(o.key) AS key FROM verdicts v
           JOIN verdicts o ON o.item = v.item AND o.run != v.run
           JOIN runs r ON r.key = o.run AND r.removed_at IS NULL
           WHERE v.key = ? GROUP BY o.run ORDER BY o.run DESC""",
        (key,),
    ).fetchall()
    return [OtherRunVerdict(runs.by_key(desk.conn, row["run"]), row["key"]) for row in rows]


def flips(desk: Desk, run: Run, other: Run) -> Flips:
    """Count the contents that both runs judged, and those on which their decisions differ."""
    row = desk.conn.execute(
        """SELECT count(DISTINCT v.item) AS shared,
                  count(DISTINCT iif(v.decision != o.decision, v.item, NULL)) AS flipped
           FROM verdicts v JOIN verdicts o ON o.item = v.item AND o.run = ? WHERE v.run = ?""",
        (other.key, run.key),
    ).fetchone()
    return Flips(row["shared"], row["flipped"])
