"""Unfinished notes, stored at every key press so that a closed window loses nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reviewdesk.store import reviewer
from reviewdesk.store.connect import writing

if TYPE_CHECKING:
    from reviewdesk.desk.core import Desk


def draft(desk: Desk, key: int) -> str | None:
    """Return the reviewer's unfinished note on an item's content, or ``None``."""
    return reviewer.draft(desk.conn, key, desk.reviewer)


def keep(desk: Desk, key: int, text: str) -> None:
    """Store an unfinished note; an empty text deletes it."""
    with writing(desk.conn, desk.path):
        reviewer.save_draft(desk.conn, key, desk.reviewer, text)
