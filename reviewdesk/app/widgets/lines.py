"""Widgets that draw lines of ``Content``: a bar of fixed height and a pane that scrolls.

Every line passes a second time through ``strip_controls`` on its way to the terminal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from rich.segment import Segment
from textual.content import Content
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.selection import Selection
from textual.strip import Strip
from textual.style import Style
from textual.widget import Widget

from reviewdesk.app.paint import Lines, Painter, cut
from reviewdesk.domain.safetext import strip_controls

if TYPE_CHECKING:
    from reviewdesk.app.app import ReviewApp


def to_strip(widget: Widget, content: Content, width: int, under: Style | None = None) -> Strip:
    """One line as terminal segments, its inks resolved, of exactly ``width`` cells."""
    inks = cast("ReviewApp", widget.app).inks
    base = widget.visual_style if under is None else under
    segments = [
        Segment(strip_controls(text), style.rich_style)
        for text, style in content.render(
            base, end="", parse_style=lambda ink: inks[ink] if isinstance(ink, str) else ink
        )
    ]
    return Strip(segments).adjust_cell_length(width, base.rich_style)


class Bar(Widget):
    """A few lines of fixed height that never scroll."""

    DEFAULT_CSS = "Bar { height: 1; width: 1fr; }"
    ALLOW_SELECT = False

    def __init__(self, painter: Painter | None = None, *, id: str | None = None) -> None:  # noqa: A002
        """Draw what ``painter`` says; it is asked again at every new width."""
        super().__init__(id=id)
        self._painter = painter or (lambda _width: [])
        self._lines: Lines = []
        self._width = -1

    def paint(self, painter: Painter) -> None:
        """Show something else; the layout stays as it is."""
        self._painter = painter
        self._width = -1
        self.refresh()

    @property
    def text(self) -> str:
        """What is shown, as plain text."""
        return "\n".join(content.plain for content in self._painter(self.size.width or 80))

    def render_line(self, y: int) -> Strip:
        """Draw one line, asking the painter once per width."""
        width = self.size.width
        if width != self._width:
            self._lines, self._width = self._painter(width), width
        content = self._lines[y] if y < len(self._lines) else Content("")
        return to_strip(self, cut(content, width), width)


class Pane(ScrollView, can_focus=True, inherit_bindings=False):
    """A scrolling text. Its place survives being resized or hidden."""

    DEFAULT_CSS = """
    Pane { scrollbar-gutter: stable; scrollbar-size-vertical: 1; overflow-x: hidden; }
    """

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        """Start empty."""
        super().__init__(id=id)
        self._painter: Painter = lambda _width: []
        self._lines: Lines = []
        self._width = 0
        self._anchor = (0, 1)
        self._moving = False

    @property
    def allow_select(self) -> bool:
        """Text in a pane can be selected with the mouse and copied."""
        return True

    def paint(self, painter: Painter, *, keep: bool = False) -> None:
        """Show another text from its start, or the same text anew where it was scrolled to."""
        self._painter = painter
        if not keep:
            self._anchor = (0, 1)
            self.screen.clear_selection()
        self._repaint()

    def _repaint(self) -> None:
        width = self.scrollable_content_region.width
        self._moving = True
        try:
            self._width = width
            self._lines = self._painter(max(1, width - 1)) if width else []
            self.virtual_size = Size(width, len(self._lines))
            top, total = self._anchor
            self.scroll_to(y=top * len(self._lines) // max(1, total), animate=False)
        finally:
            self._moving = False
        self.refresh()

    def on_resize(self) -> None:
        """Fold the text to the new width, with the same passage at the top."""
        if self.scrollable_content_region.width != self._width:
            self._repaint()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Remember the passage at the top, unless it was a resize that moved it."""
        super().watch_scroll_y(old_value, new_value)
        if not self._moving and self.scrollable_content_region.width == self._width:
            self._anchor = (round(new_value), len(self._lines))

    def move(self, lines: int) -> None:
        """Scroll by some lines."""
        self.scroll_to(y=self.scroll_offset.y + lines, animate=False)

    @property
    def page(self) -> int:
        """How many lines are in view."""
        return max(1, self.size.height)

    @property
    def text(self) -> str:
        """The whole text, folded as it is shown."""
        return "\n".join(content.plain for content in self._lines)

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """The selected text, for copying."""
        return selection.extract(self.text), "\n"

    def selection_updated(self, selection: Selection | None) -> None:
        """Draw the selection anew."""
        del selection
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """Draw one line with a margin of one column."""
        width, at = self.size.width, y + self.scroll_offset.y
        if at >= len(self._lines):
            return Strip.blank(width, self.visual_style.rich_style)
        content = cut(self._lines[at], max(0, width - 1))
        if (chosen := self.text_selection) and (span := chosen.get_span(at)):
            style = self.screen.get_visual_style("screen--selection")
            content = content.stylize(style, span[0], None if span[1] == -1 else span[1])
        margin = Strip.blank(1, self.visual_style.rich_style)
        drawn = to_strip(self, content, max(0, width - 1)).apply_offsets(0, at)
        return Strip.join([margin, drawn]).crop(0, width)
