"""The ballots of a whole run as columns, for figures over all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reviewdesk.domain.records import Run
from reviewdesk.store.connect import explained
from reviewdesk.store.measures import packed
from reviewdesk.store.verdicts import first_key

if TYPE_CHECKING:
    from reviewdesk.desk.core import Desk
    from reviewdesk.domain.run.columns import Columns


def panels(desk: Desk, run: Run) -> Columns:
    """Return every ballot of a run as columns, in file order."""
    from reviewdesk.domain.run.columns import unpacked

    with explained(desk.path):
        first, found = first_key(desk.conn, run.key), packed(desk.conn, run.key)
    return unpacked(found, range(first, first + run.verdicts))
