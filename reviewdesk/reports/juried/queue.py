"""Read the label queue of juried: responses for a person to label, with the judge's verdicts.

Its cases, texts and checks are written as in juried's reports.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from reviewdesk.reports.mapping import foreign, values
from reviewdesk.reports.mapping.foreign import Remarks
from reviewdesk.reports.mapping.records import Record, list_problem
from reviewdesk.reports.mapping.unread import understood, unread_keys
from reviewdesk.reports.report import ReportVerdict
from reviewdesk.reports.wording import FieldProblem

QUEUE = ("scenario", "criterion", "transcript")
"""Keys by which an entry of the queue is recognised."""

BY_CHECKS = "checks"
"""The ``model`` of a verdict that a failed check decided without asking the judge."""

_SAMPLED = "sampled"
_QUEUE_KEYS = frozenset(
    {*QUEUE, "id", "run", "name", "message", "history", "expected", "response", "verdict"}
    | {"reason", "model", "reasons", "checks", "attempt", "early_stopped"}
)


class QueueMapper:
    """Maps the lines of a label queue, each one a response with the judge's verdict."""

    def __init__(self) -> None:
        """Start with no ids given."""
        self.remarks = Remarks()
        self._names = foreign.VerdictNames()

    def notes(self) -> list[str]:
        """Return the notes on the import, one a line."""
        return self.remarks.notes(foreign.LEFT_OUT)

    def count(self, _record: Record) -> int:
        """Return 1: every line is one verdict."""
        return 1

    def items(self, record: Record) -> Iterator[ReportVerdict]:
        """Yield the verdict of a line, or the problem with it."""
        problem = list_problem(record.value, "checks") or _entry_problem(record.value)
        yield record.refused(problem) if problem else record.item(self._verdict(record))

    def _verdict(self, record: Record) -> dict[str, Any]:
        entry: dict[str, Any] = record.value
        self.remarks.unmapped(foreign.beyond(entry, _QUEUE_KEYS))
        scenario = foreign.label(entry.get("scenario")) or "scenario"
        why = [reason for reason in values.listed(entry.get("reasons")) if isinstance(reason, str)]
        run = foreign.label(entry.get("run"))
        number = foreign.count(entry.get("attempt")) or None
        decision = values.decision(entry.get("verdict"))
        word = foreign.text(entry.get("verdict")) if decision is None else None
        if word:
            self.remarks.count("a verdict in unknown words is kept as its label")
        return values.without_nulls(
            {
                "id": self._names.verdict(foreign.label(entry.get("id")) or scenario),
                "case": case_of(entry, scenario, entry.get("criterion"), number),
                **texts_of(entry, entry),
                "rubric": foreign.label(entry.get("criterion")),
                "decision": decision,
                "label": word,
                # A response that was merely sampled needs no review.
                "escalate_for_review": any(reason != _SAMPLED for reason in why),
                "escalation_reasons": why or None,
                "checks": checks_of(entry.get("checks")) or None,
                "jurors": _jurors(entry, decision, word),
                "provenance": values.without_nulls({"pointer": record.pointer, "run_id": run}),
            }
        )


def _jurors(entry: dict[str, Any], decision: str | None, word: str | None) -> list[dict[str, Any]]:
    """Return the judge's ballot on a queued response; empty if the judge gave no verdict."""
    model, reason = foreign.text(entry.get("model")), foreign.text(entry.get("reason"))
    if model == BY_CHECKS or (decision is None and reason is None and word is None):
        return []
    passed = {"pass": True, "fail": False}.get(decision or "")
    body = {"id": (model or "judge")[:190], "model": model, "label": word, "pass": passed}
    unread = unread_keys(entry, ("verdict",), _QUEUE_KEYS - {"reason"})
    return [understood(values.without_nulls({**body, "reason": reason}, "pass"), unread)]


def _entry_problem(value: dict[str, Any]) -> FieldProblem | None:
    if "criterion" in value and "response" in value:
        return None
    return FieldProblem((), "has no criterion or no response, as entries of a queue do")


def case_of(about: dict[str, Any], name: str, suite: Any, number: int | None) -> dict[str, Any]:
    """Return a verdict's case: the scenario, its criterion (``suite``) and attempt number."""
    tags = [tag for tag in values.listed(about.get("tags")) if isinstance(tag, str)]
    return values.without_nulls(
        {
            "test": name,
            "suite": foreign.label(suite),
            "name": foreign.text(about.get("name")),
            "epoch": number,
            "tags": tags or None,
        }
    )


def texts_of(scenario: dict[str, Any], attempt: dict[str, Any]) -> dict[str, Any]:
    """Return the input (earlier turns and the message), the output and the reference."""
    before = foreign.dialogue(scenario.get("history")) + foreign.dialogue(attempt.get("transcript"))
    message = values.text(scenario.get("message"))
    if before and message is not None:
        message = f"user: {message}"
    return {
        "input": "\n".join([*before, *([message] if message is not None else [])]) or None,
        "output": values.text(attempt.get("response")),
        "reference": values.text(scenario.get("expected")),
    }


def checks_of(listed: Any) -> list[dict[str, Any]]:
    """Return the results of the deterministic checks."""
    checks = []
    for check in values.listed(listed):
        if not isinstance(check, dict):
            continue
        passed, value = check.get("passed"), values.text(check.get("value"))
        kind = foreign.text(check.get("kind")) or "check"
        body = {
            "name": kind if value is None else f"{kind}: {value}",
            "pass": passed if isinstance(passed, bool) else None,
            "reason": foreign.text(check.get("reason")),
        }
        checks.append(values.without_nulls(body, "pass"))
    return checks
