"""The line that says what just happened, and how long what it says is so."""

from __future__ import annotations

from dataclasses import dataclass

from reviewdesk.app.theme.inks import Ink


@dataclass(frozen=True, slots=True)
class Notice:
    """A line of the status; ``about`` is what it speaks of, ``None`` where that is nothing shown.

    What speaks of an item, a run or a page would be read as said of the next one.
    """

    text: str = ""
    ink: str = Ink.NOTE
    about: object = None

    def beside(self, shown: object) -> Notice:
        """Return the notice while what it speaks of is ``shown``, and an empty one after that."""
        return self if self.about in (None, shown) else Notice()
