"""Requests that another process sends: the keys stay there, whatever comes back."""

from __future__ import annotations

import asyncio
import pickle
from dataclasses import dataclass, field

import pytest

from reviewdesk.errors import TransportError
from reviewdesk.live.keys import key_of, key_problem
from reviewdesk.live.records import Request, Response
from reviewdesk.live.remote import RemoteKeys, Sender, SendFailure, key_names
from reviewdesk.live.wires.requests import request
from reviewdesk.live.wires.vendors import endpoint
from reviewdesk.version import __version__
from tests.live.builders import KEY, KEYS, FakeTransport, call, juror

URL = "http://127.0.0.1:1/v1"


def marked(wire: str = "custom") -> Request:
    """A request as the process without the key builds it."""
    one = juror(URL, wire)
    place = endpoint(one)
    return request(call(one), place, key_of(place, RemoteKeys(KEYS.__contains__)), frozenset())


def sender(*answers: Response | TransportError) -> tuple[Sender, FakeTransport]:
    transport = FakeTransport(list(answers))
    return Sender(KEYS, lambda: transport), transport


@pytest.mark.parametrize(
    ("wire", "header"), [("custom", "authorization"), ("anthropic", "x-api-key")]
)
async def test_the_key_is_put_in_where_the_request_is_sent(wire: str, header: str) -> None:
    asked = marked(wire)
    assert key_names(asked) == {"TEST_KEY"}
    assert KEY.encode() not in pickle.dumps(asked)
    made, transport = sender(Response(200, {}, b"{}"))
    assert await made.send(0, asked) == Response(200, {}, b"{}")
    (sent,) = transport.sent
    assert sent.headers[header] == (f"Bearer {KEY}" if wire == "custom" else KEY)
    assert (sent.url, sent.body) == (asked.url, asked.body)


async def test_nothing_that_comes_back_holds_the_key() -> None:
    body = f'{{"error": "{KEY}", "hex": "{KEY.encode().hex()}"}}'.encode()
    made, _ = sender(
        Response(401, {"x-request-id": f"id {KEY}"}, body), TransportError("reset", KEY)
    )
    for number in range(2):
        found = await made.send(number, marked())
        assert KEY.encode() not in pickle.dumps(found)
        assert KEY.encode().hex().encode() not in pickle.dumps(found)
    assert isinstance(found, SendFailure)
    assert found.kind == "reset"


async def test_a_variable_that_is_not_there_is_named() -> None:
    found = await Sender({}, lambda: FakeTransport([])).send(0, marked())
    assert found == SendFailure("request", "TEST_KEY is not set where the call is made")


def test_what_a_sender_says_of_itself_are_names() -> None:
    made = Sender({"A": "key-of-a", "B": " ", "C": "two words"})
    facts = made.facts({"A", "B", "C", "D"})
    assert (facts.version, facts.names) == (__version__, frozenset({"A"}))


def test_only_variables_that_some_sender_has_are_there() -> None:
    keys = RemoteKeys({"A"}.__contains__)
    assert ("A" in keys, "B" in keys, keys.get("B", "")) == (True, False, "")
    assert (list(keys), len(keys)) == ([], 0)
    place = endpoint(juror(URL))
    assert key_problem(place, keys) == "TEST_KEY is not set"
    assert "@vault" not in keys


@dataclass
class Stuck:
    """A transport that answers nobody, and says who gave up."""

    began: asyncio.Event = field(default_factory=asyncio.Event)
    ended: list[str] = field(default_factory=list)

    async def send(self, _request: Request) -> Response:
        self.began.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.ended.append("cancelled")
            raise
        raise AssertionError

    async def close(self) -> None:
        """Nothing is open."""


async def test_a_request_is_given_up_where_it_is_sent() -> None:
    stuck = Stuck()
    made = Sender(KEYS, lambda: stuck)
    waiting = asyncio.create_task(made.send(7, marked()))
    await stuck.began.wait()
    await made.cancel(8)
    await made.cancel(7)
    assert await waiting == SendFailure("cancelled", "nobody waits for the answer")
    assert stuck.ended == ["cancelled"]
