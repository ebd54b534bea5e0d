"""The screens in front of the review: calibration and runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container, Vertical

from reviewdesk.app.controllers.pages import (
    PAGES,
    CalibrationController,
    CalibrationPageKind,
    RunsController,
)
from reviewdesk.app.controllers.state import ViewState
from reviewdesk.app.paint.document import document_lines
from reviewdesk.app.paint.rows import run_head, run_row
from reviewdesk.app.paint.styled import Lines, paragraph
from reviewdesk.app.screens.base import DeskScreen, screen_bindings
from reviewdesk.app.theme.inks import Ink
from reviewdesk.app.widgets.lines import Pane
from reviewdesk.settings import Feedback
from reviewdesk.views import calibration, jurors, reliability, whatif
from reviewdesk.views.document import Document
from reviewdesk.views.run import run

_VIEWS: Mapping[str, Callable[..., Document]] = {
    "figures": calibration.calibration,
    "reliability": reliability.reliability,
    "jurors": jurors.jurors,
    # A blind session does not read this page.
    "what-if": lambda found, **_: whatif.what_if(found),
    "table": partial(reliability.reliability, as_table=True),
}
"""Each takes what a page read, and ``blind``; those with targets also ``target``."""


class CalibrationScreen(DeskScreen):
    """Draws a page of figures; every page keeps its place."""

    where = "calibration"
    DEFAULT_CSS = "CalibrationScreen Pane { height: 1fr; }"
    BINDINGS: ClassVar[list[BindingType]] = [*screen_bindings("calibration")]

    def body(self) -> ComposeResult:
        with Vertical(id="body"):
            for page in PAGES:
                yield Pane(id=page.name)

    def pane(self, at: int) -> Pane:
        return self.query_one(f"#{PAGES[at].name}", Pane)

    def page_name(self, state: ViewState) -> str:
        at = _at(state)
        return f"Calibration {at + 1}/{len(PAGES)} {PAGES[at].name}"

    def draw_body(self, state: ViewState, before: ViewState | None) -> None:
        """Draw the pages that differ; new figures leave a page where it was scrolled."""
        for at, page in enumerate(PAGES):
            found, how = _facts(page, state)
            drawn = None if before is None else _facts(page, before)
            if drawn is None or drawn[0] is not found or drawn[1] != how:
                painter = partial(page_lines, page, state)
                self.pane(at).paint(painter, keep=drawn is not None and drawn[1] == how)
        if (at := _at(state)) != (None if before is None else _at(before)):
            for other in range(len(PAGES)):
                self.pane(other).display = other == at
            self.set_focus(self.pane(at))

    def move(self, by: float, *, pages: bool = False) -> None:
        if self.drawn is not None:
            pane = self.pane(_at(self.drawn))
            pane.move(int(by * pane.page) if pages else int(by))


def _at(state: ViewState) -> int:
    return state.page.at if isinstance(state.page, CalibrationController) else 0


def _facts(page: CalibrationPageKind, state: ViewState) -> tuple[object, tuple[object, ...]]:
    """Return what was read for a page, and how it is drawn."""
    shown = state.page
    session = state.session
    if not isinstance(shown, CalibrationController):
        return None, ()
    how = shown.tables and page.table, page.targets and shown.target, page.layers and shown.full
    return shown.found.get(page.read_as), (*how, session.view.blind, session.withheld)


def page_lines(page: CalibrationPageKind, state: ViewState, width: int) -> Lines:
    """Return a page or, if there is nothing to show, why."""
    session = state.session
    shown = state.page
    if session.withheld:
        never = session.feedback is Feedback.NEVER
        kept = "The figures are kept back, as your settings say (feedback = never)."
        text = kept if never else "The figures show when the queue is done."
        return paragraph(text, width, Ink.MUTED)
    if session.view.blind and page.hidden:
        return paragraph(page.hidden, width, Ink.NOTE)
    if not isinstance(shown, CalibrationController) or page.read_as not in shown.found:
        return paragraph(page.waiting, width, Ink.MUTED)
    view = _VIEWS["table" if page.table and shown.tables else page.name]
    if page.targets:
        view = partial(view, target=shown.target)
    if page.layers:
        view = partial(view, full=shown.full)
    return document_lines(view(shown.found[page.read_as], blind=session.view.blind), width)


WIDE = 120


class RunsScreen(DeskScreen):
    """Draws a list of runs, and the details of the one under the cursor."""

    where = "runs"
    DEFAULT_CSS = """
    RunsScreen #body { layout: vertical; }
    RunsScreen #list { max-height: 40%; }
    RunsScreen #details { height: 1fr; border-top: solid $desk-rule; }
    RunsScreen.-wide #body { layout: horizontal; }
    RunsScreen.-wide #list { width: 45%; max-height: 100%; }
    RunsScreen.-wide #details { height: 1fr; border-top: none; border-left: solid $desk-rule; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [*screen_bindings("runs")]

    def body(self) -> ComposeResult:
        with Container(id="body"):
            yield Pane(id="list")
            yield Pane(id="details")

    @property
    def _list(self) -> Pane:
        return self.query_one("#list", Pane)

    @property
    def _details(self) -> Pane:
        return self.query_one("#details", Pane)

    def page_name(self, state: ViewState) -> str:
        del state
        return "Runs"

    def draw_body(self, state: ViewState, before: ViewState | None) -> None:
        """Draw list and details, side by side on a wide terminal."""
        page = state.page
        last = None if before is None else before.page
        if not isinstance(page, RunsController):
            return
        wide = state.panes.width >= WIDE
        self.set_class(wide, "-wide")
        # Below each other, the list leaves the details what it does not need.
        self._list.styles.height = "1fr" if wide else len(page.runs) + 2
        if not isinstance(last, RunsController) or last.reading is not page.reading:
            self.set_focus(self._details if page.reading else self._list)
        if not isinstance(last, RunsController) or _content(last) != _content(page):
            self._list.paint(partial(_rows, state, page), keep=True)
            self._details.paint(partial(_details, state, page), keep=True)
            self._follow(page.cursor + 1)

    def _follow(self, line: int) -> None:
        """Keep the cursor in view."""
        top = self._list.scroll_offset.y
        height = self._list.page
        if line <= top:
            self._list.go(line - 1)
        elif line >= top + height:
            self._list.go(line - height + 1)

    def move(self, by: float, *, pages: bool = False) -> None:
        """Move through the runs, or scroll the details where they have the keys."""
        reading = self.focused is self._details
        pane = self._details if reading else self._list
        lines = int(by * pane.page) if pages else int(by)
        if reading:
            pane.move(lines)
        else:
            self.front.act(partial(self.front.controller.step, lines))

    def on_click(self, event: events.Click) -> None:
        if event.widget is self._list:
            index = event.y + self._list.scroll_offset.y - 1
            self.front.act(partial(self.front.controller.choose_row, index))

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        """Give the keys to the list or to the details, whichever got the focus."""
        # The focus may have moved on since the event.
        reading = event.widget is self._details
        if event.widget is self.focused:
            self.front.act(partial(self.front.controller.focus_details, reading))


def _content(page: RunsController) -> tuple[object, ...]:
    return page.runs, page.cursor, page.details


def _rows(state: ViewState, page: RunsController, width: int) -> Lines:
    blind = state.session.view.blind
    reviewed = state.session.run.hash
    rows = [
        run_row(row, width, current=i == page.cursor, chosen=row.run.hash == reviewed, blind=blind)
        for i, row in enumerate(page.runs)
    ]
    return [run_head(width, blind=blind), *rows]


def _details(state: ViewState, page: RunsController, width: int) -> Lines:
    if page.details is None:
        return []
    return document_lines(run(page.details, blind=state.session.view.blind), width)
