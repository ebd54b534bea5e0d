"""The state that the calls of one panel share."""

import asyncio
import math
import random
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from msgspec import Struct

from reviewdesk.domain.panel.juror import Juror
from reviewdesk.domain.panel.turnout import NONE_LOST, RATE_LIMITED, STOPPED, Allowance, ModelPause
from reviewdesk.domain.verdict import Status
from reviewdesk.errors import UsageError
from reviewdesk.live.keys import PROCESS, Key, Redactor, known_keys, read_key
from reviewdesk.live.limits import REFUSED, TICK, ModelLimit, ModelLimits
from reviewdesk.live.records import Clock, Keep, Transport
from reviewdesk.live.replies.envelope import Fault, Retryable
from reviewdesk.live.retry import DEADLINE, UNREACHABLE
from reviewdesk.live.wires.vendors import Endpoint, endpoint


class SystemClock:
    """The clock that live panels use outside tests."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    def random(self) -> float:
        return random.random()  # noqa: S311 - it spreads retries


ALIKE: Final = 5
"""Refusals of the same kind (key, credit or model) in a row after which a juror stops."""

ATTEMPTS: Final = 10
"""Failed attempts in a row after which a juror that has never answered stops."""

_DOWN: Final = frozenset({Retryable.YES, Retryable.UNREACHABLE})
_REFUSALS: Final = frozenset({"unauthorized", "spent_credit", "forbidden", "not_found"})


@dataclass(slots=True)
class Breaker:
    """Counts the results of one juror's latest attempts."""

    juror: str
    answered: bool = False
    failing: int = 0
    since: float = 0.0
    """When the first attempt of the present row of failures was sent."""
    refusals: int = 0
    refusal: str = ""

    def note(
        self, status: int | None, fault: Fault | None, sent: float, now: float
    ) -> Fault | None:
        """Record the result of an attempt; return the fault that stops the juror, if any."""
        if fault is None:
            self.answered = True
            self.failing = self.refusals = 0
            return None
        is_down = fault.again in _DOWN and not 400 <= (status or 0) < 500
        self.since = self.since if self.failing else sent
        self.failing = self.failing + 1 if is_down else 0
        is_alike = fault.kind in _REFUSALS
        self.refusals = 1 + self.refusals * (fault.kind == self.refusal) if is_alike else 0
        self.refusal = fault.kind
        if self.refusals >= ALIKE:
            why = f"{ALIKE} calls in a row ended alike"
        elif not self.answered and self.failing >= ATTEMPTS and now - self.since >= UNREACHABLE:
            why = f"it has not answered, and its last {self.failing} attempts failed"
        else:
            return None
        text = f"juror {self.juror} is stopped for this run: {why}: {fault.message}"
        return Fault(Status.ERROR, STOPPED, text)


CONCURRENCY = 16
"""The default number of calls that are open at once."""

MAX_WAIT: Final = 600.0
"""Seconds that a model may be paused before its jurors are set aside, unless the user sets
others."""

SHARED = ModelLimits(SystemClock())
"""The limits of all calls of this process that use the system's clock."""

NOTICEABLE = 10.0
"""The least seconds of a pause that is reported."""


class RunLimits(Struct, frozen=True):
    """The limits that a person sets for a run: money, open calls, time, and lost ballots."""

    max_cost: float | None = None
    concurrency: int = CONCURRENCY
    per_host: int | None = None
    """The most open calls to each host; if ``None``, only ``concurrency`` limits them."""
    deadline: float | None = None
    """Seconds of trying that each ballot has; ``None`` is 600."""
    max_wait: float | None = None
    """Seconds that a model may be paused before its jurors are set aside; ``None`` is 600."""
    max_failed: Allowance = NONE_LOST

    def __post_init__(self) -> None:
        """Raise UsageError for a limit that no run can keep."""
        for name in ("concurrency", "per_host", "deadline", "max_wait", "max_cost"):
            value = getattr(self, name)
            free = name == "max_cost" and value == 0
            if value is not None and not free and not 0 < value < math.inf:
                raise UsageError(f"{name} cannot be {value!r}", "Give a number above 0.")


class World(Struct, frozen=True):
    """The outside resources of a run: variables, time and network."""

    environment: Mapping[str, str]
    clock: Clock
    transport: Callable[[], Transport]
    closes: bool = True
    """Whether a run closes its transport at its end."""

    @staticmethod
    def real() -> "World":
        """Return the process's own environment, clock and network."""
        from reviewdesk.live.wires.transport import HttpTransport

        return World(PROCESS, SystemClock(), HttpTransport)


@dataclass(slots=True, eq=False)
class JurorState:
    """One juror of a session: its endpoint, its limit, and whether it is still asked."""

    juror: Juror
    place: Endpoint
    breaker: Breaker
    key: Key | None = None
    limit: ModelLimit | None = None
    stopped: Fault | None = None

    @property
    def pause(self) -> ModelPause | None:
        return None if self.limit is None else self.limit.pause()


class CallSession:
    """The transport, clock, keys and store of a panel's calls, within one event loop.

    ``noted`` is called when a model is paused for long, and when a juror is stopped or set aside.
    """

    def __init__(
        self,
        transport: Transport,
        keep: Keep,
        limits: RunLimits | None = None,
        *,
        environment: Mapping[str, str] = PROCESS,
        clock: Clock | None = None,
        noted: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.transport = transport
        self.keep = keep
        self.environment = environment
        self.clock = clock or SystemClock()
        limits = limits or RunLimits()
        self.concurrency = limits.concurrency
        self.per_host = limits.per_host or limits.concurrency
        self.noted = noted
        self._deadline = limits.deadline
        self._max_wait = MAX_WAIT if limits.max_wait is None else limits.max_wait
        self._limits = SHARED if isinstance(self.clock, SystemClock) else ModelLimits(self.clock)
        self._states: dict[tuple[str, str, Endpoint], JurorState] = {}
        self._began = self.clock.monotonic()
        self._refused: dict[tuple[str, str], frozenset[str]] = {}
        self._keys = known_keys(self.environment)
        self.redactor = Redactor(self._keys)

    def at(self) -> str:
        """Return the current time as ballots state it: ISO format with milliseconds."""
        return self.clock.now().isoformat(timespec="milliseconds")

    def deadline(self, juror: Juror) -> float:
        """Return the seconds of trying that a ballot has: enough for the longest named pause."""
        return self._deadline or max(DEADLINE, juror.timeout, self._max_wait)

    def state(self, juror: Juror) -> JurorState:
        """Return the state of a juror; raise TransportError if its address cannot be used."""
        place = endpoint(juror)
        named = juror.name, juror.model, place
        return self._states.setdefault(named, JurorState(juror, place, Breaker(juror.name)))

    async def open(self, state: JurorState) -> None:
        """Read the key of a juror, once; without a usable key the juror is stopped."""
        if state.key is not None:
            return
        key = await read_key(state.place, self.environment)
        if key.problem is not None:
            state.stopped = Fault(Status.MISSING_KEY, "missing_key", key.problem)
        self.hide(key.secrets)
        model = state.juror.deployment or state.juror.model
        state.limit = self._limits.of(state.place.host, key.value, model)
        state.key = key

    def stop(self, state: JurorState, fault: Fault) -> None:
        """Stop asking a juror in this session, and report it."""
        if state.stopped is None:
            state.stopped = fault
            self.noted(self.redactor.text(fault.message))

    def set_aside_at(self, state: JurorState) -> float | None:
        """Return the time at which a paused juror is set aside if the pause lasts until then.

        The result is ``None`` if it may wait forever. A named pause that is longer than the longest
        wait sets it aside at once. Otherwise its time runs from the first refusal since the model
        last answered, but not from before this session began.
        """
        limit = state.limit
        pause = state.pause
        if limit is None or pause is None:
            return None
        if self._is_too_long(pause):
            return -math.inf
        if limit.refusing_since is None:
            return None
        return max(limit.refusing_since, self._began) + self._max_wait

    def set_aside(self, state: JurorState) -> None:
        """Stop asking a juror in this session because its model is paused for too long."""
        limit = state.limit
        pause = state.pause
        if limit is None or pause is None:
            return
        since = max(limit.refusing_since or self._began, self._began)
        why = f"has answered nothing but 429 for {self.clock.monotonic() - since:.0f} s"
        if self._is_too_long(pause):
            why = f"asks to wait {math.ceil(pause.left)} s"
        text = (
            f"juror {state.juror.name} is set aside for this run: {limit.model} at "
            f"{limit.host} {why}, and max-wait is {self._max_wait:g} s: {limit.told}"
        )
        self.stop(state, Fault(Status.ERROR, RATE_LIMITED, text))

    def _is_too_long(self, pause: ModelPause) -> bool:
        return pause.is_named and pause.left > self._max_wait + TICK

    def paused(self, state: JurorState, seconds: float) -> None:
        """Report a pause that a person would notice."""
        pause = state.pause
        if pause is not None and NOTICEABLE <= seconds <= self._max_wait + TICK:
            why = "answers 429" if pause.reason == REFUSED else "has spent its budget"
            self.noted(f"{pause.model} at {state.place.host} {why}: paused for {seconds:.0f} s")

    def hide(self, secrets: Iterable[str | None]) -> None:
        """Add these keys to the redactor."""
        known = self._keys | {secret for secret in secrets if secret is not None}
        if known != self._keys:
            self._keys = known
            self.redactor = Redactor(known)

    def dropped(self, place: Endpoint, model: str) -> frozenset[str]:
        """Return the parts that the endpoint refused for this model; they are not sent again."""
        return self._refused.get((place.url, model), frozenset())

    def drop(self, place: Endpoint, model: str, name: str) -> None:
        """Record that the endpoint refuses a part of the request for this model."""
        self._refused[place.url, model] = self.dropped(place, model) | {name}
