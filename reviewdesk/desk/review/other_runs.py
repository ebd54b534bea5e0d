"""Find verdicts on the same content in other runs, and compare two runs by content."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from reviewdesk.domain.records import Run
from reviewdesk.store import runs, verdicts

if TYPE_CHECKING:
    from reviewdesk.desk.core import Desk


class OtherRunVerdict(Struct, frozen=True):
    """A verdict of another run on the same content."""

    run: Run
    key: int


class Flips(Struct, frozen=True):
    """Counts of the items that two runs share, and of those on which their decisions differ."""

    shared: int
    flipped: int


def other_runs(desk: Desk, key: int) -> list[OtherRunVerdict]:
    """Return the verdicts of other loaded runs on the same content, the newest run first."""
    found = verdicts.in_other_runs(desk.conn, key)
    return [OtherRunVerdict(runs.by_key(desk.conn, run), other) for run, other in found]


def flips(desk: Desk, run: Run, other: Run) -> Flips:
    """Count the contents that both runs judged, and those on which their decisions differ."""
    return Flips(*verdicts.flips(desk.conn, run.key, other.key))
