"""Two panels on the same items, on one page: who is right, the flips, and the difference."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical

from reviewdesk.app.controllers.requests import PanelsForm
from reviewdesk.app.paint.document import document_lines
from reviewdesk.app.paint.styled import Lines, cut, inline, line
from reviewdesk.app.screens.dialog import Dialog
from reviewdesk.app.theme.inks import Ink
from reviewdesk.app.widgets.lines import Bar, Pane
from reviewdesk.views.comparison import two_panels


class PanelsScreen(Dialog[bool]):
    """Shows a comparison; closes with True to show the verdicts behind it."""

    CSS = """
    PanelsScreen { align: center middle; background: $background 50%; }
    PanelsScreen > Vertical { width: 110; max-width: 100%; height: 100%;
        background: $panel; padding: 1 1; }
    PanelsScreen Bar { height: 2; }
    PanelsScreen Pane { height: 1fr; background: $panel; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        ("escape,q,d", "close", "Close"),
        ("enter", "verdicts", "Show the verdicts behind it"),
        ("j,down", "scroll(1)", "Down"),
        ("k,up", "scroll(-1)", "Up"),
        ("ctrl+d,pagedown,space", "scroll(10)", "Page down"),
        ("ctrl+u,pageup", "scroll(-10)", "Page up"),
    ]

    def __init__(self, form: PanelsForm) -> None:
        """Show the comparison of ``form``."""
        super().__init__()
        self._form = form

    def compose(self) -> ComposeResult:
        """Show the names of the runs, and the comparison."""
        with Vertical():
            yield Bar(self._head)
            yield Pane()

    def _head(self, width: int) -> Lines:
        names = [inline(run.name, 60) for run in (self._form.found.first, self._form.found.second)]
        keys = "enter shows the verdicts, j k scroll, esc closes"
        return [
            cut(line((f"{names[0]} against {names[1]}", Ink.STRONG)), width),
            cut(line((keys, Ink.MUTED)), width),
        ]

    def on_mount(self) -> None:
        """Draw the comparison."""
        made = two_panels(self._form.found, blind=self._form.blind)
        self.query_one(Pane).paint(lambda width: document_lines(made, width))

    def action_verdicts(self) -> None:
        """Close and show the verdicts behind the comparison."""
        self.dismiss(True)

    def action_scroll(self, lines: int) -> None:
        """Scroll the comparison."""
        self.query_one(Pane).move(lines)

    def action_close(self) -> None:
        """Close the comparison."""
        self.dismiss(False)
