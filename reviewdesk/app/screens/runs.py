"""The screen of the loaded runs: their list, and the details of the one under the cursor."""

from __future__ import annotations

from functools import partial
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container

from reviewdesk.app.controllers.view import RunsState, ViewState
from reviewdesk.app.paint.document import document_lines
from reviewdesk.app.paint.runs import run_head, run_row
from reviewdesk.app.paint.styled import Lines
from reviewdesk.app.screens.base import DeskScreen
from reviewdesk.app.screens.bindings import screen_bindings
from reviewdesk.app.widgets.lines import Pane
from reviewdesk.views.run import run

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
        """Yield the list of runs and the details of one."""
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
        """Return the name of the screen."""
        del state
        return "Runs"

    def draw_body(self, state: ViewState, before: ViewState | None) -> None:
        """Draw list and details, side by side on a wide terminal."""
        page, last = state.page, None if before is None else before.page
        if not isinstance(page, RunsState):
            return
        wide = state.panes.width >= WIDE
        self.set_class(wide, "-wide")
        # Below each other, the list leaves the details what it does not need.
        self._list.styles.height = "1fr" if wide else len(page.runs) + 2
        if not isinstance(last, RunsState) or last.reading is not page.reading:
            self.set_focus(self._details if page.reading else self._list)
        if not isinstance(last, RunsState) or last.content != page.content:
            self._list.paint(partial(_rows, state, page), keep=True)
            self._details.paint(partial(_details, state, page), keep=True)
            self._follow(page.cursor + 1)

    def _follow(self, line: int) -> None:
        """Keep the cursor in view."""
        top, height = self._list.scroll_offset.y, self._list.page
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
        """Choose the clicked run."""
        if event.widget is self._list:
            index = event.y + self._list.scroll_offset.y - 1
            self.front.act(partial(self.front.controller.choose_row, index))

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        """Give the keys to the list or to the details, whichever got the focus."""
        # The focus may have moved on since the event.
        reading = event.widget is self._details
        if event.widget is self.focused:
            self.front.act(partial(self.front.controller.focus_details, reading))


def _rows(state: ViewState, page: RunsState, width: int) -> Lines:
    blind, reviewed = state.session.view.blind, state.session.run.hash
    rows = [
        run_row(row, width, current=i == page.cursor, chosen=row.run.hash == reviewed, blind=blind)
        for i, row in enumerate(page.runs)
    ]
    return [run_head(width, blind=blind), *rows]


def _details(state: ViewState, page: RunsState, width: int) -> Lines:
    if page.details is None:
        return []
    return document_lines(run(page.details, blind=state.session.view.blind), width)
