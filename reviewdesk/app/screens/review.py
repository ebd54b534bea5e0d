"""The main screen: queue, item and jury, with the header, the strip and the footer around them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.geometry import Size
from textual.widget import Widget

from reviewdesk.app.controllers.label_guard import LabelGuard
from reviewdesk.app.controllers.labeller import Labeller
from reviewdesk.app.controllers.review import ReviewController
from reviewdesk.app.controllers.review_session import ReviewSession
from reviewdesk.app.controllers.session import Session
from reviewdesk.app.keys.actions import review_hints, screen_bindings
from reviewdesk.app.messages import CalibrationFinished, PaintFailed, RowChosen
from reviewdesk.app.paint.frame import header_line, strip_lines
from reviewdesk.app.screens.base import DeskScreen
from reviewdesk.app.screens.meter import StripMeter
from reviewdesk.app.screens.panes import Panes
from reviewdesk.app.texts.reading import ReadingOptions
from reviewdesk.app.widgets.lines import Bar, Pane
from reviewdesk.app.widgets.queue_list import QueueList
from reviewdesk.app.workers.rerun import OpenRerun
from reviewdesk.domain.records import QueueRow
from reviewdesk.errors import ReviewDeskError

POLL = 1.0
"""Seconds between two checks whether another process wrote to the desk."""


class ReviewScreen(DeskScreen):
    """Connects the review session, which knows the desk, with the widgets, which only draw."""

    where = "review"
    has_strip = True
    DEFAULT_CSS = """
    .column { height: 1fr; width: 1fr; }
    .column > Bar { background: $desk-bar; }
    .column > Pane, .column > QueueList { height: 1fr; background: $background; }
    ReviewScreen.-wide #queue-column { width: 30%; min-width: 45; }
    ReviewScreen.-wide #item-column { border-left: solid $desk-rule; }
    ReviewScreen.-wide #jury-column { width: 1.25fr; border-left: solid $desk-rule; }
    ReviewScreen.-zoomed .column { width: 100%; border-left: none; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [*screen_bindings("review")]

    def __init__(self, review_session: ReviewSession, guard: LabelGuard, notice: str) -> None:
        """Show a review session. ``notice`` is the first text of the status line."""
        super().__init__(notice)
        self.review_session = review_session
        self.labeller = Labeller(review_session)
        self.guard = guard
        self.panes = Panes(self)
        self.controller = ReviewController(self)
        self.verbs |= self.controller.verbs
        self.meter = StripMeter(self)
        self.reading = ReadingOptions()

    @property
    def session(self) -> Session:
        """The frozen state of the review session."""
        return self.review_session.session

    @property
    def shown(self) -> object:
        """The run, the item (``None`` without one), and whether the item can be read."""
        item = self.session.item
        return self.session.run.key, item and item.row.key, self.panes.readable

    def sit(self, review_session: ReviewSession, notice: str = "") -> None:
        """Show another review session, or the same one at another item."""
        if review_session is not self.review_session:
            self.review_session, self.labeller = review_session, Labeller(review_session)
            self.meter.clear()
            self.say(notice)
            self.recalibrate()
            if not self.panes.wide and self.panes.current == "jury":
                self.panes.choose("item")
        self.show(rows=True)

    def body(self) -> ComposeResult:
        """Yield the three columns."""
        with Horizontal(id="body"):
            with Vertical(id="queue-column", classes="column"):
                yield Bar(id="queue-title")
                yield QueueList(self._rows, id="queue")
            for name in ("item", "jury"):
                with Vertical(id=f"{name}-column", classes="column"):
                    yield Bar(id=f"{name}-title")
                    yield Pane(id=name)

    def on_mount(self) -> None:
        """Show the first item, ask for the figures, and make the texts searchable."""
        self.fit(self.app.size)
        self.show()
        self.recalibrate()
        self.desk_app.jobs.index(self.session.run)
        self.set_interval(POLL, self._poll)

    def on_screen_resume(self) -> None:
        """Restart the guard's wait, because the item has come back into view."""
        self.guard.shown()

    def fit(self, size: Size) -> None:
        """Show three panes, one or none, as the terminal allows; no state is lost."""
        super().fit(size)
        self.panes.fit(size)

    def _rows(self, keys: Sequence[int]) -> list[QueueRow]:
        """Return queue rows from the session of the moment, because the list outlives a session."""
        return self.review_session.rows(keys)

    # drawing

    def header(self, width: int) -> Content:
        """Return the header: run, mode, progress, filter, order, background jobs, saved mark."""
        return header_line(self.session, self.meter.saved, self.desk_app.jobs.text, width)

    def show(self, *, keep: bool = False, rows: bool = False, find: bool = False) -> None:
        """Draw the current item; ``keep`` leaves texts scrolled, ``rows`` reads the list again.

        ``find`` scrolls to the first hit of the search.
        """
        if not keep:
            self.reading = replace(self.reading, page=0)
        found = self.session.found
        self.reading = replace(self.reading, find=found.words if found else ())
        self.panes.paint(keep=keep, rows=rows)
        if find:
            self.panes.seek(self.reading.find)
        if not keep:
            self.guard.shown()
        self.frame()

    def read(self, reading: ReadingOptions) -> None:
        """Redraw the item's texts with other reading options."""
        turned = reading.page != self.reading.page
        self.reading = reading
        self.panes.paint(keep=not turned, rows=False)
        self.frame()

    def frame(self) -> None:
        """Draw the lines around the panes."""
        super().frame()
        if self.ready:
            session, figures, alone = self.session, self.meter.figures, self.meter.alone
            self.bar("strip").paint(lambda width: strip_lines(session, figures, alone, width))

    def hints(self) -> Mapping[str, object]:
        """Return the actions that the footer offers for the current item and pane."""
        panes = self.panes
        deeper, back = panes.beside(1), panes.beside(-1)
        return review_hints(self.session, deeper, back, readable=panes.readable)

    def move(self, by: float, *, pages: bool = False) -> None:
        """Move through the list, or scroll the pane that has the keys."""
        widget = self.panes.focused
        lines = int(by * widget.page) if pages else int(by)
        if isinstance(widget, QueueList):
            self.controller.step(lines)
        else:
            widget.move(lines)

    def asked(self, running: OpenRerun | None) -> None:
        """Redraw the jury for a re-run that began or got a ballot, if its item is in view."""
        item = self.session.item
        if self.ready and item is not None and running and running.key == item.row.key:
            try:
                self.panes.again()
            except ReviewDeskError as error:
                self.complain(error)

    # events

    def on_key(self, event: events.Key) -> None:
        """Tell the guard about a printable key without an action, which may be part of a paste."""
        if event.is_printable and event.key not in self.active_bindings:
            self.guard.stray()

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        """Give the keys to the pane that got the focus."""
        if isinstance(event.widget, Widget) and event.widget.id:
            self.panes.entered(event.widget.id)
            self.frame()

    def on_row_chosen(self, message: RowChosen) -> None:
        """Show the item whose line was clicked."""
        message.stop()
        try:
            self.review_session.show(message.index)
        except ReviewDeskError as error:
            self.complain(error)
        else:
            self.show()

    def on_paint_failed(self, message: PaintFailed) -> None:
        """Show the error of a widget that could not be painted."""
        message.stop()
        self.complain(message.error)

    # the figures

    def recalibrate(self) -> None:
        """Read the strip's figures anew, in a worker."""
        self.meter.ask()

    def on_calibration_finished(self, message: CalibrationFinished) -> None:
        """Draw the figures if they answer the newest request."""
        message.stop()
        if not self.meter.take(message.figures):
            return
        if message.figures.error is not None:
            self.complain(message.figures.error)
        self.panes.titles()
        self.frame()
        if self.session.item is None:
            self.show(keep=True)

    def _poll(self) -> None:
        if self.abandoned:
            self.desk_app.action_close_desk()
            return
        try:
            if self.review_session.desk.changed():
                self.review_session.refresh()
                self.show(keep=True, rows=True)
                self.recalibrate()
        except ReviewDeskError as error:
            self.complain(error)
