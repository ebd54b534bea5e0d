"""Settle the truth of an item on which people differ; nobody's label is deleted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reviewdesk.desk.review.edits import Edit
from reviewdesk.domain.records import Truth
from reviewdesk.errors import UsageError
from reviewdesk.store import labels, verdicts

if TYPE_CHECKING:
    from reviewdesk.desk.open_file import OpenFile


def adjudication(desk: OpenFile, key: int, truth: Truth, note: str | None = None) -> Edit:
    """Return the edit that makes ``truth`` that of an item, whatever its labels say.

    Raises:
        UsageError: the labels of the item do not differ.
    """
    said = opinions(desk, key)
    if len(set(said.values())) < 2:
        held = "its labels are all the same" if said else "it has no label"
        raise UsageError(
            f"there is nothing to adjudicate: {held}", "Give it a label of your own instead."
        )
    return Edit("adjudicate", key, {} if note is None else {"note": note}, truth)


def opinions(desk: OpenFile, key: int) -> dict[str, Truth]:
    """Return what each person labelled the item of a verdict, by name."""
    row = verdicts.by_key(desk.conn, key)
    said = labels.of_item(desk.conn, row["item"])
    return {one["author"]: Truth(one["label"]) for one in said if not one["adjudicated"]}
