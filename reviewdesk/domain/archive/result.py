"""The record of an archive that was put together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from reviewdesk.domain.records import Run

if TYPE_CHECKING:
    from reviewdesk.domain.run.stats import Stats


@dataclass(frozen=True, slots=True)
class Archived:
    """The run of an archive: of how many parts, and why those left out cannot be read."""

    run: Run
    new: bool
    parts: int
    bad: tuple[str, ...]
    stats: Stats
    notes: tuple[str, ...] = ()
