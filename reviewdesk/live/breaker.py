"""Stop a juror for the rest of a run once it is clear that nobody answers for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from reviewdesk.domain.panel.turnout import STOPPED
from reviewdesk.domain.verdict import Status
from reviewdesk.live.replies.faults import Fault
from reviewdesk.live.replies.retryable import Retryable

ALIKE: Final = 5
"""Calls in a row that end alike, with a refusal of key, credit or model, before a juror stops."""

ATTEMPTS: Final = 10
"""Failed attempts in a row before a juror that has never answered stops."""

UNREACHABLE: Final = 20.0
"""Seconds that such attempts take at least; many calls that fail side by side are one outage."""

_DOWN: Final = frozenset({Retryable.YES, Retryable.UNREACHABLE})
_REFUSALS: Final = frozenset({"unauthorized", "spent_credit", "forbidden", "not_found"})


@dataclass(slots=True)
class Breaker:
    """Counts what became of one juror's latest attempts."""

    juror: str
    answered: bool = False
    failing: int = 0
    since: float = 0.0
    """When the first attempt of the failing row was sent."""
    refusals: int = 0
    refusal: str = ""

    def note(
        self, status: int | None, fault: Fault | None, sent: float, now: float
    ) -> Fault | None:
        """Take in how an attempt ended; return the fault that stops the juror, if one does."""
        if fault is None:
            self.answered = True
            self.failing = self.refusals = 0
            return None
        is_down = fault.again in _DOWN and not 400 <= (status or 0) < 500
        self.since = self.since if self.failing else sent
        self.failing = self.failing + 1 if is_down else 0
        is_alike = fault.kind in _REFUSALS
        self.refusals = 1 + self.refusals * (fault.kind == self.refusal) if is_alike else 0
        self.refusal = fault.kind
        if self.refusals >= ALIKE:
            why = f"{ALIKE} calls in a row ended alike"
        elif not self.answered and self.failing >= ATTEMPTS and now - self.since >= UNREACHABLE:
            why = f"it has not answered, and its last {self.failing} attempts failed"
        else:
            return None
        text = f"juror {self.juror} is stopped for this run: {why}: {fault.message}"
        return Fault(Status.ERROR, STOPPED, text)
