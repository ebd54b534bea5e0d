"""The deterministic checks of a case: ``exact``, ``contains``, ``regex`` and ``schema``.

The response is hostile text, and a check must not be a way around the jury: one that cannot be
worked out has failed, and one that comes to no end says nothing, so that the jury is asked.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
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
"""How long one expression may look at one response."""

_SAID = 200


class _UndecidedError(Exception):
    """A check that cannot be worked out, and why."""


class _UnendedError(_UndecidedError):
    """A check that ran out of its time."""


def run_checks(case: Case) -> tuple[CheckResult, ...]:
    """Every check of a case in its order, against the response."""
    return tuple(_checked(check, case.output) for check in case.checks)


def check_problem(check: Check) -> str | None:
    """Why a check can never be worked out, for the file that asks for it; ``None`` if it can."""
    try:
        if check.kind == "regex":
            _compiled(check.value)
        elif check.kind == "schema":
            _check_schema(check.value)
    except _UndecidedError as error:
        return str(error)
    return None


def _checked(check: Check, output: str) -> CheckResult:
    name = check.name or check.kind
    try:
        why = _KINDS[check.kind](check.value, output)
    except _UndecidedError as error:
        passed = None if isinstance(error, _UnendedError) else False
        return CheckResult(name, passed=passed, reason=str(error))
    if not check.negated:
        return CheckResult(name, passed=why is None, reason=why)
    reason = None if why else f"{check.kind} {shown(check.value)} holds, and must not"
    return CheckResult(name, passed=why is not None, reason=reason)


def _exact(value: Any, output: str) -> str | None:
    if isinstance(value, str):
        return None if output == value else f"is not exactly {shown(value)}"
    parsed = _parsed(output)
    return None if same(parsed, value) else f"is {shown(parsed)} and not {shown(value)}"


def _contains(value: Any, output: str) -> str | None:
    wanted = value if isinstance(value, list | tuple) else [value]
    missing = [str(part) for part in wanted if str(part) not in output]
    return f"does not contain {', '.join(map(shown, missing))}" if missing else None


def _regex(value: Any, output: str) -> str | None:
    return None if _found(value, output) else f"has nothing that matches {shown(value)}"


def _schema(value: Any, output: str) -> str | None:
    _check_schema(value)
    parsed = _parsed(output)
    try:
        wrong = best_match(_Validator(value, registry=Registry()).iter_errors(parsed))
    except Unresolvable as error:
        raise _UndecidedError(f"the schema refers to what is not in it: {_short(error)}") from error
    except RecursionError as error:
        raise _UndecidedError("the schema or the response is nested too deeply") from error
    if wrong is None:
        return None
    return f"{spell_path(list(wrong.absolute_path))}: {_short(wrong.message)}"


def _check_schema(schema: Any) -> None:
    try:
        if _names_patterns(schema):
            raise _UndecidedError("the schema has patternProperties, which is not read")
        wrong = best_match(_META.iter_errors(schema))
    except RecursionError as error:
        raise _UndecidedError("the schema is nested too deeply") from error
    if wrong is not None:
        raise _UndecidedError(f"is no JSON schema: {_short(wrong.message)}")


_META = Draft202012Validator(Draft202012Validator.META_SCHEMA)
_KINDS: dict[str, Callable[[Any, str], str | None]] = {
    "exact": _exact,
    "contains": _contains,
    "regex": _regex,
    "schema": _schema,
}
"""By kind: what is wrong with a response, ``None`` where nothing is."""

KINDS = tuple(_KINDS)


def _parsed(output: str) -> Any:
    """The response as JSON."""
    try:
        return json.loads(output, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise _UndecidedError(f"the response is not JSON: {_short(error)}") from error


def _no_constant(word: str) -> Any:
    raise ValueError(f"{word} is not standard JSON")


def _compiled(pattern: Any) -> Any:
    try:
        return regex.compile(pattern)
    except (regex.error, TypeError, ValueError, OverflowError, RecursionError) as error:
        raise _UndecidedError(f"is no regular expression: {_short(error)}") from error


def _found(pattern: Any, text: str) -> bool:
    """Whether the expression is found anywhere, within its time."""
    compiled = _compiled(pattern)
    try:
        return compiled.search(text, timeout=SECONDS, concurrent=True) is not None
    except TimeoutError:
        raise _UnendedError(
            f"the expression {shown(pattern)} came to no end within {SECONDS:g} s"
        ) from None


def _short(problem: object) -> str:
    text = str(problem)
    return text if len(text) <= _SAID else f"{text[:_SAID]}…"


def _pattern(validator: Any, pattern: Any, value: Any, _schema: Any) -> Iterator[ValidationError]:
    """``pattern`` with a bound on its time, which the validator's own lacks."""
    if validator.is_type(value, "string") and not _found(pattern, value):
        yield ValidationError(f"{shown(value)} does not match {shown(pattern)}")


def _names_patterns(schema: Any) -> bool:
    """Whether ``patternProperties`` is anywhere in it: the validator gives it no bound."""
    if isinstance(schema, list):
        return any(map(_names_patterns, schema))
    if not isinstance(schema, dict):
        return False
    return "patternProperties" in schema or any(map(_names_patterns, schema.values()))


_Validator = extend(Draft202012Validator, {"pattern": _pattern})
