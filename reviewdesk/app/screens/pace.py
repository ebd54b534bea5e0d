"""The page of pace, above the review."""

from __future__ import annotations

from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType

from reviewdesk.app.controllers.requests import PaceForm
from reviewdesk.app.paint.document import document_lines
from reviewdesk.app.screens.dialog import Keys, MovingDialog
from reviewdesk.app.widgets.lines import Pane


class PaceScreen(MovingDialog[bool]):
    """Shows a document; closes with whether the key that closed it gives labels."""

    CSS = """
    PaceScreen > #box { width: 92; height: 100%; max-height: 30; }
    PaceScreen Pane { height: 1fr; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [("escape,q,enter,space", "answer(False)", "Close")]

    def __init__(self, form: PaceForm) -> None:
        """Show the document of ``form``."""
        super().__init__()
        self._form = form

    def title_facts(self) -> tuple[str, str, str]:
        """Return the title of the form."""
        return self._form.title, "", ""

    def content(self) -> ComposeResult:
        """Show the document."""
        yield Pane()

    def keys(self) -> Keys:
        """Return the keys of the page."""
        return ("j k", "scroll"), ("enter esc", "goes on")

    def moving(self) -> Pane:
        """Return the document."""
        return self.query_one(Pane)

    def on_mount(self) -> None:
        """Draw the document."""
        self.query_one(Pane).paint(lambda width: document_lines(self._form.document, width))

    def on_key(self, event: events.Key) -> None:
        """Close for a key that gives labels, so that the item below it is seen first."""
        if event.key in self._form.label_keys:
            event.stop()
            self.dismiss(True)

    def action_answer(self, labels: bool) -> None:
        """Close the page."""
        self.dismiss(labels)
