"""The application: themes, global keys and the one screen."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from operator import attrgetter
from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.app import App
from textual.binding import BindingType
from textual.screen import Screen
from textual.style import Style

from reviewdesk.app.actions import app_bindings
from reviewdesk.app.palette import RegistryProvider
from reviewdesk.app.screens.review import ReviewScreen
from reviewdesk.app.sitting import Sitting
from reviewdesk.app.themes import DESK, THEMES, ink_styles, variable_defaults
from reviewdesk.domain.records import Run, View
from reviewdesk.errors import ReviewDeskError, UsageError

if TYPE_CHECKING:
    from reviewdesk.desk import Desk


class ReviewApp(App[None], inherit_bindings=False):
    """Review one run of a desk until the reviewer closes it."""

    TITLE = "reviewdesk"
    BINDINGS: ClassVar[list[BindingType]] = [*app_bindings()]
    COMMANDS = {RegistryProvider}  # noqa: RUF012  (Textual declares it without ClassVar)
    ENABLE_COMMAND_PALETTE = True
    # A list folds its lines to its width, and cannot fold to nothing on a very narrow terminal.
    CSS = "OptionList, CommandList { min-width: 16; }"

    def __init__(
        self,
        desk: Desk,
        run: Run,
        *,
        view: View,
        clock: Callable[[], float] = time.monotonic,
        stamp: Callable[[events.Event], float] = attrgetter("time"),
        notice: str | None = None,
    ) -> None:
        """Open ``run`` where ``view`` left it.

        ``clock`` drives the label guard alone; ``stamp`` tells when an event came in by it.
        """
        self.inks: dict[str, Style] = {}
        super().__init__()
        self.register_theme(DESK)
        wanted = os.environ.get("REVIEWDESK_THEME", "")
        self.theme = wanted if wanted in self.available_themes else DESK.name
        self.clock, self._stamp = clock, stamp
        self.notice = notice or ""
        self.lateness = 0.0
        self.sitting = self._open(desk, run, view)

    def _open(self, desk: Desk, run: Run, view: View) -> Sitting:
        """A remembered filter or order that no longer reads must not keep the run closed."""
        try:
            return Sitting(desk, run, view)
        except UsageError as error:
            self.notice = f"opened without the filter: {error}"
            return Sitting(desk, run, View(blind=view.blind, item=view.item))

    def get_default_screen(self) -> Screen[None]:
        """The review itself is the bottom of the stack."""
        return ReviewScreen(self.sitting, self.clock, self.notice)

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Our semantic variables, for themes that do not know them."""
        return variable_defaults(ansi=self.current_theme.ansi)

    def get_css_variables(self) -> dict[str, str]:
        """The theme's variables; the inks follow them."""
        variables = super().get_css_variables()
        self.inks = ink_styles(variables, ansi=self.current_theme.ansi)
        return variables

    async def on_event(self, event: events.Event) -> None:
        """Note how long a key had waited: events carry the time at which they were read."""
        if isinstance(event, events.Key):
            self.lateness = max(0.0, self.clock() - self._stamp(event))
        await super().on_event(event)

    def use_theme(self, name: str) -> None:
        """Switch to one of the themes that the palette offers."""
        if name in THEMES:
            self.theme = name

    def action_close_desk(self) -> None:
        """Keep the view and close; every label is already on disk."""
        try:
            self.sitting.save()
        except ReviewDeskError:
            # The view is a convenience: failing to keep it must not keep the app open.
            self.log.warning("the view could not be kept")
        self.exit()
