"""Build requests for chat completions and for Anthropic's messages interface."""

import json
from collections.abc import Mapping
from typing import Any

from reviewdesk.domain.panel.prompt import Prompt, schema
from reviewdesk.domain.panel.vendors import JsonMode, Wire
from reviewdesk.live.keys import Key
from reviewdesk.live.records import Call, Request
from reviewdesk.live.wires.endpoints import Endpoint, endpoint
from reviewdesk.version import __version__

TEMPERATURE = "temperature"
STRUCTURE = "structure"
TOKENS = "tokens"
"""The parts of a request that an endpoint may refuse: they are left out, or, for the token limit,
sent under another name."""

OTHER_NAME = {"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}

NONCE = "<nonce>"
"""Replaces each call's nonce before payloads are hashed, so that equal plans have equal hashes."""


def payload(call: Call, place: Endpoint, dropped: frozenset[str] = frozenset()) -> dict[str, Any]:
    """Return the body of a request, without the parts its endpoint refused. It holds no key."""
    juror = call.juror
    body = (
        _messages(call, place, dropped)
        if place.wire is Wire.MESSAGES
        else _chat(call, place, dropped)
    )
    if juror.acting_temperature is not None and TEMPERATURE not in dropped:
        body["temperature"] = juror.acting_temperature
    if juror.vendor == "openrouter":
        # Otherwise it may pass the call to a provider that ignores some parameters.
        body["provider"] = {"require_parameters": True}
    return _merged(body, juror.extra)


def optional(call: Call, place: Endpoint) -> frozenset[str]:
    sent = {
        TEMPERATURE: call.juror.acting_temperature is not None,
        STRUCTURE: place.shape is not JsonMode.NONE,
        TOKENS: place.wire is Wire.CHAT,
    }
    return frozenset(name for name, is_sent in sent.items() if is_sent)


def encoded(body: dict[str, Any]) -> bytes:
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "replace")


def hashed(call: Call) -> bytes:
    """Return the bytes from which a payload is hashed: address and body, without the nonce."""
    place = endpoint(call.juror)
    nonce = json.dumps(call.prompt.nonce, ensure_ascii=False)[1:-1]
    body = encoded(payload(call, place)).replace(nonce.encode(), NONCE.encode())
    return place.url.encode() + b" " + body + b"\n"


def headers_for(place: Endpoint, key: Key, key_header: str = "") -> dict[str, str]:
    """Return a request's headers, with the key in the endpoint's header or in ``key_header``."""
    headers = {
        "content-type": "application/json",
        "accept": "application/json",
        "accept-encoding": "identity",
        "user-agent": f"reviewdesk/{__version__}",
        **key.headers,
    }
    if place.wire is Wire.MESSAGES:
        headers.setdefault("anthropic-version", "2023-06-01")
    name = key_header or place.key_header
    if key.value:
        headers[name] = f"Bearer {key.value}" if name == "authorization" else key.value
    return headers


def request(call: Call, place: Endpoint, key: Key, dropped: frozenset[str]) -> Request:
    return Request(place.url, headers_for(place, key), encoded(payload(call, place, dropped)))


def _chat(call: Call, place: Endpoint, dropped: frozenset[str]) -> dict[str, Any]:
    tokens = OTHER_NAME[place.tokens] if TOKENS in dropped else place.tokens
    juror = call.juror
    marked = juror.vendor == "openrouter" and juror.model.startswith("anthropic/")
    user = _blocks(call.prompt) if marked and call.prompt.common else call.prompt.user
    body: dict[str, Any] = {
        "model": juror.deployment or juror.model,
        "messages": [
            {"role": "system", "content": call.prompt.system},
            {"role": "user", "content": user},
        ],
        tokens: juror.max_tokens,
    }
    if place.shape is JsonMode.SCHEMA and STRUCTURE not in dropped:
        shape = {"name": "ballot", "strict": True, "schema": schema(call.labels)}
        body["response_format"] = {"type": "json_schema", "json_schema": shape}
    elif place.shape is JsonMode.OBJECT and STRUCTURE not in dropped:
        body["response_format"] = {"type": "json_object"}
    return body


def _messages(call: Call, place: Endpoint, dropped: frozenset[str]) -> dict[str, Any]:
    prompt = call.prompt
    body: dict[str, Any] = {
        "model": call.juror.model,
        "max_tokens": call.juror.max_tokens,
        "system": prompt.system if prompt.common else [_text(prompt.system, cached=True)],
        "messages": [
            {"role": "user", "content": _blocks(prompt) if prompt.common else prompt.user}
        ],
    }
    if place.shape is JsonMode.SCHEMA and STRUCTURE not in dropped:
        shape = {"type": "json_schema", "schema": schema(call.labels)}
        body["output_config"] = {"format": shape}
    return body


def _blocks(prompt: Prompt) -> list[dict[str, Any]]:
    """Return the user's turn in two blocks; the vendor may cache everything through the first."""
    return [
        _text(prompt.user[: prompt.common], cached=True),
        _text(prompt.user[prompt.common :], cached=False),
    ]


def _text(text: str, *, cached: bool) -> dict[str, Any]:
    mark = {"cache_control": {"type": "ephemeral"}} if cached else {}
    return {"type": "text", "text": text, **mark}


def _merged(body: Mapping[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    made = dict(body)
    for key, value in more.items():
        own = made.get(key)
        both = isinstance(own, Mapping) and isinstance(value, Mapping)
        made[key] = _merged(own, value) if both else value  # type: ignore[arg-type]
    return made
