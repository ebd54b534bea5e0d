"""The page of pace, above the review."""

from __future__ import annotations

from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical

from reviewdesk.app.controllers.requests import PaceForm
from reviewdesk.app.paint.document import document_lines
from reviewdesk.app.paint.styled import Lines, cut, line
from reviewdesk.app.screens.dialog import Dialog
from reviewdesk.app.theme.inks import Ink
from reviewdesk.app.widgets.lines import Bar, Pane


class PaceScreen(Dialog[bool]):
    """Shows a document; closes with whether the key that closed it gives labels."""

    CSS = """
    PaceScreen { align: center middle; background: $background 50%; }
    PaceScreen > Vertical { width: 90; max-width: 100%; height: 100%; max-height: 40;
        background: $panel; padding: 1 1; }
    PaceScreen Bar { height: 2; }
    PaceScreen Pane { height: 1fr; background: $panel; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        ("escape,q,enter,space", "close", "Close"),
        ("j,down", "scroll(1)", "Down"),
        ("k,up", "scroll(-1)", "Up"),
        ("ctrl+d,pagedown", "scroll(10)", "Page down"),
        ("ctrl+u,pageup", "scroll(-10)", "Page up"),
    ]

    def __init__(self, form: PaceForm) -> None:
        """Show the document of ``form``."""
        super().__init__()
        self._form = form

    def compose(self) -> ComposeResult:
        """Show the title, the keys and the document."""
        with Vertical():
            yield Bar(self._head)
            yield Pane()

    def on_mount(self) -> None:
        """Draw the document."""
        self.query_one(Pane).paint(lambda width: document_lines(self._form.document, width))

    def _head(self, width: int) -> Lines:
        title, keys = (self._form.title, Ink.STRONG), ("   j k scroll, esc goes on", Ink.MUTED)
        return [cut(line(title, keys), width)]

    def on_key(self, event: events.Key) -> None:
        """Close for a key that gives labels, so that the item below it is seen first."""
        if event.key in self._form.label_keys:
            event.stop()
            self.dismiss(True)

    def action_scroll(self, lines: int) -> None:
        """Scroll the page."""
        self.query_one(Pane).move(lines)

    def action_close(self) -> None:
        """Close the page."""
        self.dismiss(False)
