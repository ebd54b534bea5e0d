"""What every dialog is: it closes once, however many keys were pressed before it had gone."""

from __future__ import annotations

from textual.await_complete import AwaitComplete
from textual.command import CommandPalette
from textual.screen import ModalScreen, ScreenResultType
from textual.widgets import OptionList


class Dialog(ModalScreen[ScreenResultType]):
    """A screen above the others that keeps every key to itself."""

    def dismiss(self, result: ScreenResultType | None = None) -> AwaitComplete:
        """Close with a result; a second key that was already on its way changes nothing."""
        # Textual pops whatever is on top, which would then be the screen below.
        return super().dismiss(result) if self.is_current else AwaitComplete()


class ListDialog(Dialog[ScreenResultType]):
    """A dialog around one list, through which the vim letters move as well as the arrows."""

    DEFAULT_CSS = """
    ListDialog OptionList { border: none; background: $panel; padding: 0; }
    ListDialog OptionList > .option-list--option-highlighted { text-style: bold reverse; }
    """

    def action_move(self, how: str) -> None:
        """Move as the list itself names it: ``cursor_down``, ``page_up``, ``first``."""
        getattr(self.query_one(OptionList), f"action_{how}")()


class Palette(CommandPalette):
    """Textual's palette, closing once like every dialog of ours."""

    def dismiss(self, result: None = None) -> AwaitComplete:
        """Close; see ``Dialog``."""
        return super().dismiss(result) if self.is_current else AwaitComplete()
