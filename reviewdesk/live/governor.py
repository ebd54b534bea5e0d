"""Keep the calls to one host, under one key, within what the host admits.

A governor is shared by all calls of the process, whatever thread and event loop they run in. Its
pauses hold all of them; the time that a call waits here does not count towards its deadline.
"""

from __future__ import annotations

import asyncio
import hashlib
import math
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from threading import Lock
from typing import Final

from reviewdesk.domain.panel.juror import Juror
from reviewdesk.errors import TransportError
from reviewdesk.frozen import Frozen
from reviewdesk.live.records import Clock, Exchange
from reviewdesk.live.replies.faults import Fault
from reviewdesk.live.replies.retryable import Retryable
from reviewdesk.live.retry import backoff
from reviewdesk.live.waits import asked_wait, budget_wait
from reviewdesk.live.wires.envelope import Envelope

PATIENCE: Final = 600.0
"""Seconds of nothing but 429 after which a host fails whatever waits for it."""

FORGET: Final = 60.0
"""Seconds after the last 429 of such a host until it may be tried anew."""

MINUTE: Final = 60.5
"""Seconds that a request counts towards ``rpm`` and ``tpm``; the half second is for the network,
which may deliver a late request and the first of the next minute closer together than they were
sent."""


TICK: Final = 1e-6
"""Seconds that are not waited for; the sum of two times may be off by less."""


@dataclass(slots=True)
class _Sent:
    """A request that counts towards a juror's rates."""

    at: float
    tokens: int


@dataclass(slots=True)
class _Lane:
    """The requests of one juror in the last minute."""

    rpm: int | None
    tpm: int | None
    sent: deque[_Sent] = field(default_factory=deque)

    def wait(self, now: float, tokens: int) -> float:
        """Return the seconds until one more request of so many tokens keeps the rates."""
        while self.sent and self.sent[0].at <= now - MINUTE:
            self.sent.popleft()
        free = now
        if self.rpm is not None and len(self.sent) >= self.rpm:
            free = self.sent[-self.rpm].at + MINUTE
        if self.tpm is not None:
            counted = tokens + sum(one.tokens for one in self.sent)
            for one in self.sent:  # a request larger than the rate goes alone
                if counted <= self.tpm:
                    break
                counted -= one.tokens
                free = max(free, one.at + MINUTE)
        return free - now


class CallTurn(Frozen):
    """A request that the governor let go."""

    pauses: int
    """How many pauses had begun when it was sent."""
    sent: _Sent


class Governor:
    """The pauses, the open calls and the jurors' rates of one host under one key.

    A 429 pauses all calls until the time that it names, and so does a spent budget in the headers
    of any answer. The limit of open calls falls to half of those open with each pause that a 429
    begins, and grows by one for each round of answers at the limit.
    """

    def __init__(self, host: str, clock: Clock) -> None:
        """Start without a pause and without a limit."""
        self.host = host
        self._clock = clock
        self._lock = Lock()
        self._lanes: dict[tuple[str, str], _Lane] = {}
        self._queue: deque[asyncio.Future[None]] = deque()
        self._open = 0
        self._limit = math.inf
        self._until = -math.inf
        self._is_named = False
        """Whether the host named the end of the pause."""
        self._pauses = 0
        self._row = 0
        self._refusing_since: float | None = None
        self._refused_at = -math.inf

    @asynccontextmanager
    async def turn(self, juror: Juror, tokens: int, left: float) -> AsyncIterator[CallTurn]:
        """Wait until a request may be sent, and count it as open until the block ends.

        ``tokens`` is its size by estimate, and ``left`` the rest of the ballot's deadline.

        Raises:
            TransportError: the host names a wait beyond ``left``, or answers nothing but 429.
        """
        try:
            turn = await self._admit(juror, tokens, left)
        except BaseException:
            with self._lock:
                self._wake()  # whoever waits next must not depend on this call
            raise
        try:
            yield turn
        finally:
            with self._lock:
                self._open -= 1
                self._wake()

    def note(self, turn: CallTurn, exchange: Exchange, found: Envelope | Fault) -> float:
        """Take in what became of a request; return the seconds of the pause that it began, or 0."""
        with self._lock:
            now = self._clock.monotonic()
            if isinstance(found, Fault) and found.again is Retryable.PAUSED:
                named = asked_wait(exchange, self._clock.now()) or 0.0
                wait = max(named, self._refused(turn, now))
            else:
                wait = named = self._answered(turn, exchange, found)
            self._wake()
            if now + wait <= max(now, self._until):
                return 0.0
            self._until, self._is_named = now + wait, named == wait
            return wait

    def _refused(self, turn: CallTurn, now: float) -> float:
        """Count a 429, and return the seconds to wait if it names no time."""
        if self._refusing_since is None:
            self._refusing_since = now
        self._refused_at = now
        if turn.pauses == self._pauses:
            self._pauses += 1
            self._limit = max(1.0, self._open // 2)
            self._row += 1
        return backoff(self._row, self._clock)

    def _answered(self, turn: CallTurn, exchange: Exchange, found: Envelope | Fault) -> float:
        """Count an answer, and return the seconds until a budget that it spent is filled again."""
        if exchange.status is None:
            return 0.0
        self._refusing_since, self._row = None, 0
        if self._open + 1 > self._limit:
            self._limit += 1 / self._limit
        if isinstance(found, Envelope) and found.tokens_in is not None:
            turn.sent.tokens = found.tokens_in + (found.tokens_out or 0)
        return budget_wait(exchange, self._clock.now()) or 0.0

    async def _admit(self, juror: Juror, tokens: int, left: float) -> CallTurn:
        while True:
            freed: asyncio.Future[None] | None = None
            with self._lock:
                lane, now = self._lane(juror), self._clock.monotonic()
                wait = self._wait(lane, now, tokens, left)
                if wait < TICK:
                    if self._open + 1 <= self._limit:
                        self._open += 1
                        lane.sent.append(sent := _Sent(now, tokens))
                        return CallTurn(self._pauses, sent)
                    freed = asyncio.get_running_loop().create_future()
                    self._queue.append(freed)
            if freed is None:
                await self._clock.sleep(wait)
                continue
            try:
                await freed
            finally:
                with self._lock, suppress(ValueError):
                    self._queue.remove(freed)

    def _wait(self, lane: _Lane, now: float, tokens: int, left: float) -> float:
        """Return the seconds until a request may be sent, apart from the limit of open calls."""
        since, pause = self._refusing_since, self._until - now
        if since is not None and now - since >= PATIENCE:
            if self._open or now - self._refused_at < FORGET:
                text = f"{self.host} has answered nothing but 429 for {now - since:.0f} s"
                raise TransportError("rate_limited", text)
            self._refusing_since = None
        if self._is_named and pause > left:
            raise TransportError(
                "rate_limited",
                f"{self.host} asks to wait {pause:.0f} s, and the ballot's deadline leaves "
                f"{left:.0f} s",
            )
        return max(pause, lane.wait(now, tokens))

    def _lane(self, juror: Juror) -> _Lane:
        lane = self._lanes.setdefault((juror.name, juror.model), _Lane(juror.rpm, juror.tpm))
        lane.rpm, lane.tpm = juror.rpm, juror.tpm
        return lane

    def _wake(self) -> None:
        """Let as many waiting calls look again as the limit has room for."""
        free = self._limit - self._open
        while self._queue and free >= 1:
            waiting = self._queue.popleft()
            with suppress(RuntimeError):  # its event loop may have ended
                waiting.get_loop().call_soon_threadsafe(_finish, waiting)
                free -= 1


def _finish(waiting: asyncio.Future[None]) -> None:
    if not waiting.done():
        waiting.set_result(None)


class Governors:
    """The governors of one clock, by host and key; keys are kept as hashes."""

    def __init__(self, clock: Clock) -> None:
        """Start without a governor."""
        self._clock = clock
        self._lock = Lock()
        self._known: dict[tuple[str, bytes], Governor] = {}

    def of(self, host: str, key: str | None) -> Governor:
        """Return the governor of a host under a key."""
        named = host.lower(), hashlib.sha256((key or "").encode()).digest()
        with self._lock:
            if named not in self._known:
                self._known[named] = Governor(host, self._clock)
            return self._known[named]
