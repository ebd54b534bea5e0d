"""The palette: every action of the registry by name, with its key."""

from __future__ import annotations

from functools import partial
from typing import Protocol, cast

from textual.command import DiscoveryHit, Hit, Hits, Provider

from reviewdesk.app.keys.actions import ACTIONS, LABEL, Action
from reviewdesk.app.keys.keymap import Keymap


class Chooser(Protocol):
    """An app that carries out actions by name."""

    keymap: Keymap

    def choose(self, name: str) -> None:
        """Carry out the action ``name``."""


def offered() -> list[Action]:
    """Return every action but the palette; labels come last, so that none is chosen by chance."""
    found = [action for action in ACTIONS.values() if action.id != "palette"]
    return sorted(found, key=lambda action: action.group == LABEL)


class RegistryProvider(Provider):
    """Offers the registry's actions in Textual's palette."""

    @property
    def _chooser(self) -> Chooser:
        return cast("Chooser", self.app)

    def _help(self, action: Action) -> str:
        keys = self._chooser.keymap.shown(action.id)
        return f"{action.group} · key {keys}" if keys else action.group

    async def discover(self) -> Hits:
        """Yield every action before anything is typed."""
        for action in offered():
            yield DiscoveryHit(action.title, partial(self._run, action.id), help=self._help(action))

    async def search(self, query: str) -> Hits:
        """Yield the actions whose title or id matches ``query``."""
        matcher = self.matcher(query)
        for action in offered():
            score = matcher.match(f"{action.title} {action.id}")
            if score > 0:
                shown = matcher.highlight(action.title)
                yield Hit(score, shown, partial(self._run, action.id), help=self._help(action))

    def _run(self, name: str) -> None:
        self._chooser.choose(name)
