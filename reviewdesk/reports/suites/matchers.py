"""The matchers that a suite may apply to a value: ``exact``, ``not`` and ``schema``.

A schema is JSON Schema, draft 2020-12, with the keywords that can judge a single value. References
are refused, so that nothing is fetched and nothing recurs. Regular expressions are refused, because
one of them can run forever. Every other keyword is refused, because JSON Schema ignores keywords
that do not apply, and the gate would check nothing.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, ClassVar

from jsonschema import Draft202012Validator  # type: ignore[import-untyped]
from jsonschema.exceptions import ValidationError, best_match  # type: ignore[import-untyped]
from jsonschema.validators import extend  # type: ignore[import-untyped]
from msgspec import Struct
from referencing import Registry

from reviewdesk.domain.gates.expect import Limits, Matcher, MatchResult, Value
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
_LIMITS = frozenset({"minimum", "maximum"})


def same(one: Value, other: Value) -> bool:
    """Return True if two JSON values are equal: 1 is 1.0, true is not 1; numbers within 1e-9."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, int | float) and isinstance(other, int | float):
        return abs(one - other) <= SLACK
    return type(one) is type(other) and one == other


class Exact(Struct, frozen=True):
    """A matcher that accepts one value; it sets no limits."""

    limits: ClassVar[Limits] = Limits()

    value: Value

    @property
    def written(self) -> Any:
        return {"exact": self.value}

    def words(self, *, negated: bool = False) -> str:
        return f"{'not ' * negated}be {shown(self.value)}"

    def judge(self, value: Value) -> MatchResult:
        return MatchResult(same(self.value, value))


class NotMatcher(Struct, frozen=True):
    """A matcher that accepts what its inner matcher refuses; it sets no limits."""

    limits: ClassVar[Limits] = Limits()

    inner: Matcher

    @property
    def written(self) -> Any:
        return {"not": self.inner.written}

    def words(self, *, negated: bool = False) -> str:
        return self.inner.words(negated=not negated)

    def judge(self, value: Value) -> MatchResult:
        return MatchResult(not self.inner.judge(value).fits)


@dataclass(frozen=True, slots=True)
class Schema:
    """A matcher by JSON schema; ``minimum`` and ``maximum`` have a tolerance of 1e-9."""

    schema: dict[str, Any]
    _validator: Any = field(repr=False, compare=False)

    @staticmethod
    def of(schema: dict[str, Any]) -> "Schema":
        """Check a schema and return its matcher; FieldError if it is invalid or refused."""
        for path, keyword in _keywords(schema, []):
            if keyword not in _KEYWORDS:
                raise _keyword_problem(path, keyword)
        wrong = best_match(_SlackValidator(_SlackValidator.META_SCHEMA).iter_errors(schema))
        if wrong is not None:
            raise FieldError(list(wrong.absolute_path), f"is not a JSON schema: {_message(wrong)}")
        return Schema(schema, _SlackValidator(schema, registry=Registry()))

    @property
    def written(self) -> Any:
        return {"schema": self.schema}

    @property
    def limits(self) -> Limits:
        """The outermost minimum and maximum of the schema; its other keywords are ignored."""
        return Limits(self.schema.get("minimum"), self.schema.get("maximum"))

    @property
    def of_numbers(self) -> str:
        return next((word for _, word in _keywords(self.schema, []) if word in _NUMBERS), "")

    def words(self, *, negated: bool = False) -> str:
        """Return words such as ``be at least 0.7``, or the schema if it is more than a limit."""
        start = "not " * negated
        if not self._simple:
            return f"{start}fit {json.dumps(self.schema, ensure_ascii=False)}"
        names = {"minimum": "at least", "maximum": "at most"}
        limits = (f"{names[key]} {self.schema[key]:.10g}" for key in names if key in self.schema)
        return f"{start}be {' and '.join(limits)}"

    def judge(self, value: Value) -> MatchResult:
        """Return whether the value fits and, for a plain limit, the margin that is left."""
        wrong = best_match(self._validator.iter_errors(value))
        margin = None
        if self._simple and isinstance(value, int | float) and not isinstance(value, bool):
            low, high = (self.schema.get(key) for key in ("minimum", "maximum"))
            room = [value - low] if low is not None else []
            room += [high - value] if high is not None else []
            margin = min(room)
        why = "" if wrong is None or margin is not None else _message(wrong)
        return MatchResult(wrong is None, margin, why)

    @property
    def _simple(self) -> bool:
        keys = self.schema.keys() - _NOTES
        return bool(keys & _LIMITS) and keys <= _LIMITS | {"type"}


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
