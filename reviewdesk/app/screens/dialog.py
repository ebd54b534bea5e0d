"""The base of dialogs: each closes only once, however many keys come before it is gone."""

from __future__ import annotations

from textual.await_complete import AwaitComplete
from textual.command import CommandPalette
from textual.screen import ModalScreen, ScreenResultType
from textual.widgets import OptionList


class Dialog(ModalScreen[ScreenResultType]):
    """A screen above the others that keeps every key to itself."""

    def dismiss(self, result: ScreenResultType | None = None) -> AwaitComplete:
        """Close with a result; do nothing if the dialog has closed already."""
        # Textual pops the screen on top, which would then be the one below the dialog.
        return super().dismiss(result) if self.is_current else AwaitComplete()


class ListDialog(Dialog[ScreenResultType]):
    """A dialog with one list, in which vim's letters move as the arrows do."""

    DEFAULT_CSS = """
    ListDialog OptionList { border: none; background: $panel; padding: 0; }
    ListDialog OptionList > .option-list--option-highlighted { text-style: bold reverse; }
    """

    def action_move(self, how: str) -> None:
        """Call the list's own action ``how``: ``cursor_down``, ``page_up``, ``first``."""
        getattr(self.query_one(OptionList), f"action_{how}")()


class Palette(CommandPalette):
    """Textual's palette; it closes only once, as our dialogs do."""

    def dismiss(self, result: None = None) -> AwaitComplete:
        """Close; do nothing if the palette has closed already."""
        return super().dismiss(result) if self.is_current else AwaitComplete()
