"""The controllers of the screens that cover the review: calibration, runs, and two panels."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from msgspec import Struct

from reviewdesk.app.controllers.core import CALIBRATION, RUNS, Core
from reviewdesk.app.controllers.queue import use
from reviewdesk.app.controllers.state import (
    SCROLLS_AND_CLOSES,
    TWO_COLUMNS,
    DialogPage,
    choice,
    one_page,
)
from reviewdesk.desk.core import Desk
from reviewdesk.desk.figures.calibration import calibration_page
from reviewdesk.desk.figures.jurors import jurors_page, panel_comparison
from reviewdesk.desk.figures.whatif import what_if
from reviewdesk.desk.review.items import flips
from reviewdesk.desk.review.runs import overview, run_details
from reviewdesk.domain.jurors.panels import PanelComparison, panel_drills
from reviewdesk.domain.records import Run
from reviewdesk.domain.run.details import RunDetails, RunLine
from reviewdesk.domain.safetext import show_line
from reviewdesk.domain.stats.calibration_page import DrillDown, bin_drills, drill
from reviewdesk.domain.stats.figures import Target
from reviewdesk.errors import ReviewDeskError, UsageError
from reviewdesk.settings import Feedback
from reviewdesk.views import calibration, jurors
from reviewdesk.views import run as views
from reviewdesk.views.calibration import reliability
from reviewdesk.views.comparison import two_panels
from reviewdesk.views.document import Document, Paragraph, Section, Tone
from reviewdesk.views.whatif import what_if as what_if_view


class CalibrationPageKind(Struct, frozen=True):
    """One page. ``hidden`` says why a blind session neither reads nor shows the page.

    Pages that ``read`` the same share its result, which ``view`` describes. ``drills`` finds the
    groups of verdicts behind its figures. Some pages have ``intervals`` for two targets.
    """

    name: str
    read: Callable[[Desk, Run], object]
    view: Callable[..., Document]
    """Takes the result, whether the session is ``blind``, the ``target``, and ``full``."""
    waiting: str
    hidden: str = ""
    drills: Callable[..., tuple[DrillDown, ...]] | None = None
    """Takes the result, and whether the session is ``blind``."""
    intervals: bool = False


_page = partial(calibration_page, full=True)
_LABELS = "reading the labels …"
PAGES = (
    CalibrationPageKind(
        "figures", _page, calibration.calibration, _LABELS,
        drills=lambda found, **_: drill(found), intervals=True,
    ),
    CalibrationPageKind(
        "reliability", _page, lambda found, *, blind, **_: reliability(found, blind=blind), _LABELS,
        drills=bin_drills,
    ),
    CalibrationPageKind(
        "jurors", jurors_page, lambda found, *, target, **_: jurors.jurors(found, target),
        "working out the jurors …",
        "Blind: figures of the jurors rest on what they said of verdicts that have no label, so "
        "they are left out.",
        intervals=True,
    ),
    CalibrationPageKind(
        "what-if", what_if, lambda found, **_: what_if_view(found),
        "working out what other rules would have decided …",
        "Blind: what other rules would have decided rests on what the panel said of verdicts "
        "that have no label, so it is left out.",
    ),
)  # fmt: skip


class CalibrationController:
    """Turns the pages; each is read when it is first shown; a count leads to its verdicts."""

    where = CALIBRATION

    def __init__(self, core: Core) -> None:
        self._core = core
        self.at = 0
        self.full = False
        """Whether it shows the second layer of the figures."""
        self.target = Target.RUN
        self.results: Mapping[object, object] = {}
        """What was read, by the function that read it."""
        self._asked: set[object] = set()
        self.verbs: dict[str, Callable[[], None]] = {
            "drill": self._drill,
            "target.switch": self._switch_target,
            "section.next": partial(self.turn, 1),
            "section.previous": partial(self.turn, -1),
        }

    @property
    def page(self) -> CalibrationPageKind:
        return PAGES[self.at]

    @property
    def name(self) -> str:
        return f"Calibration {self.at + 1}/{len(PAGES)} {self.page.name}"

    @property
    def found(self) -> object:
        """The result for the page in view, ``None`` until it is read or while it is kept back."""
        return None if self._core.session.withheld else self.results.get(self.page.read)

    def document(self) -> Document:
        session = self._core.session
        blind = session.view.blind
        page = self.page
        tone = Tone.MUTED
        text = page.waiting
        if session.withheld:
            never = session.feedback is Feedback.NEVER
            kept = "The figures are kept back, as your settings say (feedback = never)."
            text = kept if never else "The figures show when the queue is done."
        elif blind and page.hidden:
            tone = Tone.NOTE
            text = page.hidden
        elif self.found is not None:
            return page.view(self.found, blind=blind, target=self.target, full=self.full)
        return Document((Section("", (Paragraph(text, tone),)),))

    @property
    def shown(self) -> object:
        return self.at, self.page.read in self.results

    def hints(self) -> Mapping[str, object]:
        following = PAGES[(self.at + 1) % len(PAGES)]
        wanted = ("explain", "leave", "screen.runs", "help", "quit", "command")
        targets = self.page.intervals and not self._core.session.view.blind
        own = {
            "section.next": following.name,
            "drill": "all figures" if self._folded else bool(self._drills()),
            "improve": self.page.name == "figures",
            "target.switch": targets and self._other_target.value,
        }
        return own | dict.fromkeys(wanted, True)

    def turn(self, by: int) -> None:
        """Turn ``by`` pages, going round at the ends; a page is read when it is first shown."""
        core = self._core
        run = core.session.run
        self.at = (self.at + by) % len(PAGES)
        page = self.page
        kept = core.session.withheld or (core.session.view.blind and page.hidden)
        if page.read not in self._asked and not kept:
            self._asked.add(page.read)

            def took(found: object) -> None:
                self.results = {**self.results, page.read: found}

            read = lambda desk, _: page.read(desk, run)  # noqa: E731
            core.background(f"page {page.name}", read, took, fault="no figures", where=CALIBRATION)
        core.calm()

    def open(self, name: str) -> None:
        self.turn([page.name for page in PAGES].index(name) - self.at)

    @property
    def _other_target(self) -> Target:
        return Target.RUN if self.target is Target.ITEMS else Target.ITEMS

    def _switch_target(self) -> None:
        self.target = self._other_target

    # from a figure to its verdicts

    def _drills(self) -> tuple[DrillDown, ...]:
        """Return the groups of verdicts behind the page in view; none until it has been read."""
        if self.found is None or self.page.drills is None:
            return ()
        drills = self.page.drills(self.found, blind=self._core.session.view.blind)
        if (halves := self._core.halves) is None:
            return drills
        # A person who reads where the panel was wrong on the holdout would tune on it.
        wrong = {"wrong:pass": round(halves.cells.fp), "wrong:fail": round(halves.cells.fn)}
        return tuple(
            DrillDown(f"{one.title}, in the tuning half", f"{one.filter} label:tuning", n)
            if (n := wrong.get(one.filter)) is not None
            else one
            for one in drills
        )

    @property
    def _folded(self) -> bool:
        """Whether the page in view shows its first layer alone."""
        return self.at == 0 and not self.full and self.found is not None

    def _drill(self) -> None:
        """Show the second layer of the figures; there, the verdicts behind a figure."""
        core = self._core
        if self._folded:
            self.full = True
            title = next(one.title for one in self.document().sections if one.title)
            core.request("jump", title.upper())
            return
        if not self.page.drills:
            return
        if self.found is None:
            core.say_here("there are no figures yet")
            return
        drills = self._drills()
        if not drills:
            kept = "blind: this list would show the panel's answers"
            none = "no pass or fail labels yet: no verdict is behind it"
            core.say_here(kept if core.session.view.blind else none, Tone.TEXT)
            return
        _offer(core, "The verdicts behind a figure", drills)


def _offer(core: Core, title: str, drills: Sequence[DrillDown]) -> None:
    """Offer groups of verdicts, without empty ones; the chosen one is filtered for."""
    drills = [one for one in drills if one.count] or drills

    def chosen(place: int | None) -> None:
        if place is not None:
            use(core, drills[place].filter)

    titles = [f"{one.count:>5,}  {one.title}   {one.filter}" for one in drills]
    core.ask(choice(title, titles), chosen)


class RunsController:
    """Lists the runs, newest first; the cursor starts on the run under review."""

    where = RUNS

    def __init__(self, core: Core) -> None:
        self._core = core
        self.runs: Sequence[RunLine] = ()
        self.details: RunDetails | None = None
        """The details of the run under the cursor."""
        self.cursor = 0
        self.verbs: dict[str, Callable[[], None]] = {
            "run.open": self._open,
            "run.remove": self._ask_remove,
        }

    @property
    def _chosen(self) -> Run | None:
        return self.runs[self.cursor].run if self.cursor < len(self.runs) else None

    @property
    def shown(self) -> object:
        return self._chosen and self._chosen.hash

    name = "Runs"

    @property
    def _listed(self) -> range:
        """The runs that have a line, so that the details below or beside them stay in view."""
        panes = self._core.panes
        most = panes.height - 4 if panes.width >= TWO_COLUMNS else max(3, panes.height // 3)
        first = max(0, min(self.cursor - most // 2, len(self.runs) - most))
        return range(first, min(first + most, len(self.runs)))

    def document(self) -> Document:
        """Return the lines of the runs, and the details of the one under the cursor."""
        session = self._core.session
        blind = session.view.blind
        listed = self._listed
        at = (self.cursor - listed.start, session.run.hash)
        lines = views.run_lines([self.runs[place] for place in listed], at=at, blind=blind)
        found = self.details
        return Document(lines.sections, views.run(found, blind=blind).every if found else ())

    def hints(self) -> Mapping[str, object]:
        some = self._chosen is not None
        running = bool(self._core.jobs.text)
        offered = {"run.open": some, "stop": running and "stop"}
        wanted = ("run.load", "leave", "explain", "screen.calibration", "help", "quit", "command")
        return {**offered, "run.remove": some, **dict.fromkeys(wanted, True)}

    def arrived(self) -> None:
        """Read the runs anew, and stay on the one under the cursor."""
        stay = (self._chosen or self._core.session.run).hash
        try:
            self.runs = overview(self._core.desk)[::-1]
        except ReviewDeskError as error:
            self._core.complain(error)
        hashes = [line.run.hash for line in self.runs]
        self.cursor = hashes.index(stay) if stay in hashes else 0
        self._read()

    def _read(self) -> None:
        chosen = self._chosen
        self.details = None
        try:
            self.details = None if chosen is None else run_details(self._core.desk, chosen)
        except ReviewDeskError as error:
            self._core.complain(error)

    def choose(self, line: int) -> None:
        """Choose the run of a line of the list; there may be none."""
        if line in range(len(self._listed)):
            self.step(self._listed[line] - self.cursor)

    def step(self, lines: int) -> None:
        self.cursor = max(0, min(self.cursor + lines, len(self.runs) - 1))
        self._read()

    def _open(self) -> None:
        if self._chosen is not None:
            self._core.review_run(self._chosen)

    def _ask_remove(self) -> None:
        core = self._core
        chosen = self._chosen
        if chosen is None:
            return
        if chosen.hash == core.session.run.hash:
            core.say_here("this run is under review: switch to another one first", Tone.WARN)
            return

        def remove() -> None:
            core.desk.remove(chosen)
            core.say(f"removed {show_line(chosen.name)}; its labels are kept", Tone.NOTE)
            self.arrived()

        reason = "Its labels are kept, and loading its file shows it again."
        core.ask_yes(f"Remove {show_line(chosen.name, 80)} from the list?", reason, remove)


def compare(core: Core, name: str) -> None:
    """Compare the run with the one of this name, or with the newest run that shares items."""
    desk = core.desk
    run = core.session.run
    others = (
        [desk.run(name)] if name else [one for one in reversed(desk.runs()) if one.hash != run.hash]
    )
    other = next((one for one in others if name or flips(desk, run, one)[0]), None)
    if other is None:
        raise UsageError("no other loaded run judged these items", "Load one: :open FILE.")
    if core.session.withheld or core.session.view.blind:
        core.say("the panels' answers are kept back: this session is blind", Tone.MUTED)
        return

    def show(found: PanelComparison) -> None:
        if run.hash != core.session.run.hash:
            return
        core.say("")
        page = DialogPage(
            " against ".join(show_line(run.name, 60) for run in (found.first, found.second)),
            (("enter", "shows the verdicts"), *SCROLLS_AND_CLOSES),
            document=two_panels(found),
            answers={"enter": True},
            closes=frozenset("qd"),
            width=112,
        )

        def closed(wanted: bool | None) -> None:
            if wanted:
                _offer(core, "The verdicts behind the comparison", panel_drills(found))

        core.ask(one_page(page), closed)

    core.say(f"comparing with {show_line(other.name, 80)} …", Tone.MUTED)
    work = lambda desk, _: panel_comparison(desk, run, other)  # noqa: E731
    core.background("two panels", work, show, fault="no comparison")
