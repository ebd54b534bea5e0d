"""Read the result of a request: the JSON around a juror's reply and its cost, or the failure."""

import json
import re
from collections.abc import Mapping
from enum import IntEnum
from typing import Any

from msgspec import Struct

from reviewdesk.domain.panel.vendors import Wire
from reviewdesk.domain.verdict import Status
from reviewdesk.live.records import Exchange

MAX_TOLD = 300
"""The most characters of an endpoint's message that a ballot's error quotes."""

MAX_READ = 10_000
"""The most characters of an endpoint's message that are searched for a reason."""

FILTERED = frozenset({"content_filter", "refusal", "safety"})


class Envelope(Struct, frozen=True):
    """The content of a 200; ``text`` is the juror's reply, unless the request was refused."""

    text: str = ""
    tokens_in: int | None = None
    tokens_out: int | None = None
    """The tokens written, including thoughts."""
    cost: float | None = None
    """In US dollars, if the endpoint states it."""
    cached: int = 0
    """The part of ``tokens_in`` that was read from the vendor's cache."""
    written: int = 0
    """The part of ``tokens_in`` that was written to the vendor's cache."""
    thoughts: int = 0
    cut: bool = False
    refusal: str | None = None


class Retryable(IntEnum):
    """Whether and for how long a failed call is tried again; ``NO`` is false."""

    NO = 0
    FEW = 1
    """A few times: a 200 that holds no reply, and may have been paid for."""
    UNREACHABLE = 2
    """For seconds: a host that is unknown or refuses connections."""
    YES = 3
    """Until the ballot's deadline."""
    PAUSED = 4
    """Once the model's limit admits it: a 429."""


class Fault(Struct, frozen=True):
    """The status and error of a ballot without an answer, and whether the call is tried again."""

    status: Status
    kind: str
    message: str
    again: Retryable = Retryable.NO


# Places in JSON


def value_at(found: Any, path: str) -> Any:
    """Return the value at a path such as ``choices.0.message``, or ``None``."""
    for key in path.split("."):
        if isinstance(found, Mapping):
            found = found.get(key)
        elif isinstance(found, list) and key.isdecimal() and int(key) < len(found):
            found = found[int(key)]
        else:
            return None
    return found


def text_at(found: Any, path: str) -> str:
    return text_of(value_at(found, path))


def rows_at(found: Any, path: str) -> list[Mapping[str, Any]]:
    rows = value_at(found, path)
    return [one for one in rows if isinstance(one, Mapping)] if isinstance(rows, list) else []


def count_at(found: Any, path: str) -> int | None:
    value = value_at(found, path)
    is_count = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 53
    return value if is_count else None


def text_of(value: Any) -> str:
    """Return a value as text without broken surrogates; ``None`` gives the empty text."""
    if value is None:
        return ""
    text = value if isinstance(value, str) else json.dumps(value)
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def decoded(body: str) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


# Answers


class AnswerPlaces(Struct, frozen=True):
    """The paths at which the answers of one wire hold the values that are read."""

    needs: str
    first: str
    """The path of the first answer; ``text`` and ``stop`` are below it."""
    text: str
    stop: str
    usage: str
    """The path of the counts of tokens; the paths after this one are below it."""
    read: tuple[str, ...]
    """The counts whose sum is the tokens read; likewise for ``said``."""
    said: tuple[str, ...]
    cached: tuple[str, ...]
    """The paths of the tokens read from the vendor's cache; the first with a count is used."""
    written: str
    thoughts: str


PLACES = {
    Wire.CHAT: AnswerPlaces(
        needs="choices", first="choices.0", text="message.content", stop="finish_reason",
        usage="usage", read=("prompt_tokens",), said=("completion_tokens",),
        cached=("prompt_tokens_details.cached_tokens", "prompt_cache_hit_tokens"),
        written="prompt_tokens_details.cache_write_tokens",
        thoughts="completion_tokens_details.reasoning_tokens",
    ),
    Wire.MESSAGES: AnswerPlaces(
        needs="content", first="", text="content", stop="stop_reason", usage="usage",
        read=("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"),
        said=("output_tokens",), cached=("cache_read_input_tokens",),
        written="cache_creation_input_tokens", thoughts="output_tokens_details.thinking_tokens",
    ),
}  # fmt: skip

NATIVE = AnswerPlaces(
    needs="", first="candidates.0", text="content.parts", stop="finishReason",
    usage="usageMetadata", read=("promptTokenCount",),
    said=("candidatesTokenCount", "thoughtsTokenCount"), cached=("cachedContentTokenCount",),
    written="", thoughts="thoughtsTokenCount",
)  # fmt: skip
"""The answers of Gemini's own interface, which batches use."""


def opened(body: str, content_type: str | None, wire: Wire) -> Envelope | Fault:
    """Read the answer in the body of a 200, or say why it is unusable."""
    few = Retryable.FEW
    if content_type is not None and "json" not in content_type.lower():
        kind = content_type.partition(";")[0].strip() or "nothing"
        return Fault(Status.ERROR, "content_type", f"the answer is {kind}, not JSON", few)
    if not body.strip():
        return Fault(Status.EMPTY, "empty", "the answer is empty", few)
    try:
        found = json.loads(body)
    except (RecursionError, ValueError):
        text = "the answer is not JSON, or breaks off"
        return Fault(Status.PARSE_FAIL, "not_json", text, few)
    if not isinstance(found, Mapping):
        return Fault(Status.PARSE_FAIL, "not_an_answer", "the answer is not an object", few)
    return _answer(found, body, wire)


def _answer(found: Mapping[str, Any], body: str, wire: Wire) -> Envelope | Fault:
    if found.get("error") or found.get("type") == "error":
        return _stated_fault(body, found)
    if "candidates" in found or "promptFeedback" in found:
        return _envelope(found, value_at(found, NATIVE.first), NATIVE)
    places = PLACES[wire]
    held = found.get(places.needs)
    if not (isinstance(held, list) if places.first else places.needs in found):
        if any(isinstance(found.get(key), str) and found[key] for key in ("message", "detail")):
            return _stated_fault(body, found)
        text = f"the answer has no {places.needs}"
        return Fault(Status.PARSE_FAIL, "not_an_answer", text, Retryable.FEW)
    first = value_at(found, places.first) if places.first else found
    if not isinstance(first, Mapping):
        return Fault(Status.EMPTY, "empty", "the answer has no choice")
    if first.get("error") or first.get("finish_reason") == "error":
        return _stated_fault(body, {"error": first.get("error")})
    return _envelope(found, first, places)


def _envelope(found: Mapping[str, Any], first: Any, places: AnswerPlaces) -> Envelope:
    is_blocked = value_at(found, "promptFeedback.blockReason")
    stop = "safety" if is_blocked else text_at(first, places.stop)
    content = value_at(first, places.text)
    if isinstance(content, str) and content:
        text = text_of(content)
    else:
        parts = [part for part in rows_at(first, places.text) if not part.get("thought")]
        texts = (part["text"] for part in parts if isinstance(part.get("text"), str))
        text = "\n".join(map(text_of, texts))
    filtered = f"the endpoint withheld the answer ({stop})" if stop.lower() in FILTERED else None
    usage = value_at(found, places.usage)
    counts = [[count_at(usage, path) for path in paths] for paths in (places.read, places.said)]
    read, said = (
        None if found[0] is None and not any(found) else sum(filter(None, found))
        for found in counts
    )
    total = count_at(usage, "total_tokens")  # for some endpoints it alone counts thoughts
    if read is not None and said is not None and total is not None:
        said = max(said, total - read)
    cached = min(next(filter(None, (count_at(usage, at) for at in places.cached)), 0), read or 0)
    cost = value_at(usage, "cost")
    priced = isinstance(cost, int | float) and not isinstance(cost, bool) and 0 <= cost < 1e9
    return Envelope(
        text=text,
        tokens_in=read,
        tokens_out=said,
        cost=float(cost) if priced else None,
        cached=cached,
        written=min(count_at(usage, places.written) or 0, (read or 0) - cached),
        thoughts=min(count_at(usage, places.thoughts) or 0, said or 0),
        cut=stop.lower() in {"length", "max_tokens", "model_context_window_exceeded"},
        refusal=text_at(first, "message.refusal") or (filtered and (text.strip() or filtered)),
    )


# Errors


class StatedError(Struct, frozen=True):
    """An error in an endpoint's words; ``whole`` also holds its code and type."""

    message: str = ""
    whole: str = ""
    param: str = ""
    code: int | None = None


def stated_error(body: str) -> StatedError:
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
    known = [text_at(error, key) for key in ("code", "type", "status")]
    whole = " ".join([message, *known])[: 2 * MAX_READ]
    codes = [int(code) for code in known if re.fullmatch("[45][0-9]{2}", code)]
    return StatedError(message, whole, text_at(error, "param")[:MAX_READ], next(iter(codes), None))


LEFT_OUT = "left out: "
"""Prefix of the names of refused parts, in the ``problem`` of an exchange with a response."""

_KINDS = {
    400: ("bad_request", "the endpoint refuses the request"),
    401: ("unauthorized", "the endpoint refuses the key"),
    402: ("spent_credit", "the account's credit is spent"),
    403: ("forbidden", "the key is not allowed to do this"),
    404: ("not_found", "the endpoint does not know the address or the model"),
    408: ("request_timeout", "the endpoint gave up waiting for the request"),
    409: ("conflict", "the endpoint reports a conflict"),
    413: ("request_too_large", "the request is too large for the endpoint"),
    422: ("bad_request", "the endpoint refuses the request"),
    425: ("too_early", "the endpoint does not take the request yet"),
    429: ("rate_limited", "the endpoint asks for fewer requests"),
    500: ("server_error", "the endpoint failed"),
    502: ("bad_gateway", "the endpoint's gateway failed"),
    503: ("unavailable", "the endpoint is unavailable"),
    504: ("gateway_timeout", "the endpoint's gateway gave up waiting"),
    529: ("overloaded", "the endpoint is overloaded"),
}

_RATE_LIMIT = re.compile(r"rate[ _-]?limit|too many requests", re.IGNORECASE)
_OUT_OF_CREDIT = re.compile(
    r"insufficient[ _](?:quota|balance|credit|fund)|billing|credit balance|spent credit"
    r"|(?:out of|no|exhausted|not enough|more) credits?\b|exceeded your current quota"
    r"|payment[ _]required|arrearage",
    re.IGNORECASE,
)

_AGAIN = {
    **dict.fromkeys(("too_large", "encoding", "tls", "request", "endpoint"), Retryable.NO),
    **dict.fromkeys(("connection", "dns"), Retryable.UNREACHABLE),
}
"""Transport errors that another attempt does not fix soon; any other error is tried again."""


def left_out(exchange: Exchange) -> tuple[str, ...]:
    """Return the names of the parts left out of a request because its endpoint refuses them."""
    problem = exchange.problem or ""
    return tuple(problem.removeprefix(LEFT_OUT).split()) if problem.startswith(LEFT_OUT) else ()


def reply_or_fault(exchange: Exchange, wire: Wire) -> Envelope | Fault:
    """Read an exchange: a successful status counts as a reply only if the body holds one."""
    return fault_of(exchange) or opened(exchange.body, exchange.headers.get("content-type"), wire)


def fault_of(exchange: Exchange) -> Fault | None:
    """Return the fault of an exchange without a successful status, else ``None``."""
    if exchange.status is None:
        kind, _, message = (exchange.problem or "connection: no answer came").partition(": ")
        status = Status.TIMEOUT if kind == "timeout" else Status.ERROR
        return Fault(status, kind, message or kind, _AGAIN.get(kind, Retryable.YES))
    if 200 <= exchange.status < 300:
        return None
    if 300 <= exchange.status < 400:
        text = f"the endpoint answers HTTP {exchange.status}: it is elsewhere, and no redirect is"
        return Fault(Status.ERROR, "redirect", f"{text} followed; set the base_url")
    error = stated_error(exchange.body)
    text = f"HTTP {exchange.status}" + (f", {error.message[:MAX_TOLD]}" if error.message else "")
    return _refusal(exchange.body, error, exchange.status, text)


def _stated_fault(body: str, found: Mapping[str, Any]) -> Fault:
    """Return the fault of a 200 that states an error, to be tried again unless the error lasts."""
    error = stated_error(json.dumps(found))
    message = f"HTTP 200 that states an error: {error.message[:MAX_TOLD] or 'without a word'}"
    named = _refusal(body, error, error.code or 429, message)
    if not named.again:
        return named
    is_limit = error.code == 429 or _RATE_LIMIT.search(error.whole)
    again = Retryable.PAUSED if is_limit else Retryable.YES
    return Fault(Status.ERROR, "error_in_200", message, again)


def _refusal(body: str, error: StatedError, status: int, text: str) -> Fault:
    # Billing is also named where only a quota per minute is used up, which states a delay.
    is_billed = status in {400, 403, 429} and "retryDelay" not in body
    if status == 402 or (is_billed and _OUT_OF_CREDIT.search(error.whole)):
        return Fault(Status.ERROR, "spent_credit", f"{_KINDS[402][1]} ({text})")
    kind, sentence = _KINDS.get(status) or _KINDS[500 if status >= 500 else 400]
    # An endpoint would repeat any other refusal.
    is_passing = status in {408, 409, 425} or status >= 500
    again = Retryable.PAUSED if status == 429 else Retryable(Retryable.YES * is_passing)
    return Fault(Status.ERROR, kind, f"{sentence} ({text})", again)
