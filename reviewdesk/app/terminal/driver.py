"""The terminal's driver: it sends what changes, and outlives input that no terminal sends."""

from __future__ import annotations

import os
import selectors
from typing import Any, Protocol

from textual.driver import Driver
from textual.events import Resize
from textual.message import Message

from reviewdesk.app.terminal.keyboard import TerminalInput, is_size
from reviewdesk.app.terminal.shown import Shown


class HasShown(Protocol):
    """An app that keeps what its terminal shows."""

    shown: Shown


class GuardedDriver(Driver):
    """Passes on what a terminal of either kind may send, and drops the rest."""

    def process_message(self, message: Message) -> None:
        """Pass a message on, unless it gives the terminal a size that none has."""
        if not isinstance(message, Resize) or is_size(message.size.width, message.size.height):
            super().process_message(message)


class ChangesDriver(GuardedDriver):
    """Draws as the driver does that it is mixed into, by less: the cells that change."""

    def __init__(self, app: Any, **options: Any) -> None:
        """Share with the app what the terminal shows."""
        super().__init__(app, **options)
        holder: HasShown = app
        self.shown = holder.shown

    def write(self, data: str) -> None:
        """Send what ``data`` changes."""
        if changes := self.shown.changes(data):
            super().write(changes)  # type: ignore[safe-super]

    def run_input_thread(self) -> None:
        """Read input until the app ends; what cannot be read as input is dropped."""
        terminal: Any = self
        if terminal.is_web:
            # A browser's keys come by a pipe, which its own driver reads.
            terminal = super()
            terminal.run_input_thread()
            return
        reader = TerminalInput(self._debug)
        # The selectors of some systems do not take terminals.
        with selectors.SelectSelector() as selector:
            selector.register(terminal.fileno, selectors.EVENT_READ)
            while not terminal.exit_event.is_set():
                found: list[Message] = []
                if selector.select(0.1):
                    try:
                        data = os.read(terminal.fileno, 4096)
                    except OSError:
                        data = b""
                    if not data:
                        return  # the terminal is gone
                    found = reader.feed(data)
                for message in [*found, *reader.look()]:
                    self.process_message(message)
