"""What the calls of one panel share."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from reviewdesk.live.clock import SystemClock
from reviewdesk.live.keys import known_keys
from reviewdesk.live.records import Clock, Keep, Transport
from reviewdesk.live.replies.redact import Redactor
from reviewdesk.live.wires.vendors import Endpoint

CONCURRENCY = 16
"""Calls that are open at once where nothing else is said."""


TOGETHER = 8
"""Calls that begin at once; the first ones after them begin ``GAP`` seconds apart."""

GAP = 0.004
"""Calls that start together are answered together, and then each of them waits while all others are
dealt with, round after round."""


class CallSession:
    """Transport, clock, keys and store of a panel's calls, within one event loop.

    ``per_host`` bounds the open calls of each host; without it only ``concurrency`` does.
    """

    def __init__(
        self,
        transport: Transport,
        keep: Keep,
        *,
        environment: Mapping[str, str] | None = None,
        clock: Clock | None = None,
        concurrency: int = CONCURRENCY,
        per_host: int | None = None,
    ) -> None:
        """Open nothing; the environment is the process's own where none is given."""
        self.transport = transport
        self.keep = keep
        self.environment = os.environ if environment is None else environment
        self.clock = clock or SystemClock()
        self.concurrency = concurrency
        self._all = asyncio.Semaphore(concurrency)
        self._per_host = per_host or concurrency
        self._begun = 0
        self._next_start = 0.0
        self._hosts: dict[str, asyncio.Semaphore] = {}
        self._refused: dict[tuple[str, str], frozenset[str]] = {}
        self._keys = known_keys(self.environment)
        self._redactor = Redactor(self._keys)

    def at(self) -> str:
        """The time as ballots state it."""
        return self.clock.now().isoformat(timespec="milliseconds")

    @asynccontextmanager
    async def place(self, host: str) -> AsyncIterator[None]:
        """One of the places among the open calls; who waits for a host takes no other's."""
        gate = self._hosts.setdefault(host, asyncio.Semaphore(self._per_host))
        async with gate, self._all:
            await self._paced()
            yield

    async def _paced(self) -> None:
        self._begun += 1
        if not TOGETHER < self._begun <= self.concurrency:
            return
        now = self.clock.monotonic()
        self._next_start = max(self._next_start, now) + GAP
        await self.clock.sleep(self._next_start - now)

    def hiding(self, key: str | None) -> Redactor:
        """What hides every key that was seen, this one too."""
        if key is not None and key not in self._keys:
            self._keys = self._keys | {key}
            self._redactor = Redactor(self._keys)
        return self._redactor

    def dropped(self, place: Endpoint, model: str) -> frozenset[str]:
        """What the endpoint refused for this model, which is not sent again."""
        return self._refused.get((place.url, model), frozenset())

    def drop(self, place: Endpoint, model: str, name: str) -> None:
        """Remember what the endpoint refused, so that nobody runs into it twice."""
        self._refused[place.url, model] = self.dropped(place, model) | {name}
