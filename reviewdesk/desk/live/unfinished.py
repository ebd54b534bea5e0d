"""Re-runs that were killed or stopped: which they are, and whether somebody is at work on them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from msgspec import Struct

from reviewdesk.desk.core import Desk
from reviewdesk.domain.panel.rerun import RerunRequest, RerunScope
from reviewdesk.domain.panel.rerun_result import RerunExtent
from reviewdesk.domain.records import Event
from reviewdesk.errors import DeskError
from reviewdesk.store import reruns
from reviewdesk.store.explain import explained

_held: set[str] = set()
"""The runs that this process is at work on, by the word that their events share."""


@contextmanager
def held(word: str) -> Iterator[None]:
    """Mark a run as one that this process is at work on."""
    _held.add(word)
    try:
        yield
    finally:
        _held.discard(word)


def is_held(newest: Event, *, is_ended: bool) -> bool:
    """Return True if a living process is at work on the run of this newest consent."""
    detail = newest.detail
    is_alive = reruns.is_other_alive(detail["pid"], detail["started"])
    return detail["batch"] in _held or (is_alive and not is_ended)


class UnfinishedRerun(Struct, frozen=True):
    """A re-run that was killed or stopped, or that is under way: ``left`` of ``of`` verdicts wait.

    ``event`` agreed to it first, ``newest`` is the event that agreed to its latest continuation.
    """

    event: Event
    newest: Event
    left: int
    stopped: bool

    @property
    def batch(self) -> str:
        """The word that its events share."""
        return str(self.event.detail["batch"])

    @property
    def of(self) -> int:
        """The number of its verdicts."""
        return int(self.event.detail["of"])

    @property
    def source(self) -> str:
        """What names its panel."""
        return str(self.event.detail["source"])

    @property
    def shown(self) -> str | None:
        """The filter that chose its verdicts, if one did."""
        found = self.event.detail["filter"]
        return None if found is None else str(found)

    @property
    def wish(self) -> RerunRequest:
        """Who was to be asked."""
        detail = self.event.detail
        scope = RerunScope(detail["scope"])
        return RerunRequest(scope, detail["juror"])

    @property
    def max_cost(self) -> float | None:
        """The ceiling of its latest consent, in US dollars."""
        found: float | None = self.newest.detail["max_cost_usd"]
        return found

    def refuse_held(self) -> None:
        """Raise DeskError if a living process is at work on it."""
        if is_held(self.newest, is_ended=self.stopped):
            who = f"process {self.newest.detail['pid']}"
            raise DeskError(f"{who} is at work on this re-run", "Wait for it, or stop it there.")

    @property
    def facts(self) -> RerunExtent:
        """Who was asked about what, and how much of it is left since when."""
        wish = self.wish
        panel = str(self.event.detail["panel"])
        return RerunExtent(
            wish.scope, wish.juror, panel, self.of, self.shown,
            left=self.left, at=self.event.at,
        )  # fmt: skip


def unfinished(desk: Desk) -> list[UnfinishedRerun]:
    """Return the reviewer's re-runs that did not end and are not under way, oldest first."""
    begun: dict[str, list[Event]] = {}
    ends: dict[str, Event] = {}
    found = []
    with explained(desk.path):
        for event in reruns.of_reviewer(desk.conn, desk.reviewer):
            batch = event.detail["batch"]
            if "report" in event.detail:
                continue  # the journal of a report, which judge goes on with
            if event.kind == "rerun_ended":
                ends[batch] = event
            else:
                begun.setdefault(batch, []).append(event)
        for batch, agreed in begun.items():
            end = ends.get(batch)
            if end is not None and not end.detail["left"]:
                continue
            first = agreed[0]
            newest = agreed[-1]
            left = sum(not one.done for one in reruns.planned(desk.conn, first))
            stopped = end is not None and end.seq > newest.seq
            if left and not is_held(newest, is_ended=stopped):
                found.append(UnfinishedRerun(first, newest, left, stopped))
    return found
