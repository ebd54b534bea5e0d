"""What is sent to the vendors' batch interfaces is held against the types of their own SDKs, and
what the test server says is held against their response models."""

import dataclasses
import json
from typing import Any

import pytest
from msgspec.structs import replace
from pydantic import TypeAdapter

from reviewdesk.domain.panel.juror import Juror, Price
from reviewdesk.domain.panel.vendors import VENDORS, Wire
from reviewdesk.domain.verdict import Status
from reviewdesk.errors import TransportError
from reviewdesk.live.keys import Redactor
from reviewdesk.live.limits import booked, worst
from reviewdesk.live.records import BATCH_HEADER, Call, Exchange, Response
from reviewdesk.live.replies.ballots import ballot_of
from reviewdesk.live.replies.envelope import Envelope, opened
from reviewdesk.live.vendor_batches import BatchClient, call_id
from reviewdesk.live.wires.batches import BatchWire, interface
from reviewdesk.live.wires.endpoints import endpoint
from tests.live.batch_server import Batch, BatchVendors
from tests.live.builders import NONCE, FakeClock, FakeTransport, call, session
from tests.live.test_retry import JSON, refusing
from tests.live.wires.test_vendor_types import CURRENT, drawn, validate


def posed(vendor: str, **changed: Any) -> tuple[BatchWire, Call]:
    one = dataclasses.replace(Juror("a", CURRENT[vendor], vendor, max_tokens=40_000), **changed)
    found = interface(one)
    assert found
    return found, call(one)


def created(vendor: str, **changed: Any) -> Any:
    found, one = posed(vendor, **changed)
    return json.loads(found.creation("our-name", [("id-1", one)], "file-1").body)


def told(vendor: str, *, done: bool) -> tuple[Any, Any]:
    """What the test server says about a batch of one call, and the call's answer."""
    _, one = posed(vendor)
    body: Any = {"model": "m", "messages": [{"role": "user", "content": one.prompt.user}]}
    if vendor == "gemini":
        body = {"contents": [{"parts": [{"text": one.prompt.user}]}]}
    body = body | {"system": one.prompt.system} if vendor == "anthropic" else body
    server = BatchVendors(is_done=done)
    made = Batch("b0", vendor, "our-name", {"id-1": body})
    return server._told(made), server._line(made, "id-1", body)


@pytest.mark.slow
def test_openai_takes_the_batch_and_each_line_of_its_file() -> None:
    from openai.types import BatchCreateParams

    made = created("openai")
    assert drawn(TypeAdapter(BatchCreateParams).validate_python(made)) == made
    found, one = posed("openai")
    upload = found.upload("our-name", [("id-1", one), ("id-2", one)])
    assert upload
    assert upload.path == "/files"
    rows = [json.loads(row) for row in upload.body.split(b"\r\n\r\n")[2].splitlines()[:2]]
    assert [row["custom_id"] for row in rows] == ["id-1", "id-2"]
    assert {(row["method"], row["url"]) for row in rows} == {("POST", "/v1/chat/completions")}
    validate("openai", rows[0]["body"])


@pytest.mark.slow
def test_anthropic_takes_the_batch() -> None:
    from anthropic.types.messages import BatchCreateParams

    made = created("anthropic")
    assert drawn(TypeAdapter(BatchCreateParams).validate_python(made)) == made
    validate("anthropic", made["requests"][0]["params"])
    # The longest id that it takes has 64 characters.
    assert len(call_id("a" * 64, NONCE)) <= 64


@pytest.mark.slow
def test_mistral_takes_the_job_and_each_line_of_its_file() -> None:
    from mistralai.client.models import CreateBatchJobRequest

    made = created("mistral")
    read = CreateBatchJobRequest.model_validate(made)
    assert read.model_dump(mode="json", exclude_unset=True) == made
    found, one = posed("mistral")
    upload = found.upload("our-name", [("id-1", one)])
    assert upload
    row = json.loads(upload.body.split(b"\r\n\r\n")[2].splitlines()[0])
    assert sorted(row) == ["body", "custom_id"]
    validate("mistral", row["body"] | {"model": made["model"]})


@pytest.mark.slow
@pytest.mark.parametrize("effort", [None, "none", "high"])
def test_gemini_takes_the_batch(effort: str | None) -> None:
    from google.genai.types import Content, GenerationConfig

    batch = created(
        "gemini", extra={"reasoning_effort": effort} if effort else {}, temperature=0.2
    )["batch"]
    assert batch["displayName"] == "our-name"
    (row,) = batch["inputConfig"]["requests"]["requests"]
    assert row["metadata"] == {"key": "id-1"}
    request = row["request"]
    for part in (request["systemInstruction"], *request["contents"]):
        Content.model_validate(part)
    settings = GenerationConfig.model_validate(request["generationConfig"])
    assert settings.max_output_tokens == 40_000
    assert settings.response_json_schema["required"]
    assert (settings.thinking_config is None) == (effort is None)


@pytest.mark.slow
@pytest.mark.parametrize("done", [False, True])
def test_the_test_server_says_what_the_vendors_say(done: bool) -> None:
    from anthropic.types.messages import MessageBatch, MessageBatchIndividualResponse
    from google.genai.types import GenerateContentResponse
    from mistralai.client.models import BatchJob
    from openai.types import Batch as OpenAIBatch

    OpenAIBatch.model_validate(told("openai", done=done)[0])
    BatchJob.model_validate(told("mistral", done=done)[0])
    batch, line = told("anthropic", done=done)
    MessageBatch.model_validate(batch)
    MessageBatchIndividualResponse.model_validate(line)
    _, line = told("gemini", done=done)
    GenerateContentResponse.model_validate(line["response"])


def test_a_batch_that_failed_says_why() -> None:
    openai, _ = posed("openai")
    data = [{"code": "x", "message": "the file is broken"}]
    job = openai.job({"id": "b", "status": "failed", "errors": {"data": data}})
    assert (job.has_ended, job.results) == (True, ())
    assert job.problem == "the batch is failed: the file is broken"
    gemini, _ = posed("gemini")
    state = {"metadata": {"state": "JOB_STATE_EXPIRED"}, "error": {"message": "too late"}}
    job = gemini.job({"name": "batches/b", **state})
    assert (job.has_ended, job.problem) == (True, "the batch is expired: too late")


def test_the_jurors_without_a_batch_interface() -> None:
    without = {
        vendor for vendor in VENDORS
        if interface(Juror("a", "m", vendor, base_url="http://127.0.0.1:9")) is None
    }  # fmt: skip
    assert without == set(VENDORS) - {"openai", "anthropic", "mistral", "gemini"}
    assert interface(Juror("a", "m", "gemini", extra={"top_p": 1})) is None


def test_a_native_reply_of_gemini_is_read_with_its_usage_and_its_faults() -> None:
    def read(found: Any) -> Envelope:
        made = opened(json.dumps(found), "application/json", Wire.CHAT)
        assert isinstance(made, Envelope)
        return made

    usage = {
        "promptTokenCount": 100, "candidatesTokenCount": 30, "thoughtsTokenCount": 10,
        "cachedContentTokenCount": 80,
    }  # fmt: skip
    parts = [{"text": "hm", "thought": True}, {"text": '{"pass": true}'}]
    first = {"content": {"parts": parts}, "finishReason": "STOP"}
    whole = read({"candidates": [first], "usageMetadata": usage})
    assert (whole.text, whole.cut, whole.refusal) == ('{"pass": true}', False, None)
    assert (whole.tokens_in, whole.tokens_out, whole.cached, whole.thoughts) == (100, 40, 80, 10)
    assert read({"candidates": [first | {"finishReason": "MAX_TOKENS"}]}).cut
    assert read({"promptFeedback": {"blockReason": "OTHER"}}).refusal


def test_an_exchange_of_a_batch_costs_half_and_has_no_latency() -> None:
    _, one = posed("openai", price=Price(1000, 1000, 500))
    body = {
        "choices": [{"message": {"content": "?"}, "finish_reason": "stop"}],
        "usage": {
            "prompt_tokens": 100,
            "completion_tokens": 10,
            "prompt_tokens_details": {"cached_tokens": 40},
        },
    }
    live = Exchange(one.key, 0, NONCE, "t", 12.0, 200, json.dumps(body))
    batched = replace(live, headers={BATCH_HEADER: "b0"})
    # 60 tokens read and 10 answered at a tenth of a cent, and 40 from the cache at half of that.
    assert (booked(one, live), booked(one, batched)) == (0.09, 0.045)
    most = worst(one)
    assert most is not None
    assert worst(one, in_batch=True) == pytest.approx(most / 2)
    ballots = [ballot_of(one, made, Redactor(())) for made in (live, batched)]
    assert [ballot["status"] for ballot in ballots] == [Status.PARSE_FAIL] * 2
    assert [ballot.get("cost_usd") for ballot in ballots] == [0.09, 0.045]
    assert [ballot.get("latency_ms") for ballot in ballots] == [12.0, None]
    assert endpoint(one.juror).wire is Wire.CHAT


JOB = Response(200, JSON, b'{"id": "b1", "status": "in_progress"}')


def client(*answers: Response) -> tuple[BatchClient, FakeTransport, FakeClock]:
    transport, clock = FakeTransport(list(answers)), FakeClock()
    juror = Juror("ada", "m", "openai", api_key_env="TEST_KEY")
    return BatchClient(juror, session(transport, clock=clock)), transport, clock


@pytest.mark.parametrize(
    ("headers", "slept"),
    [
        ({}, 0.375),
        ({"retry_after": "5"}, 5.0),
        ({"retry_after_ms": "1500"}, 1.5),
        ({"retry_after": "0"}, 0.375),
    ],
)
async def test_a_short_wait_is_waited(headers: dict[str, str], slept: float) -> None:
    asked, transport, clock = client(refusing(429, **headers), JOB)
    job = await asked.look_up("b1")
    assert job is not None
    assert job.id == "b1"
    assert (len(transport.sent), clock.slept) == (2, [slept])


@pytest.mark.parametrize("status", [429, 503])
async def test_a_long_wait_is_said_and_keeps_no_other_batch_waiting(status: int) -> None:
    asked, transport, clock = client(refusing(status, retry_after="3600"), JOB)
    with pytest.raises(TransportError, match=f"HTTP {status}, no.; it asks to wait 3600 s"):
        await asked.look_up("b1")
    assert (len(transport.sent), clock.slept) == (1, [])
