"""The controller of the app: it takes keys, answers and events, and gives a state to draw.

It knows no widget. A front end passes it what happens, carries out ``take`` and draws ``state``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from reviewdesk.app.controllers.core import REVIEW, RUNS, Core, back_up
from reviewdesk.app.controllers.desk import DeskController
from reviewdesk.app.controllers.item import AnnotationController, ItemController
from reviewdesk.app.controllers.jobs import Runner
from reviewdesk.app.controllers.labels import LabelController
from reviewdesk.app.controllers.queue import QueueController, QueueReader
from reviewdesk.app.controllers.reading import PaneController, ReadingController
from reviewdesk.app.controllers.requests import MOVES, Ask, Request
from reviewdesk.app.controllers.rerun import RerunController
from reviewdesk.app.controllers.state import Page, Panes, Session, ViewState
from reviewdesk.app.controllers.team import ClaimController, TeamController
from reviewdesk.app.controllers.undo import LastWrites, UndoController, offer_unsaved
from reviewdesk.app.keys.actions import ACTIONS, GIVES_LABEL
from reviewdesk.app.keys.keymap import Keymap, allowed, offered
from reviewdesk.desk import Desk
from reviewdesk.domain.records import Item, QueueRow, Run, Truth, View
from reviewdesk.errors import ReviewDeskError
from reviewdesk.settings import Settings
from reviewdesk.views.document import Tone

if TYPE_CHECKING:
    from reviewdesk.app.controllers.pages import RunsController

_WHEN_TINY = frozenset({"quit", "quit.anywhere", "help", "palette"})


class ReviewController:
    """The review of a desk's runs. No method of an event raises an error of the desk."""

    def __init__(
        self,
        desk: Desk,
        run: Run,
        view: View,
        *,
        settings: Settings,
        keys: Keymap,
        runner: Runner,
        clock: Callable[[], float],
        pages: Callable[[Item], int],
        notice: str = "",
        colourless: bool = False,
    ) -> None:
        """Open ``run`` where ``view`` left it.

        ``clock`` returns monotonic seconds, for the label guard; ``pages`` counts the pages of an
        item's longest text; a ``colourless`` terminal has no themes to choose.
        """
        self.core = core = Core(desk, run, view, settings, keys, runner, clock, notice)
        self._pages = pages
        self.saw = core.seen.saw
        self.stop_jobs = core.jobs.stop
        self._reader = QueueReader(core)
        self._claims = ClaimController(core)
        self.queue = QueueController(core, self._reader)
        item = ItemController(core, self.queue.use)
        self.rerun = RerunController(core)
        annotations = AnnotationController(core)
        reading = ReadingController(core, pages)
        team = TeamController(core, self.queue.use)
        self.labels = LabelController(core, annotations.open_reasons)
        self.panes = PaneController(core, reading.verbs["jury.whole"])
        commands = self.queue.commands | annotations.commands | self.rerun.commands
        commands |= team.commands
        self.desk = DeskController(core, self.choose, commands, colourless=colourless)
        self._verbs = self.queue.verbs | item.verbs | annotations.verbs | reading.verbs | team.verbs
        self._verbs |= (
            self.rerun.verbs | self.labels.verbs | self.panes.verbs | UndoController(core).verbs
        )
        self._on_every_screen = self.desk.verbs
        self.close = self.desk.close
        self.end = self.desk.end
        self.flush = LastWrites(core).flush
        self._press_reason = annotations.press

    # out: the state and the requests

    @property
    def state(self) -> ViewState:
        """The state to draw; a notice about what is not in view any more is gone from it."""
        core = self.core
        where = self.core.where
        core.notices[where] = notice = core.notices[where].beside(core.shown)
        return ViewState(
            where,
            core.session,
            core.panes,
            notice,
            core.outbox.text or core.saved,
            core.jobs.text,
            core.jobs.many,
            core.figures,
            core.reading,
            core.reruns,
            offered(core.keys, self._hints() if core.page is None else core.page.hints()),
            core.start,
            core.rows,
            core.seek,
            core.seen.scroll,
            None if core.page is None else core.page.state,
            core.reasons,
        )

    def _hints(self) -> Mapping[str, object]:
        session = self.core.session
        pages = 0 if session.item is None else self._pages(session.item)
        found = _hints(session, self.core.panes, pages=pages)
        if self.core.desk.read_only:
            found |= dict.fromkeys((*GIVES_LABEL, "undo"), False)
        return found

    def take(self) -> tuple[Request, ...]:
        """Return the requests since the last call, in order; read the queue that is wanted."""
        self._reader.follow()
        self.core.safely(self._claims.follow)
        taken = tuple(self.core.requests)
        self.core.requests.clear()
        return taken

    # in: keys and commands

    def handle(self, name: str, late: float = 0.0) -> None:
        """Carry out an action for a key that was handled ``late`` seconds after it was pressed.

        Nothing happens while a dialog is open: a key typed before it appeared was not meant for
        the screen below.
        """
        core = self.core
        if core.asking or (core.panes.tiny and name not in _WHEN_TINY):
            return
        if name not in _WHEN_TINY and self._reader.holds(name, late):
            return
        core.late = late
        core.review.claims.pressed = True
        core.safely(self._do, name)

    def press_reason(self, key: str, late: float) -> None:
        """Act on a key that the open line of reasons takes."""
        self.core.safely(self._press_reason, key, late)

    def _do(self, name: str) -> None:
        core = self.core
        action = allowed(self.core.keys, name)
        if name in MOVES:
            core.requests.append(MOVES[name])
        elif (verb := self._on_every_screen.get(name)) is not None:
            verb()
        elif core.where in action.where:
            (self._verbs if core.page is None else core.page.verbs)[name]()
        else:
            self.desk.go(min(action.where))
            if name in GIVES_LABEL:
                notice = "read the item first: a label is given where it can be read"
                core.say_here(notice, Tone.TEXT)
            elif core.where in action.where:
                self._do(name)

    def choose(self, name: str) -> None:
        """Carry out an action that was chosen by name; ask for confirmation if it gives a label."""
        if name in GIVES_LABEL and self.core.page is None:
            self.core.safely(self.labels.confirm, name)
        else:
            self.handle(name)

    def run(self, text: str) -> None:
        self.core.safely(self.desk.run, text)

    def stray(self) -> None:
        self.core.guard.stray()

    def warn(self, text: str) -> None:
        self.core.say_here(text, Tone.WARN)

    # in: the terminal

    def begin(self, width: int, height: int) -> None:
        self.resized(width, height)
        self.core.safely(self.core.show)

    def settle(self) -> None:
        """Ask for figures, index, backup and re-runs, and offer what is kept; the item is first."""
        self.core.recalibrate()
        self.core.safely(self.core.count_flips)
        self.core.index()
        back_up(self.core)
        self.core.safely(offer_unsaved, self.core)
        self.rerun.look_for_unfinished(tell=True)

    def resized(self, width: int, height: int) -> None:
        self.core.arrange(replace(self.core.panes, width=width, height=height))

    def resumed(self) -> None:
        self.core.guard.interrupt()

    def drawn(self) -> None:
        self.core.guard.shown_once()

    def step(self, lines: int) -> None:
        self.core.safely((_runs(self.core) or self.queue).step, lines)

    def choose_row(self, index: int) -> None:
        page = _runs(self.core)
        choose = self.queue.choose_row if page is None else page.choose
        self.core.safely(choose, index)

    def focus_details(self, reading: bool) -> None:
        if (page := _runs(self.core)) is not None:
            page.reading = reading

    def rows(self, keys: Sequence[int]) -> list[QueueRow]:
        return self.core.review.rows(keys)

    def listed(self, keys: Sequence[int]) -> None:
        self.core.review.exposure.listed(self.core.session, keys)

    def complain(self, error: ReviewDeskError) -> None:
        self.core.complain(error, where=REVIEW)

    def below_dialog(self, asking: bool) -> None:
        self.core.asking = asking

    def hear(self, tell: Callable[[], None]) -> None:
        """Hear what a background job reports, and carry out the keys that waited for it."""
        self.core.safely(tell)
        for name, late in self._reader.released():
            if not any(isinstance(one, Ask) for one in self.core.requests):  # else typed for that
                self.handle(name, late)

    # in: other writers

    def poll(self) -> None:
        self.desk.preferences.keep()
        self._claims.poll()


def _runs(core: Core) -> RunsController | None:
    """Return the controller of the runs screen, if that is in view."""
    if core.where != RUNS:
        return None
    from reviewdesk.app.controllers.pages import RunsController

    return core.page if isinstance(core.page, RunsController) else None


def _hints(session: Session, panes: Panes, *, pages: int) -> dict[str, object]:
    """Return the review screen's actions for the footer, what matters most first."""
    item = session.item
    found = bool(session.found and session.found.places)
    if item is None:
        empty = session.page is Page.NOTHING and not session.view.filter
        first = ("screen.runs",) if empty else ("screen.calibration", "filter", "back", "undo")
        return dict.fromkeys((*first, "screen.runs", "help"), True)
    labels = {
        name: f"{ACTIONS[name].hint} {len(session.chosen):,}" if session.chosen else panes.readable
        for name in ("label.pass", "label.fail", "label.unsure")
    }
    decided = {"next": item.row.decided, "adjudicate": item.row.label is Truth.DISPUTED}
    return {
        **decided,
        **labels,
        "shallower": bool(session.chosen) and "select none",
        "reveal": session.hidden or item.row.labelled_by_other,
        "search.next": found,
        "text.next": pages > 1,
        "undo": True,
        "deeper": panes.beside(1) or (not session.hidden and "in full"),
        "filter": True,
        "order": True,
        "search": True,
        "help": True,
    }
