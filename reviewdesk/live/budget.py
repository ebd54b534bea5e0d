"""A ceiling on what a run may cost: no request goes out that might pass it."""

from __future__ import annotations

import asyncio

from reviewdesk.domain.verdict import SLACK


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
