"""The application: it passes events to the controller, carries out requests, draws the state."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from operator import attrgetter
from typing import Any, ClassVar

from textual import events
from textual.binding import BindingType
from textual.command import CommandPalette
from textual.filter import LineFilter
from textual.screen import Screen
from textual.style import Style

from reviewdesk.app.ahead import TypeAhead
from reviewdesk.app.controllers.core import RUNS
from reviewdesk.app.controllers.review import ReviewController
from reviewdesk.app.controllers.state import (
    Ask,
    Close,
    Copy,
    Form,
    HelpForm,
    Jump,
    Move,
    NoteForm,
    OpenPalette,
    PageForm,
    PromptForm,
    QuestionForm,
    Redraw,
    Request,
    TakeLines,
    TakeSelection,
    UseOwnTheme,
    UseTheme,
)
from reviewdesk.app.keys.actions import Action, likely
from reviewdesk.app.keys.keymap import NO_KEY, checked
from reviewdesk.app.keys.palette import RegistryProvider
from reviewdesk.app.paint.item import pages
from reviewdesk.app.runner import JobNews, WorkerRunner
from reviewdesk.app.screens.base import DeskScreen, app_bindings
from reviewdesk.app.screens.review import ReviewScreen
from reviewdesk.app.terminal.changes import ChangesApp
from reviewdesk.app.theme.inks import (
    COLOURLESS,
    NO_COLOUR,
    OWN,
    STYLES,
    fallback,
    ink_styles,
    variable_defaults,
)
from reviewdesk.desk import Desk
from reviewdesk.domain.records import Run, View
from reviewdesk.settings import DEFAULT, Settings
from reviewdesk.views.document import Tone


class ConsoleApp(ChangesApp, inherit_bindings=False):
    """The app around a controller, which comes with the desk that is opened."""

    TITLE = "reviewdesk"
    BINDINGS: ClassVar[list[BindingType]] = [*app_bindings()]
    COMMANDS = {RegistryProvider}  # noqa: RUF012  (Textual declares it without ClassVar)
    lateness = 0.0
    rest = 0.06
    fault: BaseException | None = None
    runner: WorkerRunner
    controller: ReviewController
    # A list wraps its lines to its width, which must not be zero on a very narrow terminal.
    CSS = f"OptionList, CommandList {{ min-width: 16; }}{STYLES}"

    def __init__(
        self,
        settings: Settings | None = None,
        clock: Callable[[], float] = time.monotonic,
        stamp: Callable[[events.Event], float] = attrgetter("time"),
        *,
        withheld: frozenset[str] = frozenset(),
    ) -> None:
        """Take the settings; ``withheld`` are actions and commands that are not offered here.

        ``clock`` returns monotonic seconds, for the label guard and for the delay of keys;
        ``stamp`` returns the time of an event on the same clock.
        """
        self.inks: dict[str, Style] = {}
        self.started: Callable[[], None] = lambda: None
        super().__init__()
        self.error_console.quiet = True  # Textual's report of a fault shows values of variables.
        self.settings = settings or Settings()
        self.keymap = checked(self.settings).without(withheld)
        self.set_keymap(self.keymap.textual())
        self.clock = clock
        self._stamp = stamp
        self.later: Callable[[float, Callable[[], object]], object] = self.set_timer
        """Calls a function after some seconds, for the wait of label keys."""
        self.ahead = TypeAhead(self, self.keymap, lambda: None if self.asking else self.top)

    def begin(self, desk: Desk, run: Run, view: View, notice: str = "") -> None:
        """Open ``run`` where ``view`` left it, with a first text of the status line."""
        self.runner = WorkerRunner(self, desk)
        self.controller = ReviewController(
            desk,
            run,
            view,
            settings=self.settings,
            keys=self.keymap,
            runner=self.runner,
            clock=self.clock,
            pages=pages,
            notice=notice,
            colourless=self.no_color,
        )
        self._use_own_themes(self.controller.core.settings)

    @property
    def review(self) -> ReviewScreen:
        return next(s for s in self.screen_stack if isinstance(s, ReviewScreen))

    @property
    def top(self) -> DeskScreen:
        return next(s for s in reversed(self.screen_stack) if isinstance(s, DeskScreen))

    @property
    def asking(self) -> bool:
        return not self.screen_stack or self.screen is not self.top

    # the controller's loop

    def act(self, event: Callable[[], object]) -> None:
        """Pass an event to the controller; carry out its requests and draw its state.

        Nothing happens once the app has closed its screens: a job may report that late.
        """
        if not self.screen_stack:
            return
        controller = self.controller
        controller.below_dialog(self.asking)
        event()
        self._bring(controller.state.where)
        for request in controller.take():
            self._carry_out(request)
        top = self.top
        top.draw(controller.state)
        if top is self.review and top.ready and not self.review.texts.waiting:
            controller.drawn()

    def _bring(self, where: str) -> None:
        """Bring a desk screen into view."""
        if self.top.where == where:
            return
        if self.top is not self.review:
            self.pop_screen()
        if where != ReviewScreen.where:
            from reviewdesk.app.screens.pages import CalibrationScreen, RunsScreen

            self.push_screen((RunsScreen if where == RUNS else CalibrationScreen)(self))

    def _carry_out(self, request: Request) -> None:  # noqa: C901 - a line for each request
        match request:
            case Ask(form, then):
                self._ask(form, then)
            case Move(by, by_pages):
                self.top.move(by, pages=by_pages)
            case Jump(by):
                self.review.jump(by)
            case Copy(text):
                self.copy_to_clipboard(text)
            case TakeSelection(then):
                self.act(partial(then, self.screen.get_selected_text() or ""))
            case TakeLines(then):
                self.act(partial(then, self.top.figures_in_view))
            case UseTheme(name):
                self.theme = name
            case UseOwnTheme():
                self._use_own_themes(self.controller.core.settings)
            case OpenPalette():
                self.action_command_palette()
            case Redraw():
                self.redraw()
            case Close():
                self.runner.end()

    def _ask(self, form: Form, then: Callable[[Any], object]) -> None:
        dialog = _dialog(self, form)
        self.push_screen(dialog, lambda answer: self.call_next(self.act, partial(then, answer)))
        self.ahead.opened(dialog, text=isinstance(form, PromptForm | NoteForm))

    def likely(self) -> list[Action]:
        state = self.controller.state
        found = likely(state.hints, state.where)
        return [action for action in found if action.id not in self.keymap.withheld]

    def choose(self, name: str) -> None:
        """Carry out the action ``name``, chosen by name instead of by its key."""
        self.act(partial(self.controller.choose, name))

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return variable_defaults(self.current_theme)

    def get_css_variables(self) -> dict[str, str]:
        variables = super().get_css_variables()
        self.inks = ink_styles(variables, ansi=self.current_theme.ansi)
        return variables

    def get_line_filters(self) -> Sequence[LineFilter]:
        return NO_COLOUR if self.no_color else super().get_line_filters()

    def _use_own_themes(self, settings: Settings) -> None:
        """Use the theme that is kept or set or, if none is, one that the terminal can show."""
        for theme in OWN:
            self.register_theme(theme)
        able = fallback(self.console.color_system)
        own = able if settings.source("theme") == DEFAULT else settings.theme
        self.theme = COLOURLESS.name if self.no_color else own

    # events

    async def on_event(self, event: events.Event) -> None:
        """Pass keys, pastes and clicks on, with the seconds since they were read."""
        if isinstance(event, events.Key | events.Paste) and not event.is_forwarded:
            # One that nothing below has handled comes a second time, forwarded.
            await self.ahead.take(event, self._stamp(event))
            return
        if isinstance(event, events.MouseUp):
            self.lateness = max(0.0, self.clock() - self._stamp(event))
        await super().on_event(event)

    async def pass_on(self, event: events.Event, at: float) -> None:
        """Let a key or a paste act; ``lateness`` tells how many seconds ago it was read."""
        self.lateness = max(0.0, self.clock() - at)
        if not isinstance(event, events.Key) or not self.ahead.reaches(event):
            await super().on_event(event)

    def warn(self, text: str) -> None:
        self.act(partial(self.controller.core.say_here, text, Tone.WARN))

    def on_job_news(self, message: JobNews) -> None:
        if (tell := self.runner.hear(message)) is not None:
            self.act(partial(self.controller.hear, tell))

    def action_command_palette(self) -> None:
        """Open the palette above the screen in view, unless it is open already."""
        if not isinstance(self.screen, CommandPalette):
            from reviewdesk.app.screens.dialogs import Palette

            hint = "Words of what to do · enter does it · esc closes"
            self.push_screen(Palette(placeholder=hint, id="--command-palette"))

    def action_close_desk(self) -> None:
        self.act(self.controller.end)

    def bell(self) -> None:
        """Ring; where Textual rings because a handler failed, keep the fault instead."""
        if self.return_code:
            self.fault = self.fault or sys.exc_info()[1]
            self.controller.core.jobs.stop()
            self.controller.flush(seconds=0)
        else:
            super().bell()


class ReviewApp(ConsoleApp):
    """Review the runs of a desk until the reviewer closes it."""

    def __init__(
        self,
        desk: Desk,
        run: Run,
        *,
        view: View,
        settings: Settings | None = None,
        notice: str | None = None,
        **more: Any,
    ) -> None:
        """Open ``run`` where ``view`` left it; ``more`` is what every console takes."""
        super().__init__(settings, **more)
        self.begin(desk, run, view, notice or "")

    def get_default_screen(self) -> Screen[None]:
        return ReviewScreen(self)


def _dialog(app: ConsoleApp, form: Form) -> Screen[Any]:
    """Return the dialog of a form."""
    from reviewdesk.app.screens import dialogs, fields

    match form:
        case HelpForm():
            # A key can start those that are bound now.
            bound = app.top.active_bindings
            able = {found.binding.id for key, found in bound.items() if key != NO_KEY}
            active = [action for action in app.likely() if action.id in able]
            return dialogs.PageDialog(dialogs.help_form(active, app.keymap.shown))
        case PageForm():
            return dialogs.PageDialog(form)
        case QuestionForm():
            return dialogs.Question(form)
        case PromptForm():
            return fields.PromptField(form)
        case NoteForm():
            return fields.NoteDialog(form, app.act)
        case _:
            from reviewdesk.app.screens.rerun import RerunDialog

            form_: Any = form
            return RerunDialog(form_, lambda: app.lateness, app.act)
