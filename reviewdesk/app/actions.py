"""The one registry of actions: key, footer hint, palette entry and help come from here."""

from __future__ import annotations

from dataclasses import dataclass

from textual.binding import Binding

from reviewdesk.app.themes import THEMES


@dataclass(frozen=True, slots=True)
class Action:
    """One thing a reviewer can do. ``keys`` is Textual's list with commas; empty: palette only.

    ``hint`` is the footer's word, empty where the footer leaves the action out; ``shown`` is how
    the keys are written for people.
    """

    id: str
    group: str
    title: str
    keys: str = ""
    shown: str = ""
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Now:
    """What the footer needs to know to say what can be done at this moment."""

    has_item: bool = False
    hidden: bool = False
    blind: bool = False
    deeper: str = ""
    """The pane one level deeper, empty at the end; ``back`` likewise."""
    back: str = ""


LABEL, MOVE, QUEUE, ITEM, DESK = "Label", "Move", "Queue", "Item", "Desk"

_ACTIONS = (
    Action("label.pass", LABEL, "Label pass, go on", "p,1", "p 1", "pass"),
    Action("label.fail", LABEL, "Label fail, go on", "f,2", "f 2", "fail"),
    Action("label.unsure", LABEL, "Label can't tell, go on", "i,3", "i 3", "can't tell"),
    Action("tentative.pass", LABEL, "Label pass, tentative", "P", "P"),
    Action("tentative.fail", LABEL, "Label fail, tentative", "F", "F"),
    Action("tentative.unsure", LABEL, "Label can't tell, tentative", "I", "I"),
    Action("defer", LABEL, "Defer to the end of the queue", "s", "s", "defer"),
    Action("undo", LABEL, "Undo my newest label, note or defer", "u", "u", "undo"),
    Action("redo", LABEL, "Redo what was undone", "U,ctrl+r", "U ctrl+r"),
    Action("note", ITEM, "Write a note", "c", "c", "note"),
    Action("reveal", ITEM, "Reveal the panel's answer (blind)", "r", "r", "reveal"),
    Action("next", MOVE, "Next undecided", "space", "space", "next"),
    Action("back", MOVE, "Back to the item seen before", "backspace", "backspace", "last seen"),
    Action("item.next", MOVE, "Next item, whatever its state", "J", "J"),
    Action("item.previous", MOVE, "Previous item, whatever its state", "K", "K"),
    Action("down", MOVE, "Down, or scroll down", "j,down", "j ↓"),
    Action("up", MOVE, "Up, or scroll up", "k,up", "k ↑"),
    Action("half.down", MOVE, "Half a page down", "ctrl+d", "ctrl+d"),
    Action("half.up", MOVE, "Half a page up", "ctrl+u", "ctrl+u"),
    Action("page.down", MOVE, "A page down", "pagedown", "pgdn"),
    Action("page.up", MOVE, "A page up", "pageup", "pgup"),
    Action("first", MOVE, "To the first line", "g,home", "g home"),
    Action("last", MOVE, "To the last line", "G,end", "G end"),
    Action("deeper", MOVE, "One level deeper: queue, item, jury", "enter", "enter", "deeper"),
    Action("shallower", MOVE, "One level back", "escape", "esc", "back"),
    Action("pane.next", MOVE, "Next pane", "tab", "tab"),
    Action("pane.previous", MOVE, "Previous pane", "shift+tab", "shift+tab"),
    Action("filter", QUEUE, "Filter the queue", "backslash", "\\", "filter"),
    Action("order", QUEUE, "Order the queue", "o", "o", "order"),
    Action("blind", QUEUE, "Blind review on or off", "b", "b", "blind"),
    Action("help", DESK, "Help: every key", "question_mark", "?", "help"),
    Action("palette", DESK, "Palette: every action by name", "ctrl+p", "ctrl+p"),
    Action("copy", DESK, "Copy the selected text", "ctrl+c", "ctrl+c"),
    Action("quit", DESK, "Close the desk (everything is saved)", "q", "q", "close"),
    Action("quit.anywhere", DESK, "Close the desk, also from a dialog", "ctrl+q", "ctrl+q"),
    *(Action(f"theme.{name}", DESK, f"Theme: {name}") for name in THEMES),
)

ACTIONS: dict[str, Action] = {action.id: action for action in _ACTIONS}
GROUPS = (LABEL, MOVE, QUEUE, ITEM, DESK)


def screen_bindings() -> list[Binding]:
    """The bindings of the main screen."""
    return [_binding(a, f"do('{a.id}')") for a in _ACTIONS if a.keys and a.id not in _ON_APP]


def app_bindings() -> list[Binding]:
    """The bindings that must also work above a dialog."""
    return [
        _binding(ACTIONS["palette"], "command_palette"),
        _binding(ACTIONS["quit.anywhere"], "close_desk", priority=True),
    ]


_ON_APP = frozenset({"palette", "quit.anywhere"})


def _binding(action: Action, method: str, *, priority: bool = False) -> Binding:
    return Binding(
        action.keys,
        method,
        action.title,
        show=bool(action.hint),
        tooltip=action.title,
        id=action.id,
        priority=priority,
    )


def footer_hints(now: Now) -> list[tuple[Action, str]]:
    """The actions worth a hint at this moment with its words, the most used first."""
    wanted = {
        "label.pass": now.has_item,
        "label.fail": now.has_item,
        "label.unsure": now.has_item,
        "reveal": now.has_item and now.hidden,
        "deeper": now.deeper,
        "shallower": now.back,
        "next": True,
        "undo": True,
        "defer": now.has_item,
        "note": now.has_item,
        "filter": True,
        "order": True,
        "blind": "open" if now.blind else True,
        "back": True,
        "help": True,
        "quit": True,
    }
    return [
        (ACTIONS[name], said if isinstance(said, str) else ACTIONS[name].hint)
        for name, said in wanted.items()
        if said
    ]


def keys_table() -> str:
    """The keys as the README shows them, in the order of the help."""
    rows = ["| key | does |", "|---|---|"]
    for group in GROUPS:
        for action in _ACTIONS:
            if action.group == group and action.keys:
                keys = " ".join(f"`{key}`" for key in action.shown.split())
                rows.append(f"| {keys} | {action.title} |")
    return "\n".join(rows)
