"""The main screen: queue, item and jury, with the header, the strip and the footer around them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, ClassVar, cast

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.screen import Screen
from textual.widget import Widget
from textual.worker import get_current_worker

from reviewdesk.app.actions import ACTIONS, Now, footer_hints, screen_bindings
from reviewdesk.app.figures import read_figures
from reviewdesk.app.guard import LabelGuard
from reviewdesk.app.hands import Hands
from reviewdesk.app.messages import Calibrated, Failed, RowChosen
from reviewdesk.app.paint import inline
from reviewdesk.app.paint_frame import footer_line, header_line, status_line, strip_lines
from reviewdesk.app.paint_pages import tiny_lines
from reviewdesk.app.screens.panes import Panes
from reviewdesk.app.session import Session
from reviewdesk.app.sitting import Sitting
from reviewdesk.app.themes import Ink
from reviewdesk.app.widgets.lines import Bar, Pane
from reviewdesk.app.widgets.queue_list import QueueList
from reviewdesk.domain.records import Calibration
from reviewdesk.errors import ReviewDeskError

if TYPE_CHECKING:
    from reviewdesk.app.app import ReviewApp

POLL = 1.0
"""Seconds between two looks at whether another process wrote to the desk."""


class ReviewScreen(Screen[None], inherit_bindings=False):
    """Mediates between the sitting, which knows the desk, and the widgets, which only draw."""

    DEFAULT_CSS = """
    ReviewScreen { layout: vertical; background: $background; color: $foreground; }
    #header { background: $desk-bar; }
    #panes { height: 1fr; }
    .column { height: 1fr; width: 1fr; }
    .column > Bar { background: $desk-bar; }
    .column > Pane, .column > QueueList { height: 1fr; background: $background; }
    ReviewScreen.-wide #queue-column { width: 30%; min-width: 45; }
    ReviewScreen.-wide #item-column { border-left: solid $desk-rule; }
    ReviewScreen.-wide #jury-column { width: 1.25fr; border-left: solid $desk-rule; }
    #status { background: $background; }
    #strip { height: 2; background: $desk-bar; }
    #footer { background: $desk-bar; }
    #tiny { height: 1fr; display: none; }
    """
    AUTO_FOCUS = None
    BINDINGS: ClassVar[list[BindingType]] = [*screen_bindings()]

    def __init__(self, sitting: Sitting, clock: Callable[[], float], notice: str) -> None:
        """Show a sitting; ``notice`` is the first thing the status line says."""
        super().__init__()
        self.sitting = sitting
        self.guard = LabelGuard(clock)
        self.hands = Hands(self)
        self.panes = Panes(self)
        self.figures: Calibration | None = None
        self.saved = ""
        self._unmarked = ""
        self._status = (notice, Ink.NOTE.value)
        self._token = 0

    @property
    def session(self) -> Session:
        """Where the reviewer stands."""
        return self.sitting.session

    def compose(self) -> ComposeResult:
        """Lay out the lines and the three columns."""
        yield Bar(id="header")
        with Horizontal(id="panes"):
            with Vertical(id="queue-column", classes="column"):
                yield Bar(id="queue-title")
                yield QueueList(self.sitting.rows, id="queue")
            for name in ("item", "jury"):
                with Vertical(id=f"{name}-column", classes="column"):
                    yield Bar(id=f"{name}-title")
                    yield Pane(id=name)
        yield Bar(id="status")
        yield Bar(id="strip")
        yield Bar(id="footer")
        yield Bar(tiny_lines, id="tiny")

    def on_mount(self) -> None:
        """Show the first item and ask for the figures."""
        self.panes.fit(self.app.size)
        self.show()
        self.recalibrate()
        self.set_interval(POLL, self._poll)

    def on_resize(self, event: events.Resize) -> None:
        """Three panes, one, or none: all state is kept."""
        if self.is_mounted:
            self.panes.fit(event.size)
            self.frame()

    # drawing

    def show(self, *, keep: bool = False, rows: bool = False) -> None:
        """Draw the current item; ``keep`` leaves texts scrolled, ``rows`` reads the list again."""
        self.panes.paint(self.session, self.figures, keep=keep, rows=rows)
        if not keep:
            self.guard.shown()
        self.frame()

    def frame(self) -> None:
        """Draw the lines around the panes."""
        session, saved = self.session, self.saved
        self._bar("header").paint(lambda width: [header_line(session, saved, width)])
        text, ink = self._status
        self._bar("status").paint(lambda width: [status_line(text, ink, width)])
        figures = self.figures
        self._bar("strip").paint(lambda width: strip_lines(figures, width))
        hints = footer_hints(self._now())
        self._bar("footer").paint(lambda width: [footer_line(hints, width)])

    def _bar(self, name: str) -> Bar:
        return self.query_one(f"#{name}", Bar)

    def _now(self) -> Now:
        session = self.session
        return Now(
            has_item=session.item is not None,
            hidden=session.hidden,
            blind=session.view.blind,
            deeper=self.panes.beside(1),
            back=self.panes.beside(-1),
        )

    def say(self, text: str, ink: str = Ink.TEXT) -> None:
        """One line about what just happened."""
        self._status = (text, ink)
        self._bar("status").paint(lambda width: [status_line(text, ink, width)])

    def lateness(self) -> float:
        """How many seconds the key in hand had waited before it was handled."""
        return cast("ReviewApp", self.app).lateness

    def save_mark(self, text: str) -> None:
        """Show the saved mark together with the figures that already count what was saved."""
        self.saved, self._unmarked = "", text

    def complain(self, error: ReviewDeskError) -> None:
        """An error as one line; nothing that was typed is lost."""
        self.say(inline(error, 1000), Ink.FAIL)

    # keys

    def action_do(self, name: str) -> None:
        """Carry out one action of the registry."""
        if name not in ACTIONS or (self.panes.tiny and name not in {"quit", "help"}):
            return
        try:
            self.hands.do(name)
        except ReviewDeskError as error:
            self.complain(error)

    def on_key(self, event: events.Key) -> None:
        """A printable key that is bound to nothing: perhaps the middle of a paste."""
        if event.is_printable and event.key not in self.active_bindings:
            self.guard.stray()

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        """The pane with the focus is where keys go."""
        if isinstance(event.widget, Widget) and event.widget.id:
            self.panes.entered(event.widget.id)
            self.frame()

    def on_row_chosen(self, message: RowChosen) -> None:
        """A click in the queue selects."""
        message.stop()
        try:
            self.sitting.show(message.index)
        except ReviewDeskError as error:
            self.complain(error)
        else:
            self.show()

    def on_failed(self, message: Failed) -> None:
        """A widget could not read its rows."""
        message.stop()
        self.complain(message.error)

    # the figures

    def recalibrate(self) -> None:
        """Ask for the figures; only the answer to the newest question is taken."""
        self._token += 1
        self.run_worker(
            partial(self._calibrate, self._token),
            name="calibration",
            group="calibration",
            thread=True,
            exclusive=True,
        )

    def _calibrate(self, token: int) -> None:
        found = read_figures(self.sitting.desk, self.session.run, token)
        if not get_current_worker().is_cancelled:
            self.post_message(Calibrated(found))

    def on_calibrated(self, message: Calibrated) -> None:
        """Take figures that answer the newest question."""
        message.stop()
        found = message.figures
        if found.token != self._token:
            return
        self.saved, self._unmarked = self._unmarked or self.saved, ""
        if found.error is not None:
            self.complain(found.error)
            self.frame()
            return
        self.figures = found.calibration
        self.frame()
        if self.session.item is None:
            self.show(keep=True)

    def _poll(self) -> None:
        try:
            if self.sitting.desk.changed():
                self.sitting.refresh()
                self.show(keep=True, rows=True)
                self.recalibrate()
        except ReviewDeskError as error:
            self.complain(error)
