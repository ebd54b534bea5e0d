"""The ways in which an endpoint fails, each with how its ballot must end.

``FAULTS`` names them; each takes over the raw connection of ``server.Server``.
"""

import asyncio
import gzip
import json
import socket
import struct
from collections.abc import Callable
from dataclasses import dataclass
from email.utils import format_datetime

from reviewdesk.domain.verdict import Status
from tests.helpers import START
from tests.live.server import Fault, Seen, answer, envelope, verdict

LIMITED = 104
"""Attempts in 600 seconds of nothing but 429: waits of 0.375, 0.75, 1.5 and 3 s, then 6 s each."""


@dataclass(frozen=True)
class Ending:
    """How a ballot must end; ``calls`` is how often the endpoint is asked."""

    status: Status
    kind: str
    fault: Fault
    calls: int = 1


def _sends(make: Callable[[Seen], bytes]) -> Fault:
    async def fault(seen: Seen, out: asyncio.StreamWriter) -> None:
        out.write(make(seen))

    return fault


def _status(status: int, error: dict[str, str], headers: dict[str, str] | None = None) -> Fault:
    return _sends(lambda _: answer(status, {"error": error}, headers))


def _says(make: Callable[[Seen], str | None], stop: str | None = None) -> Fault:
    return _sends(lambda seen: answer(200, envelope(seen, make(seen), stop)))


def _raw(text: str, headers: dict[str, str] | None = None) -> Fault:
    return _sends(lambda _: answer(200, text, headers))


async def _resets(_: Seen, out: asyncio.StreamWriter) -> None:
    """Half a body, and the connection is gone."""
    out.write(
        b"HTTP/1.1 200 Told\r\ncontent-type: application/json\r\ncontent-length: 500\r\n\r\n{"
    )
    await out.drain()
    linger = struct.pack("ii", 1, 0)
    out.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
    out.close()


async def _hangs_up(_: Seen, out: asyncio.StreamWriter) -> None:
    out.close()


async def _stalls(_: Seen, out: asyncio.StreamWriter) -> None:
    out.write(b"HTTP/1.1 200 Told\r\ncontent-ty")
    await out.drain()
    await asyncio.Event().wait()


async def _dribbles(seen: Seen, out: asyncio.StreamWriter) -> None:
    """A byte every hundredth of a second: no read ever waits long."""
    for byte in answer(200, envelope(seen, verdict(seen))):
        out.write(bytes([byte]))
        await out.drain()
        await asyncio.sleep(0.01)


def _echoes(seen: Seen) -> bytes:
    """The key in the body and in a header, plain and escaped."""
    spelt = "".join(f"\\u{ord(char):04x}" for char in seen.key)
    said = f'{{"error": {{"message": "wrong key {seen.key} ({spelt})", "type": "auth"}}}}'
    return answer(401, said, {"x-request-id": f"for-{seen.key}"})


def _confides(seen: Seen) -> str:
    """A verdict that has the key in its reason, once plain and once escaped."""
    spelt = "".join(f"\\u{ord(char):04x}" for char in seen.key)
    return verdict(seen, reason=f"{seen.key} or SPELT").replace("SPELT", spelt)


def _bomb(_: Seen) -> bytes:
    return answer(200, gzip.compress(b" " * 50_000_000), {"content-encoding": "gzip"})


def _zipped(seen: Seen, cut: int = 0) -> bytes:
    body = gzip.compress(json.dumps(envelope(seen, verdict(seen))).encode())
    return answer(200, body[: len(body) - cut], {"content-encoding": "gzip"})


def _endless(_: Seen) -> bytes:
    head = (
        b"HTTP/1.1 200 Told\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n"
    )
    chunk = b" " * 60_000
    return head + (f"{len(chunk):x}\r\n".encode() + chunk + b"\r\n") * 50


OK, ERROR, UNREAD = Status.OK, Status.ERROR, Status.PARSE_FAIL
RATE = {"message": "slow down", "type": "rate_limit_error"}
QUOTA = {"message": "You exceeded your current quota", "code": "insufficient_quota"}
CREDIT = {"message": "Your credit balance is too low", "type": "invalid_request_error"}
UNKNOWN = {"message": "the field 'frequency' is unsupported", "code": "unsupported_parameter"}
OVERLOADED = {"message": "Overloaded", "type": "overloaded_error"}
SOON = format_datetime(START, usegmt=True)
HTML = {"content-type": "text/html"}
ELSEWHERE = {"location": "http://127.0.0.1:1/v1"}

FAULTS = {
    "reset mid-body": Ending(ERROR, "reset", _resets, calls=4),
    "closed at once": Ending(ERROR, "reset", _hangs_up, calls=4),
    "not HTTP": Ending(ERROR, "protocol", _sends(lambda _: b"SSH-2.0-Open\r\n\r\n"), calls=4),
    "stalled headers": Ending(Status.TIMEOUT, "timeout", _stalls),
    "dribbled bytes": Ending(Status.TIMEOUT, "timeout", _dribbles),
    "429 seconds": Ending(
        ERROR, "rate_limited", _status(429, RATE, {"retry-after": "0"}), calls=LIMITED
    ),
    "429 an hour": Ending(ERROR, "rate_limited", _status(429, RATE, {"retry-after": "3600"})),
    "429 date": Ending(
        ERROR, "rate_limited", _status(429, RATE, {"retry-after": SOON}), calls=LIMITED
    ),
    "429 without": Ending(ERROR, "rate_limited", _status(429, RATE), calls=LIMITED),
    "429 spent": Ending(ERROR, "spent_credit", _status(429, QUOTA)),
    "402": Ending(ERROR, "spent_credit", _status(402, {"message": "pay"})),
    "400 spent": Ending(ERROR, "spent_credit", _status(400, CREDIT)),
    "400 parameter": Ending(ERROR, "bad_request", _status(400, UNKNOWN)),
    "401 echo": Ending(ERROR, "unauthorized", _sends(_echoes)),
    "403": Ending(ERROR, "forbidden", _status(403, {"message": "no"})),
    "404": Ending(ERROR, "not_found", _status(404, {"message": "no such model"})),
    "408": Ending(ERROR, "request_timeout", _status(408, {"message": "late"}), calls=4),
    "500": Ending(ERROR, "server_error", _sends(lambda _: answer(500, "<h1>oops</h1>")), calls=4),
    "503": Ending(ERROR, "unavailable", _status(503, {"message": "later"}), calls=4),
    "529": Ending(ERROR, "overloaded", _status(529, OVERLOADED), calls=4),
    "200 error": Ending(ERROR, "error_in_200", _raw('{"error": {"message": "sorry"}}'), calls=4),
    "200 error 503": Ending(
        ERROR, "error_in_200", _raw('{"error": {"message": "later", "code": 503}}'), calls=4
    ),
    "200 error 401": Ending(
        ERROR, "unauthorized", _raw('{"error": {"message": "wrong key", "code": 401}}')
    ),
    "200 error spent": Ending(
        ERROR, "spent_credit", _raw('{"error": {"message": "Insufficient credits"}}')
    ),
    "200 error in other words": Ending(
        ERROR, "error_in_200", _raw('{"object": "error", "message": "overloaded"}'), calls=4
    ),
    "200 without a choice": Ending(UNREAD, "not_an_answer", _raw('{"ok": true}'), calls=4),
    "empty body": Ending(Status.EMPTY, "empty", _raw(""), calls=4),
    "empty content": Ending(Status.EMPTY, "empty", _says(lambda _: "")),
    "no content": Ending(Status.EMPTY, "empty", _says(lambda _: None)),
    "truncated body": Ending(UNREAD, "not_json", _raw('{"choices": [{"mess'), calls=4),
    "two bodies": Ending(UNREAD, "not_json", _raw('{"choices": []}{"choices": []}'), calls=4),
    "deep body": Ending(UNREAD, "not_json", _raw("[" * 200_000), calls=4),
    "truncated reply": Ending(UNREAD, "truncated", _says(lambda seen: verdict(seen)[:-20])),
    "cut off": Ending(
        UNREAD, "truncated", _says(lambda _: "Let me think", "length")
    ),
    "two objects": Ending(UNREAD, "two_objects", _says(lambda seen: verdict(seen) * 2)),
    "prose": Ending(UNREAD, "no_object", _says(lambda _: "I rather like it.")),
    "fenced": Ending(OK, "", _says(lambda seen: f"```json\n{verdict(seen)}\n```")),
    "key confided": Ending(OK, "", _says(_confides)),
    "another nonce": Ending(UNREAD, "nonce", _says(lambda seen: verdict(seen, nonce="1234"))),
    "NaN score": Ending(UNREAD, "not_json", _says(lambda seen: verdict(seen, score=float("nan")))),
    "score 85": Ending(UNREAD, "out_of_range", _says(lambda seen: verdict(seen, score=85))),
    "huge body": Ending(ERROR, "too_large", _raw(" " * 3_000_000)),
    "endless body": Ending(ERROR, "too_large", _sends(_endless)),
    "gzip bomb": Ending(ERROR, "too_large", _sends(_bomb)),
    "gzip": Ending(OK, "", _sends(_zipped)),
    "gzip cut": Ending(ERROR, "reset", _sends(lambda seen: _zipped(seen, cut=9)), calls=4),
    "not gzip": Ending(ERROR, "encoding", _raw("{}", {"content-encoding": "gzip"})),
    "brotli": Ending(ERROR, "encoding", _raw("{}", {"content-encoding": "br"})),
    "redirect": Ending(ERROR, "redirect", _status(307, {"message": "there"}, ELSEWHERE)),
    "content type": Ending(ERROR, "content_type", _raw("<p>Hello", HTML), calls=4),
    "portal": Ending(UNREAD, "not_json", _raw("<!doctype html><p>Log in"), calls=4),
    "cut off before a word": Ending(UNREAD, "truncated", _says(lambda _: "", "max_tokens")),
    "refusal": Ending(
        Status.ABSTAINED, "refusal", _sends(lambda seen: answer(200, refused(seen)))
    ),
}  # fmt: skip


def refused(seen: Seen) -> str:
    made = envelope(seen, "I cannot judge this.", "refusal" if seen.native else None)
    if not seen.native:
        made["choices"][0]["message"] = {"content": None, "refusal": "I cannot judge this."}
    return json.dumps(made)
