"""The console of somebody who comes by a browser: it asks for a name, and then opens the desk."""

from __future__ import annotations

from collections.abc import Callable

from textual import events
from textual.screen import Screen

from reviewdesk.app.app import ConsoleApp
from reviewdesk.app.keys.actions import OF_MACHINE
from reviewdesk.app.screens.fields import DoorDialog
from reviewdesk.app.screens.review import ReviewScreen
from reviewdesk.app.terminal.changes import ChangesApp
from reviewdesk.desk.files import keep_to_desk
from reviewdesk.desk.review.runs import Opening
from reviewdesk.settings import Settings


class VisitorApp(ConsoleApp):
    """Reviews a desk as whoever names himself at the door, without the machine's files and keys."""

    def __init__(
        self, opening: Opening | str, enter: Callable[[str], Opening], settings: Settings
    ) -> None:
        """Ask for a name at a run's door, or go on with an ``opening`` that needs none.

        From now on the process writes no file of the machine, whatever its keys ask for.
        """
        keep_to_desk()
        super().__init__(settings, withheld=OF_MACHINE)
        self._enter = enter
        self._door = opening if isinstance(opening, str) else ""
        self.opening = None if isinstance(opening, str) else opening
        if self.opening is None:
            self._use_own_themes(settings)
        else:
            self._begin(self.opening)

    def _begin(self, opening: Opening) -> None:
        self.begin(opening.desk, opening.run, opening.view, opening.notice)

    def get_default_screen(self) -> Screen[None]:
        return Screen() if self.opening is None else ReviewScreen(self)

    def on_mount(self) -> None:
        if self.opening is None:
            self.push_screen(DoorDialog(self._door, self._named))

    def _named(self, name: str) -> None:
        """Open the desk for a name; raise ReviewDeskError if it cannot be."""
        opening = self._enter(name)
        self._begin(opening)
        self.opening = opening
        self.switch_screen(ReviewScreen(self))

    async def on_event(self, event: events.Event) -> None:
        """Leave keys to the field at the door; behind it they are the review's."""
        if self.opening is None:
            await ChangesApp.on_event(self, event)
        else:
            await super().on_event(event)

    def action_command_palette(self) -> None:
        if self.opening is not None:
            super().action_command_palette()

    def action_close_desk(self) -> None:
        """Save the view and close; at the door there is nothing to save."""
        if self.opening is None:
            self.exit()
        else:
            super().action_close_desk()

    def hang_up(self) -> None:
        self.call_from_thread(self.action_close_desk)

    def bell(self) -> None:
        if self.opening is not None:
            super().bell()

    def flush(self, seconds: float) -> list[str]:
        return [] if self.opening is None else list(self.controller.flush(seconds).lines)
