"""What a call may cost before it is made, and what it is booked with afterwards."""

from __future__ import annotations

from typing import Final

from reviewdesk.domain.panel.cost import spent, worst_case
from reviewdesk.errors import CeilingError
from reviewdesk.live.budget import Budget
from reviewdesk.live.journal.journal import Journal
from reviewdesk.live.records import Call, Exchange
from reviewdesk.live.replies.faults import Fault, fault_of, reply_or_fault
from reviewdesk.live.wires.requests import encoded, payload
from reviewdesk.live.wires.vendors import endpoint

_UNSENT: Final = frozenset({"connection", "dns", "tls", "proxy", "endpoint"})
"""Kinds of failure after which no endpoint has seen the request."""

_REWORDED: Final = frozenset({400, 422})
"""After these a call may be made again without what the endpoint does not understand."""


def worst(call: Call) -> float | None:
    """The most that one request of a call can cost; ``None`` without a price."""
    price = call.juror.price
    if price is None:
        return None
    sent = encoded(payload(call, endpoint(call.juror)))
    return worst_case(price, len(sent), call.juror.max_tokens)


def booked(call: Call, exchange: Exchange) -> float | None:
    """What an exchange cost: as the endpoint counts, nothing if it refused, else the worst case.

    ``None`` where nobody can say.
    """
    if exchange.status is None:
        kind = (exchange.problem or "").partition(":")[0]
        return 0.0 if kind in _UNSENT else worst(call)
    if not 200 <= exchange.status < 300:
        return 0.0
    found = reply_or_fault(exchange, endpoint(call.juror).wire)
    if isinstance(found, Fault):
        return worst(call)
    if found.cost is not None:
        return found.cost
    price = call.juror.price
    if price is None or found.tokens_in is None or found.tokens_out is None:
        return worst(call)
    return spent(price, found.tokens_in, found.tokens_out)


class Meter:
    """Covers every request of a run by its budget, and stores what came back with what it cost."""

    def __init__(self, journal: Journal, budget: Budget) -> None:
        """Take where to store and what to count against."""
        self._journal, self._budget = journal, budget
        self._held: dict[str, float] = {}

    async def begin(self, call: Call) -> bool:
        """Cover the first request of a call; ``False`` where the ceiling is reached."""
        most = worst(call) or 0.0
        if not await self._budget.reserve(most):
            return False
        self._held[call.key] = most
        return True

    def keep(self, call: Call, exchange: Exchange) -> None:
        """Store an exchange, book it, and cover the attempt that may follow.

        Raises:
            CeilingError: that attempt might pass the ceiling.
        """
        usd = booked(call, exchange)
        self._journal.keep(call, exchange, usd)
        self._budget.settle(self._held.pop(call.key, 0.0), usd or 0.0)
        fault = fault_of(exchange, endpoint(call.juror).wire)
        if fault is None or not (fault.again or exchange.status in _REWORDED):
            return
        most = worst(call) or 0.0
        if not self._budget.extend(most):
            raise CeilingError("another attempt might pass the ceiling")
        self._held[call.key] = most

    async def end(self, call: Call) -> None:
        """Give back what was covered and not used."""
        await self._budget.release(self._held.pop(call.key, 0.0))
