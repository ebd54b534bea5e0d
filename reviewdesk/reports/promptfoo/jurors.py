"""Split the rows of a promptfoo result into juries, checks and ratings; graders are the jurors.

Assertions that promptfoo sends to a language model to grade form juries, negated ones included.
Assertions on embeddings, classifiers, moderation services and scripts are checks.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from reviewdesk.reports.mapping import values
from reviewdesk.reports.mapping.ballots import measured
from reviewdesk.reports.mapping.foreign import JUROR_LENGTH, Models, Remarks, VerdictNames
from reviewdesk.reports.mapping.secrets import without_likely
from reviewdesk.reports.options import ReadOptions
from reviewdesk.reports.tables.ballot import PanelReader, TableSurvey
from reviewdesk.reports.wording import FieldError, JsonObject, Path, must_be

_MODEL_GRADED = {
    *("llm-rubric", "agent-rubric", "search-rubric", "g-eval", "factuality", "select-best"),
    *("answer-relevance", "conversation-relevance", "trajectory:goal-success", "pi"),
}
_MODEL_GRADED_PREFIXES = ("model-graded-", "context-", "promptfoo:redteam:")
ERROR = 2
"""The ``failureReason`` of a row without an output that could be graded."""

_MOST_PANELS = 100

_PROVIDER_ERROR = re.compile(r"API (?:call |response )?error:|Request timed out|No output\Z")

_DEFERRED = ("select-", "max-score")
"""Prefixes of assertions that compare the outputs of several providers.

Their results follow all other results of a row.
"""


class GradedAssertion(Struct, frozen=True):
    """One assertion and its result."""

    assertion: JsonObject
    result: JsonObject
    kind: str
    """The assertion's type; empty if the file does not give it."""
    metadata: JsonObject
    """The metadata of the grader's result."""
    value: Any
    """The assertion's value, with the test's variables filled in if promptfoo stored it so."""
    failed: bool
    """Whether the grader failed to give a grade. Promptfoo then writes a score of 0.

    Some assertions do not mark the failure, but give the provider's error as the reason.
    """

    @staticmethod
    def of(assertion: JsonObject, result: JsonObject) -> GradedAssertion:
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

    outcome: JsonObject
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
    errored: bool
    """Whether nothing was graded because of an earlier error."""

    @property
    def stands_alone(self) -> bool:
        """Whether the row is a verdict without a jury: an error, or only a person's rating."""
        return not self.panels and (self.errored or self.human is not None)


def record(holder: JsonObject, key: str) -> JsonObject:
    """Return the object under a key, or an empty one."""
    found = holder.get(key)
    return found if type(found) is dict else {}


def is_judged(kind: str) -> bool:
    """Return True if a language model grades assertions of this type."""
    base = kind.removeprefix("not-")
    return base in _MODEL_GRADED or base.startswith(_MODEL_GRADED_PREFIXES)


def take_apart(row: JsonObject) -> ResultRow:
    """Return the juries, checks and human rating of a row, with each component counted once.

    Raises:
        FieldError: the grading is not what promptfoo writes, or has too many rubrics.
    """
    grading = row.get("gradingResult")
    if grading is not None and not isinstance(grading, dict):
        raise FieldError(("gradingResult",), must_be("an object", grading))
    case = record(row, "testCase")
    whole = AssertScope(grading or {}, values.number(case.get("threshold")), [])
    scopes = [whole]
    human = None
    declared = _declared_assertions(case.get("assert"))
    for at, component in enumerate(_components(grading or {}, ("gradingResult",))):
        stated = declared[at] if at < len(declared) else {}
        kind = record(component, "assertion").get("type")
        has_parts = isinstance(component.get("componentResults"), list)
        described = record(component, "metadata").get("assertionSet")
        if described is not None or (has_parts and kind in (None, "assert-set")):
            scopes.append(_assert_set(component, stated))
            continue
        graded = GradedAssertion.of(record(component, "assertion") or stated, component)
        if graded.kind == "human":
            human = graded
        else:
            whole.parts.append(graded)
    checks = [part for scope in scopes for part in scope.parts if not is_judged(part.kind)]
    juries: dict[tuple[int, str, bool, str], AssertionJury] = {}
    for at, scope in enumerate(scopes):
        for part in scope.parts:
            if is_judged(part.kind):
                value = part.value
                is_text = type(value) is str
                shown = value if is_text else json.dumps(value, sort_keys=True)
                jury = AssertionJury(part.kind, value, scope)
                juries.setdefault((at, part.kind, is_text, shown), jury).ballots.append(part)
    panels = [*juries.values()]
    if len(panels) > _MOST_PANELS:
        # Each verdict repeats the whole input and output, so a small file could grow huge.
        raise FieldError(
            ("gradingResult",), must_be(f"at most {_MOST_PANELS} rubrics", len(panels))
        )
    failed = row.get("failureReason") == ERROR or bool(row.get("error"))
    return ResultRow(panels, checks, human, failed and not panels and not checks)


def _components(result: JsonObject, path: Path) -> Iterator[JsonObject]:
    """Yield the components of a result, without the copies of its parts after each one."""
    listed = result.get("componentResults")
    if listed is None:
        return
    path = (*path, "componentResults")
    if not isinstance(listed, list):
        raise FieldError(path, must_be("a list", listed))
    copies: Iterator[Any] = iter(())
    copy = None
    for at, component in enumerate(listed):
        if component is None:
            # An unfilled place for a comparison of outputs.
            continue
        if not isinstance(component, dict):
            raise FieldError((*path, at), must_be("an object", component))
        if isinstance(copy, dict) and all(
            component.get(key) == copy.get(key) for key in ("pass", "score", "reason")
        ):
            copy = next(copies, None)
            continue
        yield component
        parts = component.get("componentResults")
        copies = filter(None, parts if isinstance(parts, list) else ())
        copy = next(copies, None)


def _assert_set(component: JsonObject, declared: JsonObject) -> AssertScope:
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


def _declared_assertions(asserts: Any) -> list[JsonObject]:
    found = (
        [each for each in asserts if isinstance(each, dict)] if isinstance(asserts, list) else []
    )
    return [each for each in found if not str(each.get("type")).startswith(_DEFERRED)]


_ENDPOINTS = {
    *("chat", "completion", "completions", "responses", "messages", "text-generation"),
    *("realtime", "assistant", "agents", "live", "generate", "embedding", "embeddings"),
}
_SCRIPTS = {
    *("file", "http", "https", "ws", "wss", "exec", "python", "javascript", "golang", "ruby"),
    *("webhook", "websocket", "package", "mcp", "browser", "promptfoo", "sequence"),
}
"""Prefixes of provider ids that name a program or an address, not a model."""

_VENDORS = {
    *("openai", "anthropic", "google", "mistral", "cohere", "xai", "deepseek", "moonshot"),
    *("amazon", "alibaba", "qwen", "nvidia"),
}
"""Providers that sell their own models. Other providers host models of several vendors."""

_OWN_ADDRESS = ("apiBaseUrl", "apiHost", "baseUrl", "base_url", "url")
_LOGIN = re.compile(r"(?<=://)[^/@\s]*@")

_KINDS = {"pi": "reward_model"}


class Provider(Struct, frozen=True):
    """A provider named in a row, without its configuration."""

    name: str | None = None
    model: str | None = None
    vendor: str | None = None

    @staticmethod
    def of(stated: Any) -> Provider:
        """Read a provider from an id, or from an object with an ``id`` and perhaps a ``label``.

        Anything else gives a provider without a name.
        """
        if isinstance(stated, dict) and "id" not in stated and stated.get("text"):
            # A grader may be an object with one provider for texts and one for embeddings.
            stated = stated["text"]
        if isinstance(stated, str):
            return _provider(stated, None, False)
        if not isinstance(stated, dict):
            return Provider()
        config = record(stated, "config")
        # Another host that speaks the vendor's protocol leaves the vendor unknown.
        elsewhere = bool(config) and any(config.get(key) for key in _OWN_ADDRESS)
        texts = (values.filled(stated.get(key)) for key in ("id", "label"))
        return _provider(*texts, elsewhere)


@lru_cache(maxsize=4096)
def _provider(provider_id: str | None, label: str | None, elsewhere: bool) -> Provider:
    if provider_id is None or not provider_id.strip():
        return Provider(label)
    shown = shown_address(provider_id)
    head, colon, rest = shown.partition(":")
    name = label or shown
    if head in _SCRIPTS or not colon:
        return Provider(name, None if head in _SCRIPTS else shown)
    steps = rest.split(":")
    while steps and steps[0] in _ENDPOINTS:
        del steps[0]
    vendor = head if head in _VENDORS and not elsewhere else None
    return Provider(name, ":".join(steps) or None, vendor)


def shown_address(provider_id: str) -> str:
    """Return a provider id without the login and query of an address, which may hold keys."""
    return _LOGIN.sub("", provider_id.split("?", 1)[0]) if "://" in provider_id else provider_id


class Grader(Struct, frozen=True):
    """The grader of one assertion, under the name of its juror."""

    name: str
    metric: str | None
    provider: Provider


def graders(panel: AssertionJury, default: Any) -> list[Grader]:
    """Return the grader of each ballot of a jury.

    ``default`` is the provider of assertions that name none. A juror is named after its metric if
    all metrics of the jury differ, else after its provider.
    """
    providers = [Provider.of(part.assertion.get("provider") or default) for part in panel.ballots]
    metrics = [values.filled(part.assertion.get("metric")) for part in panel.ballots]
    distinct = None not in metrics and len(set(metrics)) == len(metrics)
    return [
        Grader(
            ((metric if distinct else one.name or metric) or "default grader")[:JUROR_LENGTH],
            metric,
            one,
        )
        for metric, one in zip(metrics, providers, strict=True)
    ]


_RULE: JsonObject = {
    "each": "grader", "judge": "name", "score": "score", "pass": "pass", "reason": "reason",
    "error": "error", "model": "model", "vendor": "vendor",
    "weight": "weight", "tokens_in": "tokens_in", "tokens_out": "tokens_out",
    "known": ["assertion", "tokensUsed", "metadata", "comment", "componentResults"],
}  # fmt: skip
"""The keys of the result of ``_element`` that hold a ballot."""


def panel_reader(survey: TableSurvey, options: ReadOptions) -> PanelReader:
    return PanelReader(_RULE, survey, replace(options, models={}))


def weigh(panel: AssertionJury, default: Any, survey: TableSurvey) -> None:
    """Record the scores of a jury, before any jury of the file is read."""
    for one, part in zip(graders(panel, default), panel.ballots, strict=True):
        if not part.failed:
            survey.add_score(one.name, "", values.number(part.result.get("score")))


def ballots(
    panel: AssertionJury,
    jury_graders: list[Grader],
    options: ReadOptions,
    models: Models,
    panels: PanelReader,
) -> list[JsonObject]:
    """Return the canonical ballots of a jury, one for each grader."""
    remarks = panels.notes
    shared = shared_line(panel, options) is not None
    kind = _KINDS.get(panel.kind.removeprefix("not-"))
    ids = VerdictNames.jurors([one.name for one in jury_graders])
    elements = []
    for juror_id, part, one in zip(ids, panel.ballots, jury_graders, strict=True):
        element = _element(part, remarks)
        names = (juror_id, one.name, one.metric or one.name, one.provider.name or one.name)
        given = models.chosen(names)
        vendor = one.provider.vendor if given is None else None
        element |= {"name": one.name, "model": given or one.provider.model, "vendor": vendor}
        elements.append(element)
    (bodies,) = panels.juries(elements).values()
    for made, part, line in zip(bodies, panel.ballots, panel.lines, strict=True):
        if kind:
            made["kind"] = kind
        if line is not None and not shared:
            # The threshold of a negated assertion applies to the grade before it is inverted.
            name = "threshold_before_not" if panel.negated else "threshold"
            made["meta"] = {**made.get("meta", {}), name: line}
        if "score" in part.result and part.result["score"] is None:
            made.update(measured(made, remarks.count))
        if _contradicts(part, line, negated=panel.negated):
            remarks.count("a grader's pass contradicts its own score; both stand, and are flagged")
    return bodies


def _element(part: GradedAssertion, remarks: Remarks) -> JsonObject:
    result = part.result
    used = record(result, "tokensUsed")
    reason = values.text(result.get("reason"))
    found: JsonObject = {
        "weight": part.assertion.get("weight"),
        "tokens_in": values.count(used.get("prompt")),
        "tokens_out": values.count(used.get("completion")),
    }
    if part.failed:
        return {**found, "error": without_likely(reason) if reason else "the grader failed"}
    stated = result.get("pass")
    score = result.get("score")
    if not stated and reason and reason.startswith("Model grader produced a malformed response"):
        remarks.count("an answer that promptfoo could not read is a fail, as it counted it")
    if score is not None and values.number(score) is None:
        remarks.count("a grader's score that is no number is left out")
    found |= {"reason": reason, "score": values.number(score)}
    found["pass"] = stated if isinstance(stated, bool) else None
    if found["pass"] is None and found["score"] is None:
        # The answer may be under another key.
        return {**result, **{key: one for key, one in found.items() if one is not None}}
    return found


def shared_line(panel: AssertionJury, options: ReadOptions) -> float | int | None:
    """Return the threshold that all jurors share, from 0 to 1, or None.

    A negated assertion has none: promptfoo applies its threshold before it inverts the grade.
    """
    line = panel.lines[0]
    if panel.negated or line is None or any(other != line for other in panel.lines):
        return None
    low, high = options.scale or (0, 1)
    return values.unit((line - low) / (high - low) if options.scale else line)


def _contradicts(part: GradedAssertion, line: float | None, *, negated: bool) -> bool:
    """Return whether a grader passes a score of 0, or fails a score that reaches its threshold."""
    passed = part.result.get("pass")
    score = values.number(part.result.get("score"))
    if part.failed or negated or score is None or not isinstance(passed, bool):
        return False
    if passed:
        return score <= 0 and (line is None or line > 0)
    return score >= (1 if line is None else line)
