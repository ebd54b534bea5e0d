"""Limiters that admit so many requests a minute, in this process and by a clock of their own."""

import asyncio
import heapq
import json
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any, Protocol

from reviewdesk.errors import TransportError
from reviewdesk.live.records import Clock, Request, Response
from tests.judgekit import CUT, fine, of_whom

BEGAN = datetime(2025, 1, 31, 12, tzinfo=UTC)
TURNS = 20
"""Turns of the event loop after which whatever can run has run."""


@dataclass
class VirtualClock(Clock):
    """Time that jumps to the next sleeper once nothing else can run."""

    time: float = 0.0
    chance: Callable[[], float] = lambda: 0.5
    _sleepers: list[tuple[float, int, asyncio.Future[None]]] = field(default_factory=list)
    _count: int = 0
    _driver: asyncio.Task[None] | None = None

    def now(self) -> datetime:
        return BEGAN + timedelta(seconds=self.time)

    def monotonic(self) -> float:
        return self.time

    def random(self) -> float:
        return self.chance()

    async def sleep(self, seconds: float) -> None:
        self._count += 1
        waiting = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self.time + max(0.0, seconds), self._count, waiting))
        if self._driver is None or self._driver.done():
            self._driver = asyncio.create_task(self._drive())
        await waiting

    async def _drive(self) -> None:
        while self._sleepers:
            for _ in range(TURNS):
                await asyncio.sleep(0)
            at, _, waiting = heapq.heappop(self._sleepers)
            if not waiting.done():
                self.time = max(self.time, at)
                waiting.set_result(None)


class Limit(Protocol):
    """Says of a request whether it is admitted, and the headers of the answer."""

    ideal: float
    """The least seconds that 200 requests take."""

    def __call__(self, now: float) -> tuple[bool, dict[str, str]]: ...


@dataclass
class Window:
    """60 in each minute that begins with its first request; a 429 names the seconds left."""

    ideal: float = 180.0
    began: float = -60.0
    count: int = 0
    names: Callable[[float], dict[str, str]] = lambda left: {"retry-after": f"{left:.0f}"}

    def __call__(self, now: float) -> tuple[bool, dict[str, str]]:
        if now >= self.began + 60:
            self.began, self.count = now, 0
        if self.count >= 60:
            return False, self.names(self.began + 60 - now)
        self.count += 1
        return True, {}


@dataclass
class Sliding:
    """60 in any minute; a 429 names the seconds, rounded up."""

    ideal: float = 180.0
    admitted: deque[float] = field(default_factory=deque)

    def __call__(self, now: float) -> tuple[bool, dict[str, str]]:
        while self.admitted and self.admitted[0] <= now - 60:
            self.admitted.popleft()
        if len(self.admitted) >= 60:
            return False, {"retry-after": str(int(self.admitted[0] + 60 - now) + 1)}
        self.admitted.append(now)
        return True, {}


@dataclass
class Bucket:
    """A bucket that holds ``size`` and gains one a second, and tells of both in OpenAI's words."""

    size: int = 60
    tells: bool = True
    level: float = 0.0
    seen: float = 0.0

    def __post_init__(self) -> None:
        self.level = self.size
        self.ideal = 200.0 - self.size

    def __call__(self, now: float) -> tuple[bool, dict[str, str]]:
        self.level = min(self.size, self.level + now - self.seen)
        self.seen = now
        admitted = self.level >= 1
        self.level -= admitted
        until = max(0.0, 1 - self.level)
        told = {
            "x-ratelimit-limit-requests": "60",
            "x-ratelimit-remaining-requests": str(int(self.level)),
            "x-ratelimit-reset-requests": f"{1000 * until:.0f}ms",
        }
        return admitted, told if self.tells else {}


def bare(_: float) -> dict[str, str]:
    return {}


def milliseconds(left: float) -> dict[str, str]:
    """Azure's and OpenAI's exact wait, which is to win over the rounded one."""
    return {"retry-after": "60", "retry-after-ms": f"{1000 * left:.0f}"}


def date(left: float) -> dict[str, str]:
    """The wait as a date, by a server whose clock is an hour ahead."""
    ahead = BEGAN + timedelta(hours=1)
    then = ahead + timedelta(seconds=left + 1)
    return {"retry-after": format_datetime(then, True), "date": format_datetime(ahead, True)}


@dataclass
class Limiter:
    """A transport whose host admits requests by ``limit``, and answers after ``latency`` seconds.

    ``failing`` of the first attempts, of each call, end in a 503 or a broken connection, and the
    replies about ``cut`` cases reach their token limit.
    """

    clock: VirtualClock
    limit: Limit
    latency: float = 0.3
    failing: Callable[[int], bool] = lambda _: False
    cut: Callable[[tuple[str, str]], bool] = lambda _: False
    asked: Counter[tuple[str, str]] = field(default_factory=Counter)
    paid: Counter[tuple[str, str]] = field(default_factory=Counter)
    refused: int = 0
    first: int = 0

    async def send(self, request: Request) -> Response:
        body: dict[str, Any] = json.loads(request.body)
        who = of_whom(body)
        admitted, headers = self.limit(self.clock.time)
        await self.clock.sleep(self.latency)
        if not admitted:
            self.refused += 1
            return Response(429, headers, b'{"error": {"message": "slow down"}}')
        self.asked[who] += 1
        if self.asked[who] == 1:
            self.first += 1
            if self.failing(self.first):
                if self.first % 2:
                    raise TransportError("reset", "the connection broke")
                return Response(503, headers, b"")
        self.paid[who] += 1
        if self.cut(who):
            return Response(200, headers, CUT)
        found = fine(body)
        return Response(200, {**found.headers, **headers}, found.body)

    async def close(self) -> None:
        """Nothing is open."""
