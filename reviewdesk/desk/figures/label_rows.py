"""The labelled verdicts of a run, as far as the reviewer may see their labels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reviewdesk.desk.team.second_opinions import withheld
from reviewdesk.store import figures

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from reviewdesk.desk.open_file import OpenFile
    from reviewdesk.domain.labels.rows import LabelledRow
    from reviewdesk.domain.records import Run


def labelled(desk: OpenFile, run: Run) -> list[LabelledRow]:
    """Return the run's verdicts whose item has a label, in draw order.

    Those that wait for the reviewer's second opinion are left out: figures that count a label may
    tell what it is.
    """
    waiting = withheld(desk).waiting if desk.double else ()
    return [row for row in figures.labelled(desk.conn, run.key) if row.item not in waiting]


def labelled_now(
    desk: OpenFile, run: Run, items: Collection[bytes]
) -> Iterator[Mapping[int, LabelledRow | None]]:
    """Yield the run's verdicts on each item by key, ``None`` if it has no label to count."""
    waiting = withheld(desk, items).waiting if desk.double else ()
    for item in items:
        rows = figures.labelled_now(desk.conn, run.key, item)
        yield dict.fromkeys(rows) if item in waiting else rows
