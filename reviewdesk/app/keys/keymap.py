"""Which keys do what: the registry's own, with those of the settings file put over them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Protocol

from reviewdesk.app.keys.names import (
    key_of,
    shown_key,
    why_not,
    with_twins,
)
from reviewdesk.errors import SettingsError
from reviewdesk.settings import Settings, checked_theme, near, quoted

ALL = frozenset({"review", "calibration", "runs"})
"""The screens; an action that names none is bound on each of them."""

NO_KEY = "<none>"
"""Bound to actions without a key: Textual takes an empty entry of its keymap for no entry."""

FIXED = {
    "quit.anywhere": "it is the way out, also from a text field",
    "copy": "people press it to get out of a program, which must never label",
}
"""Actions whose keys stay as they are, and why."""

NEEDED = ("label.pass", "label.fail", "label.unsure", "undo", "help")
"""Actions that must have a key; closing has one that is fixed."""

OF_DIALOGS = frozenset({"enter", "escape"})
"""Keys that answer dialogs: pressed once too often they must not act on the item below."""


class Bindable(Protocol):
    """What the keymap needs to know of an action; ``where`` names its screens, all without it."""

    @property
    def id(self) -> str:
        """The name of the action."""

    @property
    def keys(self) -> str:
        """Textual's names of its keys, with commas between them."""


@dataclass(frozen=True, slots=True)
class Keymap:
    """The keys of every action, checked: no two actions share one on any screen."""

    chosen: Mapping[str, tuple[str, ...]]
    """Textual's names of the keys of every action of the registry."""
    defaults: Mapping[str, tuple[str, ...]]

    @classmethod
    def of(
        cls,
        actions: Mapping[str, Bindable],
        overrides: Mapping[str, Iterable[str]] | None = None,
        sources: Mapping[str, str] | None = None,
    ) -> Keymap:
        """The registry's keys under those of the settings, each as a person wrote it.

        ``sources`` says where ``keys.ACTION`` was set, for the errors.
        """
        places = _Places(sources or {})
        defaults = {name: _listed(action) for name, action in actions.items()}
        changed = {
            name: _wanted(name, tuple(written), defaults, places)
            for name, written in (overrides or {}).items()
        }
        chosen = {**defaults, **changed}
        _refuse_clashes(actions, chosen, tuple(changed), places)
        return cls(chosen, defaults)

    def keys(self, action: str) -> tuple[str, ...]:
        """Textual's names of an action's keys."""
        return self.chosen.get(action, ())

    def shown(self, action: str) -> str:
        """An action's keys as people read them, with spaces between them."""
        return " ".join(map(shown_key, self.keys(action)))

    def first(self, action: str) -> str:
        """The key by which people are told of an action; empty where it has none."""
        return self.shown(action).split(" ", maxsplit=1)[0]

    def changed(self) -> list[str]:
        """The actions whose keys are not the registry's."""
        return [name for name, keys in self.chosen.items() if keys != self.defaults[name]]

    def textual(self) -> dict[str, str]:
        """What ``App.set_keymap`` must be told; it leaves every other action as it is bound."""
        return {
            name: ",".join(_arriving(keys)) or NO_KEY
            for name, keys in self.chosen.items()
            if _arriving(keys) != list(self.defaults[name])
        }


def checked(settings: Settings) -> Keymap:
    """The keys that the settings give, once these and the theme are known to be usable."""
    # The registry may look up names of keys here.
    from reviewdesk.app.keys.actions import ACTIONS
    from reviewdesk.app.theme.inks import THEMES

    checked_theme(settings, THEMES)
    return Keymap.of(ACTIONS, settings.keys, settings.sources)


@dataclass(frozen=True, slots=True)
class _Places:
    """Where the keys of an action were set."""

    sources: Mapping[str, str]

    def error(self, action: str, problem: str, hint: str) -> SettingsError:
        place = self.sources.get(f"keys.{action}", "keys")
        return SettingsError(place, problem, hint)


def _listed(action: Bindable) -> tuple[str, ...]:
    return tuple(key.strip() for key in action.keys.split(",") if key.strip())


def _arriving(keys: Iterable[str]) -> list[str]:
    return [name for key in keys for name in with_twins(key)]


def _wanted(
    action: str,
    written: tuple[str, ...],
    defaults: Mapping[str, tuple[str, ...]],
    places: _Places,
) -> tuple[str, ...]:
    """The keys that an action was given, each of them checked alone."""
    if action not in defaults:
        hint = near(action, defaults, "reviewdesk config --example lists the actions.")
        raise places.error(action, f"there is no action {quoted(action)}", hint)
    keys = tuple(dict.fromkeys(_key(action, text, places) for text in written))
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


def _key(action: str, written: str, places: _Places) -> str:
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
    for one, other in combinations(actions, 2):
        for key, screen in _shared(actions[one], actions[other], chosen):
            # The place to mend is the line that took the key: the later one where both did.
            taker = max(one, other, key=lambda name: changed.index(name) if name in changed else -1)
            holder = other if taker == one else one
            has = "is given" if holder in changed else "has"
            problem = f"{taker} cannot have {shown_key(key)}: {holder} {has} it on"
            mend = "" if holder in FIXED else f", or give {holder} another one as well"
            raise places.error(
                taker, f"{problem} the {screen} screen", f"Choose another key{mend}."
            )


def _shared(
    one: Bindable, other: Bindable, chosen: Mapping[str, tuple[str, ...]]
) -> Iterator[tuple[str, str]]:
    """The keys that two actions share, with a screen on which both are bound."""
    screens = _where(one) & _where(other)
    taken = set(_arriving(chosen[other.id]))
    for key in _arriving(chosen[one.id]):
        if screens and key in taken:
            yield key, min(screens)


def _where(action: Bindable) -> frozenset[str]:
    found: frozenset[str] = getattr(action, "where", ALL)
    return found
