"""The item's pane without Textual: it folds, scrolls and reports as the widget does."""

from collections.abc import Callable

from reviewdesk.app.controllers.core import Core
from reviewdesk.app.controllers.exposure import ItemLayout
from reviewdesk.app.controllers.state import ReadingOptions
from reviewdesk.app.paint.item import painted_item
from reviewdesk.app.paint.styled import Lines
from reviewdesk.domain.records import Item

FRAME = 6
"""Lines of the terminal around the item's pane."""


class DrawnPane:
    """The lines of an item, and the line at the top of the pane."""

    def __init__(self) -> None:
        self.layout, self.top, self.height = ItemLayout(), 0, 0
        self._asked = -1

    def draw(self, state: Core, saw: Callable[[ItemLayout, range, int, int], None]) -> None:
        """Paint the item, scroll to where the state says or to what was at the top, and report.

        Nothing happens while the pane is out of view.
        """
        panes, item = state.panes, state.session.item
        if panes.tiny or item is None or (panes.alone and panes.current != "item"):
            return
        place = self.layout.place(self.top)
        seen = state.seen
        if self._asked != seen.turns:
            self._asked, place = seen.turns, seen.top
        width, self.height = panes.width, panes.height - FRAME
        self.layout = painted_item(
            item,
            width - 2 if panes.alone else width // 3,
            self.height,
            hidden=state.session.hidden,
            reading=state.reading,
        ).layout
        self.go(self.layout.line(place, self.height))
        saw(*self.drawn)

    def go(self, line: int) -> None:
        """Scroll to a line, as far as the text goes."""
        end = max(part.below for part in self.layout.parts)
        self.top = max(0, min(line, end - self.height))

    @property
    def drawn(self) -> tuple[ItemLayout, range, int, int]:
        """What the pane shows, as the widget reports it."""
        return self.layout, range(self.top, self.top + self.height), self.top, self.height


def item_lines(
    item: Item, width: int, *, hidden: bool, reading: ReadingOptions | None = None
) -> Lines:
    """The whole pane with every text in full."""
    return painted_item(item, width, None, hidden=hidden, reading=reading or ReadingOptions()).lines
