"""Build requests for chat completions and for Anthropic's messages interface."""

from __future__ import annotations

import json
from typing import Any, Final

from reviewdesk.domain.panel.reply_contract import schema
from reviewdesk.live.records import Call, Request
from reviewdesk.live.wires.vendors import Endpoint, JsonMode, Wire
from reviewdesk.version import __version__

TEMPERATURE: Final = "temperature"
STRUCTURE: Final = "structure"
TOKENS: Final = "tokens"
"""The parts of a request that an endpoint may refuse: they are left out, or, for the token limit,
sent under another name."""

OTHER_NAME: Final = {
    "max_tokens": "max_completion_tokens",
    "max_completion_tokens": "max_tokens",
}

ANTHROPIC_VERSION: Final = "2023-06-01"


def payload(call: Call, place: Endpoint, dropped: frozenset[str] = frozenset()) -> dict[str, Any]:
    """Return the body of a request, without what its endpoint refused. It holds no key."""
    body = (
        _messages(call, place, dropped)
        if place.wire is Wire.MESSAGES
        else _chat(call, place, dropped)
    )
    if call.juror.temperature is not None and TEMPERATURE not in dropped:
        body["temperature"] = call.juror.temperature
    return body


def optional(call: Call, place: Endpoint) -> frozenset[str]:
    """Return the parts of the payload that an endpoint may refuse."""
    sent = {
        TEMPERATURE: call.juror.temperature is not None,
        STRUCTURE: place.shape is not JsonMode.NONE,
        TOKENS: place.wire is Wire.CHAT,
    }
    return frozenset(name for name, is_sent in sent.items() if is_sent)


def encoded(body: dict[str, Any]) -> bytes:
    """Return a payload as the bytes that are sent."""
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "replace")


def request(call: Call, place: Endpoint, key: str | None, dropped: frozenset[str]) -> Request:
    """Build the request, with the key in the header that the wire expects."""
    headers = {
        "content-type": "application/json",
        "accept": "application/json",
        "accept-encoding": "identity",
        "user-agent": f"reviewdesk/{__version__}",
    }
    if place.wire is Wire.MESSAGES:
        headers["anthropic-version"] = ANTHROPIC_VERSION
        if key:
            headers["x-api-key"] = key
    elif key:
        headers["authorization"] = f"Bearer {key}"
    return Request(place.url, headers, encoded(payload(call, place, dropped)))


def _chat(call: Call, place: Endpoint, dropped: frozenset[str]) -> dict[str, Any]:
    tokens = OTHER_NAME[place.tokens] if TOKENS in dropped else place.tokens
    body: dict[str, Any] = {
        "model": call.juror.model,
        "messages": [
            {"role": "system", "content": call.prompt.system},
            {"role": "user", "content": call.prompt.user},
        ],
        tokens: call.juror.max_tokens,
    }
    if place.shape is JsonMode.SCHEMA and STRUCTURE not in dropped:
        shape = {"name": "ballot", "strict": True, "schema": schema(labels=call.labels)}
        body["response_format"] = {"type": "json_schema", "json_schema": shape}
    elif place.shape is JsonMode.OBJECT and STRUCTURE not in dropped:
        body["response_format"] = {"type": "json_object"}
    return body


def _messages(call: Call, place: Endpoint, dropped: frozenset[str]) -> dict[str, Any]:
    body: dict[str, Any] = {
        "model": call.juror.model,
        "max_tokens": call.juror.max_tokens,
        "system": call.prompt.system,
        "messages": [{"role": "user", "content": call.prompt.user}],
    }
    if place.shape is JsonMode.SCHEMA and STRUCTURE not in dropped:
        shape = {"type": "json_schema", "schema": schema(labels=call.labels)}
        body["output_config"] = {"format": shape}
    return body
