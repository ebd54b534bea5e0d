"""Builders for tests of live panels: jurors, calls, a clock that only tests move."""

from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import islice
from typing import Any

from reviewdesk.domain.panel.juror import Juror
from reviewdesk.domain.panel.prompt import render
from reviewdesk.domain.verdict import CanonicalBallot
from reviewdesk.errors import TransportError
from reviewdesk.live.asking import Unstored
from reviewdesk.live.limits import CallSession, Meter, RunLimits, World
from reviewdesk.live.records import Call, Clock, Exchange, Keep, Request, Response, Transport
from reviewdesk.live.runner import CallRunner
from tests.helpers import START

KEY = "sk-sentinel/7f3a+9c=ef01"
"""A key with characters that JSON, URLs and base64 spell in other ways."""

NONCE = "6e6f6e6365"
KEYS = {"TEST_KEY": KEY}


def juror(url: str, wire: str = "custom", name: str = "ada", timeout: float = 5.0) -> Juror:
    """A juror of the vendor ``wire`` who is asked at ``url`` with the sentinel key."""
    return Juror(name, "model-1", wire, base_url=url, api_key_env="TEST_KEY", timeout=timeout)


def call(one: Juror, case: str = "case 1", seat: int = 0) -> Call:
    prompt = render(None, None, {"output": "42", "input": "6 x 7?", "rubric": "Right?"}, NONCE)
    return Call(case, f"about {case}", seat, one, prompt)


@dataclass
class FakeClock(Clock):
    """Stands still but for sleeps, which are noted and take no time; chance is always the same."""

    chance: float = 0.5
    slept: list[float] = field(default_factory=list)

    def now(self) -> datetime:
        return START + timedelta(seconds=sum(self.slept))

    def monotonic(self) -> float:
        return 100 + sum(self.slept)

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)

    def random(self) -> float:
        return self.chance


@dataclass
class FakeTransport:
    """Gives prepared answers one after the other, the last one for ever."""

    answers: list[Response | TransportError]
    sent: list[Request] = field(default_factory=list)

    async def send(self, request: Request) -> Response:
        self.sent.append(request)
        given = self.answers[min(len(self.sent), len(self.answers)) - 1]
        if isinstance(given, TransportError):
            raise given
        return given

    async def close(self) -> None:
        """Nothing is open."""


@dataclass
class Kept:
    exchanges: list[Exchange] = field(default_factory=list)

    def __call__(self, _: Call, exchange: Exchange) -> None:
        self.exchanges.append(exchange)


async def ask_panel(
    calls: Iterable[Call], asking: CallSession
) -> AsyncGenerator[tuple[Call, CanonicalBallot], None]:
    """Yield calls with their ballots in order of arrival, with the session's own store."""
    waiting = iter(calls)

    async def draw(free: int) -> list[tuple[None, Call]] | None:
        return [(None, call) for call in islice(waiting, free)] or None

    meter = Meter(Unstored())
    async with aclosing(CallRunner(asking, draw, meter).ballots()) as found:
        async for _, call, ballot in found:
            yield call, ballot


async def ask(one: Call, asking: CallSession) -> CanonicalBallot:
    async with aclosing(ask_panel([one], asking)) as ballots:
        _, ballot = await anext(ballots)
    return ballot


def session(
    transport: Transport,
    kept: Keep | None = None,
    clock: Clock | None = None,
    environment: Mapping[str, str] = KEYS,
    **limits: Any,
) -> CallSession:
    """A session with the test's keys and a clock that does not wait."""
    world = World(environment, clock or FakeClock(), lambda: transport)
    return CallSession(world, kept or Kept(), RunLimits(**limits), lambda _: None)
