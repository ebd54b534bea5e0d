"""The matchers that a suite may apply to a value: ``exact``, ``not`` and ``schema``.

A schema is JSON Schema, draft 2020-12, with the keywords that can judge a single value. References
are refused, so that nothing is fetched; regular expressions, because one can run forever; and all
keywords that JSON Schema would ignore, because the gate would check nothing.
"""

from collections.abc import Iterator
from difflib import get_close_matches
from json import dumps
from typing import Any

from jsonschema import Draft202012Validator  # type: ignore[import-untyped]
from jsonschema.exceptions import ValidationError, best_match  # type: ignore[import-untyped]
from jsonschema.validators import extend  # type: ignore[import-untyped]
from referencing import Registry

from reviewdesk.domain.gates.expect import Limits, Matcher, MatchResult, Value, is_number
from reviewdesk.domain.verdict import SLACK
from reviewdesk.reports.wording import FieldError
from reviewdesk.reports.wording import found as shown

Path = list[str | int]

_NOTES = frozenset({"title", "description", "$comment", "default", "examples", "deprecated"})
_NUMBERS = frozenset(
    {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}
)  # fmt: skip
_ONE = frozenset({"not", "if", "then", "else"})
_SEVERAL = frozenset({"allOf", "anyOf", "oneOf"})
_KEYWORDS = (
    _NOTES | _NUMBERS | _ONE | _SEVERAL | {"type", "enum", "const", "minLength", "maxLength"}
)
_WORDS = {"minimum": "at least", "maximum": "at most"}


def same(one: Value, other: Value) -> bool:
    """Return True if two JSON values are equal: 1 is 1.0, true is not 1; numbers within 1e-9."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, int | float) and isinstance(other, int | float):
        return abs(one - other) <= SLACK
    return type(one) is type(other) and one == other


def exact(value: Value) -> Matcher:
    """Return a matcher that accepts one value; it sets no limits."""
    return Matcher(
        {"exact": value}, f"be {shown(value)}", lambda one: MatchResult(same(value, one))
    )


def negated(inner: Matcher) -> Matcher:
    """Return a matcher that accepts what another refuses; it sets no limits."""
    bare = inner.words.removeprefix("not ")
    words = bare if bare != inner.words else f"not {bare}"
    return Matcher(
        {"not": inner.written}, words, lambda one: MatchResult(not inner.judge(one).fits)
    )


def fitting(schema: dict[str, Any]) -> Matcher:
    """Return a matcher by JSON schema, whose outermost minimum and maximum are its limits.

    For a plain limit, which forgives 1e-9, a result has the margin that is left. Raise FieldError
    if the schema is not valid, or has a keyword that suites refuse.
    """
    for path, keyword in _keywords(schema, []):
        if keyword not in _KEYWORDS:
            raise _keyword_problem(path, keyword)
    wrong = best_match(_SlackValidator(_SlackValidator.META_SCHEMA).iter_errors(schema))
    if wrong is not None:
        raise FieldError(list(wrong.absolute_path), f"is not a JSON schema: {_message(wrong)}")
    validator = _SlackValidator(schema, registry=Registry())
    keys = schema.keys() - _NOTES
    is_limit = bool(keys & _WORDS.keys()) and keys <= {*_WORDS, "type"}
    limits = Limits(schema.get("minimum"), schema.get("maximum"))
    said = (f"{_WORDS[key]} {schema[key]:.10g}" for key in _WORDS if key in schema)
    words = f"be {' and '.join(said)}" if is_limit else f"fit {dumps(schema, ensure_ascii=False)}"

    def judge(value: Value) -> MatchResult:
        wrong = best_match(validator.iter_errors(value))
        margin = None
        if is_limit and is_number(value):
            room = [value - limits.low] if limits.low is not None else []
            room += [limits.high - value] if limits.high is not None else []
            margin = min(room)
        why = "" if wrong is None or margin is not None else _message(wrong)
        return MatchResult(wrong is None, margin, why)

    return Matcher({"schema": schema}, words, judge, limits)


def keyword_of_numbers(schema: dict[str, Any]) -> str:
    """Return the first keyword of a schema that applies to numbers alone; empty without one."""
    return next((word for _, word in _keywords(schema, []) if word in _NUMBERS), "")


def _keywords(schema: Any, path: Path) -> Iterator[tuple[Path, str]]:
    if not isinstance(schema, dict):
        return
    for keyword, inner in schema.items():
        here = [*path, keyword]
        yield here, keyword
        if keyword in _ONE:
            yield from _keywords(inner, here)
        if keyword in _SEVERAL and isinstance(inner, list):
            for at, one in enumerate(inner):
                yield from _keywords(one, [*here, at])


def _keyword_problem(path: Path, keyword: str) -> FieldError:
    name = shown(keyword)
    if keyword.startswith("$") or keyword in {"pattern", "patternProperties"}:
        hint = "Schemas here have no references and no regular expressions: use enum or exact."
        return FieldError(path, f"has {name}, which is not read", hint)
    close = get_close_matches(keyword, _KEYWORDS, 1)
    hint = f'Did you mean "{close[0]}"?' if close else f"Known: {', '.join(sorted(_KEYWORDS))}."
    return FieldError(path, f"has {name}, which does not apply to a single value", hint)


def _message(error: ValidationError) -> str:
    """Return the validator's message, shortened, because it may quote a long hostile value."""
    text: str = error.message
    return text if len(text) <= 160 else f"{text[:160]}…"


def _minimum(validator: Any, limit: Any, value: Any, _: Any) -> Iterator[ValidationError]:
    if validator.is_type(value, "number") and value < limit - SLACK:
        yield ValidationError(f"{value!r} is less than the minimum of {limit!r}")


def _maximum(validator: Any, limit: Any, value: Any, _: Any) -> Iterator[ValidationError]:
    if validator.is_type(value, "number") and value > limit + SLACK:
        yield ValidationError(f"{value!r} is greater than the maximum of {limit!r}")


_SlackValidator = extend(Draft202012Validator, {"minimum": _minimum, "maximum": _maximum})
