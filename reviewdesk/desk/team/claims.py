"""Claims: the items that each reviewer has open, which the others skip meanwhile."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reviewdesk.store import team, verdicts
from reviewdesk.store.explain import explained

if TYPE_CHECKING:
    from array import array
    from collections.abc import Collection

    from reviewdesk.desk.core import Desk
    from reviewdesk.domain.records import Run

RENEWED = team.LASTS.total_seconds() / 2
"""A claim is renewed by a key this many seconds after it was written."""
_TRIES = 8
"""How many items are tried for the next one: others may claim them at the same time."""


def claim(desk: Desk, items: Collection[bytes]) -> frozenset[bytes]:
    """Claim items, and give up all others; return those that the reviewer then holds."""
    return team.claim(desk.conn, desk.path, desk.reviewer, items, desk.clock())


def claim_next(
    desk: Desk,
    items: Collection[bytes],
    run: Run,
    keys: array[int],
    after: int,
    skips: Collection[int],
) -> tuple[frozenset[bytes], int | None]:
    """Claim items, and with them the next undecided one of a queue that nobody holds.

    Return what the reviewer then holds, and the key of the next one, ``None`` if there is none.
    """
    # Read before the labels: an item is labelled before it is given up.
    left_out: dict[int, bool | None] = dict.fromkeys((*skips, *open_with(desk, run)))
    held = None
    for _ in range(_TRIES):
        place = desk.next_undecided(run, keys, after, left_out)
        if place is None or place == after:
            break
        key = keys[place]
        item = verdicts.by_key(desk.conn, key)["item"]
        held = claim(desk, {*items, item})
        if item in held:
            return held, key
        left_out[key] = None
    return claim(desk, items) if held is None else held, None


def open_with(desk: Desk, run: Run) -> dict[int, str]:
    """Return the verdicts of a run that others have open, by key, and with whom."""
    with explained(desk.path):
        return team.others(desk.conn, desk.reviewer, run.key, desk.at())


def release(desk: Desk) -> None:
    """Give up every claim of the reviewer, if the desk can be written."""
    if not desk.read_only:
        team.release(desk.conn, desk.path, desk.reviewer)
