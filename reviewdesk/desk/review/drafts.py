"""Unfinished notes, stored at every key press so that a closed window loses nothing."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec import Struct

from reviewdesk.store import reviewer
from reviewdesk.store.connect import writing

if TYPE_CHECKING:
    from reviewdesk.desk.core import Desk


_CAME_BACK = re.compile("\x1e[0-9]+\x1e")
"""Stands in a stored draft between what was written before an item came back and what since."""


def draft(desk: Desk, key: int, since: int = 0) -> str | None:
    """Return the reviewer's unfinished note on an item's content, or ``None``.

    With the event ``since`` which the item came back, only what was written since then.
    """
    kept = reviewer.draft(desk.conn, key, desk.reviewer)
    if kept is not None and since:
        kept = kept.partition(_mark(since))[2]
    return _CAME_BACK.sub("\n\n", kept).strip("\n") or None if kept else None


def keep(desk: Desk, key: int, text: str, since: int = 0) -> None:
    """Store an unfinished note; an empty text deletes it.

    What was written before the event ``since`` which the item came back is kept with it.
    """
    with writing(desk.conn, desk.path):
        if since:
            kept = reviewer.draft(desk.conn, key, desk.reviewer) or ""
            text = kept.partition(_mark(since))[0] + (_mark(since) + text if text else "")
        reviewer.save_draft(desk.conn, key, desk.reviewer, text)


class NoteDraft(Struct, frozen=True):
    """An unfinished note on a verdict; calling it stores it."""

    key: int
    text: str
    since: int = 0

    def __call__(self, desk: Desk) -> None:
        """Store the text in place of an earlier one."""
        keep(desk, self.key, self.text, self.since)

    def is_stored(self, desk: Desk) -> bool:
        """Return True if the text is the stored one, or a part of it."""
        return self.text in (draft(desk, self.key, self.since) or "")

    def add(self, desk: Desk) -> None:
        """Store the text beside what was written in the meantime, of which it may be the end."""
        stored = draft(desk, self.key, self.since) or ""
        if not self.is_stored(desk):
            new = stored and not self.text.startswith(stored)
            text = f"{stored}\n\n{self.text}" if new else self.text
            keep(desk, self.key, text, self.since)


def _mark(since: int) -> str:
    return f"\x1e{since}\x1e"
