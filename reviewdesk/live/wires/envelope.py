"""Read the JSON around an answer: the juror's text in it, its cost, or the error it states."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from reviewdesk.domain.panel.juror import Price, Wire
from reviewdesk.domain.verdict import Status

MAX_TOLD: Final = 300
"""The most characters of an endpoint's message that a ballot's error quotes."""

MAX_READ: Final = 10_000
"""The most characters of an endpoint's message that are searched for a reason."""

LENGTH: Final = frozenset({"length", "max_tokens", "model_context_window_exceeded"})
_NAMES_STATUS: Final = re.compile("[45][0-9]{2}")
FILTERED: Final = frozenset({"content_filter", "refusal", "safety"})


class StatedError(Struct, frozen=True):
    """An error in an endpoint's words; ``whole`` also holds its code and type."""

    message: str = ""
    whole: str = ""
    param: str = ""
    code: int | None = None
    """The HTTP status that the error names."""


class Envelope(Struct, frozen=True):
    """The content of a 200; ``text`` is the juror's reply unless it was refused."""

    text: str = ""
    tokens_in: int | None = None
    tokens_out: int | None = None
    """The tokens written, thoughts among them."""
    cost: float | None = None
    """In US dollars, if the endpoint states it."""
    cached: int = 0
    """Those of ``tokens_in`` that were read from the vendor's cache."""
    written: int = 0
    """Those of ``tokens_in`` that were written to the vendor's cache."""
    thoughts: int = 0
    """Those of ``tokens_out`` that were spent on thinking."""
    cut: bool = False
    """Whether the token limit ended the reply."""
    refusal: str | None = None

    def usd(self, price: Price | None) -> float | None:
        """Return what the reply cost: as stated, else by its tokens; ``None`` if it is unknown."""
        if self.cost is not None:
            return self.cost
        if price is None or self.tokens_in is None or self.tokens_out is None:
            return None
        return price.cost(self.tokens_in, self.tokens_out, self.cached, self.written)


class UnusableAnswer(Struct, frozen=True):
    """A 200 without a reply; ``again`` is true if another attempt may bring one."""

    status: Status
    kind: str
    message: str
    again: bool = False
    error: StatedError | None = None
    """The error that the 200 states, if any."""


def decoded(body: str) -> Any:
    """Parse a body as JSON, or return ``None`` if it is not JSON."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def stated_error(body: str) -> StatedError:
    """Read the error that a body states, in any of the shapes that endpoints use."""
    found = decoded(body)
    if isinstance(found, list) and found:
        found = found[0]
    if not isinstance(found, Mapping):
        return StatedError(message="", whole=body[:MAX_TOLD])
    error = found.get("error") or found
    if not isinstance(error, Mapping):
        text = text_of(error)[:MAX_READ]
        return StatedError(text, text)
    message = text_of(error.get("message") or error.get("detail"))[:MAX_READ]
    known = [text_of(error.get(key)) for key in ("code", "type", "status")]
    whole = " ".join([message, *known])[: 2 * MAX_READ]
    codes = [code for code in known if _NAMES_STATUS.fullmatch(code)]
    code = int(codes[0]) if codes else None
    return StatedError(message, whole, text_of(error.get("param"))[:MAX_READ], code)


def text_of(value: Any) -> str:
    """Return a value as text without broken surrogates; ``None`` gives the empty text."""
    if value is None:
        return ""
    text = value if isinstance(value, str) else json.dumps(value)
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def opened(body: str, content_type: str | None, wire: Wire) -> Envelope | UnusableAnswer:
    """Read the answer in the body of a 200, or say why it is unusable."""
    if content_type is not None and "json" not in content_type.lower():
        message = f"the answer is {content_type.partition(';')[0].strip() or 'nothing'}, not JSON"
        return UnusableAnswer(Status.ERROR, "content_type", message, again=True)
    if not body.strip():
        return UnusableAnswer(Status.EMPTY, "empty", "the answer is empty", again=True)
    try:
        found = json.loads(body)
    except RecursionError:
        return UnusableAnswer(Status.PARSE_FAIL, "not_json", "the answer is nested too deeply")
    except ValueError as error:
        return _not_json(error, body)
    if not isinstance(found, Mapping):
        return _no_answer(found, "the answer is not an object")
    if found.get("error") or found.get("type") == "error":
        return _error(found)
    if "candidates" in found or "promptFeedback" in found:
        return _candidate(found)
    return _message(found) if wire is Wire.MESSAGES else _choice(found)


def _error(found: Any) -> UnusableAnswer:
    stated = stated_error(json.dumps(found))
    message = f"HTTP 200 that states an error: {stated.message[:MAX_TOLD] or 'without a word'}"
    return UnusableAnswer(Status.ERROR, "error_in_200", message, again=True, error=stated)


def _no_answer(found: Any, why: str) -> UnusableAnswer:
    """Return the error in JSON of an unknown shape, or else an answer unusable for ``why``."""
    if isinstance(found, Mapping) and any(
        isinstance(found.get(key), str) and found[key] for key in ("message", "detail")
    ):
        return _error(found)
    return UnusableAnswer(Status.PARSE_FAIL, "not_an_answer", why, again=True)


def _not_json(error: ValueError, body: str) -> UnusableAnswer:
    """Say why a body is not JSON: extra data, cut off, or something else."""
    if isinstance(error, json.JSONDecodeError):
        if error.msg == "Extra data":
            return UnusableAnswer(
                Status.PARSE_FAIL, "two_bodies", "the answer goes on after its JSON"
            )
        if error.pos >= len(body.rstrip()) or error.msg.startswith("Unterminated"):
            message = "the answer's JSON breaks off"
            return UnusableAnswer(Status.PARSE_FAIL, "truncated_body", message, again=True)
    return UnusableAnswer(Status.PARSE_FAIL, "not_json", "the answer is not JSON", again=True)


def _choice(found: Mapping[str, Any]) -> Envelope | UnusableAnswer:
    choices = found.get("choices")
    if not isinstance(choices, list):
        return _no_answer(found, "the answer holds no choices")
    first = choices[0] if choices else None
    if not isinstance(first, Mapping):
        return UnusableAnswer(Status.EMPTY, "empty", "the answer holds no choice")
    if first.get("error") or first.get("finish_reason") == "error":
        return _error({"error": first.get("error")})
    message = first.get("message")
    message = message if isinstance(message, Mapping) else {}
    text = _message_text(message.get("content")) or _tool_arguments(message.get("tool_calls"))
    return _envelope(
        text,
        str(first.get("finish_reason")),
        text_of(message.get("refusal")),
        _chat_usage(_mapping(found.get("usage"))),
    )


def _message(found: Mapping[str, Any]) -> Envelope | UnusableAnswer:
    if "content" not in found:
        return _no_answer(found, "the answer holds no content")
    return _envelope(
        _message_text(found.get("content")),
        str(found.get("stop_reason")),
        "",
        _message_usage(_mapping(found.get("usage"))),
    )


def _candidate(found: Mapping[str, Any]) -> Envelope:
    rows = found.get("candidates")
    first = _mapping(rows[0]) if isinstance(rows, list) and rows else {}
    parts: Any = _mapping(first.get("content")).get("parts")
    said = [one for one in parts if not _mapping(one).get("thought")] if _is_list(parts) else []
    blocked = _mapping(found.get("promptFeedback")).get("blockReason")
    usage = _mapping(found.get("usageMetadata"))
    read = _count(usage, "promptTokenCount")
    thoughts = _count(usage, "thoughtsTokenCount") or 0
    written = _count(usage, "candidatesTokenCount")
    counts = Envelope(
        tokens_in=read,
        tokens_out=None if written is None and not thoughts else (written or 0) + thoughts,
        cached=min(_count(usage, "cachedContentTokenCount") or 0, read or 0),
        thoughts=thoughts,
    )
    stop = "safety" if blocked else text_of(first.get("finishReason"))
    return _envelope(_message_text(said), stop, "", counts)


def _envelope(text: str, stop: str, refusal: str, usage: Envelope) -> Envelope:
    filtered = f"the endpoint withheld the answer ({stop})" if stop.lower() in FILTERED else None
    return replace(
        usage,
        text=text,
        cut=stop.lower() in LENGTH,
        refusal=refusal or (text.strip() or filtered if filtered else None),
    )


def _chat_usage(usage: Mapping[str, Any]) -> Envelope:
    """Read the usage of chat completions.

    Some endpoints leave thoughts out of ``completion_tokens``, and count them in the total alone.
    """
    read = _count(usage, "prompt_tokens")
    said = _count(usage, "completion_tokens")
    total = _count(usage, "total_tokens")
    if read is not None and said is not None and total is not None:
        said = max(said, total - read)
    prompt, completion = (
        _mapping(usage.get(f"{kind}_tokens_details")) for kind in ("prompt", "completion")
    )
    cached = _count(prompt, "cached_tokens") or _count(usage, "prompt_cache_hit_tokens") or 0
    cost = usage.get("cost")
    priced = isinstance(cost, int | float) and not isinstance(cost, bool) and 0 <= cost < 1e9
    return Envelope(
        tokens_in=read,
        tokens_out=said,
        cost=float(cost) if priced else None,  # type: ignore[arg-type]
        cached=min(cached, read or 0),
        written=min(_count(prompt, "cache_write_tokens") or 0, max(0, (read or 0) - cached)),
        thoughts=min(_count(completion, "reasoning_tokens") or 0, said or 0),
    )


def _message_usage(usage: Mapping[str, Any]) -> Envelope:
    read = _count(usage, "input_tokens")
    said = _count(usage, "output_tokens")
    written = _count(usage, "cache_creation_input_tokens") or 0
    cached = _count(usage, "cache_read_input_tokens") or 0
    thoughts = _count(_mapping(usage.get("output_tokens_details")), "thinking_tokens") or 0
    return Envelope(
        tokens_in=None if read is None else read + written + cached,
        tokens_out=said,
        cached=0 if read is None else cached,
        written=0 if read is None else written,
        thoughts=min(thoughts, said or 0),
    )


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _count(usage: Mapping[str, Any], key: str) -> int | None:
    value = usage.get(key)
    return value if _is_count(value) else None


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 53


def _message_text(content: Any) -> str:
    if isinstance(content, str):
        return text_of(content)
    parts = [part for part in content if isinstance(part, Mapping)] if _is_list(content) else []
    texts = [text_of(part["text"]) for part in parts if isinstance(part.get("text"), str)]
    given = [json.dumps(part["input"]) for part in parts if isinstance(part.get("input"), Mapping)]
    return "\n".join(texts if any(text.strip() for text in texts) else given)


def _tool_arguments(calls: Any) -> str:
    parts = [part for part in calls if isinstance(part, Mapping)] if _is_list(calls) else []
    functions = [part.get("function") for part in parts]
    given = [found.get("arguments") for found in functions if isinstance(found, Mapping)]
    return "\n".join(text_of(text) for text in given if isinstance(text, str))


def _is_list(value: Any) -> bool:
    return isinstance(value, list)
