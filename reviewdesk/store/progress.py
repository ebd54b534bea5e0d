"""How far a run is reviewed: labelled verdicts, deferred ones, and the next one to label."""

from __future__ import annotations

import sqlite3
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from reviewdesk.domain.labels.sampling import FIRST_REST
from reviewdesk.domain.records import Progress, Run, Truth
from reviewdesk.store.queue import deferred_items


@dataclass(frozen=True, slots=True)
class LabelledVerdictState:
    """The facts of one labelled verdict that progress is counted from."""

    flagged: bool
    audit: bool
    truth: Truth


@dataclass(frozen=True, slots=True)
class LabelledKeys:
    """The labelled verdicts of a run by key, and the deferred ones, earliest deferred first."""

    decided: dict[int, LabelledVerdictState]
    put_off: list[int]

    def progress(self, run: Run, keys: Sequence[int] | None = None) -> Progress:
        """Count the labelled, flagged, audited, deferred, unsure and disputed verdicts.

        ``keys`` is the queue of which the verdicts without a label are counted; by default the run.
        """
        found = self.decided.values()
        return Progress(
            verdicts=run.verdicts,
            labelled=len(self.decided),
            flagged=run.flagged,
            flagged_done=sum(row.flagged for row in found),
            audit=run.audit,
            audit_done=sum(row.audit for row in found),
            deferred=len(self.put_off),
            unsure=sum(row.truth is Truth.UNSURE for row in found),
            disputed=sum(row.truth is Truth.DISPUTED for row in found),
            left=run.verdicts - len(self.decided)
            if keys is None or len(keys) == run.verdicts
            else sum(key not in self.decided for key in keys),
        )

    def next_undecided(self, keys: array[int], after: int, again: Mapping[int, bool]) -> int | None:
        """Return the index of the next verdict without a label after ``after``, or ``None``.

        The search wraps around. Deferred verdicts come last; if the one at ``after`` is deferred,
        the search among them goes on from it. The verdicts in ``again`` count as if they had no
        label; the value says whether they are deferred.
        """
        put_off = [*self.put_off, *(key for key, late in again.items() if late)]
        waiting = set(put_off)
        for step in range(1, len(keys) + 1):
            place = (after + step) % len(keys)
            key = keys[place]
            if (key not in self.decided or key in again) and key not in waiting:
                return place
        here = keys[after] if 0 <= after < len(keys) else None
        turn = put_off.index(here) + 1 if here in waiting and here is not None else 0
        for key in (*put_off[turn:], *put_off[:turn]):
            if key in keys:
                return keys.index(key)
        return None


def standing(conn: sqlite3.Connection, run: int, reviewer: str) -> LabelledKeys:
    """Read the labelled and deferred verdicts of a run for one reviewer."""
    rows = conn.execute(
        """SELECT v.key, v.stratum, v.audit, t.truth FROM truths t CROSS JOIN verdicts v
           ON v.item = t.item AND v.run = ?""",
        (run,),
    )
    decided = {
        row["key"]: LabelledVerdictState(
            row["stratum"] < FIRST_REST, bool(row["audit"]), Truth(row["truth"])
        )
        for row in rows
    }
    return LabelledKeys(decided, _deferred_keys(conn, run, reviewer))


def _deferred_keys(conn: sqlite3.Connection, run: int, reviewer: str) -> list[int]:
    waiting = deferred_items(conn, reviewer)
    if not waiting:
        return []
    rows = conn.execute(
        """SELECT v.key, d.item, max(d.key) AS place FROM standing_events d
           CROSS JOIN verdicts v ON v.item = d.item AND v.run = ?
           WHERE d.kind = 'defer' AND d.reviewer = ? GROUP BY v.key ORDER BY place, v.draw""",
        (run, reviewer),
    )
    return [row["key"] for row in rows if row["item"] in waiting]
