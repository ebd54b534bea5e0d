"""The calibration screen: how far the labels so far show that the judge can be trusted."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.worker import get_current_worker

from reviewdesk.app.keys.actions import screen_bindings
from reviewdesk.app.messages import PageRead
from reviewdesk.app.paint.frame import page_header
from reviewdesk.app.paint.styled import Lines, paragraph
from reviewdesk.app.screens.base import DeskScreen
from reviewdesk.app.screens.choice import ChoiceDialog
from reviewdesk.app.theme.inks import Ink
from reviewdesk.app.widgets.lines import Pane
from reviewdesk.app.workers.calibration_pages import PAGES, CalibrationPageKind
from reviewdesk.app.workers.figures import read_page
from reviewdesk.domain.stats.calibration_page import DrillDown
from reviewdesk.domain.stats.figures import Target
from reviewdesk.settings import Feedback


class CalibrationScreen(DeskScreen):
    """Pages of figures, each read when it is first shown; a count leads to its verdicts."""

    where = "calibration"
    DEFAULT_CSS = "CalibrationScreen Pane { height: 1fr; }"
    BINDINGS: ClassVar[list[BindingType]] = [*screen_bindings("calibration")]

    def __init__(self) -> None:
        """Start without figures: a worker reads them."""
        super().__init__()
        self.verbs["drill"] = self._drill
        self.verbs["diagram.table"] = self._tabulate
        self.verbs["target.switch"] = self._switch_target
        self.verbs["section.next"] = partial(self.turn, 1)
        self.verbs["section.previous"] = partial(self.turn, -1)
        self._at = 0
        self._tables = False
        self._target = Target.RUN
        self._found: dict[str, object] = {}
        self._asked: dict[str, int] = {}
        """The token of the newest request, by the page's ``read_as``."""
        self._token = 0

    def body(self) -> ComposeResult:
        """Yield a scrolling pane for each page, so that each keeps its place; one is in view."""
        with Vertical(id="body"):
            for page in PAGES:
                yield Pane(id=page.name)

    def on_mount(self) -> None:
        """Show the first page."""
        self.fit(self.app.size)
        for page in PAGES:
            self._pane_of(page).paint(partial(self._lines, page))
        self.turn(0)

    @property
    def page(self) -> CalibrationPageKind:
        """The page in view."""
        return PAGES[self._at]

    @property
    def _pane(self) -> Pane:
        return self._pane_of(self.page)

    def _pane_of(self, page: CalibrationPageKind) -> Pane:
        return self.query_one(f"#{page.name}", Pane)

    def header(self, width: int) -> Content:
        """Return the header: the run under review and the page in view."""
        session, jobs = self.desk_app.review_session.session, self.desk_app.jobs.text
        title = f"Calibration {self._at + 1}/{len(PAGES)} {self.page.name}"
        return page_header(title, session, jobs, width)

    def hints(self) -> Mapping[str, object]:
        """Return the footer's actions: turn the page, drill down, change the view, go back."""
        following = PAGES[(self._at + 1) % len(PAGES)]
        wanted = ("leave", "screen.runs", "help", "quit", "command")
        drills, blind = bool(self._drills()), self.desk_app.review_session.session.view.blind
        table = self.page.table and ("as a diagram" if self._tables else "as a table")
        other = Target.RUN if self._target is Target.ITEMS else Target.ITEMS
        own = {"section.next": following.name, "drill": drills, "diagram.table": table}
        own |= {"target.switch": self.page.targets and not blind and other.value}
        return own | dict.fromkeys(wanted, True)

    @property
    def _withheld(self) -> bool:
        return self.desk_app.review_session.session.withheld

    def _lines(self, page: CalibrationPageKind, width: int) -> Lines:
        session = self.desk_app.review_session.session
        if session.withheld:
            never = session.feedback is Feedback.NEVER
            kept = "The figures are kept back, as your settings say (feedback = never)."
            text = kept if never else "The figures show when the queue is done."
            return paragraph(text, width, Ink.MUTED)
        if session.view.blind and page.hidden:
            return paragraph(page.hidden, width, Ink.NOTE)
        if page.read_as not in self._found:
            return paragraph(page.waiting, width, Ink.MUTED)
        draw = page.table if page.table and self._tables else page.draw
        if page.targets:
            draw = partial(draw, target=self._target)
        return draw(self._found[page.read_as], width, blind=session.view.blind)

    def move(self, by: float, *, pages: bool = False) -> None:
        """Scroll the page."""
        self._pane.move(int(by * self._pane.page) if pages else int(by))

    def turn(self, by: int) -> None:
        """Turn ``by`` pages, going round at the ends; a page is read when it is first shown."""
        self._at = (self._at + by) % len(PAGES)
        for page in PAGES:
            self._pane_of(page).display = page is self.page
        self.set_focus(self._pane)
        if self.page.read_as not in self._asked:
            self.refresh_figures()
        self.calm()
        self.frame()

    def _tabulate(self) -> None:
        """Switch between diagram and table; on a page without them, turn to the one with both."""
        if not self.page.table:
            self.turn(next(at for at, page in enumerate(PAGES) if page.table) - self._at)
            return
        self._tables = not self._tables
        self._pane.paint(partial(self._lines, self.page))
        self.frame()

    def _switch_target(self) -> None:
        """Switch between the intervals of this run and those of such items."""
        self._target = Target.RUN if self._target is Target.ITEMS else Target.ITEMS
        for page in PAGES:
            self._pane_of(page).paint(partial(self._lines, page))
        self.frame()

    # the figures

    def refresh_figures(self) -> None:
        """Read the page anew in a worker; only the answer to the newest request is shown."""
        session, page = self.desk_app.review_session.session, self.page
        if session.withheld or (session.view.blind and page.hidden):
            return
        self._token += 1
        self._asked[page.read_as] = self._token
        self.run_worker(
            partial(self._read, page, self._token),
            name="page",
            group=page.read_as,
            thread=True,
            exclusive=True,
        )

    def _read(self, page: CalibrationPageKind, token: int) -> None:
        review_session = self.desk_app.review_session
        found = read_page(review_session.desk, review_session.session.run, token, page.read)
        if not get_current_worker().is_cancelled:
            self.post_message(PageRead(found))

    def on_page_read(self, message: PageRead) -> None:
        """Draw the figures if they answer the newest request of their page."""
        message.stop()
        found = message.judged
        pages = [page for page in PAGES if self._asked.get(page.read_as) == found.token]
        if not pages or not self.ready:
            return
        if found.error is not None:
            self.complain(found.error)
        elif found.page is not None:
            self._found[pages[0].read_as] = found.page
        for page in pages:
            self._pane_of(page).paint(partial(self._lines, page), keep=True)
        self.frame()

    # from a figure to its verdicts

    @property
    def shown(self) -> object:
        """The page in view, and whether it has been read."""
        return self._at, self.page.read_as in self._found

    def _drills(self) -> tuple[DrillDown, ...]:
        """Return the groups of verdicts behind the page in view; none until it has been read."""
        found = self._found.get(self.page.read_as)
        if found is None or self.page.drills is None or self._withheld:
            return ()
        return self.page.drills(found, blind=self.desk_app.review_session.session.view.blind)

    def _drill(self) -> None:
        if not self.page.drills:
            return
        if self.page.read_as not in self._found or self._withheld:
            self.say_here("there are no figures to look behind yet")
            return
        drills = self._drills()
        if not drills:
            blind = self.desk_app.review_session.session.view.blind
            kept = "blind: which verdicts these are would tell of the panel"
            none = "no label makes a row yet: no verdict is behind it"
            self.say_here(kept if blind else none, Ink.TEXT)
            return

        def chosen(place: int | None) -> None:
            if place is not None:
                self.desk_app.controller.run(f"filter {drills[place].filter}")

        titles = [f"{entry.count:>5,}  {entry.title}   {entry.filter}" for entry in drills]
        self.desk_app.ask(ChoiceDialog("The verdicts behind a figure", titles), chosen)
