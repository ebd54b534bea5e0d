"""Builders of small promptfoo results, as its version 0.121 writes them."""

from typing import Any

from reviewdesk.reports.report import Report
from tests.reports import foreignkit


def graded(kind: str, value: Any, score: Any, passed: Any, **more: Any) -> Any:
    """What came of one assertion; a keyword goes to the assertion unless it is the result's."""
    own: dict[str, Any] = {
        key: more.pop(key) for key in ("metadata", "comment", "reason") if key in more
    }
    assertion = {"type": kind, "value": value, **more}
    result: dict[str, Any] = {
        "pass": passed, "score": score, "reason": f"because {score}", "assertion": assertion,
    }  # fmt: skip
    return {**result, **own}


def rubric(score: Any, passed: Any, value: Any = "is kind", **more: Any) -> Any:
    """A grade by an ``llm-rubric``."""
    return graded("llm-rubric", value, score, passed, **more)


def broken(**more: Any) -> Any:
    """A grader that gave no grade."""
    metadata = {"graderError": True}
    return rubric(0, False, reason="Could not extract JSON", metadata=metadata, **more)


def assert_set(*children: dict[str, Any], passed: bool, score: float, **more: Any) -> Any:
    """A set and, behind it, the copies of its children that promptfoo adds."""
    described = {"type": "assert-set", "assertionCount": len(children), **more}
    whole = {
        "pass": passed, "score": score, "reason": "of the set", "componentResults": list(children),
        "metadata": {"assertionSet": described},
    }  # fmt: skip
    return [whole, *children]


def row(*components: Any, **more: Any) -> Any:
    """A row; ``success``, ``score`` and the rest replace what a passing row of one test has."""
    flat: list[Any] = []
    for component in components:
        flat.extend(component if isinstance(component, list) else [component])
    outcome = {"pass": more.get("success", True), "score": more.get("score", 0.5)}
    grading = {**outcome, "reason": "", "componentResults": flat}
    return {
        "id": "0000", "testIdx": 0, "promptIdx": 0, "promptId": "p", "success": True, "score": 0.5,
        "failureReason": 0, "gradingResult": grading,
        "prompt": {"raw": "Say hello", "label": "Say {{what}}"},
        "provider": {"id": "openai:chat:gpt-4o", "label": ""}, "response": {"output": "hello"},
        "testCase": {"description": "greets", "vars": {"what": "hello"}},
        "vars": {"what": "hello"},
        **more,
    }  # fmt: skip


def result(*rows: Any, **more: Any) -> Any:
    """An export with its envelope."""
    summary = {"version": 3, "timestamp": "2026-01-31T12:00:00.000Z", "prompts": []}
    return {
        "evalId": "eval-abc", "results": {**summary, "results": list(rows), "stats": {}},
        "config": {"description": "greetings"}, "shareableUrl": None,
        "metadata": {"promptfooVersion": "0.121.20"}, **more,
    }  # fmt: skip


def opened(document: Any, **options: Any) -> tuple[Report, list[Any]]:
    """A document read to its end, every body valid."""
    report, bodies = foreignkit.opened(document, **options)
    assert report.format == "promptfoo"
    return report, bodies


def verdicts(*components: Any, **more: Any) -> list[Any]:
    """The bodies of a result with one row."""
    return opened(result(row(*components, **more)))[1]


def one(*components: Any, **more: Any) -> Any:
    """The one verdict of a result with one row."""
    (body,) = verdicts(*components, **more)
    return body
