"""The ballot that an exchange makes, by itself: a stored one is read again without a network."""

from __future__ import annotations

from typing import Any

from reviewdesk.domain.cost import spent
from reviewdesk.domain.panelspec import seat_body
from reviewdesk.domain.verdict import Status
from reviewdesk.errors import TransportError
from reviewdesk.live.envelope import Envelope, Unusable, opened
from reviewdesk.live.faults import LEFT_OUT, Fault, fault_of
from reviewdesk.live.records import Ballot, Call, Exchange
from reviewdesk.live.redact import Redactor
from reviewdesk.live.reply import Answer, Problem, Unreadable, parse
from reviewdesk.live.retry import is_last, stated_wait
from reviewdesk.live.vendors import endpoint
from reviewdesk.live.wires import optional

_STATUS_OF = {Problem.EMPTY: Status.EMPTY}
"""Other unreadable replies wait for a person."""

_CUT = {Problem.EMPTY, Problem.TRUNCATED, Problem.NO_OBJECT, Problem.NOT_JSON}
"""What a bound on tokens may have made of a reply."""


def ballot_of(call: Call, exchange: Exchange, redactor: Redactor) -> Ballot | None:
    """The ballot of a stored exchange; ``None`` where another attempt was to follow it."""
    try:
        sent = optional(call, endpoint(call.juror))
    except TransportError:
        sent = frozenset()
    return ballot_made(call, exchange, redactor) if is_last(exchange, sent) else None


def ballot_made(call: Call, exchange: Exchange, redactor: Redactor) -> Ballot:
    """The ballot of an exchange that nothing follows."""
    try:
        wire = endpoint(call.juror).wire
    except TransportError as problem:
        return failed(call, Fault(Status.ERROR, problem.kind, problem.message), exchange.at)
    fault = fault_of(exchange)
    if fault is not None:
        message = redactor.text(fault.message) + _asked_to_wait(exchange)
        fault = Fault(fault.status, fault.kind, message)
        return _timed(failed(call, fault, exchange.at, raw=exchange.body), exchange)
    found = opened(exchange.body, exchange.headers.get("content-type"), wire)
    if isinstance(found, Unusable):
        fault = Fault(found.status, found.kind, redactor.text(found.message))
        return _timed(failed(call, fault, exchange.at, raw=exchange.body), exchange)
    return _timed(_spoken(call, exchange, found, redactor), exchange) | _spent(call, found)


def _asked_to_wait(exchange: Exchange) -> str:
    asked = stated_wait(exchange)
    return f"; it asks to wait {asked:.0f} s" if asked else ""


def failed(call: Call, fault: Fault, at: str, raw: str = "") -> Ballot:
    """The ballot of a juror who gave no answer."""
    said = {
        "status": fault.status.value,
        "error": {"type": fault.kind, "message": fault.message},
        "at": at,
    }
    return seat_body(call.juror) | said | ({"raw": raw} if raw else {})


def _spoken(call: Call, exchange: Exchange, found: Envelope, redactor: Redactor) -> Ballot:
    """The ballot of a reply. Text is redacted again, as decoding it may have spelt out a key."""
    text = redactor.text(found.text)
    if found.refusal is not None:
        fault = Fault(Status.ABSTAINED, "refusal", "the juror refuses to judge")
        said = failed(call, fault, exchange.at, raw=text)
        return said | {"reason": redactor.text(found.refusal)}
    answer = parse(text, exchange.nonce)
    if isinstance(answer, Answer):
        at = {"raw": text, "at": exchange.at}
        return (
            seat_body(call.juror)
            | _redacted(answer.ballot, redactor)
            | at
            | _noted(answer, exchange)
        )
    status = _STATUS_OF.get(answer.kind, Status.PARSE_FAIL)
    return failed(call, _unread(call, answer, status, cut=found.cut), exchange.at, raw=text)


def _unread(call: Call, answer: Unreadable, status: Status, *, cut: bool) -> Fault:
    if not cut or answer.kind not in _CUT:
        return Fault(status, answer.kind.value, answer.message)
    kind = Problem.TRUNCATED if answer.kind is not Problem.EMPTY else Problem.EMPTY
    told = f"{answer.message}: it was cut off at {call.juror.max_tokens} tokens"
    return Fault(status, kind.value, f"{told}; give the juror a larger max_tokens")


def _redacted(said: dict[str, Any], redactor: Redactor) -> dict[str, Any]:
    return {
        key: redactor.text(value) if isinstance(value, str) else value
        for key, value in said.items()
    }


def _noted(answer: Answer, exchange: Exchange) -> Ballot:
    """What a reader of the ballot has to know beside it."""
    left_out = (exchange.problem or "").removeprefix(LEFT_OUT).split() if exchange.problem else []
    meta = {"notes": list(answer.notes), "left_out": left_out}
    known = {key: value for key, value in meta.items() if value}
    return {"meta": known} if known else {}


def _timed(said: Ballot, exchange: Exchange) -> Ballot:
    return said | {"latency_ms": round(exchange.ms, 1)}


def _spent(call: Call, found: Envelope) -> Ballot:
    """Tokens and cost, where they are known; a cost that the endpoint states is what it takes."""
    cost, price = found.cost, call.juror.price
    if cost is None and price and found.tokens_in is not None and found.tokens_out is not None:
        cost = spent(price, found.tokens_in, found.tokens_out)
    said = {"tokens_in": found.tokens_in, "tokens_out": found.tokens_out, "cost_usd": cost}
    return {key: value for key, value in said.items() if value is not None}
