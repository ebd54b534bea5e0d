"""Read the re-runs of an item, and the results of re-runs by their events."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from reviewdesk.app.controllers.jobs import FLIPS, Job, Report, Runner
from reviewdesk.desk import Desk
from reviewdesk.desk.live import rerun_history
from reviewdesk.domain.panel import rerun
from reviewdesk.domain.panel.rerun import FlipRate
from reviewdesk.domain.panel.rerun_result import OpenRerun, RerunHistory, RerunResult, outcome
from reviewdesk.domain.records import Event, Item, Run
from reviewdesk.errors import ReviewDeskError

NOTHING = RerunHistory()


class RerunReader:
    """Reads re-runs; the flip rates of a run are counted apart, as there may be many re-runs."""

    def __init__(self) -> None:
        """Start with nothing read."""
        self._run = ""
        self._counted: frozenset[int] = frozenset()
        self._rates: tuple[FlipRate, ...] = ()

    def read(self, desk: Desk, item: Item, running: OpenRerun | None) -> RerunHistory:
        """Return the re-runs of ``item``, with ``running`` if it is asked about at this moment."""
        records = rerun_history.of_item(desk, item)
        if not records:
            return replace(NOTHING, running=running)
        reruns = tuple(one.rerun for one in records)
        here = rerun.flip_rates([(item.verdict, reruns)])
        in_run = self._rates if self._run == item.run.hash else here
        return RerunHistory(reruns, here, in_run, running)

    def is_behind(self, desk: Desk, run: Run) -> bool:
        """Return True if re-runs of a run are not in the flip rates yet."""
        counted = self._counted if run.hash == self._run else frozenset[int]()
        return rerun_history.plans(desk, run) != counted

    def catch_up(self, runner: Runner, desk: Desk, run: Run, then: Callable[[], None]) -> None:
        """Count the re-runs that are new, in the background, and ``then`` go on."""

        def ended(take: object, _error: ReviewDeskError | None) -> None:
            if callable(take):
                take()
                then()

        def work(reader: Desk, _report: Report) -> object:
            return self.count(reader, run)

        if self.is_behind(desk, run):
            runner.start(Job(FLIPS, work, ended, fault="no flip rates"))

    def count(self, desk: Desk, run: Run) -> Callable[[], None]:
        """Count the re-runs that are new, and return what makes the result count."""
        same = run.hash == self._run
        rates, known = (self._rates, self._counted) if same else ((), frozenset[int]())
        there = rerun_history.plans(desk, run)
        if not known <= there:
            rates, known = (), frozenset()
        more = rerun_history.flips_of_run(desk, run, there - known)
        found = rerun.summed_rates((*rates, *more))

        def take() -> None:
            self._run, self._counted, self._rates = run.hash, there, found

        return take


class Outcomes:
    """Finds the results of ended re-runs by their events; reads each verdict once."""

    def __init__(self, desk: Desk) -> None:
        """Start with nothing read."""
        self._desk = desk
        self._known: dict[tuple[str, str], dict[int, RerunResult]] = {}

    def of(self, event: Event) -> RerunResult | None:
        """Return the result of an event's re-run, ``None`` if it has none or the run is gone."""
        if event.run is None or event.verdict is None or "answered" not in event.detail:
            return None
        place = event.run, event.verdict
        if place not in self._known:
            self._known[place] = self._read(*place)
        return self._known[place].get(event.detail.get("plan", 0))

    def _read(self, run: str, verdict: str) -> dict[int, RerunResult]:
        desk = self._desk
        try:
            item = desk.item(desk.find(desk.run(run), verdict))
            records = rerun_history.of_item(desk, item)
        except ReviewDeskError:
            # The event can be shown without the verdict.
            return {}
        return {one.plan: outcome(item, one.rerun) for one in records if one.plan}
