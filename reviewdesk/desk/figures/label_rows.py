"""The labelled verdicts of a run, as far as the reviewer may see their labels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reviewdesk.desk.team.second_opinions import withheld
from reviewdesk.store import figures

if TYPE_CHECKING:
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
