"""The rule between two panes, which the mouse can drag."""

from __future__ import annotations

from textual import events
from textual.strip import Strip
from textual.widget import Widget

from reviewdesk.app.messages import RuleDragged
from reviewdesk.app.paint.styled import line
from reviewdesk.app.theme.inks import Ink
from reviewdesk.app.widgets.lines import to_strip

_RULE = line(("│", Ink.RULE))


class Divider(Widget):
    """A vertical rule at the left of a pane; while it is dragged it posts the mouse's column."""

    DEFAULT_CSS = """
    Divider { width: 1; height: 1fr; background: $background; }
    Divider:hover { background: $desk-bar; }
    """
    ALLOW_SELECT = False

    def __init__(self, pane: str) -> None:
        """Stand at the left of ``pane``."""
        super().__init__(id=f"{pane}-rule")
        self.pane = pane

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Take hold of the rule."""
        event.stop()
        self.capture_mouse()

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Tell where the rule is dragged to."""
        if self.app.mouse_captured is self:
            self.post_message(RuleDragged(self.pane, event.screen_x))

    def on_mouse_up(self, event: events.MouseUp) -> None:
        """Let go of the rule."""
        event.stop()
        self.release_mouse()

    def render_line(self, y: int) -> Strip:
        """Draw one line of the rule."""
        del y
        return to_strip(self, _RULE, self.size.width)
