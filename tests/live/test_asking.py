"""One call, and a panel of them: what is stored first, who waits for whom, what stops at once."""

import asyncio
import dataclasses
import gc
from collections.abc import Iterator
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

import msgspec
import pytest

from reviewdesk.domain.panel.juror import Price
from reviewdesk.domain.report_model import JurorModel
from reviewdesk.errors import DeskError, TransportError
from reviewdesk.live.keys import redactor
from reviewdesk.live.records import Call, Exchange, Request, Response
from reviewdesk.live.replies.ballots import ballot_of
from reviewdesk.live.runner import MAX_HEADER, MAX_REFUSAL
from reviewdesk.live.wires.transport import HttpTransport
from tests.live.builders import KEY, KEYS, FakeTransport, Kept, ask, ask_panel, call, juror, session
from tests.live.server import Server, verdict
from tests.live.test_retry import GOOD, URL


@dataclass
class Gate:
    """Answers when it is told to; counts what is open."""

    released: asyncio.Event = field(default_factory=asyncio.Event)
    open: int = 0
    most: int = 0
    cancelled: int = 0

    async def send(self, _: Request) -> Response:
        self.open += 1
        self.most = max(self.most, self.open)
        try:
            await self.released.wait()
            await asyncio.sleep(0)
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        finally:
            self.open -= 1
        return GOOD

    async def close(self) -> None:
        """Nothing is open."""


def calls(count: int, url: str = URL) -> list[Call]:
    return [call(juror(url), f"case {i}") for i in range(count)]


async def settled() -> None:
    for _ in range(200):
        await asyncio.sleep(0)


@pytest.mark.parametrize("wire", ["custom", "openai", "deepseek", "anthropic", "mistral"])
async def test_a_ballot_says_what_the_juror_said(transport: HttpTransport, wire: str) -> None:
    kept = Kept()
    one = dataclasses.replace(juror("x", wire), weight=2.0, temperature=0.5, price=Price(1.0, 10.0))
    async with Server() as server:
        asked = call(dataclasses.replace(one, base_url=server.url))
        ballot = await ask(asked, session(transport, kept))
        raw = verdict(server.calls[0])
    assert ballot == {
        "id": "ada", "model": "model-1", "vendor": wire, "weight": 2.0, "temperature": 0.5,
        "prompt_sha256": one.prompt_sha256, "status": "ok", "score": 0.8, "pass": True,
        "confidence": 0.9, "reason": "It fits.", "raw": raw, "latency_ms": 0.0,
        "tokens_in": 120, "tokens_out": 40, "at": "2025-01-31T12:00:00.000+00:00",
        # 120 tokens at 1 and 40 at 10 dollars a million.
        "cost_usd": pytest.approx(0.00052),
    }  # fmt: skip
    msgspec.convert(ballot, JurorModel)
    assert ballot_of(asked, kept.exchanges[0], redactor([], KEYS)) == ballot


@pytest.mark.parametrize("value", [None, "", "  \n", "with blank", "caf\u00e9-key", "a\nb"])
async def test_without_a_key_nothing_is_sent(value: str | None) -> None:
    environment = {} if value is None else {"TEST_KEY": value}
    kept, transport = Kept(), FakeTransport([GOOD])
    ballot: Any = await ask(call(juror(URL)), session(transport, kept, None, environment))
    assert (ballot["status"], ballot["error"]["type"]) == ("missing_key", "missing_key")
    assert "TEST_KEY" in ballot["error"]["message"]
    assert (transport.sent, kept.exchanges) == ([], [])
    msgspec.convert(ballot, JurorModel)


async def test_a_reply_is_stored_before_anything_is_made_of_it() -> None:
    def full(_: Call, __: Exchange) -> None:
        raise DeskError("the disk is full")

    transport = FakeTransport([GOOD])
    with pytest.raises(DeskError, match="disk is full"):
        await ask(call(juror(URL)), session(transport, full))
    ballots = ask_panel(calls(5), session(transport, full))
    with pytest.raises(DeskError, match="disk is full"):
        await anext(ballots)


async def test_no_more_calls_are_open_than_allowed_nor_taken_than_needed() -> None:
    gate, taken = Gate(), []

    def drawn() -> Iterator[Call]:
        for one in calls(20):
            taken.append(one)
            yield one

    asking = session(gate, concurrency=4)
    async with aclosing(ask_panel(drawn(), asking)) as ballots:
        first = asyncio.ensure_future(anext(ballots))
        await settled()
        assert (gate.open, len(taken)) == (4, 4)
        gate.released.set()
        await first
        rest = [ballot async for _, ballot in ballots]
    assert len(rest) == 19
    assert gate.most == 4


async def test_a_host_has_its_own_bound() -> None:
    gate = Gate()
    both = [*calls(6), *calls(6, "http://127.0.0.2:9/v1")]
    ballots = ask_panel(both, session(gate, concurrency=12, per_host=2))
    first = asyncio.ensure_future(anext(ballots))
    await settled()
    assert gate.open == 4  # two of either host
    gate.released.set()
    await first
    await ballots.aclose()


async def test_closing_a_panel_stops_the_open_calls_and_keeps_what_came() -> None:
    gate, kept = Gate(), Kept()
    gate.released.set()
    asking = session(gate, kept, concurrency=3)
    ballots = ask_panel(calls(9), asking)
    await anext(ballots)
    gate.released.clear()
    await settled()
    # Three ended and one of them was taken. Another call begins once the next is asked for.
    assert (len(kept.exchanges), gate.open) == (3, 0)
    await anext(ballots)
    await anext(ballots)
    further = asyncio.ensure_future(anext(ballots))
    await settled()
    assert gate.open == 3
    further.cancel()
    await asyncio.gather(further, return_exceptions=True)
    await ballots.aclose()
    assert (len(kept.exchanges), gate.open, gate.cancelled) == (3, 0, 3)


async def test_cancelling_over_sockets_leaves_nothing_open() -> None:
    kept, transport = Kept(), HttpTransport()
    async with Server(latency=30) as server:
        asking = session(transport, kept)

        async def panel() -> None:
            async for _ in ask_panel(calls(5, server.url), asking):
                raise AssertionError("nobody has answered")

        running = asyncio.create_task(panel())
        await server.reached(5)
        running.cancel()
        async with asyncio.timeout(20):
            with pytest.raises(asyncio.CancelledError):
                await running
            await transport.close()
    assert kept.exchanges == []
    gc.collect()  # what was left open would warn, and a warning is an error


async def test_waiting_for_a_place_takes_no_jurors_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of three calls with one place between them, each has its time from when it is sent."""
    gate, begun, timeout = Gate(), list[float](), asyncio.timeout

    def timed(seconds: float) -> asyncio.Timeout:
        begun.append(seconds)
        return timeout(seconds)

    monkeypatch.setattr(asyncio, "timeout", timed)
    asking = session(gate, concurrency=1)
    ballots = ask_panel(calls(3), asking)
    first = asyncio.ensure_future(anext(ballots))
    await settled()
    assert (gate.open, len(begun)) == (1, 1)
    gate.released.set()
    assert (await first)[1]["status"] == "ok"
    assert [ballot["status"] async for _, ballot in ballots] == ["ok"] * 2
    assert len(begun) == 3


async def test_of_a_body_that_is_no_reply_the_beginning_is_kept_and_headers_are_cut() -> None:
    long = " " * (MAX_REFUSAL - 10)
    headers = {"x-request-id": "r" * (MAX_HEADER - 10) + KEY}
    answers: list[Response | TransportError] = [
        Response(400, headers, (long + "x" * 20).encode()),
        Response(400, {}, (long + KEY).encode()),
        Response(200, {}, (long + "{}" * 10).encode()),
    ]
    kept = Kept()
    asking = session(FakeTransport(answers), kept)
    for one in calls(3):
        await ask(one, asking)
    cut, hidden, whole, *_ = kept.exchanges  # the last is asked again
    assert cut.body == long + "x" * 10
    # The key is hidden before the header is cut, which it would else outlive in part.
    assert cut.headers == {"x-request-id": "r" * (MAX_HEADER - 10) + "[key]"}
    assert hidden.body == "[key]"
    assert whole.body == long + "{}" * 10
