"""Finds the screen that carries out an action, by the action's name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reviewdesk.app.keys.actions import ACTIONS, GIVES_LABEL
from reviewdesk.app.theme.inks import Ink
from reviewdesk.errors import ReviewDeskError

if TYPE_CHECKING:
    from reviewdesk.app.app import ReviewApp

_WHEN_TINY = frozenset({"quit", "quit.anywhere", "help"})


class Dispatch:
    """Carries out actions by name, and changes to the screen that an action belongs to."""

    def __init__(self, app: ReviewApp) -> None:
        """Act on the screens of ``app``."""
        self._app = app

    def do(self, name: str) -> None:
        """Carry out an action for a pressed key, on the screen it belongs to.

        Nothing happens while a dialog is open: a key typed before it appeared was not meant for
        the screen below.
        """
        app = self._app
        action, screen = ACTIONS.get(name), app.top
        if action is None or app.asking or not screen.ready:
            return
        if screen.tiny and name not in _WHEN_TINY:
            return
        try:
            if (verb := app.controller.verbs.get(name)) is not None:
                verb()
                return
            if screen.where not in action.where:
                app.go(min(action.where))
                # The screen must be mounted before it can carry out the action.
                app.call_after_refresh(self._follow, name)
            else:
                screen.verbs[name]()
        except ReviewDeskError as error:
            app.top.complain(error)

    def _follow(self, name: str) -> None:
        """Carry out an action once its screen is in view; labels are refused there."""
        app = self._app
        if name in GIVES_LABEL:
            app.top.say_here("read the item first: a label is given where it can be read", Ink.TEXT)
        elif app.top.where in ACTIONS[name].where:
            self.do(name)

    def choose(self, name: str) -> None:
        """Carry out an action that was chosen by name; ask for confirmation if it gives a label."""
        app = self._app
        if name in GIVES_LABEL and app.top is app.review:
            app.review.controller.confirm(name)
        else:
            self.do(name)
