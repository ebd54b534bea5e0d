"""Widgets that draw lines of ``Content``: a bar of fixed height, a pane that scrolls, an item."""

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar, TypeAlias

from rich.segment import Segment
from textual import events
from textual.cache import LRUCache
from textual.content import Content
from textual.geometry import Region, Size
from textual.reactive import Reactive
from textual.scroll_view import ScrollView
from textual.selection import Selection
from textual.strip import Strip
from textual.style import Style
from textual.widget import Widget

from reviewdesk.app.controllers.exposure import ItemLayout
from reviewdesk.app.controllers.state import Place
from reviewdesk.app.paint.inks import STOP
from reviewdesk.app.paint.item import PaintedItem
from reviewdesk.app.paint.styled import Lines, Painter, cells, cut, line
from reviewdesk.domain.safetext import strip_controls
from reviewdesk.views.document import Tone


def harmless(strip: Strip) -> Strip:
    """Return a drawn line without control characters, whatever was typed or pasted."""
    clean = [segment._replace(text=strip_controls(segment.text)) for segment in strip]
    return Strip(clean, strip.cell_length)


class Drawn(Widget):
    """A widget that draws lines of ``Content``, each as one strip, which it keeps."""

    margin_left: ClassVar[int] = 0
    """How many cells of each line are blank."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._strips: LRUCache[tuple[object, ...], Strip] = LRUCache(512)

    def strip(self, at: int, width: int) -> Strip:
        """Return a line, by its number from the top of the text."""
        raise NotImplementedError

    def line_strip(self, content: Content, width: int, under: Style | None = None) -> Strip:
        """Return a line of ``width`` cells over a style; without inks if that is reversed."""
        key = content.plain, *content.spans, width, under
        if (known := self._strips.get(key)) is not None:
            return known
        app: Any = self.app
        base = self.visual_style if under is None else under
        if base.reverse:
            content = Content(content.plain)
        parts = [
            (strip_controls(text), style.rich_style)
            for text, style in content.render(
                base, end="", parse_style=lambda ink: app.inks[ink] if isinstance(ink, str) else ink
            )
        ]
        used = self.margin_left + sum(cells(text) for text, _ in parts)
        blank = base.rich_style
        segments: list[Segment] = []
        # Every segment sends its whole style, so neighbours of one style are one.
        for text, style in ((" " * self.margin_left, blank), *parts, (" " * (width - used), blank)):
            if segments and segments[-1].style == style:
                segments[-1] = Segment(segments[-1].text + text, style)
            elif text:
                segments.append(Segment(text, style))
        made = Strip(segments).adjust_cell_length(width, blank)
        self._strips[key] = made
        return made

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._strips.clear()

    @property
    def page(self) -> int:
        return max(1, self.size.height)

    def reveal(self, line: int | None) -> None:
        """Scroll as little as brings a line into view, if there is one."""
        top = self.scroll_offset.y
        in_view = line is None or top <= line < top + self.page
        if line is not None and self.size.height and not in_view:
            to = line if line < top else line - self.page + 1
            self.scroll_to(y=to, animate=False, force=True)

    def render_lines(self, crop: Region) -> list[Strip]:
        """Return whole lines with the app's filters, and cropped.

        Textual's own way of drawing lines puts borders, padding and hints for the mouse around each
        of them, which takes longer than the line itself.
        """
        if self.styles.gutter:
            return super().render_lines(crop)
        width = self.size.width
        top = self.scroll_offset.y
        strips = [self.strip(top + y, width) for y in crop.line_range]
        for each in self.get_line_filters():
            background = self.background_colors[1]
            strips = [strip.apply_filter(each, background) for strip in strips]
        if (crop.x, crop.width) != (0, width):
            strips = [strip.crop(crop.x, crop.right) for strip in strips]
        return strips

    def render_line(self, y: int) -> Strip:
        return self.strip(y + self.scroll_offset.y, self.size.width)


def no_lines(_width: int) -> Lines:
    return []


class Bar(Drawn):
    """A few lines that never scroll."""

    DEFAULT_CSS = "Bar { height: 1; width: 1fr; }"
    ALLOW_SELECT = False

    def __init__(self, painter: Painter | None = None, *, id: str | None = None) -> None:  # noqa: A002
        """Draw the lines of ``painter``, which is called again at every new width."""
        super().__init__(id=id)
        self._painter = painter or no_lines
        self._lines: Lines = []
        self._width = -1

    def paint(self, painter: Painter) -> None:
        """Draw the lines of another painter; a ``partial`` on equal facts is the same painter."""
        same = _same(self._painter, painter)
        self._painter = painter
        if same:
            return
        # Contents with the same text are equal, whatever their inks.
        each = (self._lines, painter(self._width) if self._width > 0 else [])
        before, now = ([(one, one.spans) for one in lines] for lines in each)
        if self._width < 0 or before != now:
            self.redraw(grows=self._width < 0 or len(before) != len(now))

    def redraw(self, *, grows: bool = True) -> None:
        self._width = -1
        self.refresh(layout=grows and self.styles.is_auto_height)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        del container, viewport
        return len(self._painter(width))

    @property
    def text(self) -> str:
        return "\n".join(content.plain for content in self._painter(self.size.width or 80))

    def render_lines(self, crop: Region) -> list[Strip]:
        # Textual marks what a click below the mouse does.
        draw = Widget.render_lines if self.mouse_hover else Drawn.render_lines
        return draw(self, crop)

    def strip(self, at: int, width: int) -> Strip:
        if width != self._width:
            self._lines = self._painter(width)
            self._width = width
        content = self._lines[at] if at < len(self._lines) else Content("")
        return self.line_strip(cut(content, width), width)


class Pane(ScrollView, Drawn, can_focus=True, inherit_bindings=False):
    """A scrolling text, which keeps its scroll position when it is resized or hidden."""

    DEFAULT_CSS = """
    Pane { scrollbar-gutter: stable; scrollbar-size-vertical: 1; overflow-x: hidden; }
    """

    margin_left = 1
    virtual_size: Reactive[Size] = Reactive(Size(0, 0), layout=False, repaint=False)

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._painter: Painter = no_lines
        self._lines: Lines = []
        self._width = 0
        self._anchor = (0, 1)
        self._title = ""
        self._moving = False

    @property
    def allow_select(self) -> bool:
        return True

    def paint(self, painter: Painter, *, keep: bool = False) -> None:
        """Show a text from its start or, if ``keep``, from the current position."""
        same = (
            keep and self._width and isinstance(painter, partial) and _same(self._painter, painter)
        )
        self._painter = painter
        if not keep:
            self._anchor = (0, 1)
            self._title = ""
            self.screen.clear_selection()
        if not same:
            self.repaint()

    def repaint(self) -> None:
        """Paint the text again, and lay the screen out if its width or the scrollbar changes."""
        width = self.scrollable_content_region.width
        self._width = width
        self._lines = self._painter(max(1, width - 1)) if width else []
        if not width:
            # It is painted once it has a place; until then there is nothing to lay out.
            return
        before = self.virtual_size.width
        total = len(self._lines)
        height = self.container_size.height
        shown = self.show_vertical_scrollbar
        self._moving = True
        try:
            self.virtual_size = Size(width, total)
            if not height or before != width or shown is not (total > height):
                self.refresh(layout=True)
            elif shown:
                self.vertical_scrollbar.window_virtual_size = total
                self.vertical_scrollbar.window_size = height
            self._scroll_to_anchor()
        finally:
            self._moving = False
        self.refresh()

    def _scroll_to_anchor(self) -> None:
        # A pane that has just come into view has no scroll bar yet.
        self.scroll_to(y=self.anchored_line(), animate=False, force=True)

    def anchored_line(self) -> int:
        if self._title:
            return next((at for at in self.stops if self._title in self._lines[at].plain), 0)
        top, total = self._anchor
        return top * len(self._lines) // max(1, total)

    def anchor_at(self, line: int) -> None:
        self._anchor = (line, len(self._lines))
        self._title = ""

    def on_resize(self) -> None:
        if self.scrollable_content_region.width != self._width:
            self.repaint()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        if not self._moving and self.scrollable_content_region.width == self._width:
            self.anchor_at(round(new_value))

    def move(self, lines: int) -> None:
        self.scroll_to(y=self.scroll_offset.y + lines, animate=False)

    @property
    def stops(self) -> list[int]:
        inks = [{span.style for span in content.spans} for content in self._lines]
        return [at for at, styles in enumerate(inks) if styles & {Tone.HEAD, Tone.FOUND, STOP}]

    def jump(self, by: int) -> None:
        """Scroll to the next title or word found, or for a negative ``by`` to the one before."""
        top = round(self.scroll_offset.y)
        if by > 0:
            self.go(next((at for at in self.stops if at > top), top))
        else:
            self.go(next((at for at in reversed(self.stops) if at < top), 0))

    def reach(self, title: str) -> None:
        """Keep the section of this title at the top, until the pane is scrolled."""
        self._title = title
        self.call_after_refresh(self._scroll_to_anchor)

    def go(self, at: int) -> None:
        self.scroll_to(y=at, animate=False, force=True)

    @property
    def in_view(self) -> list[str]:
        top = round(self.scroll_offset.y)
        return [content.plain for content in self._lines[top : top + self.page]]

    @property
    def painted(self) -> Lines:
        return self._lines

    @property
    def text(self) -> str:
        return "\n".join(content.plain for content in self._lines)

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        return selection.extract(self.text), "\n"

    def selection_updated(self, selection: Selection | None) -> None:
        del selection
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """Return a line with the places of its texts, by which the mouse selects them."""
        strip = super().render_line(y)
        at = y + self.scroll_offset.y
        if at >= len(self._lines):
            return strip
        return Strip.join([strip.crop(0, 1), strip.crop(1).apply_offsets(0, at)])

    def strip(self, at: int, width: int) -> Strip:
        if at >= len(self._lines):
            return Strip.blank(width, self.visual_style.rich_style)
        content = self._lines[at]
        chosen = self.text_selection
        if (span := chosen and chosen.get_span(at)) is not None:
            style = self.screen.get_visual_style("screen--selection")
            content = content.stylize(style, span[0], None if span[1] == -1 else span[1])
        return self.line_strip(content, width)


def _same(before: Callable[..., object], after: Callable[..., object]) -> bool:
    if not (isinstance(before, partial) and isinstance(after, partial)):
        return before is after
    return (before.func, before.args, before.keywords) == (after.func, after.args, after.keywords)


_RULE = line(("│", Tone.RULE))


class Divider(Drawn):
    """A vertical rule at the left of a pane, which tells to which column the mouse drags it."""

    DEFAULT_CSS = """
    Divider { width: 1; height: 1fr; background: $background; }
    Divider:hover { background: $desk-bar; }
    """
    ALLOW_SELECT = False

    def __init__(self, pane: str, dragged: Callable[[str, int], object]) -> None:
        super().__init__(id=f"{pane}-rule")
        self.pane = pane
        self._dragged = dragged

    def on_mouse_down(self, event: events.MouseDown) -> None:
        event.stop()
        self.capture_mouse()

    def on_mouse_move(self, event: events.MouseMove) -> None:
        if self.app.mouse_captured is self:
            self._dragged(self.pane, event.screen_x)

    def on_mouse_up(self, event: events.MouseUp) -> None:
        event.stop()
        self.release_mouse()

    def strip(self, at: int, width: int) -> Strip:
        del at
        return self.line_strip(_RULE, width)


ItemPainter: TypeAlias = Callable[[int, int], PaintedItem]
"""Paints an item for a width and a height of the pane."""


class ItemPane(Pane):
    """A pane that keeps its passage, not its line, in view, and reports what it has drawn.

    ``saw`` takes the layout, the lines that were drawn, the first line of the pane and its height.
    """

    def __init__(
        self,
        saw: Callable[[ItemLayout, range, int, int], object],
        *,
        id: str | None = None,  # noqa: A002
    ) -> None:
        super().__init__(id=id)
        self._saw = saw
        self.layout_of_item = ItemLayout()
        self._item_painter: ItemPainter = lambda _width, _height: PaintedItem([])
        self._top = Place()
        self._height = 0

    def show(self, painter: ItemPainter, *, keep: bool) -> None:
        """Show an item from its start or, if ``keep``, from the current passage."""
        same = keep and self._width and _same(self._item_painter, painter)
        self._item_painter = painter
        if not keep:
            self._top = Place()

        def lines(width: int) -> Lines:
            painted = painter(width, self.page)
            self.layout_of_item = painted.layout
            return painted.lines

        if not same:
            self.paint(lines, keep=keep)

    def turn(self, top: Place) -> None:
        self._top = top
        self._scroll_to_anchor()

    def anchored_line(self) -> int:
        if not self.layout_of_item.parts:
            return super().anchored_line()
        return self.layout_of_item.line(self._top, self.page)

    def anchor_at(self, line: int) -> None:
        if self.layout_of_item.parts:
            self._top = self.layout_of_item.place(line)
        else:
            super().anchor_at(line)

    @property
    def stops(self) -> list[int]:
        return sorted({*super().stops, *(one.head for one in self.layout_of_item.parts)})

    def on_resize(self) -> None:
        """Fold the texts to the new size, and keep the same passage at the top."""
        if self._width and self._height != self.page:
            self.repaint()
        else:
            super().on_resize()

    def repaint(self) -> None:
        self._height = self.page
        # A pane without a width paints nothing, and so shows nothing.
        self.layout_of_item = ItemLayout()
        super().repaint()

    def render_lines(self, crop: Region) -> list[Strip]:
        """Draw lines; tell what is in view, which a frame below a dialog is not."""
        strips = super().render_lines(crop)
        layout = self.layout_of_item
        if self.app.screen is self.screen and layout.parts and self.size.width > 1:
            top = round(self.scroll_offset.y)
            self._saw(layout, range(top + crop.y, top + crop.bottom), top, self.page)
        return strips
