"""Which calls are tried again, when, and without what; the clock stands still."""

from __future__ import annotations

import json
from datetime import timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from reviewdesk.domain.panel.spec import Juror
from reviewdesk.errors import TransportError
from reviewdesk.live.jurors import CallSession, ask
from reviewdesk.live.records import Response
from tests.helpers import START
from tests.live.builders import KEYS, NONCE, FakeClock, FakeTransport, Kept, call, juror

URL = "http://127.0.0.1:9/v1"
JSON = {"content-type": "application/json"}
SAID = json.dumps({"nonce": NONCE, "pass": True, "score": 0.75, "reason": "It fits."})
GOOD = Response(200, JSON, json.dumps({"choices": [{"message": {"content": SAID}}]}).encode())


def refusing(status: int, message: str = "no", **said: Any) -> Response:
    """An answer with an error in it; keywords with an underscore are headers."""
    headers = {name.replace("_", "-"): said.pop(name) for name in list(said) if "_" in name}
    error = {"error": {"message": message, **said}}
    return Response(status, JSON | headers, json.dumps(error).encode())


async def asked(
    answers: list[Response | TransportError], one: Juror | None = None, chance: float = 0.5
) -> tuple[Any, FakeTransport, FakeClock]:
    transport, clock = FakeTransport(answers), FakeClock(chance)
    asking = CallSession(transport, Kept(), environment=KEYS, clock=clock)
    return await ask(call(one or juror(URL, timeout=600)), asking), transport, clock


@pytest.mark.parametrize("status", [408, 409, 425, 429, 500, 502, 503, 504, 529, 599])
async def test_what_may_pass_is_tried_again(status: int) -> None:
    ballot, transport, clock = await asked([refusing(status), GOOD])
    assert ballot["status"] == "ok"
    assert len(transport.sent) == 2
    # Half of the first bound of half a second.
    assert clock.slept == [0.25]


@pytest.mark.parametrize("status", [301, 307, 400, 401, 402, 403, 404, 405, 413, 422, 451])
async def test_what_stays_is_not_tried_again(status: int) -> None:
    ballot, transport, clock = await asked([refusing(status), GOOD])
    assert ballot["status"] == "error"
    assert len(transport.sent) == 1
    assert clock.slept == []


@pytest.mark.parametrize("kind", ["connection", "reset", "dns", "proxy"])
async def test_a_broken_connection_is_tried_again(kind: str) -> None:
    ballot, transport, _ = await asked([TransportError(kind, "broken"), GOOD])
    assert (ballot["status"], len(transport.sent)) == ("ok", 2)


@pytest.mark.parametrize("kind", ["too_large", "encoding", "tls", "request"])
async def test_what_another_attempt_would_not_mend_is_left(kind: str) -> None:
    ballot, transport, _ = await asked([TransportError(kind, "it is so"), GOOD])
    assert ballot["error"] == {"type": kind, "message": "it is so"}
    assert len(transport.sent) == 1


async def test_there_are_three_retries_at_growing_waits() -> None:
    ballot, transport, clock = await asked([refusing(500)], chance=0.999)
    assert ballot["error"]["type"] == "server_error"
    assert len(transport.sent) == 4
    # Bounds of 0.5, 1 and 2 seconds, of each of which the share of the chance is waited.
    assert clock.slept == pytest.approx([0.4995, 0.999, 1.998])


async def test_chance_may_make_a_wait_nothing() -> None:
    _, _, clock = await asked([refusing(500)], chance=0.0)
    assert clock.slept == [0, 0, 0]


@pytest.mark.parametrize(
    ("after", "slept"),
    [
        ("7", [7.0]),
        ("60", [60.0]),
        ("0", [0.25]),
        ("-3", [0.25]),
        ("1.5", [1.5]),
        ("soon", [0.25]),
        ("nan", [0.25]),
        ("inf", [0.25]),
        ("Wed, 99 Foo", [0.25]),
        (format_datetime(START + timedelta(seconds=30), usegmt=True), [30.0]),
        (format_datetime(START - timedelta(days=1), usegmt=True), [0.25]),
    ],
)
async def test_a_retry_after_is_waited(after: str, slept: list[float]) -> None:
    # The chance alone would wait a quarter of a second, and it is never less than that.
    ballot, _, clock = await asked([refusing(429, retry_after=after), GOOD])
    assert ballot["status"] == "ok"
    assert clock.slept == slept


@pytest.mark.parametrize(
    "after", ["61", "1e9", format_datetime(START + timedelta(hours=1), usegmt=True)]
)
async def test_a_longer_retry_after_is_given_up_at_once(after: str) -> None:
    ballot, transport, clock = await asked([refusing(429, retry_after=after), GOOD])
    assert ballot["error"]["type"] == "rate_limited"
    assert "asks to wait" in ballot["error"]["message"]
    assert (len(transport.sent), clock.slept) == (1, [])


async def test_a_wait_beyond_the_deadline_is_given_up_at_once() -> None:
    answers: list[Response | TransportError] = [refusing(429, retry_after="50"), GOOD]
    ballot, transport, clock = await asked(answers, juror(URL, timeout=49))
    assert ballot["error"]["type"] == "rate_limited"
    assert "50 s" in ballot["error"]["message"]
    assert (len(transport.sent), clock.slept) == (1, [])


@pytest.mark.parametrize(
    "refusal",
    [
        refusing(402, "pay first"),
        refusing(429, "You exceeded your current quota", code="insufficient_quota"),
        refusing(429, "no", type="insufficient_quota"),
        refusing(400, "Your credit balance is too low to access the API"),
        refusing(403, "billing is not enabled for this project"),
        refusing(429, "Insufficient Balance"),
    ],
)
async def test_spent_credit_is_not_tried_again(refusal: Response) -> None:
    ballot, transport, _ = await asked([refusal, GOOD])
    assert ballot["error"]["type"] == "spent_credit"
    assert len(transport.sent) == 1


async def test_a_quota_of_a_minute_is_no_spent_credit() -> None:
    body = {"error": {"message": "check your billing", "details": [{"retryDelay": "3s"}]}}
    limited = Response(429, JSON, json.dumps(body).encode())
    ballot, transport, _ = await asked([limited, GOOD])
    assert (ballot["status"], len(transport.sent)) == ("ok", 2)


WARM = Juror("ada", "m", "openai", base_url=URL, api_key_env="TEST_KEY", temperature=0.2)
NATIVE = Juror("ada", "m", "anthropic", base_url=URL, api_key_env="TEST_KEY", temperature=0.2)


@pytest.mark.parametrize(
    ("one", "refusal", "gone", "instead"),
    [
        (
            WARM,
            refusing(400, "Unsupported value: 'temperature' does not support 0.2", code="x"),
            "temperature",
            None,
        ),
        (WARM, refusing(400, "Unsupported", param="temperature"), "temperature", None),
        (WARM, refusing(422, "temperature: extra inputs are not permitted"), "temperature", None),
        (
            WARM,
            refusing(400, "'response_format' of type 'json_schema' is not supported"),
            "response_format",
            None,
        ),
        (
            WARM,
            refusing(400, "'max_completion_tokens' is unknown: use 'max_tokens' instead"),
            "max_completion_tokens",
            "max_tokens",
        ),
        (
            NATIVE,
            refusing(400, "output_config.format: Extra inputs are not permitted"),
            "output_config",
            None,
        ),
        (NATIVE, refusing(400, "`temperature` is deprecated"), "temperature", None),
    ],
)
async def test_what_an_endpoint_does_not_understand_is_left_out(
    one: Juror, refusal: Response, gone: str, instead: str | None
) -> None:
    answers: list[Response | TransportError] = [refusal, refusing(401)]
    _, transport, clock = await asked(answers, one)
    first, second = (json.loads(request.body) for request in transport.sent)
    assert gone in first
    assert gone not in second
    assert instead is None or second[instead] == first[gone]
    kept = first.keys() - {gone}
    assert {key: second[key] for key in kept} == {key: first[key] for key in kept}
    assert clock.slept == []


async def test_a_value_that_is_wrong_is_not_left_out() -> None:
    ballot, transport, _ = await asked(
        [refusing(400, "temperature must be between 0 and 2"), GOOD], WARM
    )
    assert (ballot["error"]["type"], len(transport.sent)) == ("bad_request", 1)


async def test_an_endpoint_that_refuses_everything_is_left_after_each_was_tried() -> None:
    refusal = refusing(400, "temperature, response_format and max_tokens are unsupported")
    ballot, transport, _ = await asked([refusal], WARM)
    assert ballot["error"]["type"] == "bad_request"
    # All of it, then without each of the three.
    assert len(transport.sent) == 4
    assert json.loads(transport.sent[-1].body).keys() == {"model", "messages", "max_tokens"}


async def test_what_was_refused_is_remembered_for_the_model_and_noted() -> None:
    transport = FakeTransport([refusing(400, "temperature is not supported"), GOOD])
    asking = CallSession(transport, Kept(), environment=KEYS, clock=FakeClock())
    for case in ("one", "two"):
        ballot = await ask(call(WARM, case), asking)
        assert ballot["meta"] == {"left_out": ["temperature"]}
    # Only the first call runs into it.
    assert ["temperature" in json.loads(one.body) for one in transport.sent] == [True, False, False]
