"""The pane of a jury, which shows that of each item from where it was left."""

from __future__ import annotations

from reviewdesk.app.paint.styled import Painter
from reviewdesk.app.widgets.lines import Pane


class JuryPane(Pane):
    """A pane that remembers its scroll position for every item."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        """Start empty."""
        super().__init__(id=id)
        self._item = ""
        self._left_at: dict[str, tuple[int, int]] = {}

    def show(self, painter: Painter, item: str, *, keep: bool, again: bool) -> None:
        """Show the jury of an item, from where it was left if it comes ``again``."""
        if not keep:
            self._left_at[self._item], self._item = self._anchor, item
            if not again:
                self._left_at.pop(item, None)
        self.paint(painter, keep=keep, top=self._left_at.get(item, (0, 1)))
