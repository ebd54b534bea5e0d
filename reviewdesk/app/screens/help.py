"""The help, made from the bindings that are active when it opens; enter does an action."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.content import Content
from textual.widget import Widget
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from reviewdesk.app.keys.actions import LABEL, Action, by_group
from reviewdesk.app.keys.keymap import NO_KEY
from reviewdesk.app.paint.legend import legend_lines
from reviewdesk.app.paint.styled import heading, pad
from reviewdesk.app.screens.base import DeskScreen
from reviewdesk.app.screens.dialog import ChoiceList, Keys, MovingDialog
from reviewdesk.app.widgets.lines import Pane

WIDTH = 72


def live_actions(screen: DeskScreen, every: Iterable[Action]) -> list[tuple[Action, str]]:
    """Return every action that a key can start now, with its keys, the likely ones first."""
    active = {found.binding.id for key, found in screen.active_bindings.items() if key != NO_KEY}
    keymap = screen.front.keymap
    return [(action, keymap.shown(action.id)) for action in every if action.id in active]


class HelpScreen(MovingDialog[str | None]):
    """Every active key, by group, and every sign; closes with the action to do, if any."""

    CSS = """
    HelpScreen > #box { height: 100%; max-height: 52; }
    HelpScreen ChoiceList, HelpScreen Pane { height: 1fr; }
    HelpScreen Pane, HelpScreen.-signs ChoiceList { display: none; }
    HelpScreen.-signs Pane { display: block; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        ("escape,q,question_mark", "close", "Close"),
        ("tab", "turn", "Keys or signs"),
    ]

    def __init__(self, active: list[tuple[Action, str]]) -> None:
        """Show these actions with these keys."""
        super().__init__()
        self.active = active
        self._keys = {action.id: keys for action, keys in active}

    def title_facts(self) -> tuple[str, str, str]:
        """Return which of the two pages is in view."""
        return "Signs" if self.has_class("-signs") else "Keys", "", ""

    def content(self) -> ComposeResult:
        """Show the list of keys, or the legend of signs."""
        yield ChoiceList(*self._options(), markup=False)
        yield Pane()

    def keys(self) -> Keys:
        """Return the keys of the page in view."""
        if self.has_class("-signs"):
            return ("tab", "keys"), ("j k", "scroll"), ("esc", "closes")
        return ("enter", "does it"), ("tab", "signs"), ("j k", "move"), ("esc", "closes")

    def moving(self) -> Widget:
        """Return the page in view."""
        return self.query_one(Pane if self.has_class("-signs") else OptionList)

    def _options(self) -> list[Option]:
        options: list[Option] = []
        for group, members in by_group(action for action, _ in self.active).items():
            options.append(Option(_without_inks(heading(group.upper(), WIDTH)), disabled=True))
            options += [
                Option(Content(f"  {pad(self._keys[a.id], 12)} {a.title}"), id=a.id)
                for a in members
            ]
        return options

    @property
    def text(self) -> str:
        """The list as plain text."""
        options = self.query_one(OptionList).options
        return "\n".join(str(option.prompt) for option in options)

    def on_mount(self) -> None:
        """Fill the legend, and highlight an action that gives no label."""
        self.query_one(Pane).paint(legend_lines)
        harmless = next((a.id for a, _ in self.active if a.group != LABEL), None)
        options = self.query_one(OptionList)
        if harmless is not None:
            options.highlighted = options.get_option_index(harmless)
        options.scroll_home(animate=False)

    def action_turn(self) -> None:
        """Show the signs instead of the keys, or the keys again."""
        self.toggle_class("-signs")
        self.redraw()
        # A hidden list would keep the focus, and act on enter.
        self.set_focus(None if self.has_class("-signs") else self.query_one(OptionList))

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Close and do the action that was clicked or entered."""
        self.dismiss(event.option.id)


def _without_inks(content: Content) -> Content:
    """Return the text without its inks, which the list cannot resolve."""
    return Content(content.plain)
