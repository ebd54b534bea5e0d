"""The notice on the status line, and how long it stays valid."""

from __future__ import annotations

from dataclasses import dataclass

from reviewdesk.app.theme.inks import Ink


@dataclass(frozen=True, slots=True)
class Notice:
    """One notice; ``about`` is the item, run or page it concerns, ``None`` if it concerns none.

    A notice about one item goes when another is shown, or it would seem to concern that one.
    """

    text: str = ""
    ink: str = Ink.NOTE
    about: object = None

    def beside(self, shown: object) -> Notice:
        """Return the notice if it concerns ``shown`` or no one thing, else an empty notice."""
        return self if self.about in (None, shown) else Notice()
