"""What the readers and writers of a desk need: the open file, and who works on it."""

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Protocol

from reviewdesk.domain.records import Applied
from reviewdesk.store.connect import ExplainedConnection


class OpenFile(Protocol):
    """A desk file that is open, with its reviewer and its clock."""

    path: Path
    conn: ExplainedConnection
    reviewer: str
    clock: Callable[[], datetime]
    read_only: bool
    """Whether the file or its folder may not be written, so that nothing can be saved."""
    double: float | None
    opinions: int
    """The share of items that two people label; ``None`` if the labels of others are not hidden."""
    still: bool
    """Whether writes of others are not read, as within the step of one key."""

    def at(self) -> str:
        """Return the clock's time as events store it."""

    def heard(self, done: Applied) -> None:
        """Follow an action of this connection, once it is on disk."""
