"""The record of an archive that was put together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from reviewdesk.domain.records import Run

if TYPE_CHECKING:
    from reviewdesk.domain.run.stats import Stats


class Archived(Struct, frozen=True):
    """The run of an archive: of how many parts, and why those left out cannot be read."""

    run: Run
    new: bool
    parts: int
    bad: tuple[str, ...]
    stats: Stats
    notes: tuple[str, ...] = ()
