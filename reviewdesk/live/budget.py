"""A ceiling on what a run may cost: no request goes out that might pass it."""

from __future__ import annotations

import asyncio
from typing import Final

from reviewdesk.domain.panel.cost import spent, worst_case
from reviewdesk.domain.verdict import SLACK
from reviewdesk.errors import CeilingError
from reviewdesk.live.journal.journal import Journal
from reviewdesk.live.records import Call, Exchange
from reviewdesk.live.replies.faults import Fault, fault_of, reply_or_fault
from reviewdesk.live.wires.requests import encoded, payload
from reviewdesk.live.wires.vendors import endpoint


class Budget:
    """What was spent, and what the open calls may cost at most, in US dollars.

    A request is covered by a reservation of its worst case before it goes out; what it cost takes
    the reservation's place. Without a ceiling it only counts.
    """

    def __init__(self, ceiling: float | None = None, spent: float = 0.0) -> None:
        """Begin with what earlier runs have spent."""
        self.ceiling = ceiling
        self.spent = spent
        self.reserved = 0.0
        self.closed = False
        """Whether the ceiling has stopped the run; it is not opened again."""
        self._open = 0
        self._freed = asyncio.Condition()

    async def reserve(self, usd: float) -> bool:
        """Cover one request, waiting for open ones where only their worst case is in the way.

        ``False`` is the end: with nothing open, it would still pass the ceiling.
        """
        async with self._freed:
            while not self.closed and not self._fits(usd):
                if not self._open:
                    self.close()
                    break
                await self._freed.wait()
            if self.closed:
                return False
            self._open += 1
            self.reserved += usd
            return True

    def extend(self, usd: float) -> bool:
        """Cover another attempt of an open call, if that is possible at once."""
        if not self._fits(usd):
            self.close()
            return False
        self.reserved += usd
        return True

    def settle(self, reserved: float, actual: float) -> None:
        """Put what a request cost in the place of what was reserved for it."""
        self.reserved -= reserved
        self.spent += actual

    async def release(self, reserved: float) -> None:
        """End a call, with what was reserved for it and not used."""
        async with self._freed:
            self.reserved -= reserved
            self._open -= 1
            if not self._open:
                self.reserved = 0.0  # the sum of many parts leaves a crumb
            self._freed.notify_all()

    def close(self) -> None:
        """Stop the run: calls that are open end, and none begins."""
        self.closed = True

    def _fits(self, usd: float) -> bool:
        return self.ceiling is None or self.spent + self.reserved + usd <= self.ceiling + SLACK


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
