"""What the desk keeps of a reviewer: choices on the screen, unfinished notes, panels seen."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from reviewdesk.desk.core import default_path, default_reviewer
from reviewdesk.domain.records import View
from reviewdesk.errors import DeskError
from reviewdesk.file_output import may_write, whole_file
from reviewdesk.store import audit, reviewer
from reviewdesk.store.connect import connect_read_only, writing
from reviewdesk.store.explain import explained

if TYPE_CHECKING:
    from reviewdesk.desk.core import Desk


def kept(desk: Desk) -> dict[str, Any]:
    """Return the kept values by name; what cannot be read counts as not kept."""
    try:
        with explained(desk.path):
            return _values(reviewer.kept_settings(desk.conn, desk.reviewer))
    except DeskError:
        return {}


def keep(desk: Desk, values: Mapping[str, Any]) -> None:
    """Store values by name, if the desk can be written; ``None`` deletes what was kept."""
    if desk.read_only:
        return
    texts = {name: json.dumps(value) for name, value in values.items() if value is not None}
    with writing(desk.conn, desk.path):
        reviewer.keep_settings(desk.conn, desk.reviewer, texts)
        gone = [name for name in values if name not in texts]
        reviewer.forget_settings(desk.conn, desk.reviewer, gone)


def forget(desk: Desk, name: str | None = None) -> None:
    """Delete the kept value of a name, or all of the reviewer's.

    ``order`` and ``filter`` are those of every run.
    """
    with writing(desk.conn, desk.path):
        names = [*reviewer.kept_settings(desk.conn, desk.reviewer)] if name is None else [name]
        reviewer.forget_settings(desk.conn, desk.reviewer, names)
        for part in ("order", "filter"):
            if name in (None, part):
                reviewer.forget_in_views(desk.conn, desk.reviewer, part)


def peek(path: Path | None, who: str | None) -> tuple[dict[str, Any], dict[str, View]]:
    """Return a reviewer's kept values, and the last view of each run, without writing anything.

    A desk that is not there or cannot be read keeps nothing.
    """
    path = path or default_path()
    who = who or default_reviewer()
    try:
        with connect_read_only(path) as conn, explained(path):
            audit.refuse_harmful(conn, path)
            texts = reviewer.kept_settings(conn, who)
            return _values(texts), reviewer.views(conn, who)
    except DeskError:
        return {}, {}


def _values(texts: Mapping[str, str]) -> dict[str, Any]:
    values = {}
    for name, text in texts.items():
        try:
            values[name] = json.loads(text)
        except (ValueError, RecursionError):
            continue
    return values


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


def keep_draft(desk: Desk, key: int, text: str, since: int = 0) -> None:
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
        keep_draft(desk, self.key, self.text, self.since)

    def is_stored(self, desk: Desk) -> bool:
        return self.text in (draft(desk, self.key, self.since) or "")

    def add(self, desk: Desk) -> None:
        """Store the text beside what was written in the meantime, of which it may be the end."""
        stored = draft(desk, self.key, self.since) or ""
        if not self.is_stored(desk):
            new = stored and not self.text.startswith(stored)
            text = f"{stored}\n\n{self.text}" if new else self.text
            keep_draft(desk, self.key, text, self.since)


def _mark(since: int) -> str:
    return f"\x1e{since}\x1e"


def keep_seen(desk: Desk, keys: Collection[int]) -> None:
    """Record that the desk's reviewer has seen the panel's answers on these verdicts' contents.

    A desk that cannot be written takes no label, which this would make one that is not blind.
    """
    if keys and not desk.read_only:
        with writing(desk.conn, desk.path):
            reviewer.save_seen(desk.conn, keys, desk.reviewer)


def was_seen(desk: Desk, key: int) -> bool:
    """Return True if the reviewer saw a panel's answer on this content in an earlier session."""
    return reviewer.was_seen(desk.conn, key, desk.reviewer)


def keep_copy(text: str, name: str) -> Path | None:
    """Write the text to a file that only its owner can read, and return the path.

    The file replaces the previous copy. In the console of a browser nothing is written, and
    ``None`` is returned: the file would lie on the machine of somebody else.

    Raises:
        DeskError: the file cannot be written.
    """
    from platformdirs import user_cache_path

    if not may_write():
        return None
    folder = user_cache_path("reviewdesk", appauthor=False)
    path = folder / name
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with whole_file(path, replace=True, private=True) as file:
            file.write(text.encode("utf-8", "backslashreplace"))
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise DeskError(f"{path}: {reason}", "The text may still be on the clipboard.") from error
    return path
