"""The application: it holds settings, themes and global keys, and chooses the screen on top."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, ClassVar, TypeVar

from textual import events
from textual.app import App
from textual.binding import BindingType
from textual.command import CommandPalette
from textual.filter import LineFilter
from textual.screen import Screen
from textual.style import Style

from reviewdesk.app.controllers.desk import DeskController
from reviewdesk.app.controllers.dispatch import Dispatch
from reviewdesk.app.controllers.exposure import Exposure
from reviewdesk.app.controllers.label_guard import LabelGuard
from reviewdesk.app.controllers.review_session import ReviewSession
from reviewdesk.app.keys.actions import app_bindings
from reviewdesk.app.keys.keymap import checked
from reviewdesk.app.keys.palette import RegistryProvider
from reviewdesk.app.messages import BallotArrived, JobEnded, JobMoved
from reviewdesk.app.screens.base import DeskScreen
from reviewdesk.app.screens.calibration import CalibrationScreen
from reviewdesk.app.screens.dialog import Palette
from reviewdesk.app.screens.review import ReviewScreen
from reviewdesk.app.screens.runs import RunsScreen
from reviewdesk.app.theme.colours import COLOURLESS
from reviewdesk.app.theme.inks import (
    OWN,
    STYLES,
    THEMES,
    fallback,
    ink_styles,
    variable_defaults,
)
from reviewdesk.app.theme.no_color import NO_COLOUR
from reviewdesk.app.workers.jobs import Jobs
from reviewdesk.domain.records import Run, View
from reviewdesk.errors import ReviewDeskError, UsageError
from reviewdesk.settings import DEFAULT, Settings

if TYPE_CHECKING:
    from reviewdesk.desk import Desk

T = TypeVar("T")


class ReviewApp(App[None], inherit_bindings=False):
    """Review the runs of a desk until the reviewer closes it."""

    TITLE = "reviewdesk"
    BINDINGS: ClassVar[list[BindingType]] = [*app_bindings()]
    COMMANDS = {RegistryProvider}  # noqa: RUF012  (Textual declares it without ClassVar)
    ENABLE_COMMAND_PALETTE = True
    # A list wraps its lines to its width, which must not be zero on a very narrow terminal.
    CSS = f"OptionList, CommandList {{ min-width: 16; }}{STYLES}"

    def __init__(
        self,
        desk: Desk,
        run: Run,
        *,
        view: View,
        settings: Settings | None = None,
        clock: Callable[[], float] = time.monotonic,
        stamp: Callable[[events.Event], float] = attrgetter("time"),
        notice: str | None = None,
    ) -> None:
        """Open ``run`` where ``view`` left it.

        ``clock`` returns monotonic seconds, for the label guard and for the delay of keys;
        ``stamp`` returns the time of an event on the same clock.
        """
        self.inks: dict[str, Style] = {}
        if not os.environ.get("NO_COLOR"):
            # Textual treats an empty value as set.
            os.environ.pop("NO_COLOR", None)
        super().__init__()
        self.error_console.quiet = True  # Textual's report of a fault shows values of variables.
        self.settings = settings or Settings()
        self.keymap = checked(self.settings)
        self.set_keymap(self.keymap.textual())
        for theme in OWN:
            self.register_theme(theme)
        self.theme = self._first_theme()
        self.clock, self._stamp = clock, stamp
        self.notice = notice or ""
        self.lateness = 0.0
        self.fault: BaseException | None = None
        self.jobs = Jobs(self)
        self.controller = DeskController(self)
        self._dispatch = Dispatch(self)
        self.review_session = self._open_session(desk, run, view)

    def _open_session(
        self, desk: Desk, run: Run, view: View, exposure: Exposure | None = None
    ) -> ReviewSession:
        """Return a new session of ``run``; drop a saved filter or order that cannot be parsed."""
        begin = partial(
            ReviewSession, desk, run, feedback=self.settings.feedback, exposure=exposure
        )
        try:
            return begin(view)
        except UsageError as error:
            self.notice = f"opened without the filter: {error}"
            return begin(View(blind=view.blind, item=view.item))

    def get_default_screen(self) -> Screen[None]:
        """Return the review screen, which stays at the bottom of the screen stack."""
        guard = LabelGuard(self.clock, self.settings.repeat_guard / 1000)
        return ReviewScreen(self.review_session, guard, self.notice)

    @property
    def review(self) -> ReviewScreen:
        """The review screen, at the bottom of the screen stack."""
        screen = self.screen_stack[0]
        assert isinstance(screen, ReviewScreen)  # noqa: S101 - get_default_screen makes it
        return screen

    @property
    def top(self) -> DeskScreen:
        """The desk screen in view, below any dialog."""
        return next(s for s in reversed(self.screen_stack) if isinstance(s, DeskScreen))

    @property
    def asking(self) -> bool:
        """Whether a dialog is open above the desk screen."""
        return self.screen is not self.top

    def ask(self, dialog: Screen[T], answered: Callable[[T | None], None]) -> None:
        """Open a dialog; call ``answered`` with its result once it has left the screen stack."""
        self.push_screen(dialog, lambda answer: self.call_next(answered, answer))

    def go(self, where: str) -> None:
        """Bring a desk screen into view; do nothing while a dialog is open."""
        if self.top.where == where or self.asking:
            return
        if self.top is not self.review:
            self.pop_screen()
        if where == CalibrationScreen.where:
            self.push_screen(CalibrationScreen())
        elif where == RunsScreen.where:
            self.push_screen(RunsScreen())

    def review_run(self, run: Run, item: str | None = None) -> None:
        """Review ``run`` where its reviewer left it, at the verdict ``item`` if one is given."""
        # Looked up before anything changes: an unknown verdict must leave the review as it is.
        key = None if item is None else self.review_session.desk.find(run, item)
        if run.hash != self.review_session.session.run.hash:
            self.review_session.save()
            desk, before, self.notice = self.review_session.desk, self.review_session, ""
            blind = before.session.view.blind
            view = desk.view(run) or View(blind=blind)
            desk.opened(run)
            self.review_session = self._open_session(desk, run, view, before.exposure)
            if view.blind is not blind:
                self.notice = f"{'blind' if view.blind else 'open'}, as this run was left"
            self.jobs.index(run)
        if key is not None:
            self.review_session.goto(key)
        self.review.sit(self.review_session, self.notice)
        self.go(ReviewScreen.where)

    # actions

    def do(self, name: str) -> None:
        """Carry out the action ``name``, for a key that was pressed."""
        self._dispatch.do(name)

    def choose(self, name: str) -> None:
        """Carry out the action ``name``, chosen by name instead of by its key."""
        self._dispatch.choose(name)

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Return our semantic variables, for themes that do not define them."""
        return variable_defaults(self.current_theme)

    def get_css_variables(self) -> dict[str, str]:
        """Return the theme's CSS variables, and rebuild the inks from them."""
        variables = super().get_css_variables()
        self.inks = ink_styles(variables, ansi=self.current_theme.ansi)
        return variables

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Return the filter that removes all colour if NO_COLOR is set, else Textual's filters."""
        return NO_COLOUR if self.no_color else super().get_line_filters()

    def _first_theme(self) -> str:
        """Return the theme of the settings or, if none is set, one that the terminal can show."""
        if self.no_color:
            return COLOURLESS.name
        if self.settings.source("theme") == DEFAULT:
            return fallback(self.console.color_system)
        return self.settings.theme

    def use_theme(self, name: str) -> None:
        """Switch to the theme ``name``; raise UsageError if it is unknown or NO_COLOR is set."""
        if name not in THEMES:
            raise UsageError(f"no theme {name!r}", f"Themes: {', '.join(THEMES)}.")
        if self.no_color:
            raise UsageError("NO_COLOR is set, so there are no colours to choose", "Unset it.")
        self.theme = name

    # events

    async def on_event(self, event: events.Event) -> None:
        """Store in ``lateness`` how many seconds a key waited after it was read."""
        if isinstance(event, events.Key):
            self.lateness = max(0.0, self.clock() - self._stamp(event))
        await super().on_event(event)

    def on_job_moved(self, message: JobMoved) -> None:
        """Show the progress of a job."""
        self.jobs.moved(message)
        self.top.frame()

    def on_ballot_arrived(self, message: BallotArrived) -> None:
        """Show a ballot of a re-run."""
        self.controller.ballot_arrived(message)

    def on_job_ended(self, message: JobEnded) -> None:
        """Show the result of a finished job on the screen in view."""
        self.jobs.ended(message)
        self.controller.job_ended(message)

    def action_command_palette(self) -> None:
        """Open the palette above the screen in view, unless it is open already."""
        if not isinstance(self.screen, CommandPalette):
            self.push_screen(Palette(id="--command-palette"))

    def action_close_desk(self) -> None:
        """Save the view and close; every label is already on disk."""
        self.jobs.stop()
        try:
            self.review_session.save()
        except ReviewDeskError:
            # The view is a convenience: failing to save it must not keep the app open.
            self.log.warning("the view could not be kept")
        self.exit()

    def bell(self) -> None:
        """Ring; where Textual rings because a handler failed, keep the fault instead."""
        if self.return_code:
            self.fault = self.fault or sys.exc_info()[1]
            self.jobs.stop()
        else:
            super().bell()
