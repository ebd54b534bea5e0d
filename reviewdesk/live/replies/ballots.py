"""Make a ballot from an exchange alone, so that stored ones can be read without a network."""

import json
import math
import re
from collections.abc import Iterator
from typing import Any, TypeVar

from msgspec import Struct

from reviewdesk.domain.panel.juror import BATCH_SHARE, seat_body
from reviewdesk.domain.panel.prompt import breach
from reviewdesk.domain.panel.vendors import JsonMode
from reviewdesk.domain.safetext import show_line
from reviewdesk.domain.values import LabelRules, label_decision
from reviewdesk.domain.verdict import CanonicalBallot, Decision, Status, folded, without_nulls
from reviewdesk.live.keys import Redactor
from reviewdesk.live.records import Call, Exchange
from reviewdesk.live.replies.envelope import Envelope, Fault, left_out, reply_or_fault
from reviewdesk.live.retry import stated_wait
from reviewdesk.live.wires.endpoints import Endpoint, endpoint
from reviewdesk.live.wires.requests import STRUCTURE, TEMPERATURE

MAX_BYTES = 64 * 1024
MAX_STARTS = 64

WORD_KEYS = ("verdict", "kind", "label")
REASON_KEYS = ("reason", "reasoning", "rationale")
ANSWER_KEYS = frozenset({"pass", "score", *WORD_KEYS})
"""The keys that make an object a verdict."""

DECLINING = frozenset({"abstain", "abstained", "unsure"})
"""Words, folded to one case, that withhold the vote whatever the score is."""

_START = re.compile(r"\[\s*+\{|\{")
_TOKEN = re.compile(r'"(?:[^"\\]++|\\.)*+"?+|[][{}]', re.DOTALL)
_CLOSING = {"{": "}", "[": "]"}
_ANSWERING = re.compile(r"\b(?:pass|score|verdict|kind|label)\b", re.IGNORECASE)
_SURROGATE = re.compile("[\ud800-\udfff]")
_BLANK = " \t\r\n\ufeff"
_OPEN = "<think>"
_CLOSE = "</think>"
_THOUGHTS = re.compile(rf"\A[{_BLANK}]*+(?:{_OPEN}.*?{_CLOSE}[{_BLANK}]*+)*+", re.DOTALL)


K = TypeVar("K", float, str)


class ParsedReply(Struct, frozen=True):
    """A juror's verdict as given. Without a vote that is ``withheld``, the score decides."""

    score: float | None = None
    passed: bool | None = None
    label: str | None = None
    confidence: float | None = None
    reason: str | None = None
    notes: tuple[str, ...] = ()
    withheld: bool = False

    @property
    def ballot(self) -> CanonicalBallot:
        """The answer as a canonical ballot; an abstention keeps its score as ``raw_score``."""
        entry: CanonicalBallot = {
            "status": (Status.ABSTAINED if self.withheld else Status.OK).value,
            "score": None if self.withheld else self.score,
            "raw_score": self.score if self.withheld else None,
            "label": self.label,
            "confidence": self.confidence,
            "reason": self.reason,
        }
        known = without_nulls(entry)
        if self.withheld or self.passed is not None:
            known["pass"] = self.passed
        if self.withheld:
            known["score"] = None
        return known


class UnreadableReply(ValueError):
    """A reply that a person has to read: the kind of its problem, and a sentence that says why."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message


def parse(
    text: str, nonce: str, *, strict: bool = False, labels: LabelRules | None = None
) -> ParsedReply | UnreadableReply:
    """Read a reply that has to repeat ``nonce``; this never raises an error.

    Text around the verdict and objects without an answer are skipped. ``strict`` is for endpoints
    that received the schema; other replies may use other words and leave out optional keys.
    ``labels`` expects one of the labels that a panel declares, or any word if it declares none.
    """
    try:
        return _answer(_verdict(_without_thoughts(text)), nonce, strict=strict, labels=labels)
    except UnreadableReply as problem:
        return problem


def _without_thoughts(text: str) -> str:
    if len(text) > MAX_BYTES or len(text.encode("utf-8", "surrogatepass")) > MAX_BYTES:
        raise UnreadableReply("too_long", "the reply is longer than 64 kB")
    reply = _THOUGHTS.sub("", text, count=1)
    if reply.startswith(_OPEN):
        raise UnreadableReply("truncated", "the reply ends inside its thoughts")
    head = reply.partition("{")[0]
    reply = reply[head.rfind(_CLOSE) + len(_CLOSE) :] if _CLOSE in head else reply
    if not reply.strip(_BLANK):
        raise UnreadableReply("empty", "the reply is empty")
    return reply


def _verdict(reply: str) -> dict[str, Any]:
    """Return the object that holds an answer; a reply must have exactly one."""
    found: list[dict[str, Any]] = []
    seen = False
    for written in spans(reply):
        seen = True
        try:
            value = _DECODER.decode(written)
        except (json.JSONDecodeError, RecursionError):
            problem = UnreadableReply("not_json", "the reply's object is not JSON")
        except UnreadableReply as error:
            problem = error
        else:
            found += _answer_objects(value)
            continue
        if _ANSWERING.search(written):  # otherwise these are braces in prose
            raise problem
    if len(found) > 1:
        raise UnreadableReply("two_objects", f"the reply contains {len(found)} verdicts, not one")
    if not seen:
        raise UnreadableReply("no_object", "the reply contains no JSON object")
    if not found:
        raise UnreadableReply("not_a_verdict", "the reply's JSON has neither score nor vote")
    return found[0]


def spans(reply: str) -> Iterator[str]:
    """Yield the balanced objects, and lists that begin with one, in order and without overlap."""
    at = 0
    for count in range(MAX_STARTS + 1):
        start = _START.search(reply, at)
        if start is None:
            return
        if count == MAX_STARTS:
            raise UnreadableReply("too_many", f"the reply contains over {MAX_STARTS} objects")
        opening = reply[start.start()]
        depth = 0
        for token in _TOKEN.finditer(reply, start.start()):
            depth += (token[0] == opening) - (token[0] == _CLOSING[opening])
            if not depth:
                at = token.end()
                break
        else:
            raise UnreadableReply("truncated", "the reply breaks off inside its JSON")
        yield reply[start.start() : at]


def _answer_objects(value: Any) -> list[dict[str, Any]]:
    """Return ``[value]`` if the object itself has an answer key; raise if a list holds one."""
    if isinstance(value, list):
        if any(_answer_objects(child) for child in value if isinstance(child, dict)):
            raise UnreadableReply("not_a_verdict", "the verdict is in a list")
        return []
    return [value] if any(folded(key) in ANSWER_KEYS for key in value) else []


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise UnreadableReply("doubled_key", "the reply's JSON has a key twice")
    return found


def _finite(digits: str) -> float:
    value = float(digits)
    if math.isfinite(value):
        return value
    shown = show_line(digits, 40)
    if digits.strip("-").isalpha():
        raise UnreadableReply("not_json", f"{shown} is not a JSON number")
    raise UnreadableReply("out_of_range", f"the number {shown} is too large")


_DECODER = json.JSONDecoder(
    object_pairs_hook=_unique_keys, parse_constant=_finite, parse_float=_finite, parse_int=_finite
)


def _answer(
    verdict: dict[str, Any], nonce: str, *, strict: bool, labels: LabelRules | None
) -> ParsedReply:
    if verdict.get("nonce") != nonce:
        how = "repeats another nonce" if "nonce" in verdict else "does not repeat the nonce"
        raise UnreadableReply("nonce", f"the verdict {how}: it may not be the juror's own")
    broken = breach(verdict, labels) if strict else None
    if broken is not None:
        raise UnreadableReply("not_a_verdict", f"the verdict {broken}")
    score = _stated(verdict, "score", float, "number")
    if score is not None and not 0 <= score <= 1:
        raise UnreadableReply("out_of_range", f"the score {score:g} is not from 0 to 1")
    label = _word(verdict)
    notes: list[str] = []
    if labels is not None and labels.labels:
        label, passed, withheld = _declared(verdict, label, labels)
        if score is not None:
            notes.append(f"score {score:g} is left out: the panel asks for a label alone")
            score = None
    else:
        passed, withheld = _vote(verdict, label, labels=labels is not None)
    if score is None and label is None and passed is None and not withheld:
        raise UnreadableReply("not_a_verdict", "the verdict gives neither score nor vote")
    confidence = _stated(verdict, "confidence", float, "number")
    if confidence is not None and not 0 <= confidence <= 1:
        notes.append(f"confidence {confidence:g} is not from 0 to 1 and is left out")
        confidence = None
    texts = filter(None, (_stated(verdict, key, str, "text") for key in REASON_KEYS))
    reason, count = _SURROGATE.subn("�", "\n\n".join(dict.fromkeys(texts)))
    if count:
        notes.append(f"{count} broken characters of the reason are replaced")
    return ParsedReply(score, passed, label, confidence, reason or None, tuple(notes), withheld)


def _stated(verdict: dict[str, Any], key: str, kind: type[K], noun: str) -> K | None:
    value = verdict.get(key)
    if value is None or isinstance(value, kind):
        return value
    raise UnreadableReply("not_a_verdict", f"{key} is not a {noun}")


def _word(verdict: dict[str, Any]) -> str | None:
    given = [_stated(verdict, key, str, "text") for key in WORD_KEYS]
    words = [word.strip() for word in given if word is not None]
    if not all(words) or any(len(word) > 200 for word in words):
        raise UnreadableReply("not_a_verdict", "the verdict is not a word")
    if len(set(map(folded, words))) > 1:
        listed = " and ".join(show_line(word, 40) for word in words)
        raise UnreadableReply("contradiction", f"the verdict is {listed} at once")
    return _SURROGATE.sub("�", words[0]) if words else None


def _vote(verdict: dict[str, Any], label: str | None, *, labels: bool) -> tuple[bool | None, bool]:
    """Return the vote, and whether it is withheld; the word and ``pass`` must agree.

    Asked for ``labels``, a ``pass`` of null beside a word does not withhold the vote.
    """
    stated = verdict.get("pass")
    if stated is not None and not isinstance(stated, bool):
        raise UnreadableReply("not_a_verdict", "pass is neither true, false nor null")
    decision = label_decision(label)
    worded = None if decision is None else decision is Decision.PASS
    declines = folded(label) in DECLINING
    if "pass" not in verdict or (labels and stated is None and label is not None):
        return worded, declines or (label is None and any(key in verdict for key in WORD_KEYS))
    if (worded is not None or declines) and stated is not worded:
        raise UnreadableReply(
            "contradiction",
            f"the word is {show_line(label or '', 40)}, and pass is {json.dumps(stated)}",
        )
    return stated, stated is None


def _declared(
    verdict: dict[str, Any], word: str | None, labels: LabelRules
) -> tuple[str | None, bool | None, bool]:
    """Return the label, the vote, if the label casts one, and whether it is withheld."""
    if word is None and any(key in verdict for key in WORD_KEYS):
        return None, None, True
    label = labels.spelled(word)
    if label is None:
        if folded(word) in DECLINING:
            return None, None, True
        raise UnreadableReply("not_a_label", labels.refusal(word))
    meant = labels.decision(label)
    stated = verdict.get("pass")
    voted = None if meant is None else meant is Decision.PASS
    if stated is not None and stated is not voted:
        shown = json.dumps(stated, default=str)[:40]
        raise UnreadableReply(
            "contradiction", f"the label is {show_line(label, 40)}, and pass is {shown}"
        )
    return label, voted, False


def answer_of(call: Call, exchange: Exchange | None, redactor: Redactor) -> CanonicalBallot | None:
    """Return the ballot of a stored exchange if the juror answered or abstained, else ``None``."""
    if exchange is None:
        return None
    ballot = ballot_of(call, exchange, redactor)
    return None if Status(ballot["status"]).missing else ballot


def ballot_of(call: Call, exchange: Exchange, redactor: Redactor) -> CanonicalBallot:
    place = endpoint(call.juror)
    found = reply_or_fault(exchange, place.wire)
    if isinstance(found, Fault):
        seconds = stated_wait(exchange)
        wait = f"; it asks to wait {seconds:.0f} s" if seconds else ""
        fault = Fault(found.status, found.kind, redactor.text(found.message) + wait)
        ballot = failed(call, fault, exchange.at, raw=exchange.body)
    else:
        ballot = _reply_ballot(call, exchange, found, place, redactor)
    if not (exchange.is_batched or exchange.is_cached):
        ballot["latency_ms"] = round(exchange.ms, 1)
    if isinstance(found, Fault):
        return ballot
    cost = None if exchange.is_cached else cost_of(call, exchange, found)
    counts = {"tokens_in": found.tokens_in, "tokens_out": found.tokens_out, "cost_usd": cost}
    ballot |= without_nulls(counts)
    apart = {
        "tokens_cached": found.cached,
        "tokens_thinking": found.thoughts,
        "cached": exchange.is_cached,
    }
    if meta := {key: value for key, value in apart.items() if value}:
        ballot["meta"] = {**(ballot.get("meta") or {}), **meta}
    return ballot


def failed(call: Call, fault: Fault, at: str, raw: str = "") -> CanonicalBallot:
    error = {"type": fault.kind, "message": fault.message}
    made = {**seat_body(call.juror), "status": fault.status.value, "error": error, "at": at}
    return made | ({"raw": raw} if raw else {})


def stopped(call: Call) -> CanonicalBallot:
    error = {"type": "stopped", "message": "stopped before the answer came"}
    return {**seat_body(call.juror), "status": "error", "error": error}


def _reply_ballot(
    call: Call, exchange: Exchange, found: Envelope, place: Endpoint, redactor: Redactor
) -> CanonicalBallot:
    """Return the ballot of a reply; text is redacted again, as decoding may have revealed a key."""
    text = redactor.text(found.text)
    if found.refusal is not None:
        fault = Fault(Status.ABSTAINED, "refusal", "the juror refuses to judge")
        ballot = failed(call, fault, exchange.at, raw=text)
        ballot["reason"] = redactor.text(found.refusal)
        return ballot
    unsent = left_out(exchange)
    strict = place.shape is JsonMode.SCHEMA and STRUCTURE not in unsent
    answer = parse(text, exchange.nonce, strict=strict, labels=call.labels)
    if isinstance(answer, UnreadableReply):
        kind = answer.kind
        message = answer.message
        status = Status.EMPTY if kind == "empty" else Status.PARSE_FAIL
        if found.cut and kind in {"empty", "truncated", "no_object", "not_json"}:
            status = Status.PARSE_FAIL
            kind = "truncated"
            message += f": it was cut off at {call.juror.max_tokens} tokens"
            message += "; give the juror a larger max_tokens"
        return failed(call, Fault(status, kind, message), exchange.at, raw=text)
    made = {**seat_body(call.juror), **answer.ballot, "raw": text, "at": exchange.at}
    for key in ("label", "reason"):
        if told := made.get(key):
            made[key] = redactor.text(told)
    known = {"notes": list(answer.notes), "left_out": list(unsent)}
    if meta := {key: texts for key, texts in known.items() if texts}:
        made["meta"] = {**(made.get("meta") or {}), **meta}
    if TEMPERATURE in unsent:
        made["not_applied"] = [TEMPERATURE]
    return made


def cost_of(call: Call, exchange: Exchange, found: Envelope) -> float | None:
    price = call.juror.price
    if found.cost is not None:
        return found.cost
    if price is None or found.tokens_in is None or found.tokens_out is None:
        return None
    usd = price.cost(found.tokens_in, found.tokens_out, found.cached, found.written)
    return usd * BATCH_SHARE if exchange.is_batched else usd
