"""Where a key goes: to the screen in view or, while a dialog with a text opens, to the text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Protocol

from textual import events
from textual.app import App
from textual.screen import Screen

from reviewdesk.app.keys.actions import ACTIONS, OPENS_TEXT
from reviewdesk.app.keys.names import spellings
from reviewdesk.app.keys.user_keys import Keymap

LONGEST = 1.0
"""Seconds after which keys count again although the action that would open a text did not come.

An action that waits for the queue is still to come.
"""


class TakesKeys(Protocol):
    """A desk screen."""

    where: ClassVar[str]

    @property
    def waiting(self) -> bool:
        """Whether actions wait for the queue."""

    def press(self, key: str) -> bool:
        """Do what a key is bound to; return False if that is nothing."""


class TypeAhead:
    """Holds keys from the one that opens a text until the text takes keys, and hands them to it.

    Keys for a text that does not open are dropped: on the screen they would be labels. Those that
    come before the first screen is drawn wait for it. All others go to the screen in view at once:
    no widget on it takes keys, and the way through them all takes longer than a step of the list.
    """

    def __init__(self, app: App[None], keymap: Keymap, top: Callable[[], TakesKeys | None]) -> None:
        """Hold keys. ``top`` returns the screen in view, ``None`` while a dialog is open."""
        self._app, self._top = app, top
        self._held: list[events.Key] | None = []
        self._opens = {
            key: name
            for name in OPENS_TEXT
            for given in keymap.keys(name)
            for key in spellings(given)
        }

    def takes(self, event: events.Key) -> bool:
        """Return True if a key is held back, or the screen in view has done what it is bound to."""
        if self._held is not None:
            self._held.append(event)
            return True
        top, name = self._top(), self._opens.get(event.key)
        if top is None:
            return False
        if name and top.where in ACTIONS[name].where:
            self._held = []
            self._app.set_timer(LONGEST, self._look)
        return top.press(event.key)

    def begin(self) -> None:
        """Hear that the first screen is drawn; hand it what was typed meanwhile."""
        self._app.call_next(self._hand_over)

    def acted(self) -> None:
        """Hear that an action was carried out, or should have been: has it opened no text?"""
        top = self._top()
        if top is not None and not top.waiting:
            self._held = None

    def _look(self) -> None:
        self.acted()
        if self._held is not None and self._top() is not None:
            self._app.set_timer(LONGEST, self._look)

    def opened(self, dialog: Screen[Any], *, text: bool) -> None:
        """Hear that a dialog opens; hand the keys over once its text has the focus."""
        if self._held is None:
            return
        if not text or not dialog.is_current:
            self._held = None
        elif dialog.focused is None:
            dialog.call_after_refresh(self.opened, dialog, text=True)
        else:
            self._app.call_next(self._hand_over)

    async def _hand_over(self) -> None:
        held, self._held = self._held or [], None
        for event in held:
            await self._app.on_event(event)
