"""What the readers and writers of a desk need of it: the open file, and who works on it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from sqlite3 import Connection


class OpenFile(Protocol):
    """A desk file that is open, with its reviewer and its clock."""

    path: Path
    conn: Connection
    reviewer: str
    read_only: bool
    """Whether the file or its folder may not be written, so that nothing can be saved."""
    double: float | None
    """The share of items that two people label; ``None`` if the labels of others are not hidden."""

    def at(self) -> str:
        """Return the clock's time as events store it."""
