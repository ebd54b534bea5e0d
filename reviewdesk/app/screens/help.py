"""The help, made from the bindings that are active when it opens; enter does an action."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from reviewdesk.app.keys.actions import ACTIONS, LABEL, Action, by_group
from reviewdesk.app.keys.keymap import NO_KEY
from reviewdesk.app.paint.legend import legend_lines
from reviewdesk.app.paint.styled import Lines, cut, heading, line, pad
from reviewdesk.app.screens.base import DeskScreen
from reviewdesk.app.screens.dialog import ChoiceList, Dialog
from reviewdesk.app.theme.inks import Ink
from reviewdesk.app.widgets.lines import Bar, Pane

WIDTH = 72


def live_actions(screen: DeskScreen) -> list[tuple[Action, str]]:
    """Return every action that a key can start now, with its keys, in the registry's order."""
    active = {found.binding.id for key, found in screen.active_bindings.items() if key != NO_KEY}
    keymap = screen.front.keymap
    return [(action, keymap.shown(name)) for name, action in ACTIONS.items() if name in active]


class HelpScreen(Dialog[str | None]):
    """Every active key, by group, and every sign; closes with the action to do, if any."""

    CSS = """
    HelpScreen { align: center middle; background: $background 50%; }
    HelpScreen > Vertical { width: 78; max-width: 100%; height: 100%; max-height: 52;
        background: $panel; padding: 1 1; }
    HelpScreen OptionList { height: 1fr; border: none; background: $panel; padding: 0; }
    HelpScreen OptionList > .option-list--option-highlighted { text-style: bold reverse; }
    HelpScreen Pane { height: 1fr; background: $panel; display: none; }
    HelpScreen.-signs OptionList { display: none; }
    HelpScreen.-signs Pane { display: block; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        ("escape,q,question_mark", "close", "Close"),
        ("tab", "turn", "Keys or signs"),
        ("j,down", "move(1)", "Down"),
        ("k,up", "move(-1)", "Up"),
        ("ctrl+d,pagedown,space", "move(10)", "Page down"),
        ("ctrl+u,pageup", "move(-10)", "Page up"),
        ("g,home", "move(-1000)", "First"),
        ("G,end", "move(1000)", "Last"),
        ("enter", "do_it", "Do the action"),
    ]

    def __init__(self, active: list[tuple[Action, str]]) -> None:
        """Show these actions with these keys."""
        super().__init__()
        self.active = active
        self._keys = {action.id: keys for action, keys in active}

    def compose(self) -> ComposeResult:
        """Show the title, the list of keys and the legend of signs."""
        with Vertical():
            yield Bar(self._head)
            yield ChoiceList(*self._options(), markup=False)
            yield Pane()

    def _head(self, width: int) -> Lines:
        signs = self.has_class("-signs")
        what = "Signs" if signs else "Keys"
        other = "tab keys" if signs else "enter does it, tab signs"
        head = line((what, Ink.STRONG), (f"   {other}, j k move, esc closes", Ink.MUTED))
        return [cut(head, width)]

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
        self.query_one(Bar).paint(self._head)
        # A hidden list would keep the focus, and act on enter.
        self.set_focus(None if self.has_class("-signs") else self.query_one(OptionList))

    def action_move(self, lines: int) -> None:
        """Move through the list, or scroll the signs."""
        if self.has_class("-signs"):
            self.query_one(Pane).move(lines)
            return
        options = self.query_one(OptionList)
        step = options.action_cursor_down if lines > 0 else options.action_cursor_up
        last = options.option_count - 1
        for _ in range(min(abs(lines), last)):
            before = options.highlighted
            step()
            # The list goes round at its ends, which a move by pages must not do.
            after = options.highlighted
            if before is not None and after is not None and (after - before) * lines < 0:
                options.highlighted = before
                break

    def action_do_it(self) -> None:
        """Close and do the highlighted action."""
        options = self.query_one(OptionList)
        chosen = options.highlighted
        if not self.has_class("-signs") and chosen is not None:
            self.dismiss(options.get_option_at_index(chosen).id)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Close and do the action that was clicked or entered."""
        self.dismiss(event.option.id)

    def action_close(self) -> None:
        """Close help."""
        self.dismiss(None)


def _without_inks(content: Content) -> Content:
    """Return the text without its inks, which the list cannot resolve."""
    return Content(content.plain)
