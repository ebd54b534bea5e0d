"""How far a run is reviewed: labelled contents, deferred ones, and the next one to label."""

from __future__ import annotations

import sqlite3
from array import array
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from itertools import chain
from typing import Self

from msgspec import Struct

from reviewdesk.domain.labels.marks import AUDIT, COPY, FLAGGED, TRUTH, TRUTHS, UNSEEN
from reviewdesk.domain.query.places import members
from reviewdesk.domain.records import Progress, Run, Truth
from reviewdesk.store.label_state import WINDOW
from reviewdesk.store.load import orders
from reviewdesk.store.verdicts import first_key

_FEW = 8
"""If more windows changed than this, all verdicts are counted again."""


class DecidedKeys(Struct, frozen=True):
    """The verdicts of a run that had a label at one moment, by key, without those ``waiting``."""

    first: int
    marks: bytes
    waiting: frozenset[int] = frozenset()

    def __contains__(self, key: object) -> bool:
        """Return True if the verdict with this key had a label."""
        if not isinstance(key, int) or key in self.waiting:
            return False
        return self.marks[key - self.first] > 0


class RunLabels:
    """The labels of a run as one byte for each verdict, and what one reviewer deferred.

    Reading again costs as many steps as labels changed; see ``label_state`` for the bytes.
    """

    def __init__(self, conn: sqlite3.Connection, run: Run, reviewer: str) -> None:
        """Read all labels of a run."""
        self.run = run
        self._reviewer = reviewer
        self._first = first_key(conn, run.key)
        self._held: dict[int, bytes] = {}
        self._marks = bytearray(run.verdicts)
        self._counts: Counter[int] = Counter()
        """The number of labelled verdicts by their bytes."""
        self._queue: Sequence[int] | None = None
        self._members = bytearray()
        self._left = 0
        """Which verdicts stand for the contents of the queue that was asked for last, and how many
        of these have no label."""
        self._contents = _contents(conn, run)
        self.read(conn)

    def read(self, conn: sqlite3.Connection) -> Self:
        """Read what changed since the last time; return the same labels."""
        ends = self._first // WINDOW, (self._first + self.run.verdicts) // WINDOW
        query = "SELECT window, marks FROM label_marks WHERE window BETWEEN ? AND ?"
        rows = {row[0]: row[1] for row in conn.execute(query, ends)}
        changed = {window for window, marks in rows.items() if self._held.get(window) != marks}
        if len(changed) > _FEW:
            for window in changed:
                self._put(window, rows[window])
            self._queue = None
            found = ((byte, self._marks.count(byte)) for byte in range(1, 256))
            self._counts = Counter({byte: n for byte, n in found if n})
        else:
            for window in changed:
                self._follow(window, rows[window])
        self._held = rows
        deferred = _deferred(conn, self.run, self._reviewer)
        self.put_off = [key for key, _ in deferred]
        self._deferred = len({c for _, c in deferred})
        return self

    def _put(self, window: int, marks: bytes) -> None:
        """Replace the bytes of a window, which may begin or end in another run."""
        start = window * WINDOW - self._first
        low = max(start, 0)
        high = min(start + WINDOW, self.run.verdicts)
        self._marks[low:high] = marks[low - start : high - start]

    def _follow(self, window: int, marks: bytes) -> None:
        start = window * WINDOW - self._first
        low = max(start, 0)
        high = min(start + WINDOW, self.run.verdicts)
        old = self._marks[low:high]
        self._put(window, marks)
        for place, (was, now) in enumerate(zip(old, self._marks[low:high], strict=True), low):
            if was != now:
                self._counts[was] -= 1
                self._counts[now] += 1
                if self._queue is not None and self._members[place]:
                    self._left += (not now) - (not was)

    def decided(self, waiting: frozenset[int] = frozenset()) -> DecidedKeys:
        """Return the verdicts that have a label at this moment, without those ``waiting``."""
        return DecidedKeys(self._first, bytes(self._marks), waiting)

    def progress(
        self, keys: Sequence[int] | None = None, waiting: Collection[int] = ()
    ) -> Progress:
        """Count the labelled, flagged, audited, deferred, unsure and disputed contents.

        ``keys`` is the queue of which the contents without a label are counted; by default the run.
        Those ``waiting`` for a second opinion count as if they had none.
        """
        held = Counter(self._marks[key - self._first] for key in waiting)
        # Of the verdicts on one content, one is counted.
        counts = (self._counts - held).items()
        run = self.run
        found = {byte: n for byte, n in counts if byte and not byte & COPY}
        truths = {truth: sum(n for b, n in found.items() if TRUTHS[b & TRUTH] is truth)
                  for truth in (Truth.UNSURE, Truth.DISPUTED)}  # fmt: skip
        labelled = sum(found.values())
        return Progress(
            verdicts=run.contents,
            labelled=labelled,
            flagged=run.flagged,
            flagged_done=sum(n for byte, n in found.items() if byte & FLAGGED),
            audit=run.audit,
            audit_done=sum(n for byte, n in found.items() if byte & AUDIT),
            deferred=self._deferred,
            unsure=truths[Truth.UNSURE],
            disputed=truths[Truth.DISPUTED],
            left=run.contents - labelled
            if keys is None or len(keys) == run.verdicts
            else self._left_of(keys, waiting),
        )

    def first_gap(
        self, conn: sqlite3.Connection, waiting: Collection[int] = ()
    ) -> tuple[int, int] | None:
        """Return the first verdict without a label in the order of a blind queue, by key.

        With it comes how many labels lie behind it; ``None`` if none does. Labels of responses
        that nobody saw, and those ``waiting`` for a second opinion, count as none.
        """
        apart = {key - self._first for key in waiting}
        given = {byte: n for byte, n in self._counts.items() if byte and not byte & UNSEEN}
        count = sum(n for byte, n in given.items() if not byte & COPY)
        count -= sum(self._marks[at] in given and not self._marks[at] & COPY for at in apart)
        before = 0
        for at in orders.read(conn, self.run.key, "mix", 0, sum(given.values()) + 1):
            if self._marks[at] not in given or at in apart:
                return (self._first + at, count - before) if count > before else None
            before += not self._marks[at] & COPY
        return None

    def _left_of(self, keys: Sequence[int], waiting: Collection[int]) -> int:
        """Count the contents of a queue without a label; the same queue is counted only once."""
        if self._queue is not keys:
            self._queue = keys
            self._members, self._left = members(keys, self._first, self._marks, self._contents)
        places = [key - self._first for key in waiting]
        return self._left + sum(self._members[at] for at in places if self._marks[at])

    def next_undecided(
        self,
        keys: array[int],
        after: int,
        again: Mapping[int, bool | None],
    ) -> int | None:
        """Return the index of the next verdict without a label after ``after``, or ``None``.

        The search wraps around. Deferred verdicts come last; if the one at ``after`` is deferred,
        the search among them goes on from it. The verdicts in ``again`` count as if they had no
        label; the value says whether they are deferred. Those with ``None`` are left out.
        """
        put_off = [*self.put_off, *(key for key, late in again.items() if late)]
        waiting = set(put_off)
        marks = self._marks
        first = self._first
        skip = {key for key, late in again.items() if late is None}
        for place in chain(range(after + 1, len(keys)), range(min(after + 1, len(keys)))):
            key = keys[place]
            open_ = not marks[key - first] or key in again
            if open_ and key not in waiting and key not in skip:
                return place
        here = keys[after] if 0 <= after < len(keys) else None
        turn = put_off.index(here) + 1 if here in waiting and here is not None else 0
        for key in (*put_off[turn:], *put_off[:turn]):
            if key in keys and key not in skip:
                return keys.index(key)
        return None


def _contents(conn: sqlite3.Connection, run: Run) -> array[int] | None:
    """Return a number for the content of each verdict of a run; ``None`` if no two share one."""
    if run.contents == run.verdicts:
        return None
    rows = conn.execute(
        "SELECT 6 * rank + stratum FROM verdicts WHERE run = ? ORDER BY key", (run.key,)
    )
    rows.row_factory = None
    return array("q", (row[0] for row in rows))


def _deferred(
    conn: sqlite3.Connection, run: Run, reviewer: str
) -> list[tuple[int, tuple[int, int]]]:
    """Return the run's verdicts that a reviewer deferred and has not labelled, oldest first.

    Each is its key and what it counts as: the stratum and the rank of its content.
    """
    rows = conn.execute(
        """SELECT v.key, v.stratum, v.rank
           FROM current_events d CROSS JOIN verdicts v ON v.item = d.item AND v.run = ?
           WHERE d.slot = 'defer' AND d.label IS NULL AND d.author = ? ORDER BY d.key, v.draw""",
        (run.key, reviewer),
    )
    return [(row["key"], (row["stratum"], row["rank"])) for row in rows]
