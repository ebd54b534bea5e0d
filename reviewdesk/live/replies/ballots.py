"""Make a ballot from an exchange alone, so that a stored one is read again without a network."""

from __future__ import annotations

from reviewdesk.domain.canonical import CanonicalAnswer, CanonicalBallot
from reviewdesk.domain.panel.juror import Price, seat_body
from reviewdesk.domain.panel.vendors import JsonMode
from reviewdesk.domain.verdict import Status
from reviewdesk.errors import TransportError
from reviewdesk.live.records import Call, Exchange
from reviewdesk.live.replies.faults import Fault, left_out, reply_or_fault
from reviewdesk.live.replies.redact import Redactor
from reviewdesk.live.replies.reply import ParsedReply, ReplyProblem, UnreadableReply, parse
from reviewdesk.live.retry import stated_wait
from reviewdesk.live.wires.envelope import Envelope
from reviewdesk.live.wires.requests import STRUCTURE, TEMPERATURE
from reviewdesk.live.wires.vendors import Endpoint, endpoint

_STATUS_OF = {ReplyProblem.EMPTY: Status.EMPTY}
"""The ballot status of unreadable replies; all others get ``PARSE_FAIL``, for a person to read."""

_CUT = {ReplyProblem.EMPTY, ReplyProblem.TRUNCATED, ReplyProblem.NO_OBJECT, ReplyProblem.NOT_JSON}
"""The problems that reaching the token limit may have caused."""


def answer_of(call: Call, exchange: Exchange | None, redactor: Redactor) -> CanonicalBallot | None:
    """Return the ballot of a stored exchange if the juror answered or abstained, else ``None``.

    An error, a truncated reply and an unreadable one are not answers, so a resumed run asks again.
    """
    if exchange is None:
        return None
    ballot = ballot_of(call, exchange, redactor)
    return None if Status(ballot["status"]).missing else ballot


def ballot_of(call: Call, exchange: Exchange, redactor: Redactor) -> CanonicalBallot:
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
    ballot = _with_latency(_reply_ballot(call, exchange, found, place, redactor), exchange)
    _add_usage(ballot, price_of(call, exchange), found)
    if exchange.is_cached:
        ballot.pop("cost_usd", None)
        ballot["meta"] = {**(ballot.get("meta") or {}), "cached": True}
    return ballot


def _wait_note(exchange: Exchange) -> str:
    seconds = stated_wait(exchange)
    return f"; it asks to wait {seconds:.0f} s" if seconds else ""


def failed(call: Call, fault: Fault, at: str, raw: str = "") -> CanonicalBallot:
    """Return the ballot of a juror who gave no answer."""
    made: CanonicalBallot = {
        **seat_body(call.juror),
        "status": fault.status.value,
        "error": {"type": fault.kind, "message": fault.message},
        "at": at,
    }
    if raw:
        made["raw"] = raw
    return made


def _reply_ballot(
    call: Call, exchange: Exchange, found: Envelope, place: Endpoint, redactor: Redactor
) -> CanonicalBallot:
    """Return the ballot of a reply.

    Text is redacted again, because decoding the JSON may have revealed a key.
    """
    text = redactor.text(found.text)
    if found.refusal is not None:
        fault = Fault(Status.ABSTAINED, "refusal", "the juror refuses to judge")
        ballot = failed(call, fault, exchange.at, raw=text)
        ballot["reason"] = redactor.text(found.refusal)
        return ballot
    strict = place.shape is JsonMode.SCHEMA and STRUCTURE not in left_out(exchange)
    answer = parse(text, exchange.nonce, strict=strict, labels=call.labels)
    if isinstance(answer, ParsedReply):
        made: CanonicalBallot = {
            **seat_body(call.juror),
            **_redacted(answer.ballot, redactor),
            "raw": text,
            "at": exchange.at,
        }
        unsent = left_out(exchange)
        if answer.notes or unsent:
            known = {"notes": list(answer.notes), "left_out": list(unsent)}
            made["meta"] = {**(made.get("meta") or {}), **{k: v for k, v in known.items() if v}}
        if TEMPERATURE in unsent:
            made["not_applied"] = [TEMPERATURE]
        return made
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


def _redacted(answer: CanonicalAnswer, redactor: Redactor) -> CanonicalAnswer:
    if label := answer.get("label"):
        answer["label"] = redactor.text(label)
    if reason := answer.get("reason"):
        answer["reason"] = redactor.text(reason)
    return answer


def _with_latency(ballot: CanonicalBallot, exchange: Exchange) -> CanonicalBallot:
    if exchange.is_batched or exchange.is_cached:
        return ballot
    return {**ballot, "latency_ms": round(exchange.ms, 1)}


def price_of(call: Call, exchange: Exchange) -> Price | None:
    """Return the price at which an exchange was made."""
    price = call.juror.price
    return price.in_batch if price is not None and exchange.is_batched else price


def _add_usage(ballot: CanonicalBallot, price: Price | None, found: Envelope) -> None:
    cost = found.usd(price)
    if found.tokens_in is not None:
        ballot["tokens_in"] = found.tokens_in
    if found.tokens_out is not None:
        ballot["tokens_out"] = found.tokens_out
    if cost is not None:
        ballot["cost_usd"] = cost
    apart = {"tokens_cached": found.cached, "tokens_thinking": found.thoughts}
    if counts := {key: count for key, count in apart.items() if count}:
        ballot["meta"] = {**(ballot.get("meta") or {}), **counts}
