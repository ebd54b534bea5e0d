"""Scores that a person changed: the first value is the jury's, the last one is a human label."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from reviewdesk.reports.inspectai.config import listed, record, text
from reviewdesk.reports.inspectai.grades import Grader
from reviewdesk.reports.remarks import Remarks
from reviewdesk.reports.rules import is_time

_UNCHANGED = "UNCHANGED"


@dataclass(frozen=True, slots=True)
class Edited:
    """A score as its scorer gave it, and what a person made of it."""

    original: dict[str, Any] | None
    """Nothing where a person added the score."""
    last: dict[str, Any] | None
    """The last edit of the value that says whose it is."""


def edited(score: dict[str, Any]) -> Edited:
    """Take a score and its history apart."""
    history = [one for one in listed(score.get("history")) if isinstance(one, dict)]
    if not history:
        return Edited(score, None)
    edits = [
        one
        for one in history
        if isinstance(one.get("provenance"), dict) and "value" in one and one["value"] != _UNCHANGED
    ]
    added = isinstance(history[0].get("provenance"), dict)
    return Edited(None if added else history[0], edits[-1] if edits else None)


def human(edits: list[dict[str, Any]], grader: Grader, remarks: Remarks) -> dict[str, Any] | None:
    """The label of the latest edit of a sample's scores."""
    if not edits:
        return None
    if len(edits) > 1:
        remarks.count("of several edited scores the one edited last is the human label")
    last = max(edits, key=lambda edit: text(record(edit["provenance"]).get("timestamp")) or "")
    label = _label(last["value"], grader)
    if label is None:
        remarks.count("an edited score that is neither a pass nor a fail gives no human label")
        return None
    source = record(last["provenance"])
    at = text(source.get("timestamp"))
    return {
        "label": label,
        "by": text(source.get("author")),
        "at": at if at and is_time(at) else None,
        "note": text(source.get("reason")),
    }


def _label(value: Any, grader: Grader) -> str | None:
    """A grade as a label; of numbers only 1 and 0 say by themselves what they mean."""
    if isinstance(value, int | float):
        return {1.0: "pass", 0.0: "fail"}.get(float(value))
    ballot = grader.ballot(value, "")
    passed = ballot.get("pass")
    if isinstance(passed, bool):
        return "pass" if passed else "fail"
    # Partial credit, or none for want of an answer: looked at, and left open.
    return "unsure" if ballot.get("label") in {"P", "N"} else None
