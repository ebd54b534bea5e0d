"""The base of dialogs: each closes only once, however many keys come before it is gone."""

from __future__ import annotations

from textual.await_complete import AwaitComplete
from textual.command import CommandPalette
from textual.screen import ModalScreen, ScreenResultType
from textual.widgets import OptionList


def has_lines(shown: OptionList) -> bool:
    """Return True if a list has been laid out; Textual fails on a page key before that."""
    return shown.scrollable_content_region.height > 0


class ChoiceList(OptionList):
    """A list that ignores page keys while it has no line on screen."""

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Refuse to turn pages that are not there."""
        if action in {"page_up", "page_down"} and not has_lines(self):
            return False
        return super().check_action(action, parameters)


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
        shown = self.query_one(OptionList)
        if has_lines(shown):
            getattr(shown, f"action_{how}")()


class Palette(CommandPalette):
    """Textual's palette; it closes only once, as our dialogs do."""

    def dismiss(self, result: None = None) -> AwaitComplete:
        """Close; do nothing if the palette has closed already."""
        return super().dismiss(result) if self.is_current else AwaitComplete()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Refuse to move in the list until it has been laid out."""
        if action == "command_list" and not all(map(has_lines, self.query(OptionList))):
            return False
        return super().check_action(action, parameters)
