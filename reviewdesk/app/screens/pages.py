"""The screens that cover the review: calibration and runs."""

from functools import partial
from typing import Any

from textual import events
from textual.app import ComposeResult
from textual.containers import Container

from reviewdesk.app.controllers.pages import CalibrationController, RunsController
from reviewdesk.app.controllers.review import ReviewController
from reviewdesk.app.paint.document import document_lines
from reviewdesk.app.screens.review import DeskScreen
from reviewdesk.app.widgets.lines import Pane


class CalibrationScreen(DeskScreen):
    """Draws a page of figures."""

    where = "calibration"

    def __init__(self, front: Any) -> None:
        super().__init__(front)
        self._how: tuple[object, ...] = ()
        self._full = False
        """Whether the second layer is drawn. The key that adds it scrolls to it."""

    def body(self) -> ComposeResult:
        yield Pane(id="body")

    def draw_body(self, controller: ReviewController) -> None:
        """Draw the page in view; new figures leave it where it was scrolled."""
        page: CalibrationController = controller.page
        pane = self.query_one(Pane)
        added = page.full and not self._full
        pane.paint(partial(document_lines, page.document()), keep=added or self._how == page.how)
        self._how = page.how
        self._full = page.full
        if added:
            pane.jump(1)
        self.set_focus(pane)

    def move(self, by: float, *, pages: bool = False) -> None:
        pane = self.query_one(Pane)
        pane.move(int(by * pane.page) if pages else int(by))


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

    _cursor = -1

    def body(self) -> ComposeResult:
        with Container(id="body"):
            yield Pane(id="list")
            yield Pane(id="details")

    def draw_body(self, controller: ReviewController) -> None:
        page: RunsController = controller.page
        wide = controller.panes.width >= WIDE
        self.set_class(wide, "-wide")
        panes = self.query(Pane)
        runs = panes.first()
        # Below each other, the list leaves the details what it does not need.
        runs.styles.height = "1fr" if wide else len(page.runs) + 2
        if self.focused is None:
            self.set_focus(runs)
        for pane, document in zip(panes, page.documents(), strict=True):
            pane.paint(partial(document_lines, document), keep=True)
        if self._cursor != page.cursor:
            self._cursor = page.cursor
            # The first line is the head, which the first run brings into view.
            runs.reveal(page.cursor + bool(page.cursor))

    def move(self, by: float, *, pages: bool = False) -> None:
        """Move through the runs by lines, and scroll the details by pages."""
        if pages:
            details = self.query_one("#details", Pane)
            details.move(int(by * details.page))
        else:
            self.front.act(self.front.controller.step, int(by))

    def on_click(self, event: events.Click) -> None:
        if isinstance(event.widget, Pane) and event.widget.id == "list":
            index = event.y + event.widget.scroll_offset.y - 1
            self.front.act(self.front.controller.choose_row, index)
