"""Help, made from the bindings that are active at the moment it opens."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen, Screen

from reviewdesk.app.actions import ACTIONS, Action
from reviewdesk.app.paint import cut, line
from reviewdesk.app.paint_pages import help_lines
from reviewdesk.app.themes import Ink
from reviewdesk.app.widgets.lines import Bar, Pane

_NAMES = {
    "backslash": "\\",
    "question_mark": "?",
    "pagedown": "pgdn",
    "pageup": "pgup",
    "escape": "esc",
    "down": "↓",
    "up": "↑",
}


def live_keys(screen: Screen[None]) -> list[tuple[Action, list[str]]]:
    """Every action with its active keys, in the order of the registry."""
    found: dict[str, list[str]] = {}
    for key, active in screen.active_bindings.items():
        found.setdefault(active.binding.id or "", []).append(key)
    return [(action, found[name]) for name, action in ACTIONS.items() if name in found]


class HelpScreen(ModalScreen[None]):
    """Every active key, by group."""

    CSS = """
    HelpScreen { align: center middle; background: $background 50%; }
    HelpScreen > Vertical { width: 76; max-width: 100%; height: 100%; max-height: 52;
        background: $panel; padding: 1 1; }
    HelpScreen Pane { height: 1fr; background: $panel; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        ("escape,q,question_mark,enter", "close", "Close"),
        ("j,down", "scroll(1)", "Down"),
        ("k,up", "scroll(-1)", "Up"),
        ("ctrl+d,pagedown,space", "scroll(10)", "Page down"),
        ("ctrl+u,pageup", "scroll(-10)", "Page up"),
    ]

    def __init__(self, active: list[tuple[Action, list[str]]]) -> None:
        """Show these actions with these keys."""
        super().__init__()
        self.active = active

    def compose(self) -> ComposeResult:
        """Show the title and the list."""
        with Vertical():
            title = line(("Keys", Ink.STRONG), ("   esc closes, j k scroll", Ink.MUTED))
            yield Bar(lambda width: [cut(title, width)])
            yield Pane()

    def on_mount(self) -> None:
        """Fill the list."""
        rows = [(a, " ".join(_NAMES.get(key, key) for key in keys)) for a, keys in self.active]
        self.query_one(Pane).paint(lambda width: help_lines(rows, width))

    def action_scroll(self, lines: int) -> None:
        """Scroll the list."""
        self.query_one(Pane).move(lines)

    def action_close(self) -> None:
        """Close help."""
        self.dismiss(None)
