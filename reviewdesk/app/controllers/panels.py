"""The controller that compares the panel under review with another run's, on the common items."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from reviewdesk.app.controllers.core import Core
from reviewdesk.app.controllers.jobs import Job
from reviewdesk.app.controllers.requests import ChoiceForm, PanelsForm
from reviewdesk.desk.figures.two_panels import panel_comparison
from reviewdesk.desk.review.other_runs import flips
from reviewdesk.domain.jurors.panels import PanelComparison, panel_drills
from reviewdesk.domain.safetext import show_line
from reviewdesk.errors import ReviewDeskError, UsageError
from reviewdesk.views.document import Tone

if TYPE_CHECKING:
    from reviewdesk.desk import Desk
    from reviewdesk.domain.records import Run


class PanelsController:
    """Reads a comparison in the background, shows it, and leads to the verdicts behind it."""

    def __init__(self, core: Core, use_filter: Callable[[str], None]) -> None:
        """Act on the session of ``core``; ``use_filter`` shows the verdicts of a filter."""
        self._core, self._use_filter = core, use_filter

    def named(self, name: str) -> None:
        """Compare with the run of this name; without one, with the newest that shares items."""
        desk, run = self._core.desk, self._core.session.run
        if name:
            self.compare(desk.run(name))
            return
        others = (one for one in reversed(desk.runs()) if one.hash != run.hash)
        other = next((one for one in others if flips(desk, run, one).shared), None)
        if other is None:
            raise UsageError("no other loaded run judged these items", "Load one: :open FILE.")
        self.compare(other)

    def compare(self, other: Run) -> None:
        """Compare the run under review with another one."""
        core, run = self._core, self._core.session.run
        if core.session.withheld:
            core.say("the panels' answers are kept back, as your settings say", Tone.MUTED)
            return

        def ended(found: object, error: ReviewDeskError | None) -> None:
            if error is not None:
                core.complain(error)
            elif isinstance(found, PanelComparison) and run.hash == core.session.run.hash:
                core.say("")
                blind = core.session.view.blind
                core.ask(PanelsForm(found, blind), partial(self._lead, found, blind))

        core.say(f"comparing with {show_line(other.name, 80)} …", Tone.MUTED)
        work = partial(_compare, run, other)
        core.jobs.runner.start(Job("two panels", work, ended, fault="no comparison"))

    def _lead(self, found: PanelComparison, blind: bool, wanted: bool | None) -> None:
        """Offer the groups of verdicts behind the comparison."""
        if not wanted:
            return
        drills = panel_drills(found, blind=blind)

        def chosen(place: int | None) -> None:
            if place is not None:
                self._use_filter(drills[place].filter)

        titles = [f"{one.count:>5,}  {one.title}   {one.filter}" for one in drills]
        self._core.ask(ChoiceForm("The verdicts behind the comparison", titles), chosen)


def _compare(run: Run, other: Run, desk: Desk, _report: object) -> object:
    return panel_comparison(desk, run, other)
