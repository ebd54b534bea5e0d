"""The result of a re-run, as counts and in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from reviewdesk.desk.live import rerun_history
from reviewdesk.domain.canonical import CanonicalVerdict
from reviewdesk.domain.panel.rerun import Rerun, changes, missing
from reviewdesk.errors import ReviewDeskError

if TYPE_CHECKING:
    from reviewdesk.desk import Desk
    from reviewdesk.domain.records import Event, Item
    from reviewdesk.domain.verdict import Decision


@dataclass(frozen=True, slots=True)
class RerunResult:
    """How many jurors were asked, answered and failed; ``stopped`` if the re-run ended early."""

    before: Decision | None
    after: Decision | None
    asked: int
    answered: int
    failed: int
    stopped: bool

    @property
    def count(self) -> str:
        """How many jurors answered and how many failed, in words."""
        return counted(self.answered, self.failed)

    @property
    def decided(self) -> str:
        """The decisions before and after the re-run, as in "pass → fail"."""
        was, now = (one.value if one else "no decision" for one in (self.before, self.after))
        return f"{was} → {now}"

    @property
    def halt(self) -> str:
        """How far a stopped re-run came, and both decisions, in words."""
        return f"{stopped_after(self.answered + self.failed, self.asked)}: {self.decided}"


def counted(answered: int, failed: int) -> str:
    """Return how many jurors answered and how many failed, in words."""
    return f"{answered} answered" + (f", {failed} failed" if failed else "")


def stopped_after(came: int, asked: int) -> str:
    """Return how far a stopped re-run came, in words."""
    return f"stopped after {came} of {asked}"


def outcome(item: Item, made: Rerun) -> RerunResult:
    """Return the result of ``made``, a re-run of ``item``."""
    asked = [one.juror for one in changes(item.verdict, made) if one.asked and one.after]
    stopped_names = _cut_short(made.verdict.body) if made.stopped else set()
    missing_names = set(missing(made.verdict))
    failed = sum(name in missing_names and name not in stopped_names for name in asked)
    answered = sum(name not in missing_names for name in asked)
    before, after = item.assessment.decision, made.assessment.decision
    return RerunResult(before, after, len(asked), answered, failed, made.stopped)


def _cut_short(body: CanonicalVerdict) -> set[str]:
    """Return the ids of the jurors whose calls were stopped before an answer came."""
    return {
        one["id"]
        for one in body["jurors"]
        if (error := one.get("error")) and error.get("type") == "stopped"
    }


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
