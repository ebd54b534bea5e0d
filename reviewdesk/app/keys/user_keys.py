"""The keys that are in force: those of the registry, ``actions.py``, under the user's own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import product
from typing import Protocol

from msgspec import Struct

from reviewdesk.app.keys.names import key_of, shown_key, spellings, why_not
from reviewdesk.domain.tags import normal_tags
from reviewdesk.errors import SettingsError, UsageError
from reviewdesk.settings import Settings, checked_theme, near, quoted

ALL = frozenset({"review", "calibration", "runs"})
"""Every screen; an action without ``where`` is bound on each of them."""

NO_KEY = "<none>"
"""Bound to actions without a key, because Textual ignores an empty entry of its keymap."""

FIXED = {
    "quit.anywhere": "it is the way out, also from a text field",
    "copy": "people press it to get out of a program, which must never label",
}
"""Actions whose keys cannot be changed, with the reason."""

NEEDED = ("label.pass", "label.fail", "label.unsure", "undo", "help")
"""Actions that must have a key; closing always has its fixed one."""

OF_DIALOGS = frozenset({"enter", "escape"})
"""Keys that answer dialogs: pressed once too often they must not act on the item below."""


class Bindable(Protocol):
    """The fields of an action that the keymap reads; an optional ``where`` names its screens."""

    @property
    def id(self) -> str:
        """The name of the action."""

    @property
    def keys(self) -> str:
        """Textual's names of its keys, separated by commas."""


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
        actions: Mapping[str, Bindable],
        overrides: Mapping[str, Iterable[str]] | None = None,
        sources: Mapping[str, str] | None = None,
    ) -> Keymap:
        """Return the registry's keys, overridden by those of the settings as a person wrote them.

        ``sources`` says where each ``keys.ACTION`` was set.

        Raises:
            SettingsError: a key cannot be used, or two actions would share it.
        """
        places = _Places(sources or {})
        defaults = {name: _default_keys(action) for name, action in actions.items()}
        changed = {
            name: _checked_keys(name, tuple(written), defaults, places)
            for name, written in (overrides or {}).items()
        }
        chosen = {**defaults, **changed}
        _refuse_clashes(actions, chosen, tuple(changed), places)
        return cls(chosen, defaults)

    def without(self, actions: frozenset[str]) -> Keymap:
        """Return the keymap with no keys for these actions, which are withheld."""
        kept = {name: () if name in actions else keys for name, keys in self.chosen.items()}
        return Keymap(kept, self.defaults, actions)

    def keys(self, action: str) -> tuple[str, ...]:
        """Return Textual's names of an action's keys."""
        return self.chosen.get(action, ())

    def shown(self, action: str) -> str:
        """Return an action's keys as people read them, separated by spaces."""
        return " ".join(map(shown_key, self.keys(action)))

    def first(self, action: str) -> str:
        """Return the first key of an action, as people read it; empty if it has none."""
        return self.shown(action).split(" ", maxsplit=1)[0]

    def bound(self, where: str) -> dict[str, str]:
        """Return the action of every key that does something on a screen, by Textual's name."""
        from reviewdesk.app.keys.actions import ACTIONS

        here = (name for name in self.chosen if where in ACTIONS[name].where)
        return {key: name for name in here for key in _sent_names(self.chosen[name])}

    def changed(self) -> list[str]:
        """Return the actions whose keys differ from the registry's."""
        return [name for name, keys in self.chosen.items() if keys != self.defaults[name]]

    def textual(self) -> dict[str, str]:
        """Return the argument of ``App.set_keymap``: the keys of actions that are not as bound."""
        return {
            name: ",".join(_sent_names(keys)) or NO_KEY
            for name, keys in self.chosen.items()
            if _sent_names(keys) != list(self.defaults[name])
        }


def checked(settings: Settings) -> Keymap:
    """Return the keymap of the settings.

    Raises:
        SettingsError: a key, the theme or a tag is unusable.
    """
    # Imported late, because the registry may import this module for the names of keys.
    from reviewdesk.app.keys.actions import ACTIONS
    from reviewdesk.app.theme.names import THEMES

    checked_theme(settings, THEMES)
    try:
        normal_tags(settings.tags)
    except UsageError as error:
        raise SettingsError(settings.source("tags"), error.message, error.hint) from None
    return Keymap.of(ACTIONS, settings.keys, settings.sources)


class _Places(Struct, frozen=True):
    """Makes errors that name the place where an action's keys were set."""

    sources: Mapping[str, str]

    def error(self, action: str, problem: str, hint: str) -> SettingsError:
        place = self.sources.get(f"keys.{action}", "keys")
        return SettingsError(place, problem, hint)


def _default_keys(action: Bindable) -> tuple[str, ...]:
    return tuple(key.strip() for key in action.keys.split(",") if key.strip())


def _sent_names(keys: Iterable[str]) -> list[str]:
    return [name for key in keys for name in spellings(key)]


def _checked_keys(
    action: str,
    written: tuple[str, ...],
    defaults: Mapping[str, tuple[str, ...]],
    places: _Places,
) -> tuple[str, ...]:
    """Return the keys that the settings give an action, each of them checked by itself."""
    if action not in defaults:
        hint = near(action, defaults, "reviewdesk config --example lists the actions.")
        raise places.error(action, f"there is no action {quoted(action)}", hint)
    keys = tuple(dict.fromkeys(_textual_key(action, text, places) for text in written))
    own = defaults[action]
    if action in FIXED and keys != own:
        stays = " ".join(map(shown_key, own))
        raise places.error(
            action, f"{action} stays on {stays}: {FIXED[action]}", "Take the line out."
        )
    if not keys and action in NEEDED:
        raise places.error(action, f"{action} must have a key", "Give it one.")
    for key in keys:
        if key in OF_DIALOGS and key not in own:
            problem = f"{action} cannot have {shown_key(key)}, which answers dialogs"
            raise places.error(action, problem, "Choose another key.")
    return keys


def _textual_key(action: str, written: str, places: _Places) -> str:
    key = key_of(written)
    if key is None:
        raise places.error(
            action,
            f"{action} cannot have {quoted(written)}: {why_not(written)}",
            'Write a character, or a name such as "pgdn", "F4", "ctrl+r" or "alt+1".',
        )
    return key


def _refuse_clashes(
    actions: Mapping[str, Bindable],
    chosen: Mapping[str, tuple[str, ...]],
    changed: tuple[str, ...],
    places: _Places,
) -> None:
    holders: dict[tuple[str, str], str] = {}
    for other, action in actions.items():
        for key, screen in product(_sent_names(chosen[other]), sorted(_screens_of(action))):
            one = holders.setdefault((key, screen), other)
            if one == other:
                continue
            # Name the setting that took the key: the later one if both actions were changed.
            taker = max(one, other, key=lambda name: changed.index(name) if name in changed else -1)
            holder = other if taker == one else one
            has = "is given" if holder in changed else "has"
            problem = f"{taker} cannot have {shown_key(key)}: {holder} {has} it on"
            mend = "" if holder in FIXED else f", or give {holder} another one as well"
            raise places.error(
                taker, f"{problem} the {screen} screen", f"Choose another key{mend}."
            )


def _screens_of(action: Bindable) -> frozenset[str]:
    found: frozenset[str] = getattr(action, "where", ALL)
    return found
