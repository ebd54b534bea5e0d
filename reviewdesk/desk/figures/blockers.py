"""The undecided items of the draw that labels wait behind, by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reviewdesk.domain.records import Blocker, DrawGap, Run
from reviewdesk.store import figures

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reviewdesk.desk.core import Desk


def blockers(desk: Desk, run: Run, gaps: Sequence[DrawGap]) -> tuple[Blocker, ...]:
    """Name the items at the places that labels wait behind, those with the most labels first."""
    places = {(gap.stratum, gap.rank): gap.waiting for gap in gaps}
    found = figures.at_places(desk.conn, run.key, places)
    return tuple(Blocker(*found[place], n) for place, n in places.items() if place in found)


def skipped(desk: Desk, run: Run) -> tuple[Blocker, ...]:
    """Name the first undecided item in the order of a blind queue, if labels were given behind it.

    Which of them wait depends on what the panel decided, so a blind session tells how many are
    behind it: at most so many wait.
    """
    found = desk.first_gap(run)
    if found is None:
        return ()
    (row,) = desk.rows([found[0]])
    return (Blocker(row.key, row.id, found[1], before=True),)
