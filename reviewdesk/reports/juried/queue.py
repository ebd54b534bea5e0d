"""Read the label queue of juried: responses for a person to label, with the judge's verdicts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from reviewdesk.reports.juried.parts import BY_CHECKS, case_of, checks_of, problem_of, texts_of
from reviewdesk.reports.mapping import foreign, values
from reviewdesk.reports.mapping.foreign import Remarks
from reviewdesk.reports.mapping.records import Record
from reviewdesk.reports.mapping.unread import understood, unread_keys
from reviewdesk.reports.report import ReportVerdict
from reviewdesk.reports.wording import FieldProblem

QUEUE = ("scenario", "criterion", "transcript")
"""Keys by which an entry of the queue is recognised."""

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
        problem = problem_of(record.value, "checks") or _entry_problem(record.value)
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
    known = "criterion" in value and "response" in value
    return (
        None
        if known
        else FieldProblem((), "has no criterion or no response, as entries of a queue do")
    )
