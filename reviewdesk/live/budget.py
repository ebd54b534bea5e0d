"""Keep the cost of a run below a ceiling: no request goes out that might exceed it."""

from __future__ import annotations

import asyncio
from typing import Final

from reviewdesk.domain.panel.vendors import Wire
from reviewdesk.domain.verdict import SLACK
from reviewdesk.live.records import Call, Exchange, ReplyStore
from reviewdesk.live.replies.ballots import price_of
from reviewdesk.live.replies.faults import Fault, reply_or_fault
from reviewdesk.live.wires.requests import encoded, payload
from reviewdesk.live.wires.vendors import endpoint


class Budget:
    """The money spent, and the most that open requests may still cost, in US dollars.

    Before a request goes out, its worst case is reserved; its actual cost then replaces the
    reservation. Without a ceiling the budget only counts.
    """

    def __init__(self, ceiling: float | None = None, spent: float = 0.0) -> None:
        """Start with what earlier runs have spent."""
        self.ceiling = ceiling
        self.spent = spent
        self.reserved = 0.0
        self.closed = False
        """Whether the ceiling has stopped the run; a closed budget never opens again."""
        self._open = 0
        self._freed = asyncio.Condition()

    async def reserve(self, usd: float) -> bool:
        """Reserve the worst case of a request; ``False`` if the ceiling forbids it.

        While other requests are open, wait for what they free. If the request might exceed the
        ceiling even with none open, stop the run.
        """
        async with self._freed:
            while not self.closed and not self._fits(usd):
                if not self._open:
                    self.closed = True
                    break
                await self._freed.wait()
            if self.closed:
                return False
            self._open += 1
            self.reserved += usd
            return True

    def settle(self, reserved: float, actual: float) -> None:
        """Replace what was reserved for a request by what it cost."""
        self.reserved -= reserved
        self.spent += actual

    async def release(self, reserved: float) -> None:
        """End a request, and free what was reserved for it and not used."""
        async with self._freed:
            self.reserved -= reserved
            self._open -= 1
            if not self._open:
                self.reserved = 0.0  # repeated additions leave a rounding error
            self._freed.notify_all()

    def _fits(self, usd: float) -> bool:
        return self.ceiling is None or self.spent + self.reserved + usd <= self.ceiling + SLACK


_UNSENT: Final = frozenset({"connection", "dns", "tls", "proxy", "endpoint"})
"""Kinds of failure in which the request never reached an endpoint."""


def worst(call: Call, *, in_batch: bool = False) -> float | None:
    """Return the most that one request of a call can cost, or ``None`` without a price."""
    price = call.juror.price
    price = price.in_batch if price is not None and in_batch else price
    if price is None:
        return None
    sent = encoded(payload(call, endpoint(call.juror)))
    # A vendor with marks for its cache may write, and charge, all of it as cached.
    written = len(sent) if endpoint(call.juror).wire is Wire.MESSAGES else 0
    return price.cost(len(sent), call.juror.max_tokens, written=written)


def booked(call: Call, exchange: Exchange) -> float | None:
    """Return what an exchange cost, in US dollars, or ``None`` if that is unknown.

    The endpoint's own cost or token count is used where it states one. A request that was refused
    or never arrived costs nothing; any other without a count costs its worst case.
    """
    if exchange.status is None:
        kind = (exchange.problem or "").partition(":")[0]
        return 0.0 if kind in _UNSENT else worst(call)
    if not 200 <= exchange.status < 300:
        return 0.0
    found = reply_or_fault(exchange, endpoint(call.juror).wire)
    usd = None if isinstance(found, Fault) else found.usd(price_of(call, exchange))
    return worst(call, in_batch=exchange.is_batched) if usd is None else usd


class Meter:
    """Reserves budget for every request of a run, and stores each exchange with its cost.

    A call that waits for another attempt reserves nothing.
    """

    def __init__(self, store: ReplyStore, budget: Budget) -> None:
        """Store exchanges in ``store`` and count them against ``budget``."""
        self._store = store
        self._budget = budget
        self._held: dict[str, float] = {}

    async def begin(self, call: Call) -> bool:
        """Reserve a request of a call; return ``False`` if it might exceed the ceiling."""
        most = worst(call) or 0.0
        if not await self._budget.reserve(most):
            return False
        self._held[call.key] = most
        return True

    def keep(self, call: Call, exchange: Exchange) -> None:
        """Store an exchange with its cost, which replaces what was reserved for it."""
        usd = booked(call, exchange)
        self._store.keep(call, exchange, usd)
        self._budget.settle(self._held.pop(call.key, 0.0), usd or 0.0)

    async def end(self, call: Call) -> None:
        """End a request, and release what was reserved for it and not used."""
        await self._budget.release(self._held.pop(call.key, 0.0))

    async def settled(self) -> None:
        """Return when every exchange so far is on disk."""
        await self._store.settled()
