"""A short list to choose from."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from reviewdesk.app.controllers.requests import ChoiceForm
from reviewdesk.app.paint.styled import (
    Lines,
    cut,
    inline,
    line,
)
from reviewdesk.app.screens.dialog import ChoiceList, ListDialog
from reviewdesk.app.theme.inks import Ink
from reviewdesk.app.widgets.lines import Bar


class ChoiceDialog(ListDialog[int | None]):
    """Offers a list; closes with the index of the chosen option, ``None`` without a choice."""

    CSS = """
    ChoiceDialog { align: center middle; background: $background 50%; }
    ChoiceDialog > Vertical { width: 76; max-width: 100%; height: auto; max-height: 100%;
        background: $panel; padding: 1 1; }
    ChoiceDialog OptionList { height: auto; max-height: 18; border: none; padding: 0;
        background: $panel; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        ("escape,q", "close", "Close"),
        ("j", "move('cursor_down')", "Down"),
        ("k", "move('cursor_up')", "Up"),
    ]

    def __init__(self, form: ChoiceForm) -> None:
        """Offer the options of ``form``."""
        super().__init__()
        self._form = form

    def compose(self) -> ComposeResult:
        """Show the title and the list."""
        with Vertical():
            yield Bar(self._head)
            yield ChoiceList(
                *(Option(Content(inline(o, 200))) for o in self._form.options), markup=False
            )

    def _head(self, width: int) -> Lines:
        head = line((self._form.title, Ink.STRONG), ("   enter chooses, esc closes", Ink.MUTED))
        return [cut(head, width)]

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Close with the choice."""
        self.dismiss(event.option_index)

    def action_close(self) -> None:
        """Close without a choice."""
        self.dismiss(None)
