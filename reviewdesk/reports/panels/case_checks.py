"""Run the deterministic checks of a case: ``exact``, ``contains``, ``regex`` and ``schema``.

The response is hostile text, and a check must not be a way around the jury. A check that cannot be
evaluated has failed; a check that runs out of time has no result, and the jury is asked.
"""

import json
from collections.abc import Iterator
from typing import Any

import regex  # type: ignore[import-untyped]
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]
from jsonschema.exceptions import ValidationError, best_match  # type: ignore[import-untyped]
from jsonschema.validators import extend  # type: ignore[import-untyped]
from referencing import Registry
from referencing.exceptions import Unresolvable

from reviewdesk.domain.panel.case import Case, Check, CheckResult
from reviewdesk.reports.suites.matchers import same
from reviewdesk.reports.wording import found as shown
from reviewdesk.reports.wording import spell_path

SECONDS = 1.0
"""The time limit for one regular expression on one response."""

_MOST_SHOWN = 200


class _UndecidedError(Exception):
    """A check cannot be evaluated; the message says why."""


class _TimedOutError(_UndecidedError):
    """A check ran out of time."""


def run_checks(case: Case) -> tuple[CheckResult, ...]:
    results = []
    for check in case.checks:
        passed: bool | None
        try:
            reason = _problem(check.kind, check.value, case.output)
            passed = (reason is None) is not check.negated
            if check.negated:
                reason = (
                    None if passed else f"{check.kind} {shown(check.value)} is met, and must not be"
                )
        except _UndecidedError as error:
            passed = None if isinstance(error, _TimedOutError) else False
            reason = str(error)
        results.append(CheckResult(check.name or check.kind, passed=passed, reason=reason))
    return tuple(results)


def check_problem(check: Check) -> str | None:
    """Return why a check can never be evaluated, for an error about its file, or ``None``."""
    try:
        if check.kind == "regex":
            _compile_regex(check.value)
        elif check.kind == "schema":
            _check_schema(check.value)
    except _UndecidedError as error:
        return str(error)
    return None


def _problem(kind: str, value: Any, output: str) -> str | None:
    if kind == "contains":
        wanted = value if isinstance(value, list | tuple) else [value]
        missing = [str(part) for part in wanted if str(part) not in output]
        return f"does not contain {', '.join(map(shown, missing))}" if missing else None
    if kind == "regex":
        return None if _matches(value, output) else f"has nothing that matches {shown(value)}"
    if kind == "exact" and isinstance(value, str):
        return None if output == value else f"is not exactly {shown(value)}"
    if kind == "schema":
        _check_schema(value)
    try:
        parsed = json.loads(output, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise _UndecidedError(f"the response is not JSON: {_short(error)}") from error
    if kind == "exact":
        return None if same(parsed, value) else f"is {shown(parsed)} and not {shown(value)}"
    try:
        wrong = best_match(_Validator(value, registry=Registry()).iter_errors(parsed))
    except Unresolvable as error:
        raise _UndecidedError(f"the schema refers to what is not in it: {_short(error)}") from error
    except RecursionError as error:
        raise _UndecidedError("the schema or the response is nested too deeply") from error
    return wrong and f"{spell_path(list(wrong.absolute_path))}: {_short(wrong.message)}"


def _check_schema(schema: Any) -> None:
    try:
        if _has_pattern_properties(schema):
            raise _UndecidedError("the schema has patternProperties, which is not read")
        wrong = best_match(_META.iter_errors(schema))
    except RecursionError as error:
        raise _UndecidedError("the schema is nested too deeply") from error
    if wrong is not None:
        raise _UndecidedError(f"is not a JSON schema: {_short(wrong.message)}")


_META = Draft202012Validator(Draft202012Validator.META_SCHEMA)


def _no_constant(word: str) -> Any:
    raise ValueError(f"{word} is not standard JSON")


def _compile_regex(pattern: Any) -> Any:
    try:
        return regex.compile(pattern)
    except (regex.error, TypeError, ValueError, OverflowError, RecursionError) as error:
        raise _UndecidedError(f"is not a regular expression: {_short(error)}") from error


def _matches(pattern: Any, text: str) -> bool:
    compiled = _compile_regex(pattern)
    try:
        return compiled.search(text, timeout=SECONDS, concurrent=True) is not None
    except TimeoutError:
        raise _TimedOutError(
            f"the expression {shown(pattern)} came to no end within {SECONDS:g} s"
        ) from None


def _short(problem: object) -> str:
    text = str(problem)
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}…"


def _pattern(validator: Any, pattern: Any, value: Any, _schema: Any) -> Iterator[ValidationError]:
    """Validate ``pattern`` with a time limit, which the library's own validator lacks."""
    if validator.is_type(value, "string") and not _matches(pattern, value):
        yield ValidationError(f"{shown(value)} does not match {shown(pattern)}")


def _has_pattern_properties(schema: Any) -> bool:
    """Return True if a schema has ``patternProperties``, which would run without a time limit."""
    if isinstance(schema, list):
        return any(map(_has_pattern_properties, schema))
    if not isinstance(schema, dict):
        return False
    return "patternProperties" in schema or any(map(_has_pattern_properties, schema.values()))


_Validator = extend(Draft202012Validator, {"pattern": _pattern})
