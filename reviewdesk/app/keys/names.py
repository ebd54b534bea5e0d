"""The names of keys: Textual's, and the ones that people read and write."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from functools import cache
from itertools import chain

from reviewdesk.domain.safetext import show_line

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
_MODIFIED: Mapping[tuple[str, ...], frozenset[str]] = {
    ("shift",): _MODIFIABLE | {"tab"},
    ("ctrl",): _MODIFIABLE
    | (_LETTERS - set("hijm"))
    | {"space", "backslash", "right_square_bracket"},
    ("alt",): _MODIFIABLE | (_LETTERS - set("bf")) | frozenset("0123456789"),
    ("alt", "shift"): _MODIFIABLE | (_LETTERS - set("o")),
    ("ctrl", "shift"): _MODIFIABLE,
    ("alt", "ctrl"): _MODIFIABLE,
    ("alt", "ctrl", "shift"): _MODIFIABLE,
}

_SENT_AS = {
    "ctrl+i": "tab",
    "ctrl+m": "enter",
    "ctrl+j": "a line break",
    "ctrl+h": "backspace",
    "ctrl+[": "esc",
    "ctrl+left_square_bracket": "esc",
    "alt+b": "ctrl+←",
    "alt+f": "ctrl+→",
    "alt+backspace": "ctrl+w",
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
        return last in _MODIFIED.get(tuple(modifiers), ())
    if len(name) == 1:
        return name.isalnum() and _is_drawable(name)
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


def why_not(written: str) -> str:
    """Return, in words, why ``key_of`` does not accept ``written``."""
    lower = written.lower()
    if lower in _SENT_AS:
        return f"a terminal sends {_SENT_AS[lower]} for it"
    parts = [part.strip() for part in written.split(",")]
    if len(parts) > 1 and all(map(key_of, parts)):
        listed = ", ".join(f'"{part}"' for part in parts)
        return f"it is several keys, which are written [{listed}]"
    if lower.startswith("shift+") and len(written) == len("shift+") + 1:
        return "a key with shift is written as the character that it types"
    return "few terminals can send it" if "+" in written else "there is no such key"


def _char_key(char: str) -> str:
    """Return Textual's name of the key that types ``char``."""
    if char.isalnum():
        return char
    name = unicodedata.name(char, "").lower().replace("-", "_").replace(" ", "_")
    return TEXTUALS.get(name, name)


def _is_drawable(char: str) -> bool:
    return char.isprintable() and show_line(char) == char


@cache
def _signs() -> Mapping[str, str]:
    """Return the signs on keyboards, by Textual's name of their key."""
    found = map(chr, chain.from_iterable(_BLOCKS))
    return {_char_key(char): char for char in found if _is_drawable(char) and not char.isalnum()}
