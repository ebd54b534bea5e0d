"""Read the parts that juried's report and its label queue share: cases, texts and checks."""

from __future__ import annotations

from typing import Any

from reviewdesk.reports.mapping import foreign, values
from reviewdesk.reports.wording import FieldProblem, Path, must_be

BY_CHECKS = "checks"
"""The ``model`` of a verdict that a failed check decided without asking the judge."""


def problem_of(value: Any, name: str) -> FieldProblem | None:
    """Return what is wrong with a record, or None.

    The record must be an object, and its field ``name`` a list of objects or absent.
    """
    if not isinstance(value, dict):
        return FieldProblem((), must_be("an object", value))
    listed = value.get(name)
    if listed is None:
        return None
    if not isinstance(listed, list):
        return FieldProblem((name,), must_be("a list", listed))
    for index, one in enumerate(listed):
        if not isinstance(one, dict):
            where: Path = (name, index)
            return FieldProblem(where, must_be("an object", one))
    return None


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
