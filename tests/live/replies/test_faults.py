"""Every way in which an endpoint fails ends as a ballot of its own, in time, and tells no key."""

import base64
import json
import logging
import socket
from typing import Any
from urllib.parse import quote

import msgspec
import pytest

from reviewdesk.domain.report_model import JurorModel
from reviewdesk.domain.verdict import Status
from reviewdesk.live.keys import redactor
from reviewdesk.live.records import Exchange
from reviewdesk.live.replies.ballots import ballot_of
from reviewdesk.live.wires.transport import HttpTransport
from tests.helpers import mostly_slow
from tests.live.builders import KEY, KEYS, Kept, ask, call, juror, session
from tests.live.faults import FAULTS, LIMITED, Ending
from tests.live.server import Server

WIRES = ("custom", "anthropic")
SHORT = 0.3
"""Seconds of a juror whose host never ends its answer."""

DEADLINE = 3.0
"""Seconds of trying: waits of 0.375, 0.75 and 1.5 s fit, so there are four attempts."""


def tells_the_key(text: str) -> bool:
    """Whether the key stands in a text, as it is or as JSON, URLs and base64 spell it."""
    escaped = "".join(f"\\u{ord(char):04x}" for char in KEY)
    forms = [KEY, json.dumps(KEY)[1:-1], quote(KEY, safe=""), escaped]
    forms += [base64.b64encode(KEY.encode()).decode().rstrip("=")]
    return any(form in text for form in forms)


async def asked(ending: Ending, wire: str) -> tuple[Any, list[Exchange], Server]:
    """The ballot of one faulty call over real sockets, with retries that take no time."""
    is_slow = ending.status is Status.TIMEOUT
    timeout, deadline = (SHORT, SHORT) if is_slow else (20.0, DEADLINE)
    kept, transport = Kept(), HttpTransport()
    async with Server(fault=ending.fault) as server:
        asking = session(transport, kept, deadline=deadline)
        one = call(juror(server.url, wire, timeout=timeout))
        try:
            ballot = await ask(one, asking)
        finally:
            await transport.close()
        again = ballot_of(one, kept.exchanges[-1], redactor([one.juror], KEYS))
        if ending.kind == "rate_limited":
            told: Any = ballot["error"]
            assert "juror ada is set aside for this run" in told["message"]
            if ending.calls == LIMITED:
                assert "has answered nothing but 429 for 600 s" in told["message"]
            again["error"] = told
        assert again == ballot
    return ballot, kept.exchanges, server


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("name", mostly_slow(FAULTS))
async def test_a_fault_ends_as_its_own_ballot(
    name: str, wire: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    ending = FAULTS[name]
    ballot, exchanges, server = await asked(ending, wire)
    assert ballot["status"] == ending.status
    assert ballot.get("error", {}).get("type", "") == ending.kind
    msgspec.convert(ballot, JurorModel)
    assert [one.attempt for one in exchanges] == list(range(ending.calls))
    if ending.status is not Status.TIMEOUT:  # which a busy machine reaches before it connects
        assert len(server.calls) == ending.calls
        assert {seen.key for seen in server.calls} == {KEY}  # the sentinel did go out
    for told in (repr(ballot), json.dumps(ballot), repr(exchanges), caplog.text):
        assert not tells_the_key(told)
    assert not any(tells_the_key(one.body) for one in exchanges)


@pytest.mark.parametrize("wire", WIRES)
async def test_a_closed_port_ends_as_no_connection(transport: HttpTransport, wire: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    kept = Kept()
    asking = session(transport, kept)
    ballot: Any = await ask(call(juror(f"http://127.0.0.1:{port}/v1", wire)), asking)
    assert (ballot["status"], ballot["error"]["type"]) == ("error", "connection")
    # Waits of 0.375, 0.75, 1.5, 3, 6 and 6 s fit in the 20 s of a host that cannot be reached.
    assert [one.status for one in kept.exchanges] == [None] * 7
    msgspec.convert(ballot, JurorModel)


async def test_the_probe_for_the_key_finds_it() -> None:
    assert tells_the_key(f"a {KEY}")
    assert tells_the_key("".join(f"\\u{ord(char):04x}" for char in KEY))
    assert not tells_the_key("[key]")


async def test_a_refusal_keeps_its_words_and_an_unreadable_reply_its_text() -> None:
    ballot, _, _ = await asked(FAULTS["refusal"], "custom")
    assert ballot["reason"] == "I cannot judge this."
    ballot, _, _ = await asked(FAULTS["prose"], "custom")
    assert ballot["raw"] == "I rather like it."


@pytest.mark.parametrize(("fault", "told"), [("429 an hour", "3600 s"), ("cut off", "max_tokens")])
async def test_a_long_wait_and_what_would_help_are_said(fault: str, told: str) -> None:
    ballot, _, _ = await asked(FAULTS[fault], "custom")
    assert told in ballot["error"]["message"]
