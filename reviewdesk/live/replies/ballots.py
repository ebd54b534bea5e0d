"""The ballot that an exchange makes, by itself: a stored one is read again without a network."""

from __future__ import annotations

from typing import Any

from reviewdesk.domain.panel.cost import spent
from reviewdesk.domain.panel.spec import seat_body
from reviewdesk.domain.verdict import Status
from reviewdesk.errors import TransportError
from reviewdesk.live.records import Ballot, Call, Exchange
from reviewdesk.live.replies.faults import Fault, left_out, reply_or_fault
from reviewdesk.live.replies.redact import Redactor
from reviewdesk.live.replies.reply import (
    ParsedReply,
    ReplyProblem,
    UnreadableReply,
    parse,
)
from reviewdesk.live.retry import stated_wait
from reviewdesk.live.wires.envelope import Envelope
from reviewdesk.live.wires.requests import STRUCTURE
from reviewdesk.live.wires.vendors import Endpoint, JsonMode, endpoint

_STATUS_OF = {ReplyProblem.EMPTY: Status.EMPTY}
"""Other unreadable replies wait for a person."""

_CUT = {ReplyProblem.EMPTY, ReplyProblem.TRUNCATED, ReplyProblem.NO_OBJECT, ReplyProblem.NOT_JSON}
"""What a bound on tokens may have made of a reply."""


def answer_of(call: Call, exchange: Exchange | None, redactor: Redactor) -> Ballot | None:
    """Return the ballot of a stored exchange if the juror answered or abstained in it.

    Whatever else was stored, an error, a cut reply or one that cannot be read, is no answer, so
    that a run that goes on asks again.
    """
    if exchange is None:
        return None
    ballot = ballot_of(call, exchange, redactor)
    return None if Status(ballot["status"]).missing else ballot


def ballot_of(call: Call, exchange: Exchange, redactor: Redactor) -> Ballot:
    """The ballot of an exchange that nothing follows."""
    try:
        place = endpoint(call.juror)
    except TransportError as problem:
        return failed(call, Fault(Status.ERROR, problem.kind, problem.message), exchange.at)
    found = reply_or_fault(exchange, place.wire)
    if isinstance(found, Fault):
        message = redactor.text(found.message) + _asked_to_wait(exchange)
        fault = Fault(found.status, found.kind, message)
        return _timed(failed(call, fault, exchange.at, raw=exchange.body), exchange)
    said = _spoken(call, exchange, found, place, redactor)
    return _timed(said, exchange) | _spent(call, found)


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


def _spoken(
    call: Call, exchange: Exchange, found: Envelope, place: Endpoint, redactor: Redactor
) -> Ballot:
    """The ballot of a reply. Text is redacted again, as decoding it may have spelt out a key."""
    text = redactor.text(found.text)
    if found.refusal is not None:
        fault = Fault(Status.ABSTAINED, "refusal", "the juror refuses to judge")
        said = failed(call, fault, exchange.at, raw=text)
        return said | {"reason": redactor.text(found.refusal)}
    strict = place.shape is JsonMode.SCHEMA and STRUCTURE not in left_out(exchange)
    answer = parse(text, exchange.nonce, strict=strict, labels=call.labels)
    if isinstance(answer, ParsedReply):
        at = {"raw": text, "at": exchange.at}
        return (
            seat_body(call.juror)
            | _redacted(answer.ballot, redactor)
            | at
            | _noted(answer, exchange)
        )
    status = _STATUS_OF.get(answer.kind, Status.PARSE_FAIL)
    return failed(call, _unread(call, answer, status, cut=found.cut), exchange.at, raw=text)


def _unread(call: Call, answer: UnreadableReply, status: Status, *, cut: bool) -> Fault:
    if not cut or answer.kind not in _CUT:
        return Fault(status, answer.kind.value, answer.message)
    told = f"{answer.message}: it was cut off at {call.juror.max_tokens} tokens"
    told += "; give the juror a larger max_tokens"
    return Fault(Status.PARSE_FAIL, ReplyProblem.TRUNCATED.value, told)


def _redacted(said: dict[str, Any], redactor: Redactor) -> dict[str, Any]:
    return {
        key: redactor.text(value) if isinstance(value, str) else value
        for key, value in said.items()
    }


def _noted(answer: ParsedReply, exchange: Exchange) -> Ballot:
    """What a reader of the ballot has to know beside it."""
    meta = {"notes": list(answer.notes), "left_out": list(left_out(exchange))}
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
