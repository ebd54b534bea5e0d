"""The calibration screen: how far the labels so far show that the judge can be trusted."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical

from reviewdesk.app.controllers.calibration import PAGES, CalibrationPageKind
from reviewdesk.app.controllers.view import CalibrationState, ViewState
from reviewdesk.app.paint.document import document_lines
from reviewdesk.app.paint.styled import Lines, paragraph
from reviewdesk.app.screens.base import DeskScreen
from reviewdesk.app.screens.bindings import screen_bindings
from reviewdesk.app.theme.inks import Ink
from reviewdesk.app.widgets.lines import Pane
from reviewdesk.settings import Feedback
from reviewdesk.views import calibration, jurors, reliability, whatif
from reviewdesk.views.document import Document

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
        """Yield a scrolling pane for each page; one is in view."""
        with Vertical(id="body"):
            for page in PAGES:
                yield Pane(id=page.name)

    def pane(self, at: int) -> Pane:
        """Return the pane of the page with this index."""
        return self.query_one(f"#{PAGES[at].name}", Pane)

    def page_name(self, state: ViewState) -> str:
        """Return the number and the name of the page in view."""
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
        """Scroll the page."""
        if self.drawn is not None:
            pane = self.pane(_at(self.drawn))
            pane.move(int(by * pane.page) if pages else int(by))


def _at(state: ViewState) -> int:
    return state.page.at if isinstance(state.page, CalibrationState) else 0


def _facts(page: CalibrationPageKind, state: ViewState) -> tuple[object, tuple[object, ...]]:
    """Return what was read for a page, and how it is drawn."""
    shown, session = state.page, state.session
    if not isinstance(shown, CalibrationState):
        return None, ()
    how = shown.tables and page.table, page.targets and shown.target
    return shown.found.get(page.read_as), (*how, session.view.blind, session.withheld)


def page_lines(page: CalibrationPageKind, state: ViewState, width: int) -> Lines:
    """Return a page or, if there is nothing to show, why."""
    session, shown = state.session, state.page
    if session.withheld:
        never = session.feedback is Feedback.NEVER
        kept = "The figures are kept back, as your settings say (feedback = never)."
        text = kept if never else "The figures show when the queue is done."
        return paragraph(text, width, Ink.MUTED)
    if session.view.blind and page.hidden:
        return paragraph(page.hidden, width, Ink.NOTE)
    if not isinstance(shown, CalibrationState) or page.read_as not in shown.found:
        return paragraph(page.waiting, width, Ink.MUTED)
    view = _VIEWS["table" if page.table and shown.tables else page.name]
    if page.targets:
        view = partial(view, target=shown.target)
    return document_lines(view(shown.found[page.read_as], blind=session.view.blind), width)
