"""Remember which panel answers a reviewer has seen; a later label on them is not blind."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from reviewdesk.store.connect import writing

if TYPE_CHECKING:
    from reviewdesk.desk.core import Desk


def keep(desk: Desk, keys: Iterable[int]) -> None:
    """Record that the desk's reviewer has seen the panel's answers on these verdicts' contents."""
    rows = [(desk.reviewer, key) for key in keys]
    if rows:
        with writing(desk.conn, desk.path):
            desk.conn.executemany(
                "INSERT OR IGNORE INTO seen SELECT ?, item FROM verdicts WHERE key = ?", rows
            )


def was_seen(desk: Desk, key: int) -> bool:
    """Return True if the reviewer saw a panel's answer on this content in an earlier session."""
    row = desk.conn.execute(
        """SELECT 1 FROM seen s JOIN verdicts v ON v.item = s.item
           WHERE v.key = ? AND s.reviewer = ?""",
        (key, desk.reviewer),
    ).fetchone()
    return row is not None
