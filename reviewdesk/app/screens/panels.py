"""Two panels on the same items, on one page: who is right, the flips, and the difference."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType

from reviewdesk.app.controllers.requests import PanelsForm
from reviewdesk.app.paint.document import document_lines
from reviewdesk.app.paint.styled import inline
from reviewdesk.app.screens.dialog import Keys, MovingDialog
from reviewdesk.app.widgets.lines import Pane
from reviewdesk.views.comparison import two_panels


class PanelsScreen(MovingDialog[bool]):
    """Shows a comparison; closes with True to show the verdicts behind it."""

    CSS = """
    PanelsScreen > #box { width: 112; height: 100%; max-height: 40; }
    PanelsScreen Pane { height: 1fr; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        ("escape,q,d", "close", "Close"),
        ("enter", "verdicts", "Show the verdicts behind it"),
    ]

    def __init__(self, form: PanelsForm) -> None:
        """Show the comparison of ``form``."""
        super().__init__()
        self._form = form

    def title_facts(self) -> tuple[str, str, str]:
        """Return the names of the two runs."""
        runs = self._form.found.first, self._form.found.second
        return " against ".join(inline(run.name, 60) for run in runs), "", ""

    def content(self) -> ComposeResult:
        """Show the comparison."""
        yield Pane()

    def keys(self) -> Keys:
        """Return the keys of the comparison."""
        return ("enter", "shows the verdicts"), ("j k", "scroll"), ("esc", "closes")

    def moving(self) -> Pane:
        """Return the comparison."""
        return self.query_one(Pane)

    def on_mount(self) -> None:
        """Draw the comparison."""
        made = two_panels(self._form.found, blind=self._form.blind)
        self.moving().paint(lambda width: document_lines(made, width))

    def action_verdicts(self) -> None:
        """Close and show the verdicts behind the comparison."""
        self.dismiss(True)
