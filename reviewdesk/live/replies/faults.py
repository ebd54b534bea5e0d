"""How a call that brought no ballot ended: its status, one word for its kind, one sentence."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

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
from reviewdesk.live.wires.vendors import Wire

AGAIN_STATUSES: Final = frozenset({408, 409, 425, 429})
"""Beside those from 500; what else an endpoint refuses it would refuse again."""

LASTING: Final = frozenset({"timeout", "too_large", "encoding", "tls", "request", "endpoint"})
"""Transport errors that another attempt would not mend, or that used up the time."""

LEFT_OUT: Final = "left out: "
"""Before the names of what an endpoint did not take, in the ``problem`` of an answer."""

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

_SPENT = re.compile(
    r"insufficient[ _](?:quota|balance|credit|fund)|billing|credit balance|spent credit"
    r"|(?:out of|no|exhausted|not enough|more) credits?\b|exceeded your current quota"
    r"|payment[ _]required|arrearage",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Fault:
    """What a ballot without an answer says; ``again`` is whether another attempt makes sense."""

    status: Status
    kind: str
    message: str
    again: bool = False


def left_out(exchange: Exchange) -> tuple[str, ...]:
    """Return what was left out of the request of an answer, as its endpoint does not take it."""
    said = exchange.problem or ""
    return tuple(said.removeprefix(LEFT_OUT).split()) if said.startswith(LEFT_OUT) else ()


def fault_of(exchange: Exchange, wire: Wire) -> Fault | None:
    """The fault of an exchange; ``None`` where a juror's reply came, whatever it says."""
    found = reply_or_fault(exchange, wire)
    return found if isinstance(found, Fault) else None


def reply_or_fault(exchange: Exchange, wire: Wire) -> Envelope | Fault:
    """Read an exchange: a 200 counts as a reply only if it holds one."""
    if exchange.status is None:
        kind, _, message = (exchange.problem or "connection: no answer came").partition(": ")
        status = Status.TIMEOUT if kind == "timeout" else Status.ERROR
        return Fault(status, kind, message or kind, again=kind not in LASTING)
    if 200 <= exchange.status < 300:
        found = opened(exchange.body, exchange.headers.get("content-type"), wire)
        return _unusable(exchange, found) if isinstance(found, UnusableAnswer) else found
    if 300 <= exchange.status < 400:
        told = f"the endpoint answers HTTP {exchange.status}: it is elsewhere, and no redirect is"
        return Fault(Status.ERROR, "redirect", f"{told} followed; set the base_url")
    said = stated_error(exchange.body)
    told = f"HTTP {exchange.status}" + (f", {said.message[:MAX_TOLD]}" if said.message else "")
    return _refused(exchange, said, exchange.status, told)


def _unusable(exchange: Exchange, found: UnusableAnswer) -> Fault:
    """A 200 without a reply: an error inside one is judged by the status that it names."""
    if found.error is not None:
        named = _refused(exchange, found.error, found.error.code or 429, found.message)
        if not named.again:
            return named
    return Fault(found.status, found.kind, found.message, found.again)


def _refused(exchange: Exchange, said: StatedError, status: int, told: str) -> Fault:
    """Return the fault of an error that stands under, or names, an HTTP status."""
    if _is_spent(exchange, said, status):
        return Fault(Status.ERROR, "spent_credit", f"{_KINDS[402][1]} ({told})")
    known = _KINDS.get(status)
    general = _KINDS[500] if status >= 500 else _KINDS[400]
    kind, sentence = known or general
    again = status in AGAIN_STATUSES or status >= 500
    return Fault(Status.ERROR, kind, f"{sentence} ({told})", again)


def _is_spent(exchange: Exchange, said: StatedError, status: int) -> bool:
    """Whether money is lacking; some endpoints say billing where a minute's quota is used up."""
    if status == 402:
        return True
    if status not in {400, 403, 429} or "retryDelay" in exchange.body:
        return False
    return bool(_SPENT.search(said.whole))
