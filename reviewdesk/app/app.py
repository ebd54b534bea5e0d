"""The application: it runs jobs, passes events on, carries out requests and draws the state."""

import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from operator import attrgetter
from typing import Any, ClassVar, TypeAlias

from textual import events
from textual.app import App, SuspendNotSupported
from textual.binding import Binding, BindingType
from textual.driver import Driver
from textual.filter import ANSIToTruecolor, LineFilter
from textual.screen import Screen
from textual.style import Style

from reviewdesk.app.controllers.jobs import Job
from reviewdesk.app.controllers.review import ReviewController
from reviewdesk.app.controllers.state import Form, HelpForm, PageForm, PromptForm
from reviewdesk.app.keys.actions import ACTIONS, GIVES_LABEL, LABEL, OF_MACHINE, checked
from reviewdesk.app.paint.inks import (
    COLOURLESS,
    DEFAULTS,
    NO_COLOUR,
    OWN,
    STYLES,
    fallback,
    ink_styles,
)
from reviewdesk.app.screens.review import ReviewScreen
from reviewdesk.app.terminal.changes import ChangesDriver, Shown
from reviewdesk.desk.core import Desk, found_damage
from reviewdesk.desk.files import keep_to_desk
from reviewdesk.desk.review.edits import hurry
from reviewdesk.desk.review.runs import Opening
from reviewdesk.errors import Cancelled, DeskError, ReviewDeskError
from reviewdesk.settings import DEFAULT, Settings
from reviewdesk.system.terminal import PARTS_DRAWINGS
from reviewdesk.views.document import Tone

_PROGRESS_INTERVAL = 0.1
"""Seconds between two shares of progress of a job."""


class WorkerRunner:
    """Runs each job in a worker of the app; only the newest job of a name reports."""

    def __init__(
        self, app: App[None], desk: Desk, tell: Callable[[Callable[[], None]], object]
    ) -> None:
        """``tell`` gets, in the app's thread, what tells the controller of news or of a result."""
        self._app = app
        self._desk = desk
        self._tell = tell
        self._running: dict[str, Job] = {}
        self._readers: list[Desk] = []
        """The connections of the jobs; the process waits for their threads when it ends."""

    def start(self, job: Job) -> None:
        self._running[job.name] = job
        # By default the description is the work written out, with all keys of the queue.
        self._app.run_worker(
            partial(self._work, job), name=job.name, group=job.name, description=job.name,
            thread=True, exclusive=True, exit_on_error=False,
        )  # fmt: skip

    def cancel(self, name: str) -> None:
        self._running.pop(name, None)
        self._app.workers.cancel_group(self._app, name)

    def end(self) -> None:
        for reader in list(self._readers):
            hurry(reader, 0)
        self._app.exit()

    def _hear(self, job: Job, told: Callable[[], None], *, last: bool = False) -> None:
        """Pass on what a job reports, unless it was stopped or replaced."""
        if self._running.get(job.name) is job:
            if last:
                del self._running[job.name]
            self._tell(told)

    def _work(self, job: Job) -> None:
        """Run a job in its thread and post its result; no error ends the session."""
        due = 0.0

        def report(news: object) -> bool:
            nonlocal due
            share = isinstance(news, float)
            if not share or (now := time.monotonic()) >= due:
                due = now + _PROGRESS_INTERVAL if share else due
                self._app.call_later(self._hear, job, partial(job.heard, news))
            return self._running.get(job.name) is job

        found: object = None
        error: ReviewDeskError | None = None
        try:
            with self._desk.borrowed() as reader:
                self._readers.append(reader)
                try:
                    found = job.work(reader, report)
                finally:
                    self._readers.remove(reader)
        except Cancelled:
            pass
        except ReviewDeskError as problem:
            error = problem
        except Exception as problem:  # noqa: BLE001  (worker entry: a job must never end a session)
            what = job.fault or f"{job.name} failed"
            # A library's message may repeat the headers of a request, and so a key.
            more = "" if job.secret else f": {problem}"
            fault = DeskError(f"{what}: {type(problem).__name__}{more}")
            error = found_damage(problem, self._desk.path) or fault
        self._app.call_later(self._hear, job, partial(job.ended, found, error), last=True)


WINDOW = 0.025
"""Seconds between two keys within which they may belong to one burst."""
MANY = 4
"""How many printable keys, each within ``WINDOW`` of the one before, are a burst."""
REST = 0.150
"""Seconds without a key after which a burst is over: a long paste arrives in several parts."""
_SLACK = 1e-6
"""Tolerance in seconds for rounding errors."""

WAITS = GIVES_LABEL | {
    *(name for name, action in ACTIONS.items() if action.group == LABEL),
    "adjudicate", "blind", "mark", "quit", "reveal", "run.remove",
}  # fmt: skip
"""The actions whose keys wait for ``WINDOW``: they change the desk or how labels count."""


Pressed: TypeAlias = tuple[events.Key, float]
"""A key, and when it was read."""


class Bursts:
    """Holds back keys that change something until it is known that no burst follows.

    A key that changes nothing acts at once, unless it comes after one that is held back: keys
    act in the order in which they were pressed. One such key that repeats is held down and makes
    no burst. Times are those of reading, so that keys which the app handles late are not a burst.
    """

    def __init__(self) -> None:
        self._held: list[Pressed] = []
        self._names: list[str] = []
        self._printable = 0
        self._last = float("-inf")
        self.on = False
        """Whether the newest keys are a burst."""

    def press(self, key: events.Key, at: float, *, waits: bool) -> list[Pressed]:
        """Take a key, which ``waits`` if it changes something; return those to act now, in order.

        The keys of a burst that are still held back never act, and neither does one that comes
        before the burst has been over for ``REST``.
        """
        act = self.due(at)
        if at - self._last > (REST if self.on else WINDOW) + _SLACK:
            self._names = []
            self._printable = 0
            self.on = False
        self._last = max(at, self._last)
        self._names = [*self._names, key.key][-MANY:]
        self._printable += key.is_printable
        repeats = len(set(self._names)) == 1 and not waits
        if self.on or (self._printable >= MANY and not repeats):
            self.on = True
            self._held.clear()
        elif self._held or waits:
            self._held.append((key, at))
        else:
            act.append((key, at))
        return act

    def due(self, now: float) -> list[Pressed]:
        """Return the keys that need not be held back any longer, in order."""
        if now - self._last <= WINDOW + _SLACK:
            return []
        held = self._held
        self._held = []
        return held

    def rest(self, now: float) -> float | None:
        return max(0.0, self._last + WINDOW - now) if self._held else None


SHORTEST = 0.005
"""The least seconds for which a key is held back, however late it is handled: before that, not all
keys that were read together with it have arrived."""
_MOVES_IN_DIALOG = frozenset({"j", "k", "g", "G", "space"})
PASTED = "A paste does nothing outside a text field."
TOO_FAST = "Several keys came at once, as from a paste: they did nothing."


class TypeAhead:
    """Takes keys and pastes before any widget does.

    Keys wait while a field opens, until it has the focus, and before the first screen is drawn. All
    others go to the screen in view: the way through its widgets takes longer than a step of the
    list. Outside a text, a paste and a burst of keys do nothing.
    """

    def __init__(self, app: Any) -> None:
        self._app = app
        self._bursts = Bursts()
        self._looks = False
        self._held: list[events.Key | events.Paste] | None = []

    async def take(self, event: events.Key | events.Paste, at: float) -> None:
        """Take a key or a paste read at ``at``, and pass on the keys that are to act now."""
        if self._held is not None:
            self._held.append(event)
        elif self._app.focused is not None and self._app.focused.check_consume_key("p", "p"):
            await self._app.pass_on(event, at)
        elif isinstance(event, events.Paste):
            self._app.warn(PASTED)
        else:
            before = self._bursts.on
            if self._app.asking:
                waits = event.is_printable and event.key not in _MOVES_IN_DIALOG
            else:
                waits = event.key.isdecimal() or self._app.review.bound.get(event.key) in WAITS
            act = self._bursts.press(event, at, waits=waits)
            if self._bursts.on and not before:
                self._app.warn(TOO_FAST)
            await self._release(act)

    async def _release(self, act: Sequence[Pressed]) -> None:
        """Pass keys on, and look again when the others need not be held back any longer."""
        for event, at in act:
            if self._held is not None:
                self._held.append(event)
            else:
                await self._app.pass_on(event, at)
        rest = self._bursts.rest(self._app.clock())
        if rest is not None and not self._looks:
            self._looks = True
            # After the keys that wait in the app's queue already.
            look = partial(self._app.call_later, self._look)
            self._app.later(max(rest, SHORTEST), look)

    async def _look(self) -> None:
        self._looks = False
        await self._release(self._bursts.due(self._app.clock()))

    def opened(self, dialog: Screen[Any], *, text: bool) -> None:
        """Hold keys until the text of a dialog has the focus; without a text, drop those held."""
        if not text or not dialog.is_current:
            self._held = None
            return
        self._held = self._held or []
        if dialog.focused is None:
            dialog.call_after_refresh(self.opened, dialog, text=True)
        else:
            self._app.call_next(self.hand_over)

    async def hand_over(self) -> None:
        held = self._held or []
        self._held = None
        for event in held:
            await self._app.on_event(event)


LATER = 0.4
"""Seconds after the first screen at which the jobs begin that nobody waits for."""


class ReviewApp(App[None], inherit_bindings=False):
    """Reviews the runs of a desk; a visitor, who comes by a browser, may be asked for a name."""

    TITLE = "reviewdesk"
    # The way out of dialogs and fields too; its key cannot be changed.
    BINDINGS: ClassVar[list[BindingType]] = [Binding("ctrl+q", "close_desk", priority=True)]
    ENABLE_COMMAND_PALETTE = False
    lateness = 0.0
    fault: BaseException | None = None
    runner: WorkerRunner
    controller: ReviewController
    # A list wraps its lines to its width, which must not be zero on a very narrow terminal.
    CSS = f"OptionList {{ min-width: 16; }}{STYLES}"

    def __init__(
        self,
        opening: Opening | str,
        settings: Settings | None = None,
        clock: Callable[[], float] = time.monotonic,
        stamp: Callable[[events.Event], float] = attrgetter("time"),
        *,
        enter: Callable[[str], Opening] | None = None,
    ) -> None:
        """Continue at an ``opening``, or ask at the door of the run of this name for a name.

        ``enter`` returns the opening for a visitor's name. With it, actions that reach the
        machine's files and keys are not offered, and the process writes no file of the machine.

        ``clock`` returns monotonic seconds, for the label guard and for the delay of keys;
        ``stamp`` returns the time of an event on the same clock.
        """
        self.inks: dict[str, Style] = {}
        self.started: Callable[[], None] = lambda: None
        self.shown = Shown()
        if not os.environ.get("NO_COLOR"):
            # Textual treats an empty value as set.
            os.environ.pop("NO_COLOR", None)
        super().__init__()
        self.error_console.quiet = True  # Textual's report of a fault shows values of variables.
        self.settings = settings or Settings()
        withheld = frozenset[str]()
        if enter is not None:
            keep_to_desk()
            withheld = OF_MACHINE
        self.keymap = checked(self.settings).without(withheld)
        self.clock = clock
        self._stamp = stamp
        self._enter = enter
        self.later: Callable[[float, Callable[[], object]], object] = self.set_timer
        """Calls a function after some seconds, for the wait of label keys."""
        self.ahead = TypeAhead(self)
        self.opening: Opening | None = None
        self._door = opening if isinstance(opening, str) else ""
        if isinstance(opening, str):
            self._use_own_themes(self.settings)
        else:
            self._begin(opening)

    def _begin(self, opening: Opening) -> None:
        self.opening = opening
        self.runner = WorkerRunner(self, opening.desk, self._told)
        self.controller = ReviewController(
            opening.desk, opening.run, opening.view, settings=self.settings, keys=self.keymap,
            runner=self.runner, clock=self.clock, notice=opening.notice,
        )  # fmt: skip
        self.controller.colourless = self.no_color
        self._use_own_themes(self.controller.settings)

    def get_driver_class(self) -> type[Driver]:
        """Return the platform's driver, made to send only the cells that change."""
        driver = super().get_driver_class()
        return driver if PARTS_DRAWINGS else type("TerminalDriver", (ChangesDriver, driver), {})

    def get_default_screen(self) -> Screen[None]:
        return Screen() if self.opening is None else ReviewScreen(self)

    def on_mount(self) -> None:
        if self.opening is None:
            from reviewdesk.app.screens.dialogs import DoorDialog

            self.push_screen(DoorDialog(self._door, self._named))

    def begin(self) -> None:
        """Take the keys that were pressed before the first screen, which is drawn now."""
        self.started()
        self.act(self.controller.settle)
        self.later(LATER, partial(self.act, self.controller.look_around))
        self.call_next(self.ahead.hand_over)

    def _named(self, name: str) -> None:
        """Open the desk for a name; raise ReviewDeskError if it cannot be."""
        if self._enter is not None:
            self._begin(self._enter(name))
            self.switch_screen(ReviewScreen(self))

    @property
    def review(self) -> ReviewScreen:
        return next(s for s in self.screen_stack if isinstance(s, ReviewScreen))

    @property
    def asking(self) -> bool:
        return not self.screen_stack or self.screen is not self.review

    # the controller's loop

    def act(self, event: Callable[..., object], *given: object) -> None:
        """Pass an event to the controller; carry out its requests and draw its state."""
        if not self.screen_stack:
            return
        controller = self.controller
        controller.asking = self.asking
        controller.late = self.lateness
        event(*given)
        for request in controller.take():
            _DOES[request.what](self, *request.given)
        review = self.review
        review.draw()
        if (follow := getattr(self.screen, "follow", None)) is not None:
            follow()
        if controller.page is None and review.ready:
            controller.guard.shown()

    def edit(self, text: str, suffix: str, then: Callable[[str | None], object]) -> None:
        """Give the terminal to the person's editor, and pass on what it saved, if anything."""
        from reviewdesk.system.terminal import edited

        found = None
        with suppress(SuspendNotSupported), self.suspend():
            found = edited(text, suffix)
        self.act(then, found)

    def ask(self, form: Form, then: Callable[[Any], object]) -> None:
        """Open the dialog of a form, and call ``then`` with its answer once it is closed."""
        from reviewdesk.app.screens import dialogs

        if isinstance(form, HelpForm):
            # A key can start the actions that are bound now.
            able = {*self.review.bound.values()}
            active = [action for action in ACTIONS.values() if action.id in able]
            form = dialogs.help_form(active, self.keymap.shown)
        dialog: Screen[Any]
        if isinstance(form, PageForm):
            dialog = dialogs.PageDialog(form)
        else:
            dialog = dialogs.PromptField(form) if form.lines == 1 else dialogs.NoteDialog(form)
        self.push_screen(dialog, lambda answer: self.call_next(self.act, then, answer))
        self.ahead.opened(dialog, text=isinstance(form, PromptForm))

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return DEFAULTS

    def get_css_variables(self) -> dict[str, str]:
        variables = super().get_css_variables()
        self.inks = ink_styles(variables, ansi=self.current_theme.ansi)
        return variables

    def redraw(self) -> None:
        self.shown.forget()
        self.screen.refresh()

    def get_line_filters(self) -> Sequence[LineFilter]:
        # Our themes define their colours, so that none of the terminal's needs conversion.
        found = NO_COLOUR if self.no_color else super().get_line_filters()
        return [one for one in found if not isinstance(one, ANSIToTruecolor)]

    def _use_own_themes(self, settings: Settings) -> None:
        """Use the theme that is kept or set, or else one that the terminal can show."""
        for theme in OWN:
            self.register_theme(theme)
        able = fallback(self.console.color_system)
        own = able if settings.source("theme") == DEFAULT else settings.theme
        self.theme = COLOURLESS.name if self.no_color else own

    # events

    async def on_event(self, event: events.Event) -> None:
        """Pass keys, pastes and clicks on, with the seconds since they were read."""
        if isinstance(event, events.Resize):
            self.shown.forget(event.size.width)
        elif isinstance(event, events.MouseUp):
            self.lateness = max(0.0, self.clock() - self._stamp(event))
        # An event that no widget has handled is forwarded and arrives a second time.
        again = self.opening is None or event.is_forwarded
        if isinstance(event, events.Key | events.Paste) and not again:
            await self.ahead.take(event, self._stamp(event))
        else:
            await super().on_event(event)

    async def pass_on(self, event: events.Event, at: float) -> None:
        """Let a key or a paste act; ``lateness`` tells how many seconds ago it was read."""
        self.lateness = max(0.0, self.clock() - at)
        acts = isinstance(event, events.Key) and not self.asking and self.review.press(event.key)
        if not acts:
            await super().on_event(event)

    def warn(self, text: str) -> None:
        self.act(self.controller.say_here, text, Tone.WARN)

    def _told(self, tell: Callable[[], None]) -> None:
        self.act(self.controller.safely, tell)

    def action_close_desk(self) -> None:
        """Save the view and close; at the door there is nothing to save."""
        if self.opening is None:
            self.exit()
        else:
            self.act(self.controller.end)

    def flush(self, seconds: float) -> list[str]:
        """Try for so long to save what waits; return what to say of the rest."""
        return [] if self.opening is None else self.controller.flush(seconds)

    def bell(self) -> None:
        """Ring; where Textual rings because a handler failed, keep the fault instead."""
        if self.opening is None:
            return
        if self.return_code:
            self.fault = self.fault or sys.exc_info()[1]
            self.controller.jobs.stop()
            self.controller.flush(seconds=0)
        else:
            super().bell()


_DOES: Mapping[str, Callable[..., object]] = {
    "ask": ReviewApp.ask,
    "move": lambda app, by, pages: app.review.move(by, pages=pages),
    "jump": lambda app, by: app.review.jump(by),
    "copy": lambda app, text: app.copy_to_clipboard(text),
    "theme": lambda app, name: setattr(app, "theme", name),
    "redraw": ReviewApp.redraw,
    "edit": ReviewApp.edit,
    "close": lambda app: app.runner.end(),
    "selection": lambda app, then: app.act(then, app.screen.get_selected_text() or ""),
    "lines": lambda app, then: app.act(then, app.review.figures_in_view),
}
"""How the controller's requests are carried out.

The last two call what is given with the selected text, or with the lines of figures in view.
"""
