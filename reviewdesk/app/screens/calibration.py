"""How far the judge can be trusted, by the labels so far."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.worker import get_current_worker

from reviewdesk.app.actions import screen_bindings
from reviewdesk.app.figures import read_page
from reviewdesk.app.messages import Judged, PageRead
from reviewdesk.app.paint import Lines, paragraph
from reviewdesk.app.paint_calibration import calibration_lines
from reviewdesk.app.paint_frame import page_header
from reviewdesk.app.screens.base import DeskScreen
from reviewdesk.app.screens.choice import Choice
from reviewdesk.app.themes import Ink
from reviewdesk.app.widgets.lines import Pane
from reviewdesk.domain.judgement import CalibrationPage, drill
from reviewdesk.settings import Feedback


class CalibrationScreen(DeskScreen):
    """Every figure with its design, and the way from a count to the verdicts behind it."""

    where = "calibration"
    BINDINGS: ClassVar[list[BindingType]] = [*screen_bindings("calibration")]

    def __init__(self) -> None:
        """Start without figures: a worker brings them."""
        super().__init__()
        self.verbs["drill"] = self._drill
        self._page: CalibrationPage | None = None
        self._token = 0

    def body(self) -> ComposeResult:
        """One scrolling page."""
        with Vertical(id="body"):
            yield Pane(id="calibration")

    def on_mount(self) -> None:
        """Ask for the figures."""
        self.fit(self.app.size)
        self._pane.paint(self._lines)
        self.set_focus(self._pane)
        self.refresh_figures()
        self.frame()

    @property
    def _pane(self) -> Pane:
        return self.query_one("#calibration", Pane)

    def header(self, width: int) -> Content:
        """Which run's judge this is."""
        session, jobs = self.desk_app.sitting.session, self.desk_app.jobs.text
        return page_header("Calibration", session, jobs, width)

    def hints(self) -> Mapping[str, object]:
        """Moving, drilling down and going back."""
        ready = self._page is not None and not self._withheld
        wanted = ("leave", "screen.runs", "help", "quit", "command")
        return {"drill": ready} | dict.fromkeys(wanted, True)

    @property
    def _withheld(self) -> bool:
        return self.desk_app.sitting.session.withheld

    def _lines(self, width: int) -> Lines:
        session = self.desk_app.sitting.session
        if session.withheld:
            never = session.feedback is Feedback.NEVER
            kept = "The figures are kept back, as your settings say (feedback = never)."
            text = kept if never else "The figures show when the queue is done."
            return paragraph(text, width, Ink.MUTED)
        if self._page is None:
            return paragraph("reading the labels …", width, Ink.MUTED)
        return calibration_lines(self._page, width, blind=session.view.blind)

    def move(self, by: float, *, pages: bool = False) -> None:
        """Scroll the page."""
        self._pane.move(int(by * self._pane.page) if pages else int(by))

    # the figures

    def refresh_figures(self) -> None:
        """Read the page anew; only the answer to the newest question is taken."""
        self._token += 1
        self.run_worker(
            partial(self._read, self._token),
            name="page",
            group="page",
            thread=True,
            exclusive=True,
        )

    def _read(self, token: int) -> None:
        sitting = self.desk_app.sitting
        found = read_page(sitting.desk, sitting.session.run, token)
        if not get_current_worker().is_cancelled:
            self.post_message(PageRead(found))

    def on_page_read(self, message: PageRead) -> None:
        """Draw the figures that answer the newest question."""
        message.stop()
        found: Judged = message.judged
        if found.token != self._token or not self.ready:
            return
        if found.error is not None:
            self.complain(found.error)
        else:
            self._page = found.page
        self._pane.paint(self._lines, keep=True)
        self.frame()

    # from a figure to its verdicts

    def _drill(self) -> None:
        if self._page is None or self._withheld:
            self.say("there are no figures to look behind yet", Ink.MUTED)
            return
        drills = drill(self._page)
        if not drills:
            self.say(
                "no pass or fail label yet, so there are no verdicts behind a figure", Ink.MUTED
            )
            return

        def chosen(place: int | None) -> None:
            if place is not None:
                self.desk_app.hands.run(f"filter {drills[place].filter}")

        titles = [f"{entry.count:>5,}  {entry.title}   {entry.filter}" for entry in drills]
        self.desk_app.ask(Choice("The verdicts behind a figure", titles), chosen)
