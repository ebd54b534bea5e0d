"""The pane of an item's texts."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias

from textual.geometry import Region
from textual.strip import Strip

from reviewdesk.app.controllers.exposure import DrawnItem
from reviewdesk.app.paint.item import PaintedItem
from reviewdesk.app.paint.styled import Lines
from reviewdesk.app.texts.fold import Cut
from reviewdesk.app.texts.layout import ItemLayout, PartLines, Place, TextPassage
from reviewdesk.app.widgets.lines import ItemDrawn, Pane

ItemPainter: TypeAlias = Callable[[int, int], PaintedItem]
"""Paints an item for a width and a height of the pane."""


class ItemPane(Pane):
    """A pane that keeps its passage and not its line, and reports what it has drawn."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self.layout_of_item = ItemLayout()
        self._top: Place | TextPassage = Place()
        self._height = 0
        self._paints = 0
        self._frame: tuple[object, ...] = ()
        self._drawn: set[int] = set()

    def show(self, painter: ItemPainter, *, keep: bool) -> None:
        """Show an item from its start or, if ``keep``, from the current passage."""

        def lines(width: int) -> Lines:
            painted = painter(width, self.page)
            self.layout_of_item = painted.layout
            return painted.lines

        if not keep:
            self._top = Place()
        self.paint(lines, keep=keep)

    def turn(self, top: Place | TextPassage) -> None:
        self._top = top
        self._scroll_to_anchor()

    def _anchored_line(self) -> int:
        if isinstance(self._top, TextPassage):
            return self.layout_of_item.top_for(self._top, self.page)
        return self.layout_of_item.line(self._top)

    def _anchor_at(self, line: int) -> None:
        if self.layout_of_item.parts:
            self._top = self.layout_of_item.place(line)

    @property
    def stops(self) -> list[int]:
        return self.layout_of_item.heads

    def on_resize(self) -> None:
        """Fold the texts to the new size, and keep the same passage at the top."""
        if self._width and self._height != self.page:
            self.repaint()
        else:
            super().on_resize()

    def repaint(self) -> None:
        """Paint the item for the width and the height of the pane."""
        self._height = self.page
        self._paints += 1
        # A pane without a width paints nothing, and so shows nothing.
        self.layout_of_item = ItemLayout()
        super().repaint()

    # what is on screen

    def render_lines(self, crop: Region) -> list[Strip]:
        """Draw lines, and tell the screen what is in view of the responses.

        A frame below a dialog is not in view.
        """
        strips = super().render_lines(crop)
        if self.app.screen is self.screen:
            self._note(range(crop.y, crop.bottom))
        return strips

    def _note(self, rows: Iterable[int]) -> None:
        """Report the responses' characters in ``rows`` and all others drawn of this frame."""
        layout = self.layout_of_item
        top = round(self.scroll_offset.y)
        frame = self._paints, top, self.size
        if frame != self._frame:
            self._frame = frame
            self._drawn = set()
        if not layout.parts or self.size.width < 2 or self._drawn.issuperset(rows):
            return
        self._drawn.update(rows)
        shown = {}
        for part in layout.responses:
            found = (self._characters(part, top + row) for row in self._drawn)
            shown[part.name] = tuple(cut for cut in found if cut is not None)
        self.post_message(ItemDrawn(DrawnItem(layout, shown, layout.place(top), self.page)))

    def _characters(self, part: PartLines, at: int) -> Cut | None:
        """Return the characters of a part in line ``at`` of the pane, ``None`` if it has none."""
        line = at - part.first
        if not 0 <= line < len(part.starts):
            return None
        return part.starts[line], (*part.starts, part.end)[line + 1]
