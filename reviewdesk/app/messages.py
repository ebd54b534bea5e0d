"""The frozen messages that workers and widgets post; handlers own the state."""

from __future__ import annotations

from dataclasses import dataclass

from textual.message import Message

from reviewdesk.domain.records import Calibration
from reviewdesk.errors import ReviewDeskError


@dataclass(frozen=True)
class Figures:
    """What a calibration worker found; ``token`` tells which request it answers."""

    token: int
    calibration: Calibration | None
    error: ReviewDeskError | None = None


class Calibrated(Message):
    """A calibration worker has finished."""

    def __init__(self, figures: Figures) -> None:
        """Carry the frozen figures across the thread boundary."""
        super().__init__()
        self.figures = figures


class RowChosen(Message):
    """A line of the queue was clicked."""

    def __init__(self, index: int) -> None:
        """Carry the index into the queue."""
        super().__init__()
        self.index = index


class Failed(Message):
    """A widget met an error while it was painting; it belongs on the status line."""

    def __init__(self, error: ReviewDeskError) -> None:
        """Carry the error."""
        super().__init__()
        self.error = error
