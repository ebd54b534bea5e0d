"""Open juried's reports of scenarios with several attempts, and its label queues.

Every attempt is one verdict: it has its own response, on which the judge votes several times. The
threshold of a report is a pass rate over attempts, so it is kept as a gate and not as the threshold
of a verdict.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from reviewdesk.reports.bytes.source import Source
from reviewdesk.reports.bytes.strict_json import Fail, failing
from reviewdesk.reports.canonical.writer import FORMAT_NAME
from reviewdesk.reports.dialect import Dialect, FirstLook
from reviewdesk.reports.juried.queue import (
    BY_CHECKS,
    QUEUE,
    QueueMapper,
    case_of,
    checks_of,
    texts_of,
)
from reviewdesk.reports.mapping import foreign, values
from reviewdesk.reports.mapping.ballots import failure
from reviewdesk.reports.mapping.foreign import Remarks
from reviewdesk.reports.mapping.records import Record, list_problem, mapped
from reviewdesk.reports.mapping.unread import understood, unread_keys
from reviewdesk.reports.options import ReadOptions
from reviewdesk.reports.report import Report, ReportVerdict
from reviewdesk.reports.wording import FieldProblem, found, must_be

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
        self._judge = foreign.text(judge.get("model"))
        self._temperature = values.number(judge.get("temperature"))

    def notes(self) -> list[str]:
        return self.remarks.notes(foreign.LEFT_OUT)

    def count(self, record: Record) -> int:
        return sum(1 for _ in self.items(record))

    def items(self, record: Record) -> Iterator[ReportVerdict]:
        if isinstance(record.value, dict):
            self.remarks.unmapped(foreign.beyond(record.value, _CRITERION_KEYS), "criterion.")
        for place in _inner_records(record, "scenarios"):
            if isinstance(place, FieldProblem):
                yield record.refused(place)
                continue
            self.remarks.unmapped(foreign.beyond(place.value, _SCENARIO_KEYS), "scenario.")
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
        self.remarks.unmapped(foreign.beyond(attempt, _ATTEMPT_KEYS), "attempt.")
        name = foreign.label(scenario.get("id")) or foreign.text(scenario.get("name")) or "scenario"
        number = foreign.count(attempt.get("attempt")) or None
        jurors = self._jurors(attempt)
        votes = len(values.listed(attempt.get("votes")))
        gate = {key: scenario[key] for key in _GATE if _plain(scenario.get(key))}
        return values.without_nulls(
            {
                "id": self._names.verdict(f"{name[:400]}/{number}" if number else name),
                "case": case_of(scenario, name, criterion.get("id"), number),
                **texts_of(scenario, attempt),
                "rubric": foreign.text(criterion.get("description"))
                or foreign.text(criterion.get("title"))
                or foreign.label(criterion.get("id")),
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
        stated = foreign.text(attempt.get("outcome"))
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
        juror_names = [foreign.label(vote.get("model")) or self._judge or "judge" for vote in votes]
        if not votes and error:
            juror_names, votes = [self._judge or "judge"], [{"judge_error": error}]
        ids = foreign.VerdictNames.jurors(juror_names)
        return [self._juror(*seat) for seat in zip(ids, votes, strict=True)]

    def _juror(self, juror_id: str, vote: dict[str, Any]) -> dict[str, Any]:
        body = {
            "id": juror_id,
            "model": foreign.text(vote.get("model")) or self._judge,
            "temperature": self._temperature,
        }
        self.remarks.unmapped(foreign.beyond(vote, _VOTE_KEYS), "vote.")
        if error := vote.get("judge_error"):
            return values.without_nulls(body | failure(values.text(error) or ""))
        usage = values.record(vote.get("usage"))
        passed = vote.get("passed")
        if not isinstance(passed, bool):
            self.remarks.count("a vote that is neither true nor false is left out")
            passed = None
        body |= {
            "pass": passed,
            "reason": foreign.text(vote.get("reason")),
            "at": foreign.time(vote.get("judged_at")),
            "tokens_in": foreign.count(usage.get("input_tokens")),
            "tokens_out": foreign.count(usage.get("output_tokens")),
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
    if version := foreign.text(keys.get("version")):
        producer["version"] = version
    if at := foreign.time(keys.get("generated_at")):
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
