"""Make many calls, a limited number at once, and hand out their ballots as they arrive.

A call that waits for the end of a pause or for another attempt takes no place: it stays in the
queue of its juror, and the calls to other jurors continue.
"""

import asyncio
import math
from bisect import insort
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Generic, TypeVar

from msgspec.structs import replace

from reviewdesk.domain.panel.asking import RATE_LIMITED, ModelPause
from reviewdesk.domain.verdict import CanonicalBallot, Status
from reviewdesk.live.limits import TICK, CallSession, CallTurn, JurorState, Meter
from reviewdesk.live.records import Call, Exchange
from reviewdesk.live.replies.ballots import ballot_of, failed
from reviewdesk.live.replies.envelope import LEFT_OUT, Fault, reply_or_fault
from reviewdesk.live.retry import Retry, Trying
from reviewdesk.live.wires import requests

MAX_REFUSAL = 64 * 1024
"""The most characters kept of a body that is not a successful reply."""

MAX_HEADER = 200


MOST_WAITING = 2_000
"""Calls that may wait. Beyond that no further case is drawn, which bounds the memory of a run in
which one model is slower than the others."""

T = TypeVar("T")
Drawn = Sequence[tuple[T, Call]]
Cast = tuple[T, Call, CanonicalBallot]


@dataclass(slots=True, eq=False)
class _Job(Generic[T]):
    """A call with its purpose and the rest of its deadline; it may be tried when it is ``due``."""

    number: int
    owner: T
    call: Call
    state: JurorState
    asking: CallSession
    trying: Trying
    tokens: int
    due: float = -math.inf
    count: int = 0
    last: Exchange | None = None

    async def once(self, turn: CallTurn) -> CanonicalBallot | Retry:
        """Send one request; return the ballot, or after how long the call may be tried again."""
        asking = self.asking
        state = self.state
        call = self.call
        dropped = state.dropped
        parts = requests.optional(call, state.place)
        seconds = min(call.juror.timeout, self.trying.left)
        sent = requests.request(call, state.place, state.key, dropped)
        came = await asking.exchange(sent, seconds)
        hidden = asking.redactor
        is_reply = came.status is not None and 200 <= came.status < 300
        # A token limit under its other name is not absent.
        unsent = " ".join(sorted(parts & dropped & {requests.STRUCTURE, requests.TEMPERATURE}))
        problem = f"{LEFT_OUT}{unsent}" if unsent else None
        exchange = self.last = replace(
            came,
            call=call.key,
            attempt=self.count,
            nonce=call.prompt.nonce,
            # Keys are hidden before a text is cut, so that no key is cut in two.
            body=hidden.text(came.body) if is_reply else hidden.short(came.body, MAX_REFUSAL),
            headers=hidden.headers(came.headers, MAX_HEADER),
            problem=problem if came.problem is None else hidden.text(came.problem),
        )
        self.trying.spent += exchange.ms / 1000
        asking.keep(call, exchange)
        found = reply_or_fault(exchange, state.place.wire)
        if pause := state.limit.note(turn, exchange, found):
            asking.paused(state, pause)
        step = self.trying.next_attempt(exchange, found, parts - dropped, asking.clock)
        if step is not None and step.refused is not None:
            state.dropped |= {step.refused}
        else:
            now = asking.clock.monotonic()
            fault = found if isinstance(found, Fault) else None
            if stop := state.note(exchange.status, fault, now - exchange.ms / 1000, now):
                asking.stop(state, stop)
        self.count += 1
        return step or ballot_of(call, exchange, asking.redactor)

    def failed(self, fault: Fault) -> CanonicalBallot:
        hidden = self.asking.redactor
        fault = Fault(fault.status, fault.kind, hidden.text(fault.message))
        if self.last is None:
            return failed(self.call, fault, self.asking.at())
        ballot = ballot_of(self.call, self.last, hidden)
        return {**ballot, "error": {"type": fault.kind, "message": fault.message}}


@dataclass(eq=False)
class CallRunner(Generic[T]):
    """Makes the calls that ``draw`` hands out, at most ``concurrency`` of the session at once.

    ``draw`` gets the number of free places, and returns ``None`` if no call is left for now.
    ``look`` is called about once a second while all calls wait.
    """

    asking: CallSession
    draw: Callable[[int], Awaitable[Drawn[T] | None]]
    meter: Meter
    look: Callable[[], None] | None = None
    idle: float = 0.0
    _waiting: dict[JurorState, list[_Job[T]]] = field(default_factory=dict)
    """The calls to each juror that wait for their turn or their next attempt, in order."""
    _running: dict[_Job[T], asyncio.Task[CanonicalBallot | Retry]] = field(default_factory=dict)
    _at_host: Counter[str] = field(default_factory=Counter)
    _news: asyncio.Queue[_Job[T] | None] = field(default_factory=asyncio.Queue)
    _numbers: Iterator[int] = field(default_factory=count)
    _due: float = math.inf
    """When a waiting call may begin, or is given up."""

    async def ballots(self) -> AsyncGenerator[Cast[T], None]:
        """Yield every call with its ballot, whose reply is stored, in order of arrival.

        Closing the generator cancels the open calls. It ends early once the ceiling is reached.
        """
        try:
            while True:
                for cast in self._given_up():
                    yield cast
                    await asyncio.sleep(0)
                if await self._begin():
                    continue
                if not self._running and (self.meter.closed or not self._count()):
                    return
                job = await self._next()
                if job is None:
                    continue
                outcome = self._running.pop(job).result()
                self._at_host[job.state.place.host] -= 1
                if isinstance(outcome, Retry):
                    now = self.asking.clock.monotonic()
                    job.due = now + outcome.after if outcome.after else -math.inf
                    insort(self._waiting[job.state], job, key=lambda one: one.number)
                else:
                    yield job.owner, job.call, outcome
        finally:
            for task in self._running.values():
                task.cancel()
            await asyncio.gather(*self._running.values(), return_exceptions=True)

    def pauses(self) -> tuple[tuple[ModelPause, int], ...]:
        found: dict[str, tuple[ModelPause, int]] = {}
        for state, jobs in self._waiting.items():
            pause = state.limit.pause()
            if pause is not None and jobs:
                place = f"{state.place.host} {pause.model}"
                waiting = found[place][1] if place in found else 0
                found[place] = pause, waiting + len(jobs)
        return tuple(found.values())

    def _count(self) -> int:
        return sum(map(len, self._waiting.values()))

    # Calls that are not made

    def _given_up(self) -> Iterator[Cast[T]]:
        """Yield the waiting calls that will not be made, each with a ballot that says why."""
        now = self.asking.clock.monotonic()
        self._due = math.inf
        for state, jobs in list(self._waiting.items()):
            if self.meter.closed or not jobs:
                continue
            self._due = min(self._due, self.asking.patience(state))
            pause = state.limit.pause()
            named = pause.left - TICK if pause is not None and pause.is_named else 0.0
            for job in [one for one in jobs if state.stopped or one.trying.left < named]:
                why = state.stopped
                if why is None:
                    asked = f"{state.limit.model} at {state.place.host} asks to wait"
                    left = f"and the ballot's deadline leaves {job.trying.left:.0f} s"
                    text = f"{asked} {math.ceil(named)} s, {left}"
                    why = Fault(Status.ERROR, RATE_LIMITED, text)
                jobs.remove(job)
                yield job.owner, job.call, job.failed(why)
            self._due = min([self._due, *(job.due for job in jobs if job.due > now + TICK)])

    # Calls that begin

    async def _begin(self) -> bool:
        """Begin one call, or draw further calls; return False if that is not possible now."""
        asking = self.asking
        free = asking.concurrency - len(self._running)
        if self.meter.closed or free < 1:
            return False
        if self._start():
            return True
        is_full = self.meter.closed or self._count() >= MOST_WAITING
        drawn = None if is_full else await self.draw(free)
        if drawn is None:
            return False
        for owner, call in drawn:
            state = await asking.state(call.juror)
            trying = Trying(asking.deadline(call.juror))
            tokens = 0
            if call.juror.tpm is not None:
                # A third of the request's bytes, plus the most tokens answered.
                body = requests.encoded(requests.payload(call, state.place))
                tokens = len(body) // 3 + call.juror.max_tokens
            job = _Job(next(self._numbers), owner, call, state, asking, trying, tokens)
            self._waiting.setdefault(state, []).append(job)
        await asyncio.sleep(0)  # a long row of cases must not hold up open calls
        return True

    def _start(self) -> bool:
        """Begin the first call that its limits and the ceiling admit, if any.

        If the ceiling alone holds calls back, and no open call can free any money, the run ends.
        """
        now = self.asking.clock.monotonic()
        first = []
        for state, jobs in self._waiting.items():
            ready = [job for job in jobs if job.due <= now + TICK]
            # While many calls to a juror wait for their next attempt, no further ones begin.
            is_held = len(jobs) - len(ready) >= self.asking.concurrency
            if ready and not is_held and self._at_host[state.place.host] < self.asking.per_host:
                first.append(ready[0])
        is_short = False
        for job in sorted(first, key=lambda one: one.number):
            if not self.meter.reserve(job.call):
                is_short = True
                continue
            found = job.state.limit.enter(job.call.juror, job.tokens)
            if isinstance(found, CallTurn):
                self._waiting[job.state].remove(job)
                self._send(job, found)
                return True
            self.meter.release(job.call)
            self._due = min(self._due, now + found)
        self.meter.closed = is_short and not self._running
        return False

    def _send(self, job: _Job[T], turn: CallTurn) -> None:
        self._at_host[job.state.place.host] += 1
        task = self._running[job] = asyncio.create_task(self._attempt(job, turn))
        task.add_done_callback(lambda _: self._news.put_nowait(job))

    async def _attempt(self, job: _Job[T], turn: CallTurn) -> CanonicalBallot | Retry:
        try:
            found = await job.once(turn)
        finally:
            self.meter.release(job.call)
            job.state.limit.leave()
        if not isinstance(found, Retry):
            await self.meter.store.settled()
        return found

    # Waiting

    async def _next(self) -> _Job[T] | None:
        """Wait for the end of an attempt, and return its call, or ``None`` at another change."""
        clock = self.asking.clock
        began = clock.monotonic()
        is_idle = not self._running
        due = min(self._due, began + 1.0) if self.look is not None else self._due

        async def ring() -> None:
            await clock.sleep(max(0.0, due - began))
            self._news.put_nowait(None)

        alarm = asyncio.create_task(ring()) if self._due < math.inf else None
        try:
            job = await self._news.get()
        finally:
            if alarm is not None:
                alarm.cancel()
        self.idle += clock.monotonic() - began if is_idle else 0.0
        if job is None and self.look is not None:
            self.look()
        return job
