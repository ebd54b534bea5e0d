"""The palette: every action of the registry by name, with its key."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

from textual.command import DiscoveryHit, Hit, Hits, Provider
from textual.content import Content

from reviewdesk.app.keys.actions import Action
from reviewdesk.app.paint.styled import pad

_COLUMN = 14


def matching(query: str, actions: Iterable[Action]) -> Iterator[tuple[float, Action]]:
    """Yield the actions in which each word of ``query`` is found, each with a score from 0 to 1.

    Those whose id has the words at the start of its parts come first, then those in which every
    word begins a word; equal actions keep their order.
    """
    wanted = query.lower().split()
    for place, action in enumerate(actions):
        name = f" {action.id.replace('.', ' ')} {action.id}"
        text = f" {action.title.lower()}{name}"
        if all(word in text for word in wanted):
            begins = (all(f" {word}" in part for word in wanted) for part in (name, text))
            yield (1 + sum(begins)) / 3 - place / 1000, action


class RegistryProvider(Provider):
    """Offers the registry's actions in Textual's palette."""

    app: Any  # the console, which carries out actions by name

    def _offered(self) -> list[Action]:
        return [action for action in self.app.actions if action.id != "palette"]

    def _shown(self, action: Action) -> Content:
        keys = self.app.keymap.shown(action.id)
        return Content(f"{pad(keys, _COLUMN)}{action.title}")

    async def discover(self) -> Hits:
        for one in self._offered():
            yield DiscoveryHit(self._shown(one), partial(self._run, one.id), text=one.title)

    async def search(self, query: str) -> Hits:
        for score, one in matching(query, self._offered()):
            yield Hit(score, self._shown(one), partial(self._run, one.id), text=one.title)

    def _run(self, name: str) -> None:
        self.app.choose(name)
