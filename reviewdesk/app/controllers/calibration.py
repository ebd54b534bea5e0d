"""The controller of the calibration screen: its pages, read in the background, and their drills."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from reviewdesk.app.controllers.core import CALIBRATION, Core
from reviewdesk.app.controllers.jobs import Job
from reviewdesk.app.controllers.requests import ChoiceForm
from reviewdesk.app.controllers.view import CalibrationState
from reviewdesk.desk import Desk
from reviewdesk.desk.figures.blockers import skipped
from reviewdesk.desk.figures.calibration import calibration_page
from reviewdesk.desk.figures.jurors import jurors_page
from reviewdesk.desk.figures.whatif import what_if
from reviewdesk.domain.records import Run
from reviewdesk.domain.stats.calibration_page import CalibrationPage, DrillDown, drill
from reviewdesk.domain.stats.diagram import bin_drills
from reviewdesk.domain.stats.figures import Target
from reviewdesk.errors import ReviewDeskError
from reviewdesk.views.document import Tone


class CalibrationPageKind(Struct, frozen=True):
    """One page. ``hidden`` tells a blind session why the page is not shown; it is not read then.

    ``drills`` finds the groups of verdicts behind its figures; ``table`` says that it can be drawn
    as a table; ``source`` names the page whose data it shares; ``targets`` that its intervals can
    also be those of such items.
    """

    name: str
    read: Callable[[Desk, Run], object]
    waiting: str
    hidden: str = ""
    drills: Callable[..., tuple[DrillDown, ...]] | None = None
    """Takes the result of ``read``, and whether the session is ``blind``."""
    table: bool = False
    source: str = ""
    targets: bool = False

    @property
    def read_as(self) -> str:
        """The page name under which the result of ``read`` is stored."""
        return self.source or self.name


def _figure_drills(found: CalibrationPage, *, blind: bool) -> tuple[DrillDown, ...]:
    del blind  # Labels, and panel answers to labelled items, are not hidden.
    return drill(found)


def _page(desk: Desk, run: Run) -> CalibrationPage:
    """Return the page with what a session tells of it that may turn blind."""
    return replace(calibration_page(desk, run), skipped=skipped(desk, run))


PAGES = (
    CalibrationPageKind(
        "figures", _page, "reading the labels …", drills=_figure_drills, targets=True
    ),
    CalibrationPageKind(
        "reliability",
        _page,
        "reading the labels …",
        drills=bin_drills,
        table=True,
        source="figures",
    ),
    CalibrationPageKind("jurors", jurors_page, "working out the jurors …", targets=True),
    CalibrationPageKind(
        "what-if",
        what_if,
        "working out what other rules would have decided …",
        hidden=(
            "Blind: what other rules would have decided rests on what the panel said of verdicts "
            "that have no label, so it is left out."
        ),
    ),
)


class CalibrationController:
    """Turns the pages; each is read when it is first shown; a count leads to its verdicts."""

    where = CALIBRATION

    def __init__(self, core: Core, use_filter: Callable[[str], None]) -> None:
        """Start on the first page; ``use_filter`` shows the verdicts of a filter."""
        self._core, self._use_filter = core, use_filter
        self._at, self._tables, self._target = 0, False, Target.RUN
        self._found: dict[str, object] = {}
        self._asked: set[str] = set()

    @property
    def verbs(self) -> dict[str, Callable[[], None]]:
        """The methods that carry out this controller's actions, by action id."""
        return {
            "drill": self._drill,
            "diagram.table": self._tabulate,
            "target.switch": self._switch_target,
            "section.next": partial(self.turn, 1),
            "section.previous": partial(self.turn, -1),
        }

    @property
    def page(self) -> CalibrationPageKind:
        """The page in view."""
        return PAGES[self._at]

    @property
    def shown(self) -> object:
        """The page in view, and whether it has been read."""
        return self._at, self.page.read_as in self._found

    @property
    def state(self) -> CalibrationState:
        """What the screen draws."""
        return CalibrationState(self._at, self._tables, self._target, dict(self._found))

    def hints(self) -> Mapping[str, object]:
        """Return the footer's actions: turn the page, drill down, change the view, go back."""
        following = PAGES[(self._at + 1) % len(PAGES)]
        wanted = ("explain", "leave", "screen.runs", "help", "quit", "command")
        drills, blind = bool(self._drills()), self._core.session.view.blind
        table = self.page.table and ("as a diagram" if self._tables else "as a table")
        other = Target.RUN if self._target is Target.ITEMS else Target.ITEMS
        own = {"section.next": following.name, "drill": drills, "diagram.table": table}
        own |= {"target.switch": self.page.targets and not blind and other.value}
        return own | dict.fromkeys(wanted, True)

    def arrived(self) -> None:
        """Keep the figures as they were read."""

    def turn(self, by: int) -> None:
        """Turn ``by`` pages, going round at the ends; a page is read when it is first shown."""
        self._at = (self._at + by) % len(PAGES)
        if self.page.read_as not in self._asked:
            self._read(self.page)
        self._core.calm()

    def _read(self, page: CalibrationPageKind) -> None:
        """Read a page in the background, unless the session hides it."""
        core, run = self._core, self._core.session.run
        if core.session.withheld or (core.session.view.blind and page.hidden):
            return
        self._asked.add(page.read_as)

        def ended(found: object, error: ReviewDeskError | None) -> None:
            if core.page is not self:
                return
            if error is not None:
                core.complain(error)
            elif found is not None:
                self._found[page.read_as] = found

        work = partial(_read_page, page, run)
        core.jobs.runner.start(Job(f"page {page.read_as}", work, ended, fault="no figures"))

    def _tabulate(self) -> None:
        """Switch between diagram and table; on a page without them, turn to the one with both."""
        if self.page.table:
            self._tables = not self._tables
        else:
            self.turn(next(at for at, page in enumerate(PAGES) if page.table) - self._at)

    def _switch_target(self) -> None:
        """Switch between the intervals of this run and those of such items."""
        self._target = Target.RUN if self._target is Target.ITEMS else Target.ITEMS

    # from a figure to its verdicts

    def _drills(self) -> tuple[DrillDown, ...]:
        """Return the groups of verdicts behind the page in view; none until it has been read."""
        found, session = self._found.get(self.page.read_as), self._core.session
        if found is None or self.page.drills is None or session.withheld:
            return ()
        return self.page.drills(found, blind=session.view.blind)

    def _drill(self) -> None:
        core = self._core
        if not self.page.drills:
            return
        if self.page.read_as not in self._found or core.session.withheld:
            core.say_here("there are no figures to look behind yet")
            return
        drills = self._drills()
        if not drills:
            kept = "blind: which verdicts these are would tell of the panel"
            none = "no label makes a row yet: no verdict is behind it"
            core.say_here(kept if core.session.view.blind else none, Tone.TEXT)
            return

        def chosen(place: int | None) -> None:
            if place is not None:
                self._use_filter(drills[place].filter)

        titles = [f"{entry.count:>5,}  {entry.title}   {entry.filter}" for entry in drills]
        core.ask(ChoiceForm("The verdicts behind a figure", titles), chosen)


def _read_page(page: CalibrationPageKind, run: Run, desk: Desk, _report: object) -> object:
    return page.read(desk, run)
