"""The record of an archive whose parts were combined."""

from typing import TYPE_CHECKING

from msgspec import Struct

from reviewdesk.domain.records import Run

if TYPE_CHECKING:
    from reviewdesk.domain.run.stats import Stats


class Archived(Struct, frozen=True):
    """The run of an archive: the number of its parts, and why parts left out cannot be read."""

    run: Run
    new: bool
    parts: int
    bad: tuple[str, ...]
    stats: "Stats"
    notes: tuple[str, ...] = ()
