"""The controller of the app: it takes keys, answers and events, and gives a state to draw.

It uses no widget. A front end passes it events, carries out ``take`` and draws ``state``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace

from reviewdesk.app.controllers import desk as screens
from reviewdesk.app.controllers import item, labels, queue
from reviewdesk.app.controllers.core import REVIEW, RUNS, Core
from reviewdesk.app.controllers.jobs import Runner
from reviewdesk.app.controllers.state import MOVES, Page, Request, ViewState
from reviewdesk.app.keys.actions import ACTIONS, GIVES_LABEL
from reviewdesk.app.keys.keymap import Keymap, refuse_withheld
from reviewdesk.desk import Desk
from reviewdesk.domain.records import QueueRow, Run, Truth, View
from reviewdesk.settings import Settings
from reviewdesk.views.document import Tone

if TYPE_CHECKING:
    from reviewdesk.app.controllers.pages import RunsController


_WHEN_TINY = frozenset({"quit", "quit.anywhere", "help", "palette"})
_VERBS = queue.VERBS | item.VERBS | labels.VERBS
"""The functions that carry out the actions of the review."""


class ReviewController:
    """The review of a desk's runs. Methods that take an event raise no errors of the desk."""

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
        notice: str = "",
        colourless: bool = False,
    ) -> None:
        """Open ``run`` where ``view`` left it.

        ``clock`` returns monotonic seconds, for the label guard; a ``colourless``
        terminal has no themes to choose.
        """
        self.core = core = Core(desk, run, view, settings, keys, runner, clock, notice)
        core.colourless = colourless
        core.do = self.choose
        screens.start_choices(core)
        self.saw = core.seen.saw
        self.end = partial(screens.end, core)
        self.flush = partial(queue.flush, core)
        self.poll = partial(_poll, core)
        self.enter_pane = partial(item.enter_pane, core)
        self.drag = partial(item.drag, core)
        self.resumed = core.guard.interrupt
        self.drawn = core.guard.shown_once
        self.complain = partial(core.complain, where=REVIEW)

    # out: the state and the requests

    @property
    def state(self) -> ViewState:
        """The state to draw, without a notice about something that is no longer in view."""
        core = self.core
        where = self.core.where
        core.notices[where] = notice = core.notices[where].beside(core.shown)
        hints = _hints(core) if core.page is None else core.page.hints()
        return ViewState(
            where,
            core.session,
            core.panes,
            notice,
            core.outbox.text or core.saved,
            core.jobs.text,
            None if core.jobs.rerun is None or core.jobs.rerun.alone else core.jobs.rerun,
            core.figures,
            core.reading,
            core.reruns,
            {name: word for name, word in hints.items() if name not in core.keys.withheld},
            core.start,
            core.rows,
            core.seek,
            core.seen.scroll,
            copy(core.page),
            core.reasons,
            core.criteria,
            core.half,
        )

    def take(self) -> tuple[Request, ...]:
        """Return the requests since the last call, in order."""
        self.core.safely(labels.follow_claims, self.core)
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
        core.late = late
        core.review.claims.pressed = True
        core.safely(self._do, name)

    def press_reason(self, key: str, late: float) -> None:
        """Act on a key that the open line of reasons takes."""
        self.core.safely(item.press_reason, self.core, key, late)

    def _do(self, name: str) -> None:
        core = self.core
        refuse_withheld(core.keys, name)
        where = ACTIONS[name].where
        if name in MOVES:
            core.requests.append(MOVES[name])
        elif (verb := screens.VERBS.get(name)) is not None:
            verb(core)
        elif core.where not in where:
            screens.go(core, min(where))
            if name in GIVES_LABEL:
                notice = "read the item first: a label is given where it can be read"
                core.say_here(notice, Tone.TEXT)
            elif core.where in where:
                self._do(name)
        elif core.page is not None:
            core.page.verbs[name]()
        else:
            _VERBS[name](core)

    def choose(self, name: str) -> None:
        """Carry out an action that was chosen by name; ask for confirmation if it gives a label."""
        if name in GIVES_LABEL and self.core.page is None:
            self.core.safely(labels.confirm, self.core, name)
        else:
            self.handle(name)

    def run(self, text: str) -> None:
        self.core.safely(screens.run, self.core, text)

    # in: the terminal

    def begin(self, width: int, height: int) -> None:
        self.resized(width, height)
        self.core.safely(self.core.show)

    def settle(self) -> None:
        """Ask for figures, index, backup and re-runs, and offer kept edits, after the item."""
        core = self.core
        core.recalibrate()
        core.safely(core.count_flips)
        core.index()
        core.back_up()
        core.read_halves()
        core.safely(queue.offer_unsaved, core)
        core.look_for_unfinished(tell=True)

    def resized(self, width: int, height: int) -> None:
        self.core.arrange(replace(self.core.panes, width=width, height=height))

    def step(self, lines: int) -> None:
        page = _runs(self.core)
        step = partial(queue.step, self.core) if page is None else page.step
        self.core.safely(step, lines)

    def choose_row(self, index: int) -> None:
        page = _runs(self.core)
        choose = partial(queue.choose_row, self.core) if page is None else page.choose
        self.core.safely(choose, index)

    def rows(self, keys: Sequence[int]) -> list[QueueRow]:
        return self.core.review.listed(keys)

    def listed(self, keys: Sequence[int]) -> None:
        self.core.review.exposure.listed(self.core.session, keys)

    def below_dialog(self, asking: bool) -> None:
        self.core.asking = asking

    def hear(self, tell: Callable[[], None]) -> None:
        """Take the report of a background job."""
        self.core.safely(tell)


def _poll(core: Core) -> None:
    core.safely(screens.store_choices, core)
    labels.poll(core)


def _runs(core: Core) -> RunsController | None:
    """Return the controller of the runs screen, if that is in view."""
    if core.where != RUNS:
        return None
    from reviewdesk.app.controllers.pages import RunsController

    return core.page if isinstance(core.page, RunsController) else None


def _hints(core: Core) -> Mapping[str, object]:
    """Return the review screen's actions for the footer, the most important first."""
    session = core.session
    item = session.item
    panes = core.panes
    read_only = dict.fromkeys((*GIVES_LABEL, "undo"), False) if core.desk.read_only else {}
    if item is None:
        empty = session.page is Page.NOTHING and not session.view.filter
        first = ("screen.runs",) if empty else ("screen.calibration", "filter", "back", "undo")
        return dict.fromkeys((*first, "screen.runs", "help"), True) | read_only
    labels = {
        name: f"{ACTIONS[name].hint} {len(session.chosen):,}" if session.chosen else panes.readable
        for name in ("label.pass", "label.fail", "label.unsure")
    }
    return {
        "next": item.row.decided,
        "adjudicate": item.row.label is Truth.DISPUTED,
        **labels,
        "shallower": bool(session.chosen) and "select none",
        "reveal": session.hidden or item.row.labelled_by_other,
        "search.next": bool(session.found and session.found.places),
        "undo": True,
        "deeper": panes.beside(1) or (not session.hidden and "in full"),
        "filter": True,
        "order": True,
        "search": True,
        "help": True,
        **read_only,
    }
