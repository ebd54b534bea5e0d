"""The re-runs of an item, running and ended, as the screen shows them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from reviewdesk.desk.live import rerun_history
from reviewdesk.desk.live.rerun_history import RerunRecord
from reviewdesk.domain.enums import Status
from reviewdesk.domain.panel.rerun import FlipRate, flip_rates

if TYPE_CHECKING:
    from reviewdesk.desk import Desk
    from reviewdesk.domain.records import Item, Run

RERUN_EVENTS = frozenset({"rerun_planned", "rerun_ended"})
"""The kinds of events that belong to re-runs."""


@dataclass(frozen=True, slots=True)
class Arrival:
    """One ballot of a re-run; ``error`` is empty if the ballot can be used."""

    juror: str
    vote: bool | None
    score: float | None
    status: str
    error: str

    @property
    def failed(self) -> bool:
        """Whether the ballot holds no answer; an abstention counts as an answer."""
        return bool(self.error) or Status(self.status).missing


@dataclass(frozen=True, slots=True)
class OpenRerun:
    """A running re-run: the jurors that are asked, and the ballots so far."""

    key: int
    verdict: str
    asked: tuple[str, ...]
    came: tuple[Arrival, ...] = ()
    stopping: bool = False


@dataclass(frozen=True, slots=True)
class RerunHistory:
    """The re-runs of an item, oldest first, flip rates of item and run, and a running re-run."""

    told: tuple[RerunRecord, ...] = ()
    here: tuple[FlipRate, ...] = ()
    in_run: tuple[FlipRate, ...] = ()
    running: OpenRerun | None = None


NOTHING = RerunHistory()


class RerunReader:
    """Reads re-runs; the flip rates of a run are cached until another re-run ends."""

    def __init__(self) -> None:
        """Start with nothing read."""
        self._mark: tuple[str, int] | None = None
        self._rates: tuple[FlipRate, ...] = ()

    def read(self, desk: Desk, item: Item, running: OpenRerun | None) -> RerunHistory:
        """Return the re-runs of ``item``, with ``running`` if that one concerns this item."""
        mine = running if running is not None and running.key == item.row.key else None
        records = rerun_history.of_item(desk, item)
        if not records:
            return replace(NOTHING, running=mine)
        here = flip_rates([(item.verdict, [one.rerun for one in records])])
        return RerunHistory(records, here, self._of_run(desk, item.run), mine)

    def _of_run(self, desk: Desk, run: Run) -> tuple[FlipRate, ...]:
        mark = run.hash, rerun_history.newest(desk, run)
        if mark != self._mark:
            self._mark, self._rates = mark, rerun_history.flips_of_run(desk, run)
        return self._rates
