"""Each vendor's request is held against the types of the vendor's own SDK, and replies are made of
its response models."""

import dataclasses
import json
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.util import find_spec
from typing import Any, TypeAlias

import pytest
from pydantic import TypeAdapter, ValidationError

from reviewdesk.domain.panel.juror import Juror, low_effort
from reviewdesk.domain.panel.vendors import VENDORS, Wire
from reviewdesk.live.replies.envelope import Envelope, opened
from reviewdesk.live.wires.endpoints import endpoint
from reviewdesk.live.wires.requests import encoded, payload
from tests.live.builders import call
from tests.live.server import Seen, envelope, verdict

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not all(map(find_spec, ("anthropic", "mistralai", "openai", "google", "google.genai"))),
        reason="the extra vendors is not installed",
    ),
]

Body: TypeAlias = dict[str, Any]

CURRENT = {
    "openai": "gpt-6.1-sol", "azure": "gpt-6.1-sol", "openrouter": "openai/gpt-6.1-sol",
    "gemini": "gemini-3.8-flash", "anthropic": "claude-sonnet-5-5", "mistral": "mistral-medium-3-5",
    "deepseek": "deepseek-flash", "groq": "openai/gpt-oss-120b", "together": "openai/gpt-oss-120b",
    "xai": "grok-4.7", "fireworks": "accounts/fireworks/models/gpt-oss-120b", "ollama": "qwen3:8b",
    "vllm": "qwen3:8b", "custom": "any",
}  # fmt: skip
OWN_KEYS = {"openrouter": {"provider", "reasoning"}, "deepseek": {"thinking"}}
"""The keys that a vendor documents beside those of the OpenAI types."""


def body(vendor: str, **changed: Any) -> Body:
    """The body as it is sent, decoded from its bytes."""
    base = "https://mine.openai.azure.com" if vendor in {"azure", "custom"} else None
    juror = Juror("a", CURRENT[vendor], vendor, base_url=base, max_tokens=40_000)
    one = dataclasses.replace(juror, **changed)
    found: Body = json.loads(encoded(payload(call(one), endpoint(one))))
    return found


@cache
def openai_type() -> TypeAdapter[Any]:
    from openai.types.chat.completion_create_params import CompletionCreateParamsNonStreaming

    return TypeAdapter(CompletionCreateParamsNonStreaming)


@cache
def anthropic_type() -> TypeAdapter[Any]:
    from anthropic.types.message_create_params import MessageCreateParamsNonStreaming

    return TypeAdapter(MessageCreateParamsNonStreaming)


def known_part(vendor: str, made: Body) -> Any:
    """The body as the vendor's type reads it: without the keys that the type does not know.

    Raises:
        ValidationError: a value has another type.
    """
    if vendor == "mistral":
        from mistralai.client.models import ChatCompletionRequest

        read = ChatCompletionRequest.model_validate(made)
        return read.model_dump(mode="json", by_alias=True, exclude_unset=True)
    adapter = anthropic_type() if vendor == "anthropic" else openai_type()
    return drawn(adapter.validate_python(made))


def drawn(value: Any) -> Any:
    """The value with its iterators drawn, which are validated only then."""
    if isinstance(value, Mapping):
        return {key: drawn(one) for key, one in value.items()}
    if isinstance(value, str) or not isinstance(value, Iterable):
        return value
    return [drawn(one) for one in value]


def validate(vendor: str, made: Body) -> None:
    own = OWN_KEYS.get(vendor, set())
    common = {key: value for key, value in made.items() if key not in own}
    assert known_part(vendor, common) == common


@pytest.mark.parametrize("vendor", sorted(VENDORS))
def test_every_body_fits_the_types_of_the_vendors_own_sdk(vendor: str) -> None:
    for extra in ({}, low_effort(vendor, CURRENT[vendor])):
        for temperature in (None, 0.2):
            validate(vendor, body(vendor, extra=extra, temperature=temperature))


@pytest.mark.parametrize("vendor", ["openai", "anthropic", "mistral"])
def test_the_types_refuse_what_they_do_not_know(vendor: str) -> None:
    with pytest.raises(AssertionError):
        validate(vendor, body(vendor) | {"max_token": 5})
    made = body(vendor)
    for part in ({"role": "judge", "content": "hello"}, {"role": "user", "content": 7}):
        with pytest.raises(ValidationError):
            validate(vendor, made | {"messages": [part]})


def openai_reply(text: str) -> Body:
    from openai.types import CompletionUsage
    from openai.types.chat import ChatCompletion, ChatCompletionMessage
    from openai.types.chat.chat_completion import Choice
    from openai.types.completion_usage import CompletionTokensDetails, PromptTokensDetails

    usage = CompletionUsage(
        prompt_tokens=1000,
        completion_tokens=300,
        total_tokens=1300,
        prompt_tokens_details=PromptTokensDetails(cached_tokens=800, cache_write_tokens=100),
        completion_tokens_details=CompletionTokensDetails(reasoning_tokens=250),
    )
    message = ChatCompletionMessage(role="assistant", content=text)
    choice = Choice(finish_reason="stop", index=0, message=message)
    made = ChatCompletion(
        id="c", choices=[choice], created=1, model="m", object="chat.completion", usage=usage
    )
    body: Body = made.model_dump(mode="json")
    return body


def anthropic_reply(text: str) -> Body:
    from anthropic.types import Message, TextBlock, ThinkingBlock, Usage
    from anthropic.types.output_tokens_details import OutputTokensDetails

    made = Message(
        id="m",
        content=[
            ThinkingBlock(type="thinking", thinking='{"pass": false}', signature="s"),
            TextBlock(type="text", text=text, citations=None),
        ],
        model="claude-sonnet-5-5",
        role="assistant",
        stop_reason="end_turn",
        type="message",
        usage=Usage(
            input_tokens=100,
            output_tokens=300,
            cache_creation_input_tokens=100,
            cache_read_input_tokens=800,
            output_tokens_details=OutputTokensDetails(thinking_tokens=250),
        ),
    )  # fmt: skip
    body: Body = made.model_dump(mode="json")
    return body


@pytest.mark.parametrize(
    ("made", "wire"), [(openai_reply, Wire.CHAT), (anthropic_reply, Wire.MESSAGES)]
)
def test_replies_of_the_sdks_models_are_read_with_their_usage(made: Any, wire: Wire) -> None:
    found = opened(json.dumps(made('{"pass": true}')), "application/json", wire)
    assert isinstance(found, Envelope)
    assert found.text == '{"pass": true}'
    assert (found.tokens_in, found.tokens_out) == (1000, 300)
    assert (found.cached, found.written, found.thoughts) == (800, 100, 250)


def test_a_reply_of_mistral_is_read() -> None:
    from mistralai.client.models import ChatCompletionResponse

    answer = {"role": "assistant", "content": [
        {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
        {"type": "text", "text": '{"pass": true}'},
    ]}  # fmt: skip
    made = ChatCompletionResponse.model_validate({
        "id": "c", "object": "chat.completion", "model": "m", "created": 1,
        "choices": [{"index": 0, "message": answer, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 4, "total_tokens": 14},
    })  # fmt: skip
    found = opened(made.model_dump_json(), "application/json", Wire.CHAT)
    assert isinstance(found, Envelope)
    assert (found.text, found.tokens_in, found.tokens_out) == ('{"pass": true}', 10, 4)


def test_the_test_servers_reply_as_the_sdks_models_do() -> None:
    from anthropic.types import Message
    from openai.types.chat import ChatCompletion

    for path, vendor, model in (
        ("/v1/messages", "anthropic", Message),
        ("/v1/chat/completions", "openai", ChatCompletion),
    ):
        seen = Seen(path, {}, json.dumps(body(vendor)).encode())
        model.model_validate(envelope(seen, verdict(seen)))
