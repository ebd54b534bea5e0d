"""What came of a re-run, in figures and in one line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from reviewdesk.desk.live import rerun_history
from reviewdesk.domain.panel.rerun import Rerun, changes, missing
from reviewdesk.errors import ReviewDeskError

if TYPE_CHECKING:
    from reviewdesk.desk import Desk
    from reviewdesk.domain.records import Event, Item
    from reviewdesk.domain.verdict import Decision


@dataclass(frozen=True, slots=True)
class RerunResult:
    """How many were asked, answered and failed; ``stopped`` before the others came back."""

    before: Decision | None
    after: Decision | None
    asked: int
    answered: int
    failed: int
    stopped: bool

    @property
    def count(self) -> str:
        """Who answered and who did not, in words."""
        return counted(self.answered, self.failed)

    @property
    def decided(self) -> str:
        """Both decisions."""
        was, now = (one.value if one else "no decision" for one in (self.before, self.after))
        return f"{was} → {now}"

    @property
    def halt(self) -> str:
        """How far it came where it was stopped, and both decisions."""
        return f"{stopped_after(self.answered + self.failed, self.asked)}: {self.decided}"


def counted(answered: int, failed: int) -> str:
    """Ballots that came, in words; one that failed came without an answer."""
    return f"{answered} answered" + (f", {failed} failed" if failed else "")


def stopped_after(came: int, asked: int) -> str:
    """How far a re-run came that was stopped."""
    return f"stopped after {came} of {asked}"


def outcome(item: Item, made: Rerun) -> RerunResult:
    """What came of a re-run of ``item``."""
    asked = [one.juror for one in changes(item.verdict, made) if one.asked and one.after]
    cut = _cut_short(made.verdict.body) if made.stopped else set()
    gone = set(missing(made.verdict))
    failed = sum(name in gone and name not in cut for name in asked)
    answered = sum(name not in gone for name in asked)
    before, after = item.assessment.decision, made.assessment.decision
    return RerunResult(before, after, len(asked), answered, failed, made.stopped)


def _cut_short(body: Mapping[str, Any]) -> set[str]:
    """The jurors whose calls were ended before an answer came."""
    jurors = body.get("jurors") or ()
    return {one["id"] for one in jurors if (one.get("error") or {}).get("type") == "stopped"}


class Outcomes:
    """The outcomes that events of ended re-runs tell of, read once for each verdict."""

    def __init__(self, desk: Desk) -> None:
        """Start with nothing read."""
        self._desk = desk
        self._known: dict[tuple[str, str], dict[int, RerunResult]] = {}

    def of(self, event: Event) -> RerunResult | None:
        """What came of it; ``None`` where there is no verdict, or its run was removed."""
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
            told = rerun_history.of_item(desk, item)
        except ReviewDeskError:
            # Without the verdict the event still says what it holds itself.
            return {}
        return {one.plan: outcome(item, one.rerun) for one in told if one.plan}
