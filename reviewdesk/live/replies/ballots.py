"""Make a ballot from an exchange alone, so that a stored one is read again without a network."""

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
"""The ballot status of unreadable replies; all others get ``PARSE_FAIL``, for a person to read."""

_CUT = {ReplyProblem.EMPTY, ReplyProblem.TRUNCATED, ReplyProblem.NO_OBJECT, ReplyProblem.NOT_JSON}
"""The problems that reaching the token limit may have caused."""


def answer_of(call: Call, exchange: Exchange | None, redactor: Redactor) -> Ballot | None:
    """Return the ballot of a stored exchange if the juror answered or abstained, else ``None``.

    An error, a truncated reply and an unreadable one are not answers, so a resumed run asks again.
    """
    if exchange is None:
        return None
    ballot = ballot_of(call, exchange, redactor)
    return None if Status(ballot["status"]).missing else ballot


def ballot_of(call: Call, exchange: Exchange, redactor: Redactor) -> Ballot:
    """Return the ballot of a call's final exchange."""
    try:
        place = endpoint(call.juror)
    except TransportError as problem:
        return failed(call, Fault(Status.ERROR, problem.kind, problem.message), exchange.at)
    found = reply_or_fault(exchange, place.wire)
    if isinstance(found, Fault):
        message = redactor.text(found.message) + _wait_note(exchange)
        fault = Fault(found.status, found.kind, message)
        return _with_latency(failed(call, fault, exchange.at, raw=exchange.body), exchange)
    ballot = _reply_ballot(call, exchange, found, place, redactor)
    return _with_latency(ballot, exchange) | _usage(call, found)


def _wait_note(exchange: Exchange) -> str:
    seconds = stated_wait(exchange)
    return f"; it asks to wait {seconds:.0f} s" if seconds else ""


def failed(call: Call, fault: Fault, at: str, raw: str = "") -> Ballot:
    """Return the ballot of a juror who gave no answer."""
    entry = {
        "status": fault.status.value,
        "error": {"type": fault.kind, "message": fault.message},
        "at": at,
    }
    return seat_body(call.juror) | entry | ({"raw": raw} if raw else {})


def _reply_ballot(
    call: Call, exchange: Exchange, found: Envelope, place: Endpoint, redactor: Redactor
) -> Ballot:
    """Return the ballot of a reply.

    Text is redacted again, because decoding the JSON may have revealed a key.
    """
    text = redactor.text(found.text)
    if found.refusal is not None:
        fault = Fault(Status.ABSTAINED, "refusal", "the juror refuses to judge")
        ballot = failed(call, fault, exchange.at, raw=text)
        return ballot | {"reason": redactor.text(found.refusal)}
    strict = place.shape is JsonMode.SCHEMA and STRUCTURE not in left_out(exchange)
    answer = parse(text, exchange.nonce, strict=strict, labels=call.labels)
    if isinstance(answer, ParsedReply):
        at = {"raw": text, "at": exchange.at}
        return (
            seat_body(call.juror)
            | _redact_values(answer.ballot, redactor)
            | at
            | _meta(answer, exchange)
        )
    status = _STATUS_OF.get(answer.kind, Status.PARSE_FAIL)
    return failed(
        call, _unreadable_fault(call, answer, status, cut=found.cut), exchange.at, raw=text
    )


def _unreadable_fault(call: Call, answer: UnreadableReply, status: Status, *, cut: bool) -> Fault:
    if not cut or answer.kind not in _CUT:
        return Fault(status, answer.kind.value, answer.message)
    message = f"{answer.message}: it was cut off at {call.juror.max_tokens} tokens"
    message += "; give the juror a larger max_tokens"
    return Fault(Status.PARSE_FAIL, ReplyProblem.TRUNCATED.value, message)


def _redact_values(values: dict[str, Any], redactor: Redactor) -> dict[str, Any]:
    return {
        key: redactor.text(value) if isinstance(value, str) else value
        for key, value in values.items()
    }


def _meta(answer: ParsedReply, exchange: Exchange) -> Ballot:
    """Return the parser's notes and the parts left out of the request, as the ballot's ``meta``."""
    meta = {"notes": list(answer.notes), "left_out": list(left_out(exchange))}
    known = {key: value for key, value in meta.items() if value}
    return {"meta": known} if known else {}


def _with_latency(ballot: Ballot, exchange: Exchange) -> Ballot:
    return ballot | {"latency_ms": round(exchange.ms, 1)}


def _usage(call: Call, found: Envelope) -> Ballot:
    """Return tokens and cost where known; a cost that the endpoint states takes precedence."""
    cost, price = found.cost, call.juror.price
    if cost is None and price and found.tokens_in is not None and found.tokens_out is not None:
        cost = spent(price, found.tokens_in, found.tokens_out)
    usage = {"tokens_in": found.tokens_in, "tokens_out": found.tokens_out, "cost_usd": cost}
    return {key: value for key, value in usage.items() if value is not None}
