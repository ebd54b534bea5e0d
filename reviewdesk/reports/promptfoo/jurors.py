"""The graders of a promptfoo assertion as jurors, and its providers as models."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from reviewdesk.reports.mapping import values
from reviewdesk.reports.mapping.ballots import unused
from reviewdesk.reports.mapping.foreign import Models
from reviewdesk.reports.mapping.raw_scores import Scales, fitted
from reviewdesk.reports.mapping.remarks import Remarks
from reviewdesk.reports.mapping.secrets import without_likely
from reviewdesk.reports.mapping.unread import understood, unread_keys
from reviewdesk.reports.options import ReadOptions
from reviewdesk.reports.promptfoo.row import AssertionJury, GradedAssertion, record

_ID_LENGTH = 190
"""Room for a counter behind it: an id has at most 200 characters."""

_NOBODY = "default grader"

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
"""Providers whose id names a program or an address, and no model."""

_VENDORS = frozenset(
    {
        *("openai", "anthropic", "google", "mistral", "cohere", "xai", "deepseek", "moonshot"),
        *("amazon", "alibaba", "qwen", "nvidia"),
    }
)
"""Providers that are vendors themselves; others host the models of several."""

_OWN_ADDRESS = ("apiBaseUrl", "apiHost", "baseUrl", "base_url", "url")
_LOGIN = re.compile(r"(?<=://)[^/@\s]*@")

_KINDS = {"pi": "reward_model"}
_FAILURES = (
    ("timeout", re.compile(r"time[d ]*-?out", re.IGNORECASE)),
    ("parse_fail", re.compile(r"not extract JSON|malformed|not in JSON|parse", re.IGNORECASE)),
    ("empty", re.compile(r"no output|empty (?:output|response)", re.IGNORECASE)),
)
_ANSWERS = ("pass", "score")
_ABOUT = frozenset({"assertion", "tokensUsed", "metadata", "comment", "componentResults"})
_UNREAD = "Model grader produced a malformed response"
"""What promptfoo counts as a fail, because an answer that it cannot read is no yes."""


@dataclass(frozen=True, slots=True)
class Provider:
    """A provider as a row names it, without its configuration."""

    name: str | None = None
    model: str | None = None
    vendor: str | None = None

    @staticmethod
    def of(stated: Any) -> Provider:
        """From an id, or an object with ``id`` and perhaps ``label``; anything else is nobody."""
        if isinstance(stated, dict) and "id" not in stated and stated.get("text"):
            # A grader may be named for texts apart from the one for embeddings.
            stated = stated["text"]
        if isinstance(stated, str):
            stated = {"id": stated}
        if not isinstance(stated, dict):
            return Provider()
        called = stated.get("id")
        shown = shown_address(called) if isinstance(called, str) and called.strip() else None
        label = stated.get("label")
        label = label if isinstance(label, str) and label.strip() else None
        model, vendor = _model(shown) if shown else (None, None)
        if any(record(stated, "config").get(key) for key in _OWN_ADDRESS):
            # The vendor's protocol, spoken at somebody's own address.
            vendor = None
        return Provider(label or shown, model, vendor)


def shown_address(called: str) -> str:
    """An id without a login and a query, where keys stand in addresses."""
    return _LOGIN.sub("", called.split("?", 1)[0]) if "://" in called else called


def _model(called: str) -> tuple[str | None, str | None]:
    head, colon, rest = called.partition(":")
    if head in _SCRIPTS:
        return None, None
    if not colon:
        return called, None
    steps = rest.split(":")
    while steps and steps[0] in _ENDPOINTS:
        del steps[0]
    return ":".join(steps) or None, head if head in _VENDORS else None


@dataclass(frozen=True, slots=True)
class Grader:
    """Who graded an assertion, by the name of its juror."""

    name: str
    metric: str | None
    provider: Provider


def graders(panel: AssertionJury, default: Any) -> list[Grader]:
    """Who graded each of a jury; ``default`` does where an assertion names no provider.

    A juror is called by its metric where the metrics tell the jurors apart, else by its provider.
    """
    asked = [Provider.of(part.assertion.get("provider") or default) for part in panel.ballots]
    metrics = [_metric(part) for part in panel.ballots]
    telling = None not in metrics and len(set(metrics)) == len(metrics)
    names = [
        (metric if telling else provider.name or metric) or _NOBODY
        for metric, provider in zip(metrics, asked, strict=True)
    ]
    return [
        Grader(name[:_ID_LENGTH], metric, provider)
        for name, metric, provider in zip(names, metrics, asked, strict=True)
    ]


def weigh(panel: AssertionJury, default: Any, scales: Scales) -> None:
    """Show the scores of a jury to what must know all of the file's."""
    for grader, part in zip(graders(panel, default), panel.ballots, strict=True):
        if not part.failed:
            scales.off(grader.name, part.result.get("score"))


def ballots(
    panel: AssertionJury,
    asked: list[Grader],
    options: ReadOptions,
    models: Models,
    remarks: Remarks,
    scales: Scales,
) -> list[dict[str, Any]]:
    """The jurors of a jury."""
    taken: dict[str, int] = {}
    bodies = []
    together = shared_line(panel, options) is not None
    for part, one, line in zip(panel.ballots, asked, panel.lines, strict=True):
        name, metric, grader = one.name, one.metric, one.provider
        kind = _KINDS.get(panel.kind.removeprefix("not-"))
        body: dict[str, Any] = {"id": unused(name, taken), "kind": kind}
        names = (body["id"], name, metric or name, grader.name or name)
        body.update(_named_model(grader, names, models))
        body.update(_grade(part, options, remarks, off=scales.off(name)))
        if line is not None and not together:
            body["meta"] = {"threshold": line}
        bodies.append(understood(values.said(body), unread_keys(part.result, _ANSWERS, _ABOUT)))
    return bodies


def shared_line(panel: AssertionJury, options: ReadOptions) -> float | int | None:
    """The pass line that all jurors have in common, from 0 to 1.

    A negated assertion turns the grade around behind its line, which then says nothing of it.
    """
    line = panel.lines[0]
    if panel.negated or line is None or any(other != line for other in panel.lines):
        return None
    low, high = options.scale or (0, 1)
    return values.unit((line - low) / (high - low) if options.scale else line)


def _metric(part: GradedAssertion) -> str | None:
    stated = part.assertion.get("metric")
    return stated if isinstance(stated, str) and stated.strip() else None


def _named_model(grader: Provider, names: tuple[str, ...], models: Models) -> dict[str, str | None]:
    """The model a person names for one of the juror's names, else that of the file."""
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
    if not stated and reason and reason.startswith(_UNREAD):
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


def _tokens(result: dict[str, Any]) -> dict[str, int]:
    used = record(result, "tokensUsed")
    counts = {"tokens_in": used.get("prompt"), "tokens_out": used.get("completion")}
    return {
        key: count
        for key, count in counts.items()
        if isinstance(count, int) and not isinstance(count, bool) and count >= 0
    }
