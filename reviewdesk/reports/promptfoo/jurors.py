"""Split the rows of a promptfoo result into juries, checks and ratings; graders are the jurors.

Assertions that promptfoo sends to a language model to grade form juries, negated ones included.
Assertions on embeddings, classifiers, moderation services and scripts are checks.
"""

import json
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from msgspec import Struct

from reviewdesk.reports.mapping import values
from reviewdesk.reports.mapping.foreign import JUROR_LENGTH, Models, Remarks, juror_ids, measured
from reviewdesk.reports.mapping.secrets import without_likely
from reviewdesk.reports.options import ReadOptions
from reviewdesk.reports.tables.ballot import PanelReader
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
    value: Any
    """The assertion's value, with the test's variables filled in if promptfoo stored it so."""
    failed: bool
    """Whether the grader failed to give a grade. Promptfoo then writes a score of 0.

    Some assertions do not mark the failure, but give the provider's error as the reason.
    """

    @staticmethod
    def of(result: JsonObject, declared: JsonObject) -> "GradedAssertion":
        """Read a result with its assertion, which the test declares if the result lacks it."""
        assertion = record(result, "assertion") or declared
        kind = assertion.get("type")
        metadata = record(result, "metadata")
        value = metadata.get("renderedAssertionValue")
        failed = metadata.get("graderError") is True
        if not failed and not result.get("score"):
            reason = result.get("reason")
            failed = isinstance(reason, str) and _PROVIDER_ERROR.match(reason) is not None
        return GradedAssertion(
            assertion,
            result,
            kind if isinstance(kind, str) else "",
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
    ballots: list[GradedAssertion]

    @property
    def base(self) -> str:
        """The type without the ``not-`` of an assertion that passes if its rubric is not met."""
        return self.kind.removeprefix("not-")

    @property
    def negated(self) -> bool:
        return self.base != self.kind


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


def take_apart(row: JsonObject) -> ResultRow:
    """Return the juries, checks and human rating of a row, with each component counted once.

    Raise FieldError if the grading is not what promptfoo writes, or has too many rubrics.
    """
    grading = {} if (stated := row.get("gradingResult")) is None else stated
    if not isinstance(grading, dict):
        raise FieldError(("gradingResult",), must_be("an object", grading))
    case = record(row, "testCase")
    whole = AssertScope(grading, values.number(case.get("threshold")), [])
    scopes = [whole]
    human = None
    for component, stated in _components(grading, case, ("gradingResult",)):
        kind = record(component, "assertion").get("type")
        described = record(component, "metadata").get("assertionSet")
        has_parts = isinstance(component.get("componentResults"), list)
        if described is not None or (has_parts and kind in (None, "assert-set")):
            declared = stated if stated.get("type") == "assert-set" else {}
            named = {**declared, **record(record(component, "metadata"), "assertionSet")}
            path = ("gradingResult", "componentResults")
            children = _components(component, declared, path)
            parts = [GradedAssertion.of(child, of_child) for child, of_child in children]
            bar = values.number(named.get("threshold"))
            name = named.get("metric")
            name = name if isinstance(name, str) else None
            scopes.append(AssertScope(component, bar, parts, True, name))
            continue
        graded = GradedAssertion.of(component, stated)
        if graded.kind == "human":
            human = graded
        else:
            whole.parts.append(graded)
    checks = []
    juries: dict[tuple[int, str, bool, str], AssertionJury] = {}
    for at, scope in enumerate(scopes):
        for part in scope.parts:
            base = part.kind.removeprefix("not-")
            if base not in _MODEL_GRADED and not base.startswith(_MODEL_GRADED_PREFIXES):
                checks.append(part)
                continue
            is_text = type(part.value) is str
            shown = part.value if is_text else json.dumps(part.value, sort_keys=True)
            key = (at, part.kind, is_text, shown)
            if key not in juries:
                juries[key] = AssertionJury(part.kind, part.value, scope, [])
            juries[key].ballots.append(part)
    if len(juries) > _MOST_PANELS:
        # Each verdict repeats the whole input and output, so a small file could grow huge.
        expected = must_be(f"at most {_MOST_PANELS} rubrics", len(juries))
        raise FieldError(("gradingResult",), expected)
    failed = row.get("failureReason") == ERROR or bool(row.get("error"))
    return ResultRow([*juries.values()], checks, human, failed and not juries and not checks)


def _components(
    result: JsonObject, declaring: JsonObject, path: Path
) -> Iterator[tuple[JsonObject, JsonObject]]:
    """Yield the components of a result, without the copies of its parts after each one.

    Each comes with its assertion as ``declaring``, a test or an assert-set, declares it.
    """
    listed = result.get("componentResults")
    if listed is None:
        return
    path = (*path, "componentResults")
    if not isinstance(listed, list):
        raise FieldError(path, must_be("a list", listed))
    asserts = [each for each in values.listed(declaring.get("assert")) if isinstance(each, dict)]
    declared = (each for each in asserts if not str(each.get("type")).startswith(_DEFERRED))
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
        yield component, next(declared, {})
        parts = component.get("componentResults")
        copies = filter(None, parts if isinstance(parts, list) else ())
        copy = next(copies, None)


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


class Provider(Struct, frozen=True):
    """A provider named in a row, without its configuration."""

    name: str | None = None
    model: str | None = None
    vendor: str | None = None

    @staticmethod
    def of(stated: Any) -> "Provider":
        """Read a provider from an id, or from an object with an ``id`` and perhaps a ``label``."""
        if type(stated) is dict and "id" not in stated and stated.get("text"):
            # A grader may be an object with one provider for texts and one for embeddings.
            stated = stated["text"]
        if type(stated) is str:
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


def graders(panel: AssertionJury, row: JsonObject) -> list[tuple[str, Provider]]:
    """Return the grader of each ballot of a jury, under the name of its juror.

    Assertions that name no provider have the one of the row's test. A juror is named after its
    metric if all metrics of the jury differ, else after its provider.
    """
    default = record(record(row, "testCase"), "options").get("provider")
    providers = [Provider.of(part.assertion.get("provider") or default) for part in panel.ballots]
    metrics = [values.filled(part.assertion.get("metric")) for part in panel.ballots]
    distinct = None not in metrics and len(set(metrics)) == len(metrics)
    names = [
        (metric if distinct else one.name or metric) or "default grader"
        for metric, one in zip(metrics, providers, strict=True)
    ]
    return [(name[:JUROR_LENGTH], one) for name, one in zip(names, providers, strict=True)]


RULE: JsonObject = {
    "each": "grader", "judge": "name", "score": "score", "pass": "pass", "reason": "reason",
    "error": "error", "model": "model", "vendor": "vendor",
    "weight": "weight", "tokens_in": "tokens_in", "tokens_out": "tokens_out",
    "known": ["assertion", "tokensUsed", "metadata", "comment", "componentResults"],
}  # fmt: skip
"""The keys of the result of ``_element`` that hold a ballot."""


def ballots(
    panel: AssertionJury,
    jury_graders: list[tuple[str, Provider]],
    shared: float | None,
    models: Models,
    panels: PanelReader,
) -> list[JsonObject]:
    """Return a jury's canonical ballots, one by grader; ``shared`` is its threshold or None."""
    remarks = panels.notes
    ids = juror_ids(tuple([name for name, _ in jury_graders]))
    elements = []
    for juror_id, part, (name, provider) in zip(ids, panel.ballots, jury_graders, strict=True):
        element = _element(part, remarks)
        metric = values.filled(part.assertion.get("metric"))
        given = models.chosen(juror_id, name, metric or name, provider.name or name)
        vendor = provider.vendor if given is None else None
        element |= {"name": name, "model": given or provider.model, "vendor": vendor}
        elements.append(element)
    (bodies,) = panels.juries(elements).values()
    for made, part in zip(bodies, panel.ballots, strict=True):
        line = values.number(part.assertion.get("threshold"))
        if panel.base == "pi":
            made["kind"] = "reward_model"
        if line is not None and shared is None:
            # The threshold of a negated assertion applies to the grade before it is inverted.
            name = "threshold_before_not" if panel.negated else "threshold"
            made["meta"] = {**made.get("meta", {}), name: line}
        if "score" in part.result and part.result["score"] is None:
            made.update(measured(made, remarks.count))
        passed = part.result.get("pass")
        score = values.number(part.result.get("score"))
        if part.failed or panel.negated or score is None or not isinstance(passed, bool):
            continue
        # A pass of a score of 0, or a fail of a score that reaches the threshold.
        contrary = score <= 0 and (line is None or line > 0)
        if contrary if passed else score >= (1 if line is None else line):
            remarks.count("a grader's pass contradicts its own score; both are kept, and flagged")
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
        remarks.count("a grader's score that is not a number is left out")
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
    line, *others = (values.number(part.assertion.get("threshold")) for part in panel.ballots)
    if panel.negated or line is None or any(other != line for other in others):
        return None
    low, high = options.scale or (0, 1)
    return values.unit((line - low) / (high - low) if options.scale else line)
