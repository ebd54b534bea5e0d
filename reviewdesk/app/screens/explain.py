"""Explains the figures and flags in view, a sentence for each."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from reviewdesk.app.controllers.requests import ExplainForm
from reviewdesk.app.paint.styled import Lines, cut, line
from reviewdesk.app.screens.dialog import ChoiceList, ListDialog
from reviewdesk.app.theme.inks import Ink
from reviewdesk.app.widgets.lines import Bar


class ExplainScreen(ListDialog[None]):
    """Lists terms with their sentences; the first one is the chosen one."""

    CSS = """
    ExplainScreen { align: center middle; background: $background 50%; }
    ExplainScreen > Vertical { width: 76; max-width: 100%; height: auto; max-height: 100%;
        background: $panel; padding: 1 1; }
    ExplainScreen OptionList { height: auto; max-height: 30; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        ("escape,q,e", "close", "Close"),
        ("j", "move('cursor_down')", "Down"),
        ("k", "move('cursor_up')", "Up"),
        ("ctrl+d,space", "move('page_down')", "Page down"),
        ("ctrl+u", "move('page_up')", "Page up"),
        ("g", "move('first')", "First"),
        ("G", "move('last')", "Last"),
    ]

    def __init__(self, form: ExplainForm) -> None:
        """Show the terms of ``form``."""
        super().__init__()
        self._terms = form.terms

    def compose(self) -> ComposeResult:
        """Show the title and the terms."""
        with Vertical():
            yield Bar(self._head)
            yield ChoiceList(
                *(
                    Option(Content.assemble((term.word, "bold"), f"\n  {term.text}"))
                    for term in self._terms
                ),
                markup=False,
            )

    def _head(self, width: int) -> Lines:
        keys = "   enter j k next, esc closes"
        return [cut(line(("What is in view", Ink.STRONG), (keys, Ink.MUTED)), width)]

    def on_option_list_option_selected(self, _event: OptionList.OptionSelected) -> None:
        """Go on to the next term."""
        self.action_move("cursor_down")

    def action_close(self) -> None:
        """Close the dialog."""
        self.dismiss(None)
