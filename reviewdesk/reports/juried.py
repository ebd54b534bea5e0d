"""Open juried's reports of scenarios with several attempts, and its label queues.

Every attempt is one verdict: it has its own response, on which the judge votes several times. The
threshold of a report is a pass rate over attempts, so it is kept as a gate and not as the threshold
of a verdict. A label queue has one response on each line, for a person to label.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from reviewdesk.reports.bytes.source import Source
from reviewdesk.reports.bytes.strict_json import Fail, failing
from reviewdesk.reports.canonical.writer import FORMAT_NAME
from reviewdesk.reports.dialect import Dialect, FirstLook
from reviewdesk.reports.mapping import foreign, values
from reviewdesk.reports.mapping.ballots import failure, understood, unread_keys
from reviewdesk.reports.mapping.foreign import Remarks
from reviewdesk.reports.mapping.records import Record, list_problem, mapped
from reviewdesk.reports.options import ReadOptions
from reviewdesk.reports.report import Report, ReportVerdict
from reviewdesk.reports.wording import FieldProblem, found, must_be

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

    def items(self, record: Record) -> Iterator[ReportVerdict]:
        """Yield the verdict of a line, or the problem with it."""
        problem = list_problem(record.value, "checks") or _entry_problem(record.value)
        yield record.refused(problem) if problem else record.item(self._verdict(record))

    def _verdict(self, record: Record) -> dict[str, Any]:
        entry: dict[str, Any] = record.value
        self.remarks.unmapped(values.beyond(entry, _QUEUE_KEYS))
        scenario = values.label(entry.get("scenario")) or "scenario"
        why = [reason for reason in values.listed(entry.get("reasons")) if isinstance(reason, str)]
        run = values.label(entry.get("run"))
        number = values.count(entry.get("attempt")) or None
        decision = values.decision(entry.get("verdict"))
        word = values.filled(entry.get("verdict")) if decision is None else None
        if word:
            self.remarks.count("a verdict in unknown words is kept as its label")
        return values.without_nulls(
            {
                "id": self._names.verdict(values.label(entry.get("id")) or scenario),
                "case": case_of(entry, scenario, entry.get("criterion"), number),
                **texts_of(entry, entry),
                "rubric": values.label(entry.get("criterion")),
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
    model = values.filled(entry.get("model"))
    reason = values.filled(entry.get("reason"))
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
            "suite": values.label(suite),
            "name": values.filled(about.get("name")),
            "epoch": number,
            "tags": tags or None,
        }
    )


def texts_of(scenario: dict[str, Any], attempt: dict[str, Any]) -> dict[str, Any]:
    """Return the input (earlier turns and the message), the output and the reference."""
    before = values.dialogue(scenario.get("history")) + values.dialogue(attempt.get("transcript"))
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
        passed = check.get("passed")
        value = values.text(check.get("value"))
        kind = values.filled(check.get("kind")) or "check"
        body = {
            "name": kind if value is None else f"{kind}: {value}",
            "pass": passed if isinstance(passed, bool) else None,
            "reason": values.filled(check.get("reason")),
        }
        checks.append(values.without_nulls(body, "pass"))
    return checks


_VERSION = 1
_CRITERION_KEYS = frozenset(
    {"id", "title", "description", "scenarios", "gates_passed", "gates_failed", "incomplete"}
)
_ATTEMPT_KEYS = frozenset(
    {"attempt", "outcome", "response", "transcript", "judge_error", "verdict", "votes", "checks"}
    | {"agreement", "usage"}
)
_VOTE_KEYS = frozenset({"passed", "reason", "model", "judged_at", "usage", "judge_error"})
_OUTCOMES = {"pass": "pass", "fail": "fail", "transport_error": "error", "judge_error": "error"}
_GATE = (
    *("status", "gate_passed", "gate_on", "threshold", "misses", "required_passes"),
    *("pass_rate", "attempts_planned", "attempts_made", "early_stopped"),
)
"""Keys that decide a scenario over all of its attempts."""

_SCENARIO_KEYS = frozenset(
    {*_GATE, "id", "name", "criterion", "message", "history", "expected", "tags", "attempts"}
    | {"failures", "runs", "judged", "passes", "transport_errors", "judge_errors", "checks_failed"}
    | {"responses_from_cache", "interval", "quality_met", "judge_agreement", "split_verdicts"}
    | {"usage", "latency", "calibration_cases_used"}
)
"""All known keys of a scenario.

The figures follow from the attempts, and ``failures`` repeats the attempts that failed.
"""


class _Attempts:
    def __init__(self, judge: dict[str, Any]) -> None:
        self.remarks = Remarks()
        self._names = foreign.VerdictNames()
        self._judge = values.filled(judge.get("model"))
        self._temperature = values.number(judge.get("temperature"))

    def notes(self) -> list[str]:
        return self.remarks.notes(foreign.LEFT_OUT)

    def items(self, record: Record) -> Iterator[ReportVerdict]:
        if isinstance(record.value, dict):
            self.remarks.unmapped(values.beyond(record.value, _CRITERION_KEYS), "criterion.")
        for place in _inner_records(record, "scenarios"):
            if isinstance(place, FieldProblem):
                yield record.refused(place)
                continue
            self.remarks.unmapped(values.beyond(place.value, _SCENARIO_KEYS), "scenario.")
            attempts = list(_inner_records(place, "attempts"))
            if not attempts:
                self.remarks.count("a scenario without an attempt is left out")
            for attempt in attempts:
                if isinstance(attempt, FieldProblem):
                    yield place.refused(attempt)
                elif problem := list_problem(attempt.value, "votes"):
                    yield attempt.refused(problem)
                else:
                    yield attempt.item(self._verdict(attempt, place.value, record.value))

    def _verdict(
        self, record: Record, scenario: dict[str, Any], criterion: dict[str, Any]
    ) -> dict[str, Any]:
        attempt = record.value
        self.remarks.unmapped(values.beyond(attempt, _ATTEMPT_KEYS), "attempt.")
        name = values.label(scenario.get("id")) or values.filled(scenario.get("name")) or "scenario"
        number = values.count(attempt.get("attempt")) or None
        jurors = self._jurors(attempt)
        votes = len(values.listed(attempt.get("votes")))
        gate = {key: scenario[key] for key in _GATE if _plain(scenario.get(key))}
        return values.without_nulls(
            {
                "id": self._names.verdict(f"{name[:400]}/{number}" if number else name),
                "case": case_of(scenario, name, criterion.get("id"), number),
                **texts_of(scenario, attempt),
                "rubric": values.filled(criterion.get("description"))
                or values.filled(criterion.get("title"))
                or values.label(criterion.get("id")),
                "strategy": ("majority" if votes > 1 else "single") if votes else None,
                **self._decision(attempt),
                "agreement": _agreement(attempt) if votes else None,
                "checks": checks_of(attempt.get("checks")) or None,
                "jurors": jurors,
                "provenance": {"pointer": record.pointer},
                "meta": {"gate": gate} if gate else None,
            }
        )

    def _decision(self, attempt: dict[str, Any]) -> dict[str, str]:
        stated = values.filled(attempt.get("outcome"))
        if stated is None:
            return {}
        if decision := _OUTCOMES.get(stated):
            return {"decision": decision}
        self.remarks.count("an outcome in unknown words is kept as the verdict's label")
        return {"label": stated}

    def _jurors(self, attempt: dict[str, Any]) -> list[dict[str, Any]]:
        """Return the judge's votes as ballots; without votes, its single verdict or its failure."""
        votes = values.listed(attempt.get("votes"))
        verdict = attempt.get("verdict")
        if not votes and isinstance(verdict, dict) and verdict.get("model") != BY_CHECKS:
            votes = [verdict]
        error = attempt.get("judge_error")
        juror_names = [values.label(vote.get("model")) or self._judge or "judge" for vote in votes]
        if not votes and error:
            juror_names = [self._judge or "judge"]
            votes = [{"judge_error": error}]
        ids = foreign.VerdictNames.jurors(juror_names)
        return [self._juror(*seat) for seat in zip(ids, votes, strict=True)]

    def _juror(self, juror_id: str, vote: dict[str, Any]) -> dict[str, Any]:
        body = {
            "id": juror_id,
            "model": values.filled(vote.get("model")) or self._judge,
            "temperature": self._temperature,
        }
        self.remarks.unmapped(values.beyond(vote, _VOTE_KEYS), "vote.")
        if error := vote.get("judge_error"):
            return values.without_nulls(body | failure(values.text(error) or ""))
        usage = values.record(vote.get("usage"))
        passed = vote.get("passed")
        if not isinstance(passed, bool):
            self.remarks.count("a vote that is neither true nor false is left out")
            passed = None
        body |= {
            "pass": passed,
            "reason": values.filled(vote.get("reason")),
            "at": values.time(vote.get("judged_at")),
            "tokens_in": values.count(usage.get("input_tokens")),
            "tokens_out": values.count(usage.get("output_tokens")),
        }
        unread = unread_keys(vote, ("passed",), _VOTE_KEYS - {"reason"})
        return understood(values.without_nulls(body, "pass"), unread)


def _inner_records(record: Record, name: str) -> Iterator[Record | FieldProblem]:
    """Yield the objects of a list inside a record as records, or the problem with each one."""
    if not isinstance(record.value, dict):
        yield FieldProblem((), must_be("an object", record.value))
        return
    listed = record.value.get(name)
    if not isinstance(listed, list):
        yield FieldProblem((name,), must_be("a list", listed))
        return
    for index, value in enumerate(listed):
        if isinstance(value, dict):
            yield record.inner(value, name, index)
        else:
            yield FieldProblem((name, index), must_be("an object", value))


def _agreement(attempt: dict[str, Any]) -> dict[str, Any] | None:
    share = values.unit(attempt.get("agreement"))
    return None if share is None else {"value": share, "metric": "consensus_share"}


def _plain(value: Any) -> bool:
    return isinstance(value, bool | int | float | str)


def _open(source: Source, look: FirstLook, options: ReadOptions) -> Report:
    keys = look.outline.keys
    producer = {"name": "juried", "format": "juried"}
    header: dict[str, Any] = {"schema": FORMAT_NAME, "producer": producer}
    nothing = "holds no attempt that could be reviewed"
    if "tool" not in keys:
        name = "juried-queue"
        return mapped(source, look, options, header, QueueMapper, name=name, nothing=nothing)
    _check_report(keys, failing(source))
    if version := values.filled(keys.get("version")):
        producer["version"] = version
    if at := values.time(keys.get("generated_at")):
        header["created_at"] = producer["run_id"] = at
    judge = values.record(keys.get("judge"))
    return mapped(
        source,
        look,
        options,
        header,
        lambda: _Attempts(judge),
        name="juried",
        lists=("criteria",),
        nothing=nothing,
        count=lambda record: sum(1 for _ in _Attempts(judge).items(record)),
    )


def _check_report(keys: dict[str, Any], fail: Fail) -> None:
    version = keys.get("schema_version")
    if version is None:
        hint = "Write it again with juried 0.2 or later."
        raise fail("$.schema_version", "is missing: the report is older than its numbering", hint)
    if version != _VERSION or isinstance(version, bool):
        problem = f"is {found(version)}, and this version of reviewdesk reads {_VERSION}"
        raise fail("$.schema_version", problem, "Update reviewdesk.")
    if "criteria" not in keys:
        what = "calibration report" if "cases" in keys else "comparison"
        raise fail("", f"is a juried {what}, which has no responses", "Open the report itself.")


def _fits(look: FirstLook) -> bool:
    keys = look.outline.keys
    return keys.get("tool") == "juried" or all(key in keys for key in QUEUE)


DIALECT = Dialect("juried", "a juried report", _fits, _open)
