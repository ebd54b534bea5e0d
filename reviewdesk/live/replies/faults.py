"""Describe how a call without a ballot ended: a status, one word for the kind, one sentence."""

from __future__ import annotations

import re
from enum import IntEnum
from typing import Final

from msgspec import Struct

from reviewdesk.domain.panel.juror import Wire
from reviewdesk.domain.verdict import Status
from reviewdesk.live.records import Exchange
from reviewdesk.live.wires.envelope import (
    MAX_TOLD,
    Envelope,
    StatedError,
    UnusableAnswer,
    opened,
    stated_error,
)

LEFT_OUT: Final = "left out: "
"""Prefix of the names of refused parts, in the ``problem`` of an exchange with a response."""

_KINDS: Final = {
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


_STATUSES: Final = frozenset({408, 409, 425})
"""HTTP statuses below 500 that are tried again, beside 429; an endpoint would repeat any other
refusal."""

_LASTING: Final = frozenset({"too_large", "encoding", "tls", "request", "endpoint"})
"""Transport errors that another attempt would not fix."""

_UNREACHABLE: Final = frozenset({"connection", "dns"})
"""Transport errors of a host that is unknown or refuses connections."""


class Retryable(IntEnum):
    """Whether, and how long, a call that failed is tried again; ``NO`` is false."""

    NO = 0
    FEW = 1
    """A few times: a 200 that holds no reply, and may have been paid for."""
    UNREACHABLE = 2
    """For seconds: a host that is unknown or refuses connections."""
    YES = 3
    """Until the ballot's deadline."""
    PAUSED = 4
    """Once the model's limit lets it go: a 429."""


def after_problem(kind: str) -> Retryable:
    """Return whether a call is tried again that ended in a transport error of this kind."""
    if kind in _LASTING:
        return Retryable.NO
    return Retryable.UNREACHABLE if kind in _UNREACHABLE else Retryable.YES


def after_status(status: int) -> Retryable:
    """Return whether a call is tried again that was refused with this HTTP status."""
    if status == 429:
        return Retryable.PAUSED
    return Retryable.YES if status in _STATUSES or status >= 500 else Retryable.NO


class Fault(Struct, frozen=True):
    """The status and error of a ballot without an answer, and whether the call is tried again."""

    status: Status
    kind: str
    message: str
    again: Retryable = Retryable.NO


def left_out(exchange: Exchange) -> tuple[str, ...]:
    """Return the names of what was left out of a request because its endpoint refuses it."""
    problem = exchange.problem or ""
    return tuple(problem.removeprefix(LEFT_OUT).split()) if problem.startswith(LEFT_OUT) else ()


def fault_of(exchange: Exchange, wire: Wire) -> Fault | None:
    """Return the fault of an exchange, or ``None`` if a juror's reply came, readable or not."""
    found = reply_or_fault(exchange, wire)
    return found if isinstance(found, Fault) else None


def reply_or_fault(exchange: Exchange, wire: Wire) -> Envelope | Fault:
    """Read an exchange: a successful status counts as a reply only if the body holds one."""
    if exchange.status is None:
        kind, _, message = (exchange.problem or "connection: no answer came").partition(": ")
        status = Status.TIMEOUT if kind == "timeout" else Status.ERROR
        return Fault(status, kind, message or kind, after_problem(kind))
    if 200 <= exchange.status < 300:
        found = opened(exchange.body, exchange.headers.get("content-type"), wire)
        return _unusable_fault(exchange, found) if isinstance(found, UnusableAnswer) else found
    if 300 <= exchange.status < 400:
        text = f"the endpoint answers HTTP {exchange.status}: it is elsewhere, and no redirect is"
        return Fault(Status.ERROR, "redirect", f"{text} followed; set the base_url")
    error = stated_error(exchange.body)
    text = f"HTTP {exchange.status}" + (f", {error.message[:MAX_TOLD]}" if error.message else "")
    return _refusal_fault(exchange, error, exchange.status, text)


def _unusable_fault(exchange: Exchange, found: UnusableAnswer) -> Fault:
    if found.error is None:
        few = Retryable.FEW if found.again else Retryable.NO
        return Fault(found.status, found.kind, found.message, few)
    named = _refusal_fault(exchange, found.error, found.error.code or 429, found.message)
    if not named.again:
        return named
    is_limit = found.error.code == 429 or _RATE_LIMIT.search(found.error.whole)
    again = Retryable.PAUSED if is_limit else Retryable.YES
    return Fault(found.status, found.kind, found.message, again)


def _refusal_fault(exchange: Exchange, error: StatedError, status: int, text: str) -> Fault:
    if _is_out_of_credit(exchange, error, status):
        return Fault(Status.ERROR, "spent_credit", f"{_KINDS[402][1]} ({text})")
    known = _KINDS.get(status)
    general = _KINDS[500] if status >= 500 else _KINDS[400]
    kind, sentence = known or general
    return Fault(Status.ERROR, kind, f"{sentence} ({text})", after_status(status))


def _is_out_of_credit(exchange: Exchange, error: StatedError, status: int) -> bool:
    """Return True if the account is out of credit.

    Some endpoints speak of billing when only a quota per minute is used up; those state a delay.
    """
    if status == 402:
        return True
    if status not in {400, 403, 429} or "retryDelay" in exchange.body:
        return False
    return bool(_OUT_OF_CREDIT.search(error.whole))
