"""Which panels a reviewer has seen in the open: a label given blind later is not blind on those."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from reviewdesk.store.connect import writing

if TYPE_CHECKING:
    from reviewdesk.desk.core import Desk


def keep(desk: Desk, keys: Iterable[int]) -> None:
    """Remember the contents of these verdicts as seen by the desk's reviewer."""
    rows = [(desk.reviewer, key) for key in keys]
    if rows:
        with writing(desk.conn, desk.path):
            desk.conn.executemany(
                "INSERT OR IGNORE INTO seen SELECT ?, item FROM verdicts WHERE key = ?", rows
            )


def was_seen(desk: Desk, key: int) -> bool:
    """Whether the reviewer saw a panel's answer on this content in an earlier sitting."""
    row = desk.conn.execute(
        """SELECT 1 FROM seen s JOIN verdicts v ON v.item = s.item
           WHERE v.key = ? AND s.reviewer = ?""",
        (key, desk.reviewer),
    ).fetchone()
    return row is not None
