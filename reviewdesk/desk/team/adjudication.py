"""Settle the truth of an item on which people differ; nobody's label is deleted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reviewdesk.desk.review.edits import Edit
from reviewdesk.errors import UsageError
from reviewdesk.store import labels, verdicts

if TYPE_CHECKING:
    from reviewdesk.desk.open_file import OpenFile
    from reviewdesk.domain.records import Truth


def adjudication(desk: OpenFile, key: int, truth: Truth, note: str | None = None) -> Edit:
    """Return the edit that makes ``truth`` that of an item, whatever its labels say.

    Raises:
        UsageError: the labels of the item do not differ.
    """
    row = verdicts.by_key(desk.conn, key)
    said = [one for one in labels.of_item(desk.conn, row["item"]) if not one["adjudicated"]]
    if len({one["label"] for one in said}) < 2:
        held = "its labels are all the same" if said else "it has no label"
        raise UsageError(
            f"there is nothing to adjudicate: {held}", "Give it a label of your own instead."
        )
    return Edit("adjudicate", key, {} if note is None else {"note": note}, truth)
