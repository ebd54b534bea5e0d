"""The palette: every action of the registry by name, with its key."""

from __future__ import annotations

from functools import partial

from textual.command import DiscoveryHit, Hit, Hits, Provider

from reviewdesk.app.actions import ACTIONS, Action


class RegistryProvider(Provider):
    """Offers what the registry holds, and runs it on the screen the palette was opened from."""

    def _help(self, action: Action) -> str:
        return f"{action.group} · key {action.shown}" if action.shown else action.group

    async def discover(self) -> Hits:
        """List everything before a word is typed."""
        for action in ACTIONS.values():
            if action.id != "palette":
                yield DiscoveryHit(
                    action.title, partial(self._run, action.id), help=self._help(action)
                )

    async def search(self, query: str) -> Hits:
        """Match the titles."""
        matcher = self.matcher(query)
        for action in ACTIONS.values():
            score = matcher.match(f"{action.title} {action.id}")
            if score > 0:
                shown = matcher.highlight(action.title)
                yield Hit(score, shown, partial(self._run, action.id), help=self._help(action))

    async def _run(self, name: str) -> None:
        await self.screen.run_action(f"do('{name}')")
