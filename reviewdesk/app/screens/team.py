"""The page of several reviewers, above the review: their agreement and their disagreements."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType

from reviewdesk.app.controllers.requests import TeamForm
from reviewdesk.app.paint.document import document_lines
from reviewdesk.app.paint.styled import inline
from reviewdesk.app.screens.dialog import Keys, MovingDialog
from reviewdesk.app.widgets.lines import Pane


class TeamScreen(MovingDialog[bool]):
    """Shows a document; closes with True to show the verdicts on which people differ."""

    CSS = """
    TeamScreen > #box { width: 112; height: 100%; max-height: 44; }
    TeamScreen Pane { height: 1fr; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        ("escape,q", "close", "Close"),
        ("enter", "verdicts", "Show the verdicts on which people differ"),
    ]

    def __init__(self, form: TeamForm) -> None:
        """Show the document of ``form``."""
        super().__init__()
        self._form = form

    def title_facts(self) -> tuple[str, str, str]:
        """Return the name of the run."""
        return f"Reviewers of {inline(self._form.run, 60)}", "", ""

    def content(self) -> ComposeResult:
        """Show the document."""
        yield Pane()

    def keys(self) -> Keys:
        """Return the keys of the page."""
        wanted = (("enter", "shows the disputed"),) if self._form.disputed else ()
        return (*wanted, ("j k", "scroll"), ("esc", "closes"))

    def moving(self) -> Pane:
        """Return the document."""
        return self.query_one(Pane)

    def on_mount(self) -> None:
        """Draw the document."""
        self.moving().paint(lambda width: document_lines(self._form.document, width))

    def action_verdicts(self) -> None:
        """Close, and show the verdicts on which people differ, if there are any."""
        self.dismiss(self._form.disputed > 0)
