"""Split the rows of a promptfoo result into juries, checks and ratings, and survey them.

Assertions that promptfoo sends to a language model to grade form juries, negated ones included.
Assertions on embeddings, classifiers, moderation services and scripts are checks.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from msgspec import Struct, field

from reviewdesk.reports.mapping import values
from reviewdesk.reports.wording import FieldProblem, Path, must_be

_MODEL_GRADED = frozenset(
    {
        *("llm-rubric", "agent-rubric", "search-rubric", "g-eval", "factuality", "select-best"),
        *("answer-relevance", "conversation-relevance", "trajectory:goal-success", "pi"),
    }
)
_MODEL_GRADED_PREFIXES = ("model-graded-", "context-", "promptfoo:redteam:")
ERROR = 2
"""The ``failureReason`` of a row without an output that could be graded."""

_MOST_PANELS = 100

_PROVIDER_ERROR = re.compile(r"API (?:call |response )?error:|Request timed out|No output\Z")

_DEFERRED = ("select-", "max-score")
"""Prefixes of assertions that compare the outputs of several providers.

Their results follow all other results of a row.
"""


class RowError(Exception):
    """A row has another structure than promptfoo writes."""

    def __init__(self, path: Path, value: Any, expected: str) -> None:
        """Build the problem: the value at ``path`` must be ``expected``."""
        super().__init__(expected)
        self.problem = FieldProblem(path, must_be(expected, value))


class GradedAssertion(Struct, frozen=True):
    """One assertion and its result."""

    assertion: dict[str, Any]
    result: dict[str, Any]
    kind: str
    """The assertion's type; empty if the file does not give it."""
    metadata: dict[str, Any]
    """The metadata of the grader's result."""
    value: Any
    """The assertion's value, with the test's variables filled in if promptfoo stored it so."""
    failed: bool
    """Whether the grader failed to give a grade. Promptfoo then writes a score of 0.

    Some assertions do not mark the failure, but give the provider's error as the reason.
    """

    @staticmethod
    def of(assertion: dict[str, Any], result: dict[str, Any]) -> GradedAssertion:
        """Read an assertion and its result."""
        kind = assertion.get("type")
        metadata = record(result, "metadata")
        value = metadata.get("renderedAssertionValue") if metadata else None
        failed = metadata.get("graderError") is True
        if not failed and not result.get("score"):
            reason = result.get("reason")
            failed = isinstance(reason, str) and _PROVIDER_ERROR.match(reason) is not None
        return GradedAssertion(
            assertion,
            result,
            kind if isinstance(kind, str) else "",
            metadata,
            assertion.get("value") if value is None else value,
            failed,
        )


class AssertScope(Struct, frozen=True):
    """The assertions that share one result: those of a whole row, or of one assert-set."""

    outcome: dict[str, Any]
    bar: float | int | None
    """The weighted score needed to pass; if None, every assertion must pass."""
    parts: list[GradedAssertion]
    assert_set: bool = False
    set_name: str | None = None


class AssertionJury(Struct, frozen=True):
    """Model-graded assertions of one scope with the same type and value: one jury."""

    kind: str
    value: Any
    scope: AssertScope
    ballots: list[GradedAssertion] = field(default_factory=list)

    @property
    def alone(self) -> bool:
        """Whether the scope has no other assertions, so that its result is the jury's."""
        return len(self.ballots) == len(self.scope.parts)

    @property
    def lines(self) -> list[Any]:
        """The thresholds of the jurors, None for a juror without one."""
        return [values.number(part.assertion.get("threshold")) for part in self.ballots]

    @property
    def negated(self) -> bool:
        """Whether the assertion passes if the rubric is not met."""
        return self.kind.startswith("not-")


class ResultRow(Struct, frozen=True):
    """All graded assertions of one output."""

    panels: list[AssertionJury]
    checks: list[GradedAssertion]
    human: GradedAssertion | None
    parts_left_out: int
    errored: bool
    """Whether nothing was graded because of an earlier error."""

    @property
    def stands_alone(self) -> bool:
        """Whether the row is a verdict without a jury: an error, or only a person's rating."""
        return not self.panels and (self.errored or self.human is not None)


def record(holder: dict[str, Any], key: str) -> dict[str, Any]:
    """Return the object under a key, or an empty one."""
    found = holder.get(key)
    return found if type(found) is dict else {}


def is_judged(kind: str) -> bool:
    """Return True if a language model grades assertions of this type."""
    base = kind.removeprefix("not-")
    return base in _MODEL_GRADED or base.startswith(_MODEL_GRADED_PREFIXES)


def take_apart(row: dict[str, Any]) -> ResultRow:
    """Return the juries, checks and human rating of a row, with each component counted once.

    Raises:
        RowError: the grading is not what promptfoo writes, or has too many rubrics.
    """
    grading = row.get("gradingResult")
    if grading is not None and not isinstance(grading, dict):
        raise RowError(("gradingResult",), grading, "an object")
    case = record(row, "testCase")
    whole = AssertScope(grading or {}, values.number(case.get("threshold")), [])
    scopes = [whole]
    human = None
    left_out = 0
    declared = _declared_assertions(case.get("assert"))
    for at, component in enumerate(_components(grading or {}, ("gradingResult",))):
        stated = declared[at] if at < len(declared) else {}
        if _is_assert_set(component):
            scopes.append(_assert_set(component, stated))
            continue
        graded = GradedAssertion.of(record(component, "assertion") or stated, component)
        parts = component.get("componentResults")
        left_out += len(parts) if isinstance(parts, list) else 0
        if graded.kind == "human":
            human = graded
        else:
            whole.parts.append(graded)
    checks = [part for scope in scopes for part in scope.parts if not is_judged(part.kind)]
    panels = [panel for scope in scopes for panel in _panels(scope)]
    if len(panels) > _MOST_PANELS:
        # Each verdict repeats the whole input and output, so a small file could grow huge.
        raise RowError(("gradingResult",), len(panels), f"at most {_MOST_PANELS} rubrics")
    failed = row.get("failureReason") == ERROR or bool(row.get("error"))
    return ResultRow(panels, checks, human, left_out, failed and not panels and not checks)


def _components(result: dict[str, Any], path: Path) -> Iterator[dict[str, Any]]:
    """Yield the components of a result, without the copies of its parts after each one."""
    listed = result.get("componentResults")
    if listed is None:
        return
    path = (*path, "componentResults")
    if not isinstance(listed, list):
        raise RowError(path, listed, "a list")
    copies: Iterator[Any] = iter(())
    copy = None
    for at, component in enumerate(listed):
        if component is None:
            # A place for a comparison of outputs that was not filled.
            continue
        if not isinstance(component, dict):
            raise RowError((*path, at), component, "an object")
        if copy is not None and _is_copy(component, copy):
            copy = next(copies, None)
            continue
        yield component
        parts = component.get("componentResults")
        copies = filter(None, parts if isinstance(parts, list) else ())
        copy = next(copies, None)


def _is_copy(component: dict[str, Any], part: Any) -> bool:
    return isinstance(part, dict) and all(
        component.get(key) == part.get(key) for key in ("pass", "score", "reason")
    )


def _is_assert_set(component: dict[str, Any]) -> bool:
    if record(component, "metadata").get("assertionSet") is not None:
        return True
    has_parts = isinstance(component.get("componentResults"), list)
    own = record(component, "assertion").get("type")
    return has_parts and (own is None or own == "assert-set")


def _assert_set(component: dict[str, Any], declared: dict[str, Any]) -> AssertScope:
    described = record(record(component, "metadata"), "assertionSet")
    if declared.get("type") != "assert-set":
        declared = {}
    stated = _declared_assertions(declared.get("assert"))
    children = [
        GradedAssertion.of(
            record(child, "assertion") or (stated[at] if at < len(stated) else {}), child
        )
        for at, child in enumerate(_components(component, ("gradingResult", "componentResults")))
    ]
    bar = values.number(values.first({**declared, **described}, ("threshold",)))
    name = values.first({**declared, **described}, ("metric",))
    return AssertScope(component, bar, children, True, name if isinstance(name, str) else None)


def _declared_assertions(asserts: Any) -> list[dict[str, Any]]:
    """Return the assertions that the test declares, in the order of their results."""
    found = (
        [each for each in asserts if isinstance(each, dict)] if isinstance(asserts, list) else []
    )
    return [each for each in found if not str(each.get("type")).startswith(_DEFERRED)]


def _panels(scope: AssertScope) -> list[AssertionJury]:
    found: dict[tuple[str, bool, str], AssertionJury] = {}
    for part in scope.parts:
        if is_judged(part.kind):
            value = part.value
            is_text = type(value) is str
            key = (part.kind, is_text, value if is_text else json.dumps(value, sort_keys=True))
            found.setdefault(key, AssertionJury(part.kind, part.value, scope)).ballots.append(part)
    return list(found.values())
