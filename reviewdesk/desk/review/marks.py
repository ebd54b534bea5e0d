"""The tags of a desk: how often each is used, and by whom."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reviewdesk.domain.records import Run, TagCount
from reviewdesk.store import labels, verdicts

if TYPE_CHECKING:
    from reviewdesk.desk.core import Desk


def tag_counts(desk: Desk, run: Run) -> list[TagCount]:
    """Count the items of a run that carry each tag, by any author; the most used come first.

    What others gave an item that is withheld from the reviewer is left out.
    """
    if not (withheld := desk.apart.now):
        return labels.tag_counts(desk.conn, run.key)
    told = labels.told_tags(desk.conn, withheld)
    there = verdicts.keys_of_items(desk.conn, run.key, set().union(*told.values()))
    found = [TagCount(tag, len(items & there.keys())) for tag, items in told.items()]
    return sorted((one for one in found if one.count), key=lambda one: (-one.count, one.tag))


def own_tags(desk: Desk) -> list[str]:
    """Return every tag that the reviewer gave in the desk, the most used first."""
    return labels.used_tags(desk.conn, desk.reviewer)


def known_tags(desk: Desk) -> list[str]:
    """Return every tag in the desk, the most used first, as far as it is not withheld."""
    if not (withheld := desk.apart.now):
        return labels.used_tags(desk.conn)
    told = labels.told_tags(desk.conn, withheld)
    return sorted(told, key=lambda tag: (-len(told[tag]), tag))
