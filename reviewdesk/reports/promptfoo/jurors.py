"""The graders of a promptfoo test as the jurors of a panel, and their ballots."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from msgspec import Struct

from reviewdesk.reports.mapping import values
from reviewdesk.reports.mapping.ballots import measured, understood, unread_keys
from reviewdesk.reports.mapping.foreign import (
    JUROR_LENGTH,
    Models,
    Remarks,
    Scales,
    VerdictNames,
    fitted,
)
from reviewdesk.reports.mapping.secrets import without_likely
from reviewdesk.reports.options import ReadOptions
from reviewdesk.reports.promptfoo.rows import AssertionJury, GradedAssertion, record

_DEFAULT_GRADER = "default grader"

_ENDPOINTS = frozenset(
    {
        *("chat", "completion", "completions", "responses", "messages", "text-generation"),
        *("realtime", "assistant", "agents", "live", "generate", "embedding", "embeddings"),
    }
)
_SCRIPTS = frozenset(
    {
        *("file", "http", "https", "ws", "wss", "exec", "python", "javascript", "golang", "ruby"),
        *("webhook", "websocket", "package", "mcp", "browser", "promptfoo", "sequence"),
    }
)
"""Prefixes of provider ids that name a program or an address, not a model."""

_VENDORS = frozenset(
    {
        *("openai", "anthropic", "google", "mistral", "cohere", "xai", "deepseek", "moonshot"),
        *("amazon", "alibaba", "qwen", "nvidia"),
    }
)
"""Providers that sell their own models. Other providers host models of several vendors."""

_OWN_ADDRESS = ("apiBaseUrl", "apiHost", "baseUrl", "base_url", "url")
_LOGIN = re.compile(r"(?<=://)[^/@\s]*@")

_KINDS = {"pi": "reward_model"}
_FAILURES = (
    ("timeout", re.compile(r"time[d ]*-?out", re.IGNORECASE)),
    ("parse_fail", re.compile(r"not extract JSON|malformed|not in JSON|parse", re.IGNORECASE)),
    ("empty", re.compile(r"no output|empty (?:output|response)", re.IGNORECASE)),
)
ANSWERS = ("pass", "score")
ABOUT = frozenset({"assertion", "tokensUsed", "metadata", "comment", "componentResults"})
"""The keys of a grader's result that do not hold its answer or the reason."""
_UNREADABLE_ANSWER = "Model grader produced a malformed response"
"""The start of the reason that promptfoo gives when it cannot read an answer and fails it."""


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
    model, vendor = _model(shown)
    return Provider(label or shown, model, None if elsewhere else vendor)


def shown_address(provider_id: str) -> str:
    """Return a provider id without the login and query of an address, which may hold keys."""
    return _LOGIN.sub("", provider_id.split("?", 1)[0]) if "://" in provider_id else provider_id


def _model(provider_id: str) -> tuple[str | None, str | None]:
    head, colon, rest = provider_id.partition(":")
    if head in _SCRIPTS:
        return None, None
    if not colon:
        return provider_id, None
    steps = rest.split(":")
    while steps and steps[0] in _ENDPOINTS:
        del steps[0]
    return ":".join(steps) or None, head if head in _VENDORS else None


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
    metrics = [_metric(part) for part in panel.ballots]
    distinct = None not in metrics and len(set(metrics)) == len(metrics)
    names = [
        (metric if distinct else provider.name or metric) or _DEFAULT_GRADER
        for metric, provider in zip(metrics, providers, strict=True)
    ]
    return [
        Grader(name[:JUROR_LENGTH], metric, provider)
        for name, metric, provider in zip(names, metrics, providers, strict=True)
    ]


def weigh(panel: AssertionJury, default: Any, scales: Scales) -> None:
    """Record the scores of a jury in ``scales``, which must know all scores of the file."""
    for grader, part in zip(graders(panel, default), panel.ballots, strict=True):
        if not part.failed:
            scales.off(grader.name, part.result.get("score"))


def ballots(
    panel: AssertionJury,
    jury_graders: list[Grader],
    options: ReadOptions,
    models: Models,
    remarks: Remarks,
    scales: Scales,
) -> list[dict[str, Any]]:
    """Return the canonical ballots of a jury, one for each grader."""
    bodies = []
    shared = shared_line(panel, options) is not None
    ids = VerdictNames.jurors([one.name for one in jury_graders])
    seats = zip(ids, panel.ballots, jury_graders, panel.lines, strict=True)
    for juror_id, part, one, line in seats:
        name = one.name
        metric = one.metric
        grader = one.provider
        kind = _KINDS.get(panel.kind.removeprefix("not-"))
        body: dict[str, Any] = {"id": juror_id, "kind": kind}
        names = (juror_id, name, metric or name, grader.name or name)
        body.update(_named_model(grader, names, models))
        body.update(_grade(part, options, remarks, off=scales.off(name)))
        if line is not None and not shared:
            # The threshold of a negated assertion applies to the grade before it is inverted.
            body["meta"] = {"threshold_before_not" if panel.negated else "threshold": line}
        made = values.without_nulls(body)
        if "score" in part.result and part.result["score"] is None:
            made = measured(made, remarks.count)
        if _contradicts(part, line, negated=panel.negated):
            remarks.count("a grader's pass contradicts its own score; both stand, and are flagged")
        if "pass" not in made and "score" not in made:
            made = understood(made, unread_keys(part.result, ANSWERS, ABOUT))
        bodies.append(made)
    return bodies


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


def _metric(part: GradedAssertion) -> str | None:
    stated = part.assertion.get("metric")
    return stated if isinstance(stated, str) and stated.strip() else None


def _named_model(grader: Provider, names: tuple[str, ...], models: Models) -> dict[str, str | None]:
    given = models.chosen(names)
    if given is not None:
        return {"model": given}
    return {"model": grader.model, "vendor": grader.vendor}


def _grade(
    part: GradedAssertion, options: ReadOptions, remarks: Remarks, *, off: bool
) -> dict[str, Any]:
    result = part.result
    body: dict[str, Any] = {"weight": _weight(part, remarks), **_tokens(result)}
    reason = values.text(result.get("reason"))
    if part.failed:
        message = without_likely(reason) if reason else "the grader failed"
        status = next((name for name, found in _FAILURES if found.search(message)), "error")
        return {**body, "status": status, "error": {"message": message}}
    stated = result.get("pass")
    if isinstance(stated, bool):
        body["pass"] = stated
    body["reason"] = reason
    if not stated and reason and reason.startswith(_UNREADABLE_ANSWER):
        remarks.count("an answer that promptfoo could not read is a fail, as it counted it")
    score = result.get("score")
    return body | fitted(score, options.scale, remarks.count, "a grader's score", off=off)


def _weight(part: GradedAssertion, remarks: Remarks) -> float | int | None:
    stated = part.assertion.get("weight")
    weight = values.number(stated)
    if stated is not None and not (weight and weight > 0):
        remarks.count("a weight that is not above 0 is left out")
        return None
    return weight


def _tokens(result: dict[str, Any]) -> dict[str, int | None]:
    used = record(result, "tokensUsed")
    return {
        "tokens_in": values.count(used.get("prompt")),
        "tokens_out": values.count(used.get("completion")),
    }
