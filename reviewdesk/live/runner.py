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

FEW_WAITING = 500
"""Calls that may wait while every juror so far has some; then further cases do not help."""

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
        dropped = asking.dropped(state.place, call.juror.model)
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
            asking.drop(state.place, call.juror.model, step.refused)
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
    _running: dict[_Job[T], asyncio.Task[CanonicalBallot | Retry | None]] = field(
        default_factory=dict
    )
    _at_host: Counter[str] = field(default_factory=Counter)
    _news: asyncio.Queue[_Job[T] | None] = field(default_factory=asyncio.Queue)
    _numbers: Iterator[int] = field(default_factory=count)
    _due: float = math.inf
    """When a call that a pause or a rate holds back may be tried again."""
    _alarm: asyncio.Task[None] | None = None
    _alarm_at: float = math.inf
    _is_stopped: bool = False
    """Whether the ceiling was reached: open calls end, and no other call begins."""

    async def ballots(self) -> AsyncGenerator[Cast[T], None]:
        """Yield every call with its ballot, whose reply is stored, in order of arrival.

        Closing the generator cancels the open calls. It ends early once the ceiling is reached.
        """
        self._loop = asyncio.get_running_loop()
        try:
            while True:
                for cast in self._given_up():
                    yield cast
                    await asyncio.sleep(0)
                if await self._begin():
                    continue
                if not self._running and (self._is_stopped or not self._count()):
                    return
                job = await self._next()
                if job is None:
                    continue
                outcome = self._running.pop(job).result()
                self._at_host[job.state.place.host] -= 1
                if outcome is None:
                    self._is_stopped = True
                elif isinstance(outcome, Retry):
                    now = self.asking.clock.monotonic()
                    job.due = now + outcome.after if outcome.after else -math.inf
                    insort(self._waiting[job.state], job, key=lambda one: one.number)
                else:
                    yield job.owner, job.call, outcome
        finally:
            open_ = [*self._running.values(), *([self._alarm] if self._alarm else [])]
            for task in open_:
                task.cancel()
            await asyncio.gather(*open_, return_exceptions=True)

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
        for state, jobs in list(self._waiting.items()):
            if self._is_stopped or not jobs:
                continue
            ends = self.asking.set_aside_at(state)
            if ends is not None and ends <= self.asking.clock.monotonic() + TICK:
                self.asking.set_aside(state)
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

    # Calls that begin

    async def _begin(self) -> bool:
        """Begin one call, or draw further calls; return False if that is not possible now."""
        asking = self.asking
        free = asking.concurrency - len(self._running)
        if self._is_stopped or free < 1:
            return False
        if found := self._startable():
            job, turn = found
            self._at_host[job.state.place.host] += 1
            task = self._running[job] = asyncio.create_task(self._attempt(job, turn))
            task.add_done_callback(lambda _: self._news.put_nowait(job))
            return True
        most = FEW_WAITING if all(self._waiting.values()) else MOST_WAITING
        drawn = await self.draw(free) if self._count() < most else None
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

    def _startable(self) -> tuple[_Job[T], CallTurn] | None:
        """Take the first call that its limits admit; note when the others may be tried again."""
        self._due = math.inf
        now = self.asking.clock.monotonic()
        first = []
        for state, jobs in self._waiting.items():
            ready = [job for job in jobs if job.due <= now + TICK]
            # While many calls to a juror wait for their next attempt, no further ones begin.
            is_held = len(jobs) - len(ready) >= self.asking.concurrency
            if ready and not is_held and self._at_host[state.place.host] < self.asking.per_host:
                first.append(ready[0])
        for job in sorted(first, key=lambda one: one.number):
            found = job.state.limit.enter(job.call.juror, job.tokens, self._changed)
            if isinstance(found, CallTurn):
                self._waiting[job.state].remove(job)
                return job, found
            self._due = min(self._due, now + found)
        return None

    async def _attempt(self, job: _Job[T], turn: CallTurn) -> CanonicalBallot | Retry | None:
        state = job.state
        meter = self.meter
        call = job.call
        try:
            if not await meter.begin(call):
                return None
            try:
                found = await job.once(turn)
            finally:
                await meter.end(call)
        finally:
            state.limit.leave()
        if not isinstance(found, Retry):
            await meter.store.settled()
        return found

    # Waiting

    async def _next(self) -> _Job[T] | None:
        """Wait for the end of an attempt, and return its call, or ``None`` at another change."""

        def ring(alarm: asyncio.Task[None]) -> None:
            if not alarm.cancelled() and alarm is self._alarm:
                self._alarm = None
                self._alarm_at = math.inf
                self._news.put_nowait(None)

        clock = self.asking.clock
        began = clock.monotonic()
        is_idle = not self._running
        # A waiting call may be tried again, if there is a place, or is given up.
        is_full = len(self._running) >= self.asking.concurrency
        due = math.inf if is_full else self._due
        for state, jobs in self._waiting.items():
            if not is_full:
                due = min([due, *(job.due for job in jobs if job.due > began + TICK)])
            if jobs and (ends := self.asking.set_aside_at(state)) is not None:
                due = min(due, ends)
        if self.look is not None and due < math.inf:
            due = min(due, began + 1.0)
        if due < self._alarm_at - TICK:
            if self._alarm is not None:
                self._alarm.cancel()
            self._alarm_at = due
            self._alarm = asyncio.create_task(clock.sleep(max(0.0, due - began)))
            self._alarm.add_done_callback(ring)
        job = await self._news.get()
        self.idle += clock.monotonic() - began if is_idle else 0.0
        if job is None and self.look is not None:
            self.look()
        return job

    def _changed(self) -> None:
        self._loop.call_soon_threadsafe(self._news.put_nowait, None)
