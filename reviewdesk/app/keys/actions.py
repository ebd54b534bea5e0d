"""The one registry of actions, from which footer, palette and help come, and the keys in force.

The registry's keys are overridden by the user's, by name.
"""

import unicodedata
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from itertools import product
from typing import TypeAlias

from msgspec import Struct

from reviewdesk.domain.safetext import show_line
from reviewdesk.domain.tags import normal_tags
from reviewdesk.errors import SettingsError, UsageError
from reviewdesk.settings import Settings, checked_theme, near, quoted

THEMES = {
    "desk": "dark",
    "desk-light": "paper",
    "high-contrast": "black and white",
}
"""The themes, with a description of each. The default comes first."""

REVIEW = frozenset({"review"})
CALIBRATION = frozenset({"calibration"})
RUNS = frozenset({"runs"})
PAGES = CALIBRATION | RUNS
EVERYWHERE = REVIEW | PAGES


class Action(Struct, frozen=True):
    """One thing a reviewer can do; without ``keys`` only the palette offers it.

    ``keys`` are Textual's names, separated by commas, ``where`` names the screens on which they are
    bound, and ``hint`` is the footer's word, empty if the footer leaves the action out.
    """

    id: str
    group: str
    title: str
    keys: str = ""
    where: frozenset[str] = EVERYWHERE
    hint: str = ""


LABEL = "Label"
MOVE = "Move"
QUEUE = "Queue"
ITEM = "Item"
SCREENS = "Screens"
DESK = "Desk"

_LABELS = (
    Action("label.pass", LABEL, "Label pass, go on", "p,1", REVIEW, "pass"),
    Action("label.fail", LABEL, "Label fail, go on", "f,2", REVIEW, "fail"),
    Action("label.because", LABEL, "Label fail, say why, go on", "F", REVIEW),
    Action("label.unsure", LABEL, "Label can't tell, go on", "i,3", REVIEW, "can't tell"),
    Action("select", LABEL, "Select the item, or not; go to the next one", "v", REVIEW),
    Action("select.range", LABEL, "Select from the last selected item to here", "V", REVIEW),
    Action("select.all", LABEL, "Select all that the filter shows, or none", "asterisk", REVIEW),
    Action("defer", LABEL, "Defer to the end of the queue", "s", REVIEW),
    Action("undo", LABEL, "Undo my newest label, note, tags, mark or defer", "u", REVIEW, "undo"),
    Action("redo", LABEL, "Redo what was undone", "U,ctrl+r", REVIEW, "redo"),
)
_ITEM = (
    Action("note", ITEM, "Write a note", "c", REVIEW),
    Action("tags", ITEM, "Tag what went wrong", "t", REVIEW),
    Action("adjudicate", ITEM, "Settle what people differ on", "a", REVIEW, "settle"),
    Action("note.labelled", ITEM, "Write a note on the item just labelled", "C", REVIEW),
    Action("tags.labelled", ITEM, "Open the reasons of the item just labelled", "T", REVIEW),
    Action("mark", ITEM, "Mark, or remove the mark", "m", REVIEW),
    Action("history", ITEM, "History of the item", "at", REVIEW),
    Action("diff", ITEM, "Compare with another run of the same content", "d", REVIEW),
    Action("rerun", ITEM, "Ask the jurors again (asks before it sends)", "R", REVIEW),
    Action("copy.json", ITEM, "Copy the item as JSON", "y", REVIEW),
    Action("jury.whole", ITEM, "The jury in full, or in short", "full_stop", REVIEW),
    Action("what.if", ITEM, "What if: what other rules decide", "w", REVIEW | CALIBRATION),
    Action("unfold", ITEM, "Long texts whole, or folded", "semicolon", REVIEW),
)
_MOVES = (
    Action("next", MOVE, "Next undecided", "space", REVIEW, "next"),
    Action("back", MOVE, "Back to the item seen before", "backspace", REVIEW, "last seen"),
    Action("item.next", MOVE, "Next item, whatever its state", "J", REVIEW),
    Action("item.previous", MOVE, "Previous item, whatever its state", "K", REVIEW),
    Action("down", MOVE, "Down, or scroll down", "j,down"),
    Action("up", MOVE, "Up, or scroll up", "k,up"),
    Action("half.down", MOVE, "Half a page down", "ctrl+d"),
    Action("half.up", MOVE, "Half a page up", "ctrl+u"),
    Action("page.down", MOVE, "A page down", "pagedown"),
    Action("page.up", MOVE, "A page up", "pageup"),
    Action("first", MOVE, "To the first line", "g,home"),
    Action("last", MOVE, "To the last line", "G,end"),
    Action("part.next", MOVE, "To the next text, section or juror", "right_parenthesis", REVIEW),
    Action("part.previous", MOVE, "To the text, section, juror before", "left_parenthesis", REVIEW),
    Action("deeper", MOVE, "One level deeper: queue, item, jury", "enter", REVIEW, "deeper"),
    Action("shallower", MOVE, "One level back", "escape", REVIEW, "back"),
    Action("leave", MOVE, "Back to the item", "escape", PAGES, "back"),
    Action("pane.next", MOVE, "Next pane", "tab", REVIEW),
    Action("pane.previous", MOVE, "Previous pane", "shift+tab", REVIEW),
    Action("pane.narrower", MOVE, "Narrow the pane", "less_than_sign", REVIEW),
    Action("pane.wider", MOVE, "Widen the pane", "greater_than_sign", REVIEW),
    Action("pane.default", MOVE, "Default widths of the panes", "equals_sign", REVIEW),
    Action("zoom", MOVE, "Zoom the pane, or back", "z", REVIEW),
    Action("jump", MOVE, "Jump to a row or an id"),
)
_QUEUE = (
    Action("search", QUEUE, "Search the texts", "slash", REVIEW, "search"),
    Action("search.next", QUEUE, "Next item that was found", "n", REVIEW, "next found"),
    Action("search.previous", QUEUE, "Item found before", "N", REVIEW),
    Action("filter", QUEUE, "Filter the queue", "backslash", REVIEW, "filter"),
    Action("order", QUEUE, "Order the queue", "o", REVIEW, "order"),
    Action("blocker", QUEUE, "Go to the item that labels wait behind", "B", REVIEW),
    Action("blind", QUEUE, "Blind review on or off", "b", REVIEW),
    Action("reveal", QUEUE, "Reveal the panel's answer (blind)", "r", REVIEW, "reveal"),
)
_SCREENS = (
    Action("screen.queue", SCREENS, "The queue", "f2,alt+1"),
    Action("screen.item", SCREENS, "The item", "f3,alt+2"),
    Action("screen.calibration", SCREENS, "Calibration", "f4,alt+3", hint="calibration"),
    Action("screen.runs", SCREENS, "Runs", "f5,alt+4", hint="runs"),
    Action("section.next", SCREENS, "Next page of calibration", "tab", CALIBRATION),
    Action("section.previous", SCREENS, "Page of calibration before", "shift+tab", CALIBRATION),
    Action("drill", SCREENS, "All figures; then verdicts", "enter", CALIBRATION, "verdicts"),
    Action("target.switch", SCREENS, "Intervals of this run, or of new items", "i", CALIBRATION),
    Action("improve", SCREENS, "Improve the panel by its labels", "m", CALIBRATION, "improve it"),
    Action("run.open", SCREENS, "Review the chosen run", "enter", RUNS, "review it"),
    Action("run.load", SCREENS, "Load a report", "a", RUNS, "load a file"),
    Action("run.remove", SCREENS, "Remove the chosen run, keep its labels", "x", RUNS, "remove"),
)
_DESK = (
    Action("help", DESK, "Help: every key and sign", "question_mark", hint="help"),
    Action("explain", DESK, "Explain the figures and flags in view", "e", hint="explain"),
    Action("palette", DESK, "Palette: every action by name", "ctrl+p"),
    Action("command", DESK, "Command line", "colon", hint="command"),
    Action("export", DESK, "Write the labels to a file"),
    Action("team", DESK, "How far the reviewers agree, and where not", where=REVIEW),
    Action("redraw", DESK, "Draw the whole screen again", "ctrl+l"),
    Action("stop", DESK, "Stop what runs in the background", "ctrl+x"),
    Action("copy", DESK, "Copy the selected text", "ctrl+c"),
    Action("quit", DESK, "Close the desk (everything is saved)", "q", hint="close"),
    Action("quit.anywhere", DESK, "Close the desk, also from a dialog", "ctrl+q"),
    Action("theme", DESK, "Choose another theme"),
)

ACTIONS: dict[str, Action] = {
    action.id: action for action in (*_LABELS, *_ITEM, *_QUEUE, *_MOVES, *_SCREENS, *_DESK)
}
OF_MACHINE = frozenset({"export", "improve", "open", "rerun", "run.load", "run.remove"})
"""The actions and commands that reach files or API keys of the machine, or hide a run from all.

A reviewer in a browser is at another machine, and does not get them.
"""
ROWS: Mapping[str, tuple[str, ...]] = {
    "Select the item; up to here; all": ("select", "select.range", "select.all"),
    "Undo or redo my newest label, note, tag, mark": ("undo", "redo"),
    "Blind review on or off; reveal this answer": ("blind", "reveal"),
    "Note on this item, on the one just labelled": ("note", "note.labelled"),
    "Next item, or before, whatever its state": ("item.next", "item.previous"),
    "Scroll the text, or move in the list": ("down", "up"),
    "Half a page, a page": ("half.down", "half.up", "page.down", "page.up"),
    "To the first line, the last": ("first", "last"),
    "To the next text, juror or word found, or back": ("part.next", "part.previous"),
    "One level deeper or back: queue, item, jury": ("deeper", "shallower", "leave"),
    "Give the keys to queue, jury or item": ("pane.next", "pane.previous"),
    "Narrower, wider, default widths, zoom": (
        "pane.narrower", "pane.wider", "pane.default", "zoom",
    ),
    "Next item that was found, or before": ("search.next", "search.previous"),
    "The queue, the item, calibration, runs": (
        "screen.queue", "screen.item", "screen.calibration", "screen.runs",
    ),
    "Next page of calibration, or the one before": ("section.next", "section.previous"),
    "Load a report; remove a run, keep its labels": ("run.load", "run.remove"),
    "Palette with every action; command line": ("palette", "command"),
    "Draw the screen again; stop background work": ("redraw", "stop"),
    "Close (all is saved); also from a dialog": ("quit", "quit.anywhere"),
}  # fmt: skip
"""Rows of the help that name the keys of several actions, by their text."""
_IN_ROWS = {name: title for title, names in ROWS.items() for name in names}


def rows(actions: Iterable[Action]) -> dict[str, dict[str, list[Action]]]:
    """Return the actions by group, and in each by the text of their row of the help."""
    found: dict[str, dict[str, list[Action]]] = {}
    for action in actions:
        title = _IN_ROWS.get(action.id, action.title)
        found.setdefault(action.group, {}).setdefault(title, []).append(action)
    return found


GIVES_LABEL = frozenset(a.id for a in _LABELS if a.id.startswith("label."))
"""The actions that give a label: chosen by name instead of by key, they ask for confirmation."""


TEXTUALS = {
    "solidus": "slash",
    "reverse_solidus": "backslash",
    "commercial_at": "at",
    "hyphen_minus": "minus",
    "plus_sign": "plus",
    "low_line": "underscore",
}
"""Textual's names of signs by those of Unicode, where the two differ."""

_SHOWN = {
    "pagedown": "pgdn",
    "pageup": "pgup",
    "escape": "esc",
    "delete": "del",
    "insert": "ins",
    "down": "↓",
    "up": "↑",
    "left": "←",
    "right": "→",
}
_ALIASES = {shown: name for name, shown in _SHOWN.items()} | {"return": "enter"}

_FUNCTION = tuple(f"f{number}" for number in range(1, 13))
_ARROWS = (
    "up", "down", "left", "right", "home", "end", "pageup", "pagedown", "insert", "delete",
)  # fmt: skip
_PLAIN = frozenset({"escape", "enter", "tab", "backspace", "space", *_ARROWS, *_FUNCTION})
_MODIFIABLE = frozenset({*_ARROWS, *_FUNCTION} - {"f3"})
"""Keys that every terminal sends with modifiers; F3 with one looks like a cursor report."""

_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyz")
_MODIFIED: Mapping[str, frozenset[str]] = {
    "shift": _MODIFIABLE | {"tab"},
    "ctrl": _MODIFIABLE | (_LETTERS - set("hijm")) | {"space", "backslash", "right_square_bracket"},
    "alt": _MODIFIABLE | (_LETTERS - set("bf")) | frozenset("0123456789"),
    "alt+shift": _MODIFIABLE | (_LETTERS - set("o")),
    **dict.fromkeys(("ctrl+shift", "alt+ctrl", "alt+ctrl+shift"), _MODIFIABLE),
}

_TWINS = {
    "ctrl+space": "ctrl+@",
    "alt+1": "inverted_exclamation_mark",
    "alt+2": "trade_mark_sign",
    "alt+3": "pound_sign",
    "alt+4": "cent_sign",
    "alt+5": "infinity",
    "alt+6": "section_sign",
    "alt+7": "pilcrow_sign",
    "alt+8": "bullet",
    "alt+9": "ª",
    "alt+0": "º",
}
"""The names that Textual gives keys on terminals without the newer keyboard protocol."""


def real_key(name: str) -> bool:
    """Return True if every usual terminal can send this key, given by Textual's name."""
    *modifiers, last = name.split("+")
    if modifiers:
        return last in _MODIFIED.get("+".join(modifiers), ())
    if len(name) == 1:
        return name.isalnum() and name.isprintable() and show_line(name) == name
    return name in _PLAIN or name in _signs()


def key_of(written: str) -> str | None:
    """Return Textual's name of a key that a person wrote, ``None`` if terminals cannot send it."""
    *before, last = written.split("+") if len(written) > 1 else [written]
    modifiers = {"ctrl" if word == "control" else word for word in map(str.lower, before)}
    if modifiers and len(last) == 1:
        if modifiers == {"shift"} and last.isalpha():
            return key_of(last.upper())
        if modifiers == {"alt"} and last.isupper():
            modifiers = {"alt", "shift"}
        last = last.lower()
    if len(last) > 1 or last in _ALIASES:
        last = _ALIASES.get(last.lower(), last.lower())
    elif last:
        last = _char_key(last)
    name = "+".join([*sorted(modifiers), last])
    return name if real_key(name) else None


def shown_key(name: str) -> str:
    """Return a key as people read it, given Textual's name: ``pgdn``, ``?``, ``ctrl+r``."""
    *modifiers, last = name.split("+")
    # People write ctrl+alt, not alt+ctrl.
    modifiers.sort(key=lambda modifier: modifier != "ctrl")
    return "+".join([*modifiers, _SHOWN.get(last) or _signs().get(last, last)])


def spellings(name: str) -> tuple[str, ...]:
    """Return every name under which Textual can report the key."""
    return (name, _TWINS[name]) if name in _TWINS else (name,)


def _char_key(char: str) -> str:
    if char.isalnum():
        return char
    name = unicodedata.name(char, "").lower().replace("-", "_").replace(" ", "_")
    return TEXTUALS.get(name, name)


@cache
def _signs() -> Mapping[str, str]:
    found = map(chr, (*range(0x21, 0x2FF), *range(0x2010, 0x2190), *range(0x2200, 0x2300)))
    return {_char_key(char): char for char in found if char.isprintable() and not char.isalnum()}


FIXED = {
    "quit.anywhere": "it is the way out, also from a text field",
    "copy": "people press it to get out of a program, which must never label",
}
"""Actions whose keys cannot be changed, with the reason."""

NEEDED = ("label.pass", "label.fail", "label.unsure", "undo", "help")
"""Actions that must have a key; closing always has its fixed key."""

OF_DIALOGS = frozenset({"enter", "escape"})
"""Keys that answer dialogs: pressed once too often they must not act on the item below."""


class Keymap(Struct, frozen=True):
    """The keys of every action, checked: no two actions share one on any screen."""

    chosen: Mapping[str, tuple[str, ...]]
    """Textual's names of the keys in force, by action id; ``defaults`` are the registry's."""
    defaults: Mapping[str, tuple[str, ...]]
    withheld: frozenset[str] = frozenset()
    """The actions and commands that are not offered here."""

    @classmethod
    def of(
        cls,
        actions: Mapping[str, Action],
        overrides: Mapping[str, Iterable[str]] | None = None,
        sources: Mapping[str, str] | None = None,
    ) -> "Keymap":
        """Return the registry's keys, overridden by those of the settings as a person wrote them.

        ``sources`` says where each ``keys.ACTION`` was set.

        Raises:
            SettingsError: a key cannot be used, or two actions would share it.
        """

        def error(action: str, problem: str, hint: str) -> SettingsError:
            return SettingsError((sources or {}).get(f"keys.{action}", "keys"), problem, hint)

        defaults = {
            name: tuple(key.strip() for key in action.keys.split(",") if key.strip())
            for name, action in actions.items()
        }
        changed = {
            name: _checked_keys(name, written, defaults, error)
            for name, written in (overrides or {}).items()
        }
        chosen = {**defaults, **changed}
        _refuse_clashes(actions, chosen, tuple(changed), error)
        return cls(chosen, defaults)

    def without(self, actions: frozenset[str]) -> "Keymap":
        kept = {name: () if name in actions else keys for name, keys in self.chosen.items()}
        return Keymap(kept, self.defaults, actions)

    def keys(self, action: str) -> tuple[str, ...]:
        return self.chosen.get(action, ())

    def shown(self, action: str) -> str:
        return " ".join(map(shown_key, self.keys(action)))

    def first(self, action: str) -> str:
        return self.shown(action).split(" ", maxsplit=1)[0]

    def bound(self, where: str) -> dict[str, str]:
        """Return the action of every key that does something on a screen, by Textual's name."""
        here = (name for name in self.chosen if where in ACTIONS[name].where)
        return {key: name for name in here for key in _sent_names(self.chosen[name])}

    def changed(self) -> list[str]:
        return [name for name, keys in self.chosen.items() if keys != self.defaults[name]]


def checked(settings: Settings) -> Keymap:
    """Return the keymap of the settings.

    Raises:
        SettingsError: a key, the theme or a tag is unusable.
    """
    checked_theme(settings, THEMES)
    try:
        normal_tags(settings.tags)
    except UsageError as error:
        raise SettingsError(settings.source("tags"), error.message, error.hint) from None
    return Keymap.of(ACTIONS, settings.keys, settings.sources)


_Error: TypeAlias = Callable[[str, str, str], SettingsError]
"""Makes an error that names the place where an action's keys were set."""


def _sent_names(keys: Iterable[str]) -> list[str]:
    return [name for key in keys for name in spellings(key)]


def _checked_keys(
    action: str, written: Iterable[str], defaults: Mapping[str, tuple[str, ...]], error: _Error
) -> tuple[str, ...]:
    if action not in defaults:
        hint = near(action, defaults, "reviewdesk config --example lists the actions.")
        raise error(action, f"there is no action {quoted(action)}", hint)
    keys: dict[str, None] = {}
    for text in written:
        if (key := key_of(text)) is None:
            problem = f"{action} cannot have {quoted(text)}: few terminals send such a key"
            names = 'Write a character, or a name such as "pgdn", "F4", "ctrl+r" or "alt+1".'
            raise error(action, problem, names)
        keys[key] = None
    own = defaults[action]
    if action in FIXED and tuple(keys) != own:
        stays = " ".join(map(shown_key, own))
        raise error(action, f"{action} stays on {stays}: {FIXED[action]}", "Take the line out.")
    if not keys and action in NEEDED:
        raise error(action, f"{action} must have a key", "Give it one.")
    if taken := next((key for key in keys if key in OF_DIALOGS and key not in own), None):
        problem = f"{action} cannot have {shown_key(taken)}, which answers dialogs"
        raise error(action, problem, "Choose another key.")
    return tuple(keys)


def _refuse_clashes(
    actions: Mapping[str, Action],
    chosen: Mapping[str, tuple[str, ...]],
    changed: tuple[str, ...],
    error: _Error,
) -> None:
    holders: dict[tuple[str, str], str] = {}
    for other, action in actions.items():
        for key, screen in product(_sent_names(chosen[other]), sorted(action.where)):
            one = holders.setdefault((key, screen), other)
            if one == other:
                continue
            # Name the setting that took the key: the later one if both actions were changed.
            taker = max(one, other, key=lambda name: changed.index(name) if name in changed else -1)
            holder = other if taker == one else one
            has = "is given" if holder in changed else "has"
            problem = f"{taker} cannot have {shown_key(key)}: {holder} {has} it on"
            mend = "" if holder in FIXED else f", or give {holder} another one as well"
            problem += f" the {screen} screen"
            raise error(taker, problem, f"Choose another key{mend}.")


def refuse_withheld(keys: Keymap, name: str) -> None:
    """Raise UsageError for an action or a command that is withheld."""
    if name in keys.withheld:
        raise UsageError(
            f"{name}: not in a browser, because it uses the server's own files and programs",
            "The person who serves the desk can do it in a terminal.",
        )
