"""Map the jurors of a foreign jury to canonical ballots."""

from __future__ import annotations

import re
from typing import Any

from reviewdesk.domain.verdict import Status
from reviewdesk.reports.mapping import values
from reviewdesk.reports.mapping.foreign import JUROR_LENGTH, Remarks, VerdictNames
from reviewdesk.reports.mapping.raw_scores import WHY_RAW, Scales
from reviewdesk.reports.mapping.secrets import is_setting
from reviewdesk.reports.mapping.unread import measured, understood, unread_keys

_NAMES = ("name", "id", "juror", "judge", "critic", "critic_id", "model")
_PASSES = ("pass", "passed", "verdict")
_REASONS = ("reason", "reasoning", "rationale")
_STATUSES = frozenset(Status)
_TEXTS = ("model", "vendor", "role", "label")
_AMOUNTS = ("latency_ms", "cost_usd")
_COUNTS = ("tokens_in", "tokens_out")
_MAPPED = frozenset(
    {*_NAMES, *_PASSES, *_REASONS, *_TEXTS, *_AMOUNTS, *_COUNTS}
    | {"score", "raw_score", "confidence", "weight", "error", "status"}
)
_ANSWERS = ("score", "raw_score", "label", *_PASSES)
_ABOUT = _MAPPED - {*_ANSWERS, *_REASONS}
"""The keys of a juror's record that do not hold its answer."""


def ballots(panel: list[dict[str, Any]], remarks: Remarks, scales: Scales) -> list[dict[str, Any]]:
    """Return the canonical jurors of a panel; equal names get a counter."""
    names = [_name(juror, seat) for seat, juror in enumerate(panel, 1)]
    return [
        _ballot(juror, juror_id, remarks, off=scales.off(name, juror.get("score")))
        for juror, name, juror_id in zip(panel, names, VerdictNames.jurors(names), strict=True)
    ]


def weigh(panel: list[dict[str, Any]], scales: Scales) -> None:
    """Record a panel's scores in ``scales``, which must know all scores of the file."""
    for seat, juror in enumerate(panel, 1):
        scales.off(_name(juror, seat), juror.get("score"))


def _name(juror: dict[str, Any], seat: int) -> str:
    names = (juror[key] for key in _NAMES if isinstance(juror.get(key), str))
    return next((name for name in names if name.strip()), f"juror {seat}")[:JUROR_LENGTH]


def _ballot(juror: dict[str, Any], name: str, remarks: Remarks, *, off: bool) -> dict[str, Any]:
    unmapped = (key for key in juror if key not in _MAPPED and not is_setting(key))
    remarks.unmapped(unmapped, "juror.")
    body: dict[str, Any] = {"id": name}
    body.update({key: juror[key] for key in _TEXTS if isinstance(juror.get(key), str)})
    _add_score(body, juror, remarks, off=off)
    _add_pass(body, juror, remarks)
    _add_rest(body, juror, remarks)
    _add_failure(body, juror, remarks)
    bare = not any(isinstance(juror.get(key), str) for key in _PASSES)
    if bare and "score" in juror and juror["score"] is None:
        body = measured(body, remarks)
    return understood(values.without_nulls(body, "pass"), unread_keys(juror, _ANSWERS, _ABOUT))


def _add_score(body: dict[str, Any], juror: dict[str, Any], remarks: Remarks, *, off: bool) -> None:
    stated = juror.get("score")
    body["score"] = None if off else values.unit(stated)
    body["raw_score"] = values.number(juror.get("raw_score"))
    if stated is None or body["score"] is not None:
        return
    if values.number(stated) is not None:
        body["raw_score"] = stated
        remarks.count(f"a juror's score {WHY_RAW} is kept as raw_score")
    else:
        remarks.count("a juror's score that is no number is kept under meta.raw only")


def _add_pass(body: dict[str, Any], juror: dict[str, Any], remarks: Remarks) -> None:
    keys = [key for key in _PASSES if key in juror]
    if not keys:
        return
    stated = values.first(juror, keys)
    decision = values.decision(stated)
    if decision in ("pass", "fail"):
        body["pass"] = decision == "pass"
    elif stated is None or decision:
        body["pass"] = None
    elif isinstance(stated, str):
        body["pass"] = None
        body.setdefault("label", stated)
        remarks.count("a juror's verdict in unknown words is kept as its label, without a vote")
    else:
        remarks.count("a juror's verdict that is no word is kept under meta.raw only")


def _add_rest(body: dict[str, Any], juror: dict[str, Any], remarks: Remarks) -> None:
    reason = values.first(juror, _REASONS)
    body["reason"] = values.text(reason)
    body["confidence"] = values.unit(juror.get("confidence"))
    if juror.get("confidence") is not None and body["confidence"] is None:
        remarks.count("a juror's confidence that is no number from 0 to 1 is left out")
    weight = values.number(juror.get("weight"))
    body["weight"] = weight if weight and weight > 0 else None
    if juror.get("weight") is not None and body["weight"] is None:
        remarks.count("a juror's weight that is not above 0 is left out")
    for key in _AMOUNTS + _COUNTS:
        amount = values.number(juror.get(key))
        if amount is not None and amount >= 0 and (key in _AMOUNTS or isinstance(amount, int)):
            body[key] = amount


def _add_failure(body: dict[str, Any], juror: dict[str, Any], remarks: Remarks) -> None:
    status = juror.get("status")
    body["status"] = status if isinstance(status, str) and status in _STATUSES else None
    error = _error(juror.get("error"))
    if error is None:
        return
    body["error"] = error
    if body["status"] in (None, "ok"):
        body["status"] = slow_or_error(f"{error.get('type', '')} {error['message']}")
    if body.get("score") is not None:
        body["raw_score"] = body["score"]
        body["score"] = None
        remarks.count("the score of a juror with an error is kept as raw_score and does not count")
    if body.get("pass") is not None:
        del body["pass"]
        remarks.count("the pass of a juror with an error is left out")


def _error(stated: Any) -> dict[str, str] | None:
    if not stated:
        return None
    if not isinstance(stated, dict):
        return {"message": stated if isinstance(stated, str) else "the juror failed"}
    message = values.text(values.first(stated, ("message", "detail", "error"))) or values.text(
        stated
    )
    kind = values.first(stated, ("type", "code", "kind"))
    typed = {"type": str(kind)} if isinstance(kind, str | int) else {}
    return {**typed, "message": message or "the juror failed"}


_STATUS_BY_WORD = (
    ("parse_fail", re.compile(r"parse[_ ]?fail|invalid json|not return a json", re.IGNORECASE)),
    ("empty", re.compile(r"empty[_ ]response", re.IGNORECASE)),
    ("timeout", re.compile(r"timeout|timed out", re.IGNORECASE)),
    ("missing_key", re.compile(r"missing api[_ ]key|api[_ ]key .{0,40}missing", re.IGNORECASE)),
)
_HEAD_LENGTH = 2000


def slow_or_error(message: str) -> str:
    """Return the status of a failed call by its message: ``timeout`` or ``error``."""
    words = message.lower()
    return "timeout" if "timeout" in words or "timed out" in words else "error"


def failure(message: str, status: str | None = None) -> dict[str, Any]:
    """Return ``error`` and ``status`` of a failed ballot; the message implies a missing status."""
    head = message[:_HEAD_LENGTH]
    found = next((name for name, words in _STATUS_BY_WORD if words.search(head)), "error")
    return {"status": status or found, "error": {"message": message or "the juror failed"}}
