"""Explains the figures and flags in view, a sentence for each."""

from __future__ import annotations

from typing import ClassVar

from rich.console import Group
from rich.padding import Padding
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from reviewdesk.app.controllers.requests import ExplainForm
from reviewdesk.app.screens.dialog import ChoiceList, Keys, ListDialog


class ExplainScreen(ListDialog[None]):
    """Lists terms with their sentences; the first one is the chosen one."""

    BINDINGS: ClassVar[list[BindingType]] = [("escape,q,e", "close", "Close")]

    def __init__(self, form: ExplainForm) -> None:
        """Show the terms of ``form``."""
        super().__init__()
        self._terms = form.terms

    def title_facts(self) -> tuple[str, str, str]:
        """Return the title."""
        return "What is in view", "", ""

    def content(self) -> ComposeResult:
        """Show the terms."""
        yield ChoiceList(
            *(
                Option(Group(Text(term.word, "bold"), Padding(Text(term.text), (0, 0, 0, 2))))
                for term in self._terms
            ),
            markup=False,
        )

    def keys(self) -> Keys:
        """Return the keys of a list."""
        return ("enter", "next"), ("j k", "move"), ("esc", "closes")

    def on_option_list_option_selected(self, _event: OptionList.OptionSelected) -> None:
        """Go on to the next term."""
        self.action_move("cursor_down")
