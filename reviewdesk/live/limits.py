"""What the calls of a panel share: limits of models, money, and the state of each juror.

All calls of the process share the limit of a model at a host under one key, whatever thread and
event loop they run in. A limit never waits: it admits a call, or states how long it must wait.
"""

import asyncio
import hashlib
import math
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from threading import RLock

from msgspec import Struct
from msgspec.structs import replace

from reviewdesk.domain.panel.asking import RATE_LIMITED, STOPPED, Allowance, ModelPause
from reviewdesk.domain.panel.juror import BATCH_SHARE, Juror
from reviewdesk.domain.panel.vendors import Wire
from reviewdesk.domain.verdict import SLACK, Status
from reviewdesk.errors import CeilingError, TransportError, UsageError
from reviewdesk.live.keys import PROCESS, Key, Redactor, known_keys, read_key
from reviewdesk.live.records import Call, Clock, Exchange, Keep, ReplyStore, Request, Transport
from reviewdesk.live.replies.ballots import cost_of
from reviewdesk.live.replies.envelope import Envelope, Fault, Retryable, reply_or_fault
from reviewdesk.live.retry import DEADLINE, UNREACHABLE, asked_wait, backoff, budget_wait
from reviewdesk.live.wires.endpoints import Endpoint, endpoint
from reviewdesk.live.wires.requests import encoded, payload

_UNSENT = frozenset({"connection", "dns", "tls", "proxy", "endpoint"})
"""Kinds of failure in which the request never reached an endpoint."""


def worst(call: Call, *, in_batch: bool = False) -> float | None:
    if call.juror.price is None:
        return None
    sent = encoded(payload(call, endpoint(call.juror)))
    # A vendor with cache marks may write the whole prompt to its cache, and charge for that.
    written = len(sent) if endpoint(call.juror).wire is Wire.MESSAGES else 0
    usd = call.juror.price.cost(len(sent), call.juror.max_tokens, written=written)
    return usd * BATCH_SHARE if in_batch else usd


def booked(call: Call, exchange: Exchange) -> float | None:
    """Return the cost of an exchange in US dollars, by the endpoint's own counts if it states them.

    A request that was refused or never arrived costs nothing; any other without a count its worst.
    """
    if exchange.status is None:
        kind = (exchange.problem or "").partition(":")[0]
        return 0.0 if kind in _UNSENT or exchange.is_batched else worst(call)
    if not 200 <= exchange.status < 300:
        return 0.0
    found = reply_or_fault(exchange, endpoint(call.juror).wire)
    usd = None if isinstance(found, Fault) else cost_of(call, exchange, found)
    return worst(call, in_batch=exchange.is_batched) if usd is None else usd


@dataclass(slots=True)
class Meter:
    """Stores each exchange of a run with its cost in US dollars, and keeps the run below a ceiling.

    The worst case of a request is reserved before it is sent. ``promised`` is the highest cost of
    the calls that wait at vendors or will be submitted to them.
    """

    store: ReplyStore
    ceiling: float | None = None
    spent: float = 0.0
    """What earlier runs have spent, and then this one too."""
    promised: float = 0.0
    closed: bool = False
    """Whether the ceiling has stopped the run."""
    _held: dict[str, float] = field(default_factory=dict)
    """The amount reserved for each open request, by the key of its call."""

    def stopped(self, left: str, hint: str) -> CeilingError:
        """Return the error of a run that the ceiling has stopped; ``left`` says what is left."""
        told = f"stopped before the ceiling of ${self.ceiling:.10g}: ${self.spent:.4f} is spent"
        return CeilingError(told + left, hint)

    def reserve(self, call: Call) -> bool:
        """Reserve the worst case of a request; False while the ceiling leaves too little for it."""
        most = worst(call) or 0.0
        held = self.spent + sum(self._held.values()) + self.promised
        if self.ceiling is not None and held + most > self.ceiling + SLACK:
            return False
        self._held[call.key] = most
        return True

    def release(self, call: Call) -> None:
        self._held.pop(call.key, None)

    def keep(self, call: Call, exchange: Exchange) -> None:
        usd = booked(call, exchange)
        self.store.keep(call, exchange, usd)
        if exchange.is_batched:
            self.promised -= worst(call, in_batch=True) or 0.0
        self.release(call)
        self.spent += usd or 0.0


MINUTE = 60.5
"""Seconds that a request counts towards ``rpm`` and ``tpm``; the half second is for the network,
which may deliver a late request and the first of the next minute closer together than they were
sent."""

TICK = 1e-6
"""Seconds too short to wait for; the error of the sum of two times is smaller."""

HELD = 1.0
"""Seconds after which a request is tried again that waits for the end of another session's."""

_LOCK = RLock()
"""Held while a limit is read or changed, because the sessions of all threads share it."""

REFUSED = "429"
SPENT = "spent budget"
"""The reasons of a pause: a refusal, or an answer whose headers show a spent budget."""


@dataclass(slots=True)
class CallTurn:
    """A request that a limit admitted."""

    at: float
    tokens: int
    pauses: int
    """How many pauses of the model had begun when it was sent."""


def _rate_wait(sent: deque[CallTurn], juror: Juror, now: float, tokens: int) -> float:
    """Return the seconds until a juror's rates admit a request; forget those over a minute old."""
    while sent and sent[0].at <= now - MINUTE:
        sent.popleft()
    free = now
    if juror.rpm is not None and len(sent) >= juror.rpm:
        free = sent[-juror.rpm].at + MINUTE
    if juror.tpm is not None:
        counted = tokens + sum(one.tokens for one in sent)
        for one in sent:  # a request larger than the rate goes alone
            if counted <= juror.tpm:
                break
            counted -= one.tokens
            free = max(free, one.at + MINUTE)
    return free - now


@dataclass(slots=True, eq=False)
class ModelLimit:
    """The pause, the open calls and the jurors' rates of one model at a host under one key.

    A 429, or a spent budget in an answer's headers, pauses the model. Each pause that a 429 begins
    halves the limit of open calls; each round of answers at the limit raises it by one. While two
    models of a host answer 429 and none anything else, each other model sends one call at a time.
    """

    host: str
    model: str
    refused: set[str]
    """The models that answered 429 since any model of the host last answered something else. Those
    of one host under one key share it."""
    clock: Clock
    refusing_since: float | None = None
    """When the model first answered 429 since it last answered anything else."""
    told: str = ""
    """What the answer that began the pause says about it."""
    _sent: defaultdict[tuple[str, str], deque[CallTurn]] = field(
        default_factory=lambda: defaultdict(deque)
    )
    _open: int = 0
    _limit: float = math.inf
    _until: float = -math.inf
    _reason: str = REFUSED
    _is_named: bool = False
    _pauses: int = 0
    _row: int = 0

    def enter(self, juror: Juror, tokens: int) -> CallTurn | float:
        """Admit a request of that many tokens, or return the seconds after which to try again.

        An admitted request is open until ``leave``. One that waits for the end of another may be
        tried again at once when that ends.
        """
        with _LOCK:
            now = self.clock.monotonic()
            recent = self._sent[juror.name, juror.model]
            wait = max(self._until - now, _rate_wait(recent, juror, now, tokens))
            # While other models show that the host refuses, one call at a time may be open.
            is_probe = len(self.refused) > 1 and self.model not in self.refused
            if wait < TICK and self._open + 1 <= (1.0 if is_probe else self._limit):
                self._open += 1
                recent.append(turn := CallTurn(now, tokens, self._pauses))
                return turn
            return wait if wait >= TICK else HELD

    def leave(self) -> None:
        with _LOCK:
            self._open -= 1

    def note(self, turn: CallTurn, exchange: Exchange, found: Envelope | Fault) -> float:
        """Record the result of a request; return the seconds of the pause that it began, or 0."""
        with _LOCK:
            now = self.clock.monotonic()
            is_refusal = isinstance(found, Fault) and found.again is Retryable.PAUSED
            if is_refusal:
                if self.refusing_since is None:
                    self.refusing_since = now
                self.refused.add(self.model)
                if turn.pauses == self._pauses:
                    self._pauses += 1
                    self._limit = max(1.0, self._open // 2)
                    self._row += 1
                named = asked_wait(exchange, self.clock.now()) or 0.0
                wait = max(named, backoff(self._row, self.clock))
            elif exchange.status is None:
                wait = named = 0.0
            else:
                self.refusing_since = None
                self._row = 0
                self.refused.clear()
                if self._open + 1 > self._limit:
                    self._limit += 1 / self._limit
                if isinstance(found, Envelope) and found.tokens_in is not None:
                    turn.tokens = found.tokens_in + (found.tokens_out or 0)
                wait = named = budget_wait(exchange, self.clock.now()) or 0.0
            if now + wait <= max(now, self._until):
                return 0.0
            self._until = now + wait
            self._is_named = named == wait
            self._reason = REFUSED if is_refusal else SPENT
            self.told = found.message if isinstance(found, Fault) else "its budget is spent"
            return wait

    def pause(self) -> ModelPause | None:
        with _LOCK:
            left = self._until - self.clock.monotonic()
            if left < TICK:
                return None
            return ModelPause(self.model, self._reason, left, self._is_named)


class ModelLimits:
    """The limits of one clock, by host, key and model; keys are kept as hashes."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._refused: defaultdict[tuple[str, bytes], set[str]] = defaultdict(set)
        self._models: dict[tuple[str, bytes, str], ModelLimit] = {}

    def of(self, host: str, key: str | None, model: str) -> ModelLimit:
        name = host.lower()
        hashed = hashlib.sha256((key or "").encode()).digest()
        with _LOCK:
            if (name, hashed, model) not in self._models:
                refused = self._refused[name, hashed]
                self._models[name, hashed, model] = ModelLimit(host, model, refused, self._clock)
            return self._models[name, hashed, model]


ALIKE = 5
"""Refusals of the same kind (key, credit or model) in a row after which a juror stops."""

ATTEMPTS = 10
"""Failed attempts in a row after which a juror that has never answered stops."""

_DOWN = frozenset({Retryable.YES, Retryable.UNREACHABLE})
_REFUSALS = frozenset({"unauthorized", "spent_credit", "forbidden", "not_found"})


SHARED = ModelLimits(Clock())
"""The limits of all calls of this process that use the system's clock."""


class RunLimits(Struct, frozen=True):
    """The limits that a person sets for a run: money, open calls, time, and lost ballots."""

    max_cost: float | None = None
    concurrency: int = 16
    per_host: int | None = None
    """The most open calls to each host; if ``None``, only ``concurrency`` limits them."""
    deadline: float | None = None
    """Seconds of trying that each ballot has; ``None`` is 600."""
    max_wait: float | None = None
    """Seconds that a model may be paused before its jurors are set aside; ``None`` is 600."""
    max_failed: Allowance = Allowance()
    yes: bool = False
    """Whether it was agreed to in advance, so that nobody is asked."""

    def __post_init__(self) -> None:
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
        from reviewdesk.live.wires.transport import HttpTransport

        return World(PROCESS, Clock(), HttpTransport)


@dataclass(slots=True, eq=False)
class JurorState:
    """One juror of a session: its endpoint, its limit, and the results of its latest attempts."""

    juror: Juror
    place: Endpoint
    key: Key
    limit: ModelLimit
    dropped: frozenset[str] = frozenset()
    """The optional parts of a request that the endpoint refused."""
    stopped: Fault | None = None
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
        text = f"juror {self.juror.name} is stopped for this run: {why}: {fault.message}"
        return Fault(Status.ERROR, STOPPED, text)


class CallSession:
    """The transport, clock, keys and store of a panel's calls; ``noted`` hears of long pauses."""

    def __init__(
        self, world: World, keep: Keep, limits: RunLimits, noted: Callable[[str], None]
    ) -> None:
        self.transport = world.transport()
        self.keep = keep
        self.environment = world.environment
        self.clock = world.clock
        self.concurrency = limits.concurrency
        self.per_host = limits.per_host or limits.concurrency
        self.noted = noted
        self._deadline = limits.deadline
        self._max_wait = 600.0 if limits.max_wait is None else limits.max_wait
        self._limits = SHARED if type(self.clock) is Clock else ModelLimits(self.clock)
        self._states: dict[tuple[str, str, Endpoint], JurorState] = {}
        self._began = self.clock.monotonic()
        self._keys = known_keys(self.environment)
        self.redactor = Redactor(self._keys)

    def at(self) -> str:
        return self.clock.now().isoformat(timespec="milliseconds")

    async def exchange(self, request: Request, seconds: float) -> Exchange:
        """Send a request; the exchange names no call yet, and keys may be in it."""
        started = self.clock.monotonic()
        least = 0.0
        made = Exchange("", 0, "", "", 0.0, None)
        try:
            async with asyncio.timeout(seconds):
                answer = await self.transport.send(request)
            body = answer.body.decode("utf-8", "replace")
            made = replace(made, status=answer.status, body=body, headers=answer.headers)
        except TransportError as failure:
            made = replace(made, problem=f"{failure.kind}: {failure.message}")
        except TimeoutError:
            least = seconds
            made = replace(made, problem=f"timeout: no answer within {round(seconds, 1):g} s")
        return replace(made, at=self.at(), ms=1000 * max(self.clock.monotonic() - started, least))

    def deadline(self, juror: Juror) -> float:
        """Return the seconds of trying that a ballot has: enough for the longest named pause."""
        return self._deadline or max(DEADLINE, juror.timeout, self._max_wait)

    async def state(self, juror: Juror) -> JurorState:
        """Return the state of a juror, whose key is read first; without a key it is stopped."""
        place = endpoint(juror)
        named = juror.name, juror.model, place
        if named not in self._states:
            key = await read_key(place, self.environment)
            self.hide(key.secrets)
            limit = self._limits.of(place.host, key.value, juror.deployment or juror.model)
            made = self._states.setdefault(named, JurorState(juror, place, key, limit))
            if key.problem is not None:
                made.stopped = Fault(Status.MISSING_KEY, "missing_key", key.problem)
        return self._states[named]

    def stop(self, state: JurorState, fault: Fault) -> None:
        if state.stopped is None:
            state.stopped = fault
            self.noted(self.redactor.text(fault.message))

    def patience(self, state: JurorState) -> float:
        """Return when a paused juror is set aside if the pause lasts; set it aside if that is over.

        A named pause over the longest wait sets it aside at once; else the time runs from the first
        refusal since the model last answered, or from the start of this session.
        """
        limit = state.limit
        pause = limit.pause()
        if pause is None:
            return math.inf
        now = self.clock.monotonic()
        since = math.inf
        if limit.refusing_since is not None:
            since = max(limit.refusing_since, self._began)
        why = f"has answered nothing but 429 for {now - since:.0f} s"
        ends = since + self._max_wait
        if pause.is_named and pause.left > self._max_wait + TICK:
            why = f"asks to wait {math.ceil(pause.left)} s"
            ends = now
        if ends <= now + TICK:
            text = (
                f"juror {state.juror.name} is set aside for this run: {limit.model} at "
                f"{limit.host} {why}, and max-wait is {self._max_wait:g} s: {limit.told}"
            )
            self.stop(state, Fault(Status.ERROR, RATE_LIMITED, text))
        return ends

    def paused(self, state: JurorState, seconds: float) -> None:
        pause = state.limit.pause()
        if pause is not None and 10 <= seconds <= self._max_wait + TICK:
            why = "answers 429" if pause.reason == REFUSED else "has spent its budget"
            self.noted(f"{pause.model} at {state.place.host} {why}: paused for {seconds:.0f} s")

    def hide(self, secrets: Iterable[str | None]) -> None:
        known = self._keys | {secret for secret in secrets if secret is not None}
        if known != self._keys:
            self._keys = known
            self.redactor = Redactor(known)
