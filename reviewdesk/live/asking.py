"""Plan the calls about many cases for consent, and make them, drawing cases as calls need them."""

import hashlib
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

import msgspec
from msgspec.structs import replace

from reviewdesk.domain.panel.asking import ConsentPlan, Host, Listener, LiveProgress, kind_of_loss
from reviewdesk.domain.panel.case import Case
from reviewdesk.domain.panel.juror import Juror, seat_body
from reviewdesk.domain.panel.samples import one_ballot
from reviewdesk.domain.panel.spec import PanelSpec
from reviewdesk.domain.panel.verdict_body import can_turn
from reviewdesk.domain.verdict import CanonicalBallot, Status
from reviewdesk.errors import UsageError, reason
from reviewdesk.file_output import whole_file
from reviewdesk.live.keys import Redactor, key_names, key_problem, redactor
from reviewdesk.live.limits import CallSession, Meter, RunLimits, World, worst
from reviewdesk.live.records import CACHE_HEADER, Call, Exchange, ReplyStore, calls_for
from reviewdesk.live.replies.ballots import answer_of, ballot_of, stopped
from reviewdesk.live.replies.envelope import Fault, reply_or_fault
from reviewdesk.live.runner import CallRunner
from reviewdesk.live.vendor_batches import BatchStore, BatchTransport
from reviewdesk.live.wires.batches import is_batched
from reviewdesk.live.wires.endpoints import Endpoint, address_text, endpoint, proxy_for
from reviewdesk.live.wires.requests import hashed, payload

_LARGEST = 4_000_000


class ReplyCache:
    """A private folder with a file per reply, named by address, body without nonce, and sample.

    No stored reply contains a vendor's key. A file that is damaged, or that somebody else put
    there, is not trusted: its content is checked like the answer of an endpoint.
    """

    def __init__(self, folder: Path) -> None:
        """Create the folder if it does not exist; raise UsageError if it cannot be used."""
        self._folder = folder
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            problem = f"--cache: {folder}: {reason(error)}"
            raise UsageError(problem, "Name a folder of yours.") from error

    def reply(self, call: Call) -> Exchange | None:
        try:
            with self._path(call).open("rb") as file:
                found = msgspec.json.decode(file.read(_LARGEST), type=Exchange)
        except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return None
        return replace(found, call=call.key, headers={**found.headers, CACHE_HEADER: "yes"})

    def keep(self, call: Call, exchange: Exchange) -> None:
        """Write a reply, but no fault; if that fails, the question is asked again."""
        if isinstance(reply_or_fault(exchange, endpoint(call.juror).wire), Fault):
            return
        path = self._path(call)
        with suppress(OSError), whole_file(path, replace=True, private=True) as file:
            file.write(msgspec.json.encode(exchange))

    def _path(self, call: Call) -> Path:
        name = hashlib.sha256(hashed(call) + str(call.sample).encode()).hexdigest()
        return self._folder / f"{name}.reply.json"


class CaseCalls:
    """Hands out the calls about one case by stages, until ``is_decided``, and keeps the answers."""

    def __init__(
        self,
        calls: Sequence[Call],
        stages: Sequence[Sequence[int]] = (),
        is_decided: "Callable[[CaseCalls], bool]" = lambda _: False,
    ) -> None:
        """Make no call; ``stages`` are the seats that are asked together, by default all."""
        self.calls = calls
        self.answers: dict[str, CanonicalBallot] = {}
        self._stages = deque(stages or [tuple({call.seat for call in calls})])
        self._is_decided = is_decided
        self._open = 0

    def next(self) -> list[Call]:
        """Return the calls to make now; empty if the case is finished or calls are still open."""
        if self._open or not self._stages or (self.answers and self._is_decided(self)):
            return []
        seats = self._stages.popleft()
        found = [call for call in self.calls if call.seat in seats]
        self._open = len(found)
        return found

    def take(self, call: Call, ballot: CanonicalBallot) -> bool:
        self.answers[call.key] = ballot
        self._open -= 1
        return not self._open

    def split(self, is_first: Callable[[Call], bool]) -> None:
        """Make some calls first, and all others once these are answered."""
        groups = [
            {one.seat for one in self.calls if is_first(one) is first} for first in (True, False)
        ]
        self._stages = deque(tuple(seats) for seats in groups if seats)
        self._is_decided = lambda _: False

    def rest(self) -> list[Call]:
        """Return every call that may still follow those handed out."""
        seats = {seat for stage in self._stages for seat in stage}
        return [call for call in self.calls if call.seat in seats]


def panel_calls(case: Case, panel: PanelSpec) -> CaseCalls:
    """Return the calls of a panel about a case, in stages if the panel stops when decided."""
    return CaseCalls(
        calls_for(case, panel),
        panel.stages,
        lambda found: not can_turn(case, panel, seat_ballots(case, panel, found)),
    )


def seat_ballots(case: Case, panel: PanelSpec, found: CaseCalls) -> list[CanonicalBallot]:
    """Return the ballots in seat order; a juror without any answer was not asked."""
    labels = bool(panel.counting_for(case.tags).labels)
    ballots: list[CanonicalBallot] = []
    for seat, juror in enumerate(panel.jurors):
        answers: list[CanonicalBallot] = []
        for call in found.calls:
            if call.seat == seat and call.key in found.answers:
                marks = {"swapped": True} if call.swapped else {}
                answers.append({**found.answers[call.key], **marks})
        if len(answers) > 1:
            ballots.append(
                one_ballot(seat_body(juror), answers, panel.rule.threshold, labels=labels)
            )
        else:
            unasked = {**seat_body(juror), "status": Status.NOT_ASKED.value}
            ballots.append(answers[0] if answers else unasked)
    return ballots


def replied(
    case: Case, panel: PanelSpec, store: ReplyStore, environment: Mapping[str, str]
) -> list[CanonicalBallot]:
    """Return a panel's ballots by stored replies alone; a juror without a reply was stopped."""
    found = panel_calls(case, panel)
    while calls := found.next():
        for call in calls:
            exchange = store.reply(call)
            hidden = redactor([call.juror], environment)
            found.take(call, ballot_of(call, exchange, hidden) if exchange else stopped(call))
    return seat_ballots(case, panel, found)


Q = TypeVar("Q")


class Unstored:
    """Stores no replies."""

    def reply(self, call: Call) -> Exchange | None:  # noqa: ARG002
        return None

    def keep(self, call: Call, exchange: Exchange, usd: float | None = None) -> None:
        """Drop the exchange."""

    async def settled(self) -> None:
        """Return at once."""


@dataclass(slots=True)
class Asking(Generic[Q]):
    """Makes the calls of cases as they are drawn, and skips those whose answer is on disk.

    With ``batches``, jurors whose vendor has a batch interface are asked through it, and the others
    about a case once these have answered. Answers in the ``cache`` are stored, and cost nothing.
    """

    meter: Meter
    limits: RunLimits
    world: World
    listener: Listener
    plan: ConsentPlan
    batches: BatchStore | None = None
    cache: ReplyCache | None = None
    counts: LiveProgress = field(default_factory=LiveProgress)
    _cases: Iterator[tuple[Q, CaseCalls]] = field(default_factory=lambda: iter(()))
    _done: Callable[[Q, CaseCalls], None] = lambda _question, _found: None
    _session: CallSession = field(init=False)
    _vendors: BatchTransport | None = None
    _waiting: deque[tuple[tuple[Q, CaseCalls], Call]] = field(default_factory=deque)

    @property
    def _cost(self) -> float | None:
        return None if self.plan.unpriced else self.meter.spent

    async def run(
        self, cases: Iterable[tuple[Q, CaseCalls]], done: Callable[[Q, CaseCalls], None]
    ) -> None:
        """Run until every case is finished or waits at a vendor, or the ceiling is reached.

        ``done`` receives each case when it finishes. Progress is told after each ballot, and each
        second while every call waits.
        """
        clock = self.world.clock
        counts = self.counts
        session = CallSession(self.world, self._keep, self.limits, self.listener.noted)
        self._session = session
        batches = self.batches
        vendors = None if batches is None else BatchTransport(batches, session, counts)
        self._vendors = vendors
        self._cases = iter(cases)
        self._done = done
        counts.cases = self.plan.cases or 0
        counts.planned = self.plan.calls
        started = clock.monotonic()

        def look() -> None:
            counts.idle = runner.idle
            counts.pauses = runner.pauses()
            counts.seconds = clock.monotonic() - started
            self.listener.told(replace(counts, spent_usd=self._cost))

        runner = CallRunner(session, self._next, self.meter, look)
        try:
            async with aclosing(runner.ballots()) as ballots:
                async for (question, calls), call, ballot in ballots:
                    is_sent = "latency_ms" in ballot
                    counts.calls += is_sent
                    counts.unasked += not is_sent
                    self.listener.came(ballot)
                    if calls.take(call, ballot):
                        await self._advance(question, calls)
                    look()
            if vendors is not None and next(self._cases, None) is None:
                await vendors.end()
        finally:
            counts.spent_usd = self._cost
            if self.world.closes:
                await session.transport.close()

    def _keep(self, call: Call, exchange: Exchange) -> None:
        self.meter.keep(call, exchange)
        if self.cache is not None:
            self.cache.keep(call, exchange)

    async def _next(self, free: int) -> list[tuple[tuple[Q, CaseCalls], Call]] | None:
        """Return further calls; a new case begins only when no call of earlier cases is left."""
        if not self._waiting:
            drawn = next(self._cases, None)
            if drawn is None:
                if self._vendors is not None:
                    await self._vendors.submit()
                return None
            question, calls = drawn
            if self._vendors is not None:
                calls.split(is_batched)
            await self._advance(question, calls)
        return [self._waiting.popleft() for _ in range(min(free, len(self._waiting)))]

    async def _advance(self, question: Q, found: CaseCalls) -> None:
        """Use the stored answers of a case, and queue the calls that have none."""
        hidden = self._session.redactor
        while calls := found.next():
            is_open = False
            for call in calls:
                stored = self.meter.store.reply(call)
                ballot = answer_of(call, stored, hidden)
                if ballot is None and self.cache is not None:
                    exchange = self.cache.reply(call)
                    ballot = answer_of(call, exchange, hidden)
                    if exchange is not None and ballot is not None:
                        self.meter.store.keep(call, exchange, 0.0)
                if ballot is None and self._vendors is not None and is_batched(call):
                    exchange = await self._vendors.send(call, stored)
                    ballot = ballot_of(call, exchange, self._session.redactor) if exchange else None
                elif ballot is None:
                    self._waiting.append(((question, found), call))
                if ballot is None:
                    is_open = True
                    continue
                self.counts.reused += 1
                found.take(call, ballot)
            if is_open:
                return
        self.counts.spared += len(found.rest())
        self._done(question, found)
        self.counts.done += 1


def hosts(calls: Mapping[Juror, int], environment: Mapping[str, str]) -> ConsentPlan:
    """Return the hosts of jurors with the calls to each, and which of their keys are missing."""
    there: dict[str, list[tuple[Juror, Endpoint]]] = {}
    for juror in calls:
        place = endpoint(juror)
        there.setdefault(place.host, []).append((juror, place))
    problems = filter(None, (key_problem(endpoint(juror), environment) for juror in calls))
    missing = dict.fromkeys(text.partition(" ")[0] for text in problems)
    unpriced = dict.fromkeys(juror.model for juror in calls if juror.price is None)
    found = []
    for name, places in there.items():
        proxy = proxy_for(places[0][1].url)
        found.append(
            Host(
                name=name,
                calls=sum(calls[one] for one, _ in places),
                key_env=tuple(dict.fromkeys(name for _, one in places for name in key_names(one))),
                proxy=None if proxy is None else address_text(proxy),
                is_encrypted=all(one.url.startswith("https:") for _, one in places),
                jurors=tuple(f"{one.name} ({one.model})" for one, _ in places),
            )
        )
    return ConsentPlan(tuple(found), missing_keys=tuple(missing), unpriced=tuple(unpriced))


@dataclass(slots=True)
class Survey:
    """Counts the calls about cases that no stored reply answers, one attempt each.

    Calls ``held`` in a batch wait at a vendor.
    """

    environment: Mapping[str, str]
    store: ReplyStore = field(default_factory=Unstored)
    cache: ReplyCache | None = None
    in_batches: bool = False
    held: Collection[str] = ()
    worst_usd: float = 0.0
    """The highest cost of the calls of jurors with a price."""
    again_usd: float | None = 0.0
    waiting_usd: float = 0.0
    batched_usd: float = 0.0
    _calls: Counter[Juror] = field(default_factory=Counter)
    _counts: Counter[str] = field(default_factory=Counter)
    _again: Counter[str] = field(default_factory=Counter)
    _digest: Any = field(default_factory=hashlib.sha256)
    _hidden: dict[Juror, Redactor] = field(default_factory=dict)

    def add(self, found: CaseCalls) -> None:
        """Count the calls about a case; UsageError if calls are open, and no juror has a key."""
        calls = self.open_calls(found)
        jurors = dict.fromkeys(call.juror for call in found.calls)
        if calls:
            problems = [key_problem(endpoint(juror), self.environment) for juror in jurors]
            if all(problems):
                why = "; ".join(dict.fromkeys(filter(None, problems)))
                hint = "Set it, or choose another panel."
                raise UsageError(f"no juror can be asked: {why}", hint)
        # Jurors are listed in the order of their seats, whatever is answered.
        self._calls.update(dict.fromkeys(jurors, 0))
        for call in calls:
            batched = self.in_batches and is_batched(call)
            usd = worst(call, in_batch=batched)
            if batched and call.key in self.held:
                self._counts["waiting"] += 1
                self.waiting_usd += usd or 0.0
                continue
            self._calls[call.juror] += 1
            self._digest.update(hashed(call))
            self._counts["batched"] += batched
            self.batched_usd += (usd or 0.0) * batched
            self.worst_usd += usd or 0.0
            if (before := self.store.reply(call)) is not None:
                self._again[kind_of_loss(ballot_of(call, before, self._hidden[call.juror]))] += 1
                again = self.again_usd
                self.again_usd = None if usd is None or again is None else again + usd

    def open_calls(self, found: CaseCalls) -> list[Call]:
        # In the order in which a panel asks, as stored answers may decide the case.
        opened: list[Call] = []
        while calls := found.rest() if opened else found.next():
            left = [call for call in calls if not self._is_answered(found, call)]
            if opened:
                return opened + left
            opened = left
        return opened

    def plan(self) -> ConsentPlan:
        places = hosts(self._calls, self.environment)
        return replace(
            places,
            models=tuple(dict.fromkeys(juror.model for juror in self._calls)),
            calls=self._calls.total(),
            worst_usd=None if places.unpriced else self.worst_usd,
            payload_sha256=self._digest.hexdigest(),
            again=self._again,
            again_usd=self.again_usd,
            **self._counts,
        )

    def _is_answered(self, found: CaseCalls, call: Call) -> bool:
        for where, kept in (("stored", self.store), ("cached", self.cache)):
            if kept is None or (exchange := kept.reply(call)) is None:
                continue
            if call.juror not in self._hidden:
                # A reference's command runs only now, as stored texts may repeat the key.
                self._hidden[call.juror] = redactor([call.juror], self.environment)
            ballot = answer_of(call, exchange, self._hidden[call.juror])
            if ballot is not None:
                self._counts[where] += 1
                found.take(call, ballot)
                return True
        return False


def plan(calls: Sequence[Call], environment: Mapping[str, str]) -> ConsentPlan:
    found = Survey(environment)
    found.add(CaseCalls(calls))
    return found.plan()


def payloads(calls: Iterable[Call]) -> Iterator[dict[str, Any]]:
    """Yield what each call would send, with its case, its juror and its address."""
    for call in calls:
        place = endpoint(call.juror)
        about = {"case": call.case, "juror": call.juror.name, "url": place.url}
        yield about | {"payload": payload(call, place)}
