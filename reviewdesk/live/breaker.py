"""Stop a juror for the rest of a run once it is clear that nobody answers for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from reviewdesk.domain.panel.juror import Juror
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
class _Record:
    """What became of a juror's latest attempts."""

    answered: bool = False
    failing: int = 0
    since: float = 0.0
    """When the first attempt of the failing row was sent."""
    refusals: int = 0
    refusal: str = ""
    stopped: Fault | None = None


class Breaker:
    """The jurors of one run, and which of them are asked no more."""

    def __init__(self) -> None:
        """Start with every juror asked."""
        self._records: dict[tuple[str, str, str | None], _Record] = {}

    def stopped(self, juror: Juror) -> Fault | None:
        """Return why a juror is asked no more, or ``None``."""
        return self._of(juror).stopped

    def note(
        self, juror: Juror, status: int | None, fault: Fault | None, sent: float, now: float
    ) -> Fault | None:
        """Take in how an attempt ended; return the fault that stops the juror if this one does."""
        record = self._of(juror)
        if fault is None:
            self._records[_name(juror)] = _Record(answered=True, stopped=record.stopped)
            return None
        is_down = fault.again in _DOWN and not 400 <= (status or 0) < 500
        record.since = record.since if record.failing else sent
        record.failing = record.failing + 1 if is_down else 0
        is_alike = fault.kind in _REFUSALS
        record.refusals = 1 + record.refusals * (fault.kind == record.refusal) if is_alike else 0
        record.refusal = fault.kind
        if record.stopped is not None:
            return None
        if record.refusals >= ALIKE:
            why = f"{ALIKE} calls in a row ended alike"
        elif (
            not record.answered and record.failing >= ATTEMPTS and now - record.since >= UNREACHABLE
        ):
            why = f"it has not answered, and its last {record.failing} attempts failed"
        else:
            return None
        text = f"juror {juror.name} is stopped for this run: {why}: {fault.message}"
        record.stopped = Fault(Status.ERROR, STOPPED, text)
        return record.stopped

    def _of(self, juror: Juror) -> _Record:
        return self._records.setdefault(_name(juror), _Record())


def _name(juror: Juror) -> tuple[str, str, str | None]:
    return juror.name, juror.model, juror.base_url
