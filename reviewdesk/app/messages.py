"""The messages that widgets post to their screen."""

from __future__ import annotations

from textual.message import Message

from reviewdesk.app.controllers.work.on_screen import DrawnItem
from reviewdesk.errors import ReviewDeskError


class RowChosen(Message):
    """A line of the queue was clicked."""

    def __init__(self, index: int) -> None:
        """Carry the index into the queue."""
        super().__init__()
        self.index = index


class RuleDragged(Message):
    """The rule at the left of a pane was dragged."""

    def __init__(self, pane: str, column: int) -> None:
        """Carry the pane's name, and the column of the screen that the mouse is at."""
        super().__init__()
        self.pane, self.column = pane, column


class PaintFailed(Message):
    """A widget met an error while painting; the screen shows it on the status line."""

    def __init__(self, error: ReviewDeskError) -> None:
        """Carry the error."""
        super().__init__()
        self.error = error


class ItemDrawn(Message):
    """A frame with an item was drawn; the screen tells the controller what it shows."""

    def __init__(self, drawn: DrawnItem) -> None:
        """Carry what is on screen."""
        super().__init__()
        self.drawn = drawn
