"""The queue as a line-API list: only the lines on screen are fetched and drawn."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from typing import ClassVar

from textual import events
from textual.cache import LRUCache
from textual.content import Content
from textual.geometry import Region, Size
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.style import Style

from reviewdesk.app.paint.rows import queue_line
from reviewdesk.app.widgets.lines import PaintFailed, RowChosen, drawn_lines, to_strip
from reviewdesk.domain.records import QueueRow
from reviewdesk.errors import ReviewDeskError

PAGE = 64
"""The number of rows that one query fetches: a little more than a tall screen."""


class QueueList(ScrollView, can_focus=True, inherit_bindings=False):
    """All verdicts of a queue, one line each. Drawing a million costs no more than a hundred."""

    DEFAULT_CSS = """
    QueueList { scrollbar-gutter: stable; scrollbar-size-vertical: 1; overflow-x: hidden; }
    QueueList > .queue--cursor { background: $desk-cursor; text-style: $desk-cursor-style; }
    """
    COMPONENT_CLASSES: ClassVar[set[str]] = {"queue--cursor"}
    ALLOW_SELECT = False

    def __init__(
        self,
        fetch: Callable[[Sequence[int]], list[QueueRow]],
        drawn: Callable[[Sequence[int]], None],
        *,
        id: str | None = None,  # noqa: A002
    ) -> None:
        """Start empty. ``fetch`` returns the rows of keys; ``drawn`` hears what was drawn."""
        super().__init__(id=id)
        self._fetch = fetch
        self._drawn = drawn
        self._keys: array[int] = array("q")
        self._cursor: int | None = None
        self._blind = False
        self._chosen: frozenset[int] = frozenset()
        self._pages: LRUCache[int, list[QueueRow]] = LRUCache(16)
        self._strips: LRUCache[tuple[int, int, bool], Strip] = LRUCache(512)
        self._shown: dict[int, QueueRow | None] = {}
        """The row that the strips of a line are of."""
        self._failed = False

    def fill(self, keys: array[int], *, blind: bool) -> None:
        """Show another queue, or the same one in another mode."""
        if keys is self._keys and blind is self._blind:
            return
        self._keys = keys
        self._blind = blind
        self.virtual_size = Size(self.scrollable_content_region.width, len(keys))
        self._pages.clear()
        self._failed = False
        self.notify_style_update()
        self.refresh()

    def choose(self, chosen: frozenset[int]) -> None:
        """Show which verdicts are selected."""
        if chosen != self._chosen:
            self._chosen = chosen
            self.notify_style_update()
            self.refresh()

    def reload(self) -> None:
        """Fetch the rows on screen again, and draw those that are not as they were drawn."""
        self._pages.clear()
        self._failed = False
        top = self.scroll_offset.y
        for index in range(top, min(top + self.size.height, len(self._keys))):
            if self._row(index) != self._shown.get(index):
                self.refresh_line(index)

    def point(self, cursor: int | None) -> None:
        """Put the cursor on a line and bring it into view; draw the lines that this changes."""
        before = self._cursor
        self._cursor = cursor
        self._follow()
        for line in (before, cursor):
            if line is not None:
                self.refresh_line(line)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Draw the rows that come into view; the scrollbar only where its thumb moves.

        It draws eighths of a line, which a step in a long queue is a small part of.
        """
        height = self.size.height
        bar = self.vertical_scrollbar
        eighths = 8 * height / max(1, self.virtual_size.height - height)
        if int(bar.position * eighths) != int(new_value * eighths):
            bar.position = new_value
        if round(old_value) != round(new_value):
            self.refresh(self.size.region)

    @property
    def page(self) -> int:
        return max(1, self.size.height)

    def _follow(self) -> None:
        if self._cursor is None or not self.size.height:
            return
        top = self.scroll_offset.y
        height = self.size.height
        if self._cursor < top:
            self.scroll_to(y=self._cursor, animate=False)
        elif self._cursor >= top + height:
            self.scroll_to(y=self._cursor - height + 1, animate=False)

    def on_resize(self) -> None:
        self.virtual_size = Size(self.scrollable_content_region.width, len(self._keys))
        self._follow()

    def on_click(self, event: events.Click) -> None:
        index = event.y + self.scroll_offset.y
        if 0 <= index < len(self._keys):
            self.post_message(RowChosen(index))

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._strips.clear()
        self._shown.clear()

    def _row(self, index: int) -> QueueRow | None:
        number = index // PAGE
        page = self._pages.get(number)
        if page is None:
            if self._failed:
                return None
            try:
                page = self._fetch(self._keys[number * PAGE : (number + 1) * PAGE])
            except ReviewDeskError as error:
                # Drawing must not raise, and one message for a screenful of lines is enough.
                self._failed = True
                self.call_later(self._post_failure, error)
                return None
            self._pages[number] = page
        place = index - number * PAGE
        return page[place] if place < len(page) else None

    def _post_failure(self, error: ReviewDeskError) -> None:
        self.post_message(PaintFailed(error))

    def render_lines(self, crop: Region) -> list[Strip]:
        return drawn_lines(self, crop)

    def render_line(self, y: int) -> Strip:
        """Draw one line of the queue."""
        width = self.size.width
        index = y + self.scroll_offset.y
        current = index == self._cursor
        if index >= len(self._keys):
            return Strip.blank(width, self.visual_style.rich_style)
        row = self._row(index)
        if self._shown.get(index) != row:
            self._shown[index] = row
            self._strips.discard((index, width, True))
            self._strips.discard((index, width, False))
        if (known := self._strips.get((index, width, current))) is not None:
            return known
        room = self.scrollable_content_region.width
        under = self.visual_style
        if current:
            under = self.get_visual_style("queue--cursor")
            # The visual style of a component leaves out that it is reversed.
            if self.get_component_styles("queue--cursor").text_style.reverse:
                under += Style(reverse=True)
        content = (
            Content("")
            if row is None
            else queue_line(
                row, room, current=current, blind=self._blind, chosen=row.key in self._chosen
            )
        )
        strip = to_strip(self, content, width, under)
        if row is not None:
            self._strips[index, width, current] = strip
            # More rows are fetched than are on screen; what was not drawn was not seen.
            self._drawn([row.key])
        return strip
