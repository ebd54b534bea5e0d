"""What a juror's reply says: exactly one verdict that can be read as it stands, or none.

Nothing is repaired and nothing is guessed. A reply that does not follow the contract goes to a
person, because a wrong ballot is worse than a missing one.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from reviewdesk.domain.jury.label_rules import label_decision
from reviewdesk.domain.panel.reply_contract import breach
from reviewdesk.domain.safetext import show_line
from reviewdesk.domain.verdict import Decision, Status, folded

MAX_BYTES = 64 * 1024
MAX_STARTS = 64
MAX_LABEL = 200
"""Characters of a verdict's word; what is longer is a text."""

WORD_KEYS = ("verdict", "kind", "label")
REASON_KEYS = ("reason", "reasoning", "rationale")
ANSWER_KEYS = frozenset({"pass", "score", *WORD_KEYS})
"""The keys by which an object is a verdict."""

DECLINING = frozenset({"abstain", "abstained", "unsure"})
"""Words, folded, that withhold the vote whatever the score."""

_START = re.compile(r"\[\s*+\{|\{")
_TOKEN = re.compile(r'"(?:[^"\\]++|\\.)*+"?+|[][{}]', re.DOTALL)
_CLOSING = {"{": "}", "[": "]"}
_ANSWERING = re.compile(r"\b(?:pass|score|verdict|kind|label)\b", re.IGNORECASE)
_SURROGATE = re.compile("[\ud800-\udfff]")
_BLANK = " \t\r\n\ufeff"
_OPEN, _CLOSE = "<think>", "</think>"
_THOUGHTS = re.compile(rf"\A[{_BLANK}]*+(?:{_OPEN}.*?{_CLOSE}[{_BLANK}]*+)*+", re.DOTALL)


class ReplyProblem(StrEnum):
    """Why a reply cannot be read."""

    EMPTY = "empty"
    TOO_LONG = "too_long"
    TOO_MANY = "too_many"
    NO_OBJECT = "no_object"
    TWO_OBJECTS = "two_objects"
    TRUNCATED = "truncated"
    NOT_JSON = "not_json"
    DOUBLED_KEY = "doubled_key"
    NOT_A_VERDICT = "not_a_verdict"
    CONTRADICTION = "contradiction"
    OUT_OF_RANGE = "out_of_range"
    NONCE = "nonce"


@dataclass(frozen=True, slots=True)
class ParsedReply:
    """A juror's verdict as it was given; ``withheld`` says outright that the juror abstains.

    Without a vote that is not withheld, the score votes by the panel's threshold.
    """

    score: float | None = None
    passed: bool | None = None
    label: str | None = None
    confidence: float | None = None
    reason: str | None = None
    notes: tuple[str, ...] = ()
    withheld: bool = False

    @property
    def ballot(self) -> dict[str, Any]:
        """The answer as a juror of a canonical verdict states it.

        The score of a juror that abstains is kept as ``raw_score``, and counts nowhere.
        """
        said = {
            "status": (Status.ABSTAINED if self.withheld else Status.OK).value,
            "raw_score" if self.withheld else "score": self.score,
            "label": self.label,
            "confidence": self.confidence,
            "reason": self.reason,
        }
        known = {key: value for key, value in said.items() if value is not None}
        if self.withheld:
            return known | {"pass": None, "score": None}
        return known | ({} if self.passed is None else {"pass": self.passed})


@dataclass(frozen=True, slots=True)
class UnreadableReply:
    """A reply for a person to read, and a sentence that says why."""

    kind: ReplyProblem
    message: str


class _UnfitError(ValueError):
    """What makes a reply unreadable, raised where it is found."""

    def __init__(self, kind: ReplyProblem, message: str) -> None:
        super().__init__(message)
        self.found = UnreadableReply(kind, message)


def parse(
    text: str, nonce: str, *, strict: bool = False, labels: bool = False
) -> ParsedReply | UnreadableReply:
    """Read a reply that has to repeat ``nonce``; whatever the text, nothing is raised.

    Text around the verdict, code fences among it, and objects that hold no answer are passed over.
    ``strict`` is for endpoints that were given the schema: the verdict must keep to it. Others may
    say it in other words and leave out what they need not say. ``labels`` asks for a word.
    """
    try:
        return _answer(_verdict(_spoken(text)), nonce, strict=strict, labels=labels)
    except _UnfitError as problem:
        return problem.found


def _spoken(text: str) -> str:
    """The reply without the thoughts at its head."""
    if len(text) > MAX_BYTES or len(text.encode("utf-8", "surrogatepass")) > MAX_BYTES:
        raise _UnfitError(ReplyProblem.TOO_LONG, "the reply is longer than 64 kB")
    said = _THOUGHTS.sub("", text, count=1)
    if said.startswith(_OPEN):
        raise _UnfitError(ReplyProblem.TRUNCATED, "the reply ends inside its thoughts")
    head = said.partition("{")[0]
    said = said[head.rfind(_CLOSE) + len(_CLOSE) :] if _CLOSE in head else said
    if not said.strip(_BLANK):
        raise _UnfitError(ReplyProblem.EMPTY, "the reply is empty")
    return said


def _verdict(said: str) -> dict[str, Any]:
    """The one object that answers."""
    found: list[dict[str, Any]] = []
    seen = False
    for written in spans(said):
        seen = True
        try:
            value = _decode(written)
        except _UnfitError:
            if _ANSWERING.search(written):
                raise
            continue  # braces in prose
        found.extend(_answering(value))
    if len(found) > 1:
        raise _UnfitError(
            ReplyProblem.TWO_OBJECTS, f"the reply holds {len(found)} verdicts, not one"
        )
    if not seen:
        raise _UnfitError(ReplyProblem.NO_OBJECT, "the reply holds no JSON object")
    if not found:
        raise _UnfitError(
            ReplyProblem.NOT_A_VERDICT, "the reply holds JSON, but neither score nor vote"
        )
    return found[0]


def spans(said: str) -> Iterator[str]:
    """The balanced objects, and lists that begin with one, from left to right; none overlap."""
    at = 0
    for count in range(MAX_STARTS + 1):
        start = _START.search(said, at)
        if start is None:
            return
        if count == MAX_STARTS:
            raise _UnfitError(ReplyProblem.TOO_MANY, f"the reply holds over {MAX_STARTS} objects")
        at = _end(said, start.start())
        yield said[start.start() : at]


def _end(said: str, start: int) -> int:
    """Where the bracket at ``start`` is closed; brackets in strings do not count."""
    opening, depth = said[start], 0
    for token in _TOKEN.finditer(said, start):
        if token[0] == opening:
            depth += 1
        elif token[0] == _CLOSING[opening]:
            depth -= 1
            if not depth:
                return token.end()
    raise _UnfitError(ReplyProblem.TRUNCATED, "the reply breaks off inside its JSON")


def _answering(value: Any) -> list[dict[str, Any]]:
    """The object if it holds an answer, whatever the case of its keys; what is nested does not."""
    if isinstance(value, list):
        if any(_answering(child) for child in value if isinstance(child, dict)):
            raise _UnfitError(ReplyProblem.NOT_A_VERDICT, "the verdict stands in a list")
        return []
    return [value] if any(folded(key) in ANSWER_KEYS for key in value) else []


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _UnfitError(ReplyProblem.DOUBLED_KEY, "a key of the reply's JSON stands there twice")
    return found


def _constant(word: str) -> Any:
    raise _UnfitError(ReplyProblem.NOT_JSON, f"{word} is no number of JSON")


def _number(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise _UnfitError(
            ReplyProblem.OUT_OF_RANGE, f"the number {show_line(digits, 40)} is too large"
        )
    return value


_DECODER = json.JSONDecoder(
    object_pairs_hook=_pairs, parse_constant=_constant, parse_float=_number, parse_int=_number
)


def _decode(written: str) -> Any:
    try:
        return _DECODER.decode(written)
    except (json.JSONDecodeError, RecursionError):
        raise _UnfitError(ReplyProblem.NOT_JSON, "the reply's object is not JSON") from None


def _answer(said: dict[str, Any], nonce: str, *, strict: bool, labels: bool) -> ParsedReply:
    if said.get("nonce") != nonce:
        how = "repeats another nonce" if "nonce" in said else "does not repeat the nonce"
        raise _UnfitError(ReplyProblem.NONCE, f"the verdict {how}: it may not be the juror's own")
    broken = breach(said, labels=labels) if strict else None
    if broken is not None:
        raise _UnfitError(ReplyProblem.NOT_A_VERDICT, f"the verdict {broken}")
    score, label = _score(said), _label(said)
    passed, withheld = _vote(said, label, labels=labels)
    if score is None and label is None and passed is None and not withheld:
        raise _UnfitError(ReplyProblem.NOT_A_VERDICT, "the verdict gives neither score nor vote")
    notes: list[str] = []
    return ParsedReply(
        score=score,
        passed=passed,
        label=label,
        confidence=_confidence(said, notes),
        reason=_reason(said, notes),
        notes=tuple(notes),
        withheld=withheld,
    )


def _real(said: dict[str, Any], key: str) -> float | None:
    value = said.get(key)
    if value is None or isinstance(value, float):
        return value
    raise _UnfitError(ReplyProblem.NOT_A_VERDICT, f"{key} is not a number")


def _text(said: dict[str, Any], key: str) -> str | None:
    value = said.get(key)
    if value is None or isinstance(value, str):
        return value
    raise _UnfitError(ReplyProblem.NOT_A_VERDICT, f"{key} is not a text")


def _score(said: dict[str, Any]) -> float | None:
    score = _real(said, "score")
    if score is None or 0 <= score <= 1:
        return score
    raise _UnfitError(ReplyProblem.OUT_OF_RANGE, f"the score {score:g} is not from 0 to 1")


def _label(said: dict[str, Any]) -> str | None:
    """The verdict's word, which several keys may give if it is the same."""
    words = [word.strip() for key in WORD_KEYS if (word := _text(said, key)) is not None]
    if not all(words) or any(len(word) > MAX_LABEL for word in words):
        raise _UnfitError(ReplyProblem.NOT_A_VERDICT, "the verdict is not a word")
    if len(set(map(folded, words))) > 1:
        told = " and ".join(show_line(word, 40) for word in words)
        raise _UnfitError(ReplyProblem.CONTRADICTION, f"the verdict is {told} at once")
    return _SURROGATE.sub("�", words[0]) if words else None


def _vote(said: dict[str, Any], label: str | None, *, labels: bool) -> tuple[bool | None, bool]:
    """Return the vote, and whether it is withheld; the word and ``pass`` must not differ.

    A panel of ``labels`` is answered by the word alone, so that a ``pass`` of null withholds
    nothing beside one.
    """
    stated = said.get("pass")
    if stated is not None and not isinstance(stated, bool):
        raise _UnfitError(ReplyProblem.NOT_A_VERDICT, "pass is neither true, false nor null")
    decision = label_decision(label)
    worded = None if decision is None else decision is Decision.PASS
    declines = folded(label) in DECLINING
    if "pass" not in said or (labels and stated is None and label is not None):
        return worded, declines or (label is None and any(key in said for key in WORD_KEYS))
    if (worded is not None or declines) and stated is not worded:
        raise _UnfitError(
            ReplyProblem.CONTRADICTION,
            f"the word is {show_line(label or '', 40)}, and pass is {json.dumps(stated)}",
        )
    return stated, stated is None


def _confidence(said: dict[str, Any], notes: list[str]) -> float | None:
    confidence = _real(said, "confidence")
    if confidence is None or 0 <= confidence <= 1:
        return confidence
    notes.append(f"confidence {confidence:g} is not from 0 to 1 and is left out")
    return None


def _reason(said: dict[str, Any], notes: list[str]) -> str | None:
    """All reasons that are given, whole."""
    texts = [text for key in REASON_KEYS if (text := _text(said, key))]
    mended, broken = _SURROGATE.subn("�", "\n\n".join(dict.fromkeys(texts)))
    if broken:
        notes.append(f"{broken} broken characters of the reason are replaced")
    return mended or None
