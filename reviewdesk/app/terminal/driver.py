"""The terminal's driver, which sends what changes on the screen and nothing else."""

from __future__ import annotations

from typing import Any, Protocol

from textual.driver import Driver

from reviewdesk.app.terminal.shown import Shown


class HasShown(Protocol):
    """An app that keeps what its terminal shows."""

    shown: Shown


class ChangesDriver(Driver):
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
