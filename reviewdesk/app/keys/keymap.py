"""The keys in force: the registry's keys, overridden by the user's, by name."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from itertools import chain, product
from typing import TypeAlias

from msgspec import Struct

from reviewdesk.app.keys.actions import ACTIONS, THEMES, Action
from reviewdesk.domain.safetext import show_line
from reviewdesk.domain.tags import normal_tags
from reviewdesk.errors import SettingsError, UsageError
from reviewdesk.settings import Settings, checked_theme, near, quoted

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
_MOVES = (
    "up", "down", "left", "right", "home", "end", "pageup", "pagedown", "insert", "delete",
)  # fmt: skip
_PLAIN = frozenset({"escape", "enter", "tab", "backspace", "space", *_MOVES, *_FUNCTION})
_MODIFIABLE = frozenset({*_MOVES, *_FUNCTION} - {"f3"})
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

_BLOCKS = (
    range(0x21, 0x2FF),  # Latin and its accents
    range(0x2010, 0x2060),  # punctuation
    range(0x20A0, 0x20C1),  # currencies
    range(0x2100, 0x2150),  # letterlike signs
    range(0x2200, 0x2300),  # mathematics
)


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
    """Return Textual's name of the key that types ``char``."""
    if char.isalnum():
        return char
    name = unicodedata.name(char, "").lower().replace("-", "_").replace(" ", "_")
    return TEXTUALS.get(name, name)


@cache
def _signs() -> Mapping[str, str]:
    found = map(chr, chain.from_iterable(_BLOCKS))
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
    ) -> Keymap:
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

    def without(self, actions: frozenset[str]) -> Keymap:
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
    """Return the keys that the settings give an action, each checked separately."""
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
            f"{name}: not in a browser, as it reaches what belongs to the machine",
            "The person who serves the desk can do it in a terminal.",
        )
