"""Unfinished notes, stored at every key press so that a closed window loses nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reviewdesk.store.connect import writing

if TYPE_CHECKING:
    from reviewdesk.desk.core import Desk


def draft(desk: Desk, key: int) -> str | None:
    """Return the reviewer's unfinished note on an item's content, or ``None``."""
    row = desk.conn.execute(
        """SELECT d.text FROM drafts d JOIN verdicts v ON v.item = d.item
           WHERE v.key = ? AND d.reviewer = ?""",
        (key, desk.reviewer),
    ).fetchone()
    return str(row["text"]) if row else None


def keep(desk: Desk, key: int, text: str) -> None:
    """Store an unfinished note; an empty text deletes it."""
    with writing(desk.conn, desk.path):
        if text:
            desk.conn.execute(
                "INSERT OR REPLACE INTO drafts SELECT item, ?, ? FROM verdicts WHERE key = ?",
                (desk.reviewer, text, key),
            )
        else:
            desk.conn.execute(
                """DELETE FROM drafts WHERE reviewer = ?
                   AND item = (SELECT item FROM verdicts WHERE key = ?)""",
                (desk.reviewer, key),
            )
