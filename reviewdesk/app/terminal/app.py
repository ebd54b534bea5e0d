"""The base of the app: it draws on its terminal by what changes."""

from __future__ import annotations

import os

from textual import events
from textual.app import App
from textual.driver import Driver

from reviewdesk.app.terminal.driver import ChangesDriver
from reviewdesk.app.terminal.shown import Shown
from reviewdesk.system.terminal import PARTS_DRAWINGS


class ChangesApp(App[None], inherit_bindings=False):
    """An app that knows what its terminal shows, and sends what differs from that."""

    def __init__(self) -> None:
        """Begin with nothing known."""
        self.shown = Shown()
        if not os.environ.get("NO_COLOR"):
            # Textual treats an empty value as set.
            os.environ.pop("NO_COLOR", None)
        super().__init__()

    def get_driver_class(self) -> type[Driver]:
        """Return the platform's driver, made to send only what changes."""
        driver = super().get_driver_class()
        if PARTS_DRAWINGS:
            return driver
        return type("TerminalDriver", (ChangesDriver, driver), {})

    async def on_event(self, event: events.Event) -> None:
        """Take nothing as known on a terminal that has been resized."""
        if isinstance(event, events.Resize):
            self.shown.forget(event.size.width)
        await super().on_event(event)

    def redraw(self) -> None:
        """Send the whole screen."""
        self.shown.forget()
        self.screen.refresh()
