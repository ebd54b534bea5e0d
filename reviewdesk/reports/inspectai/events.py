"""Find the model calls of each scorer in a sample's events."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from reviewdesk.reports.inspectai.picking import KEEP
from reviewdesk.reports.inspectai.texts import Texts
from reviewdesk.reports.mapping.values import record

EVENT = {
    **dict.fromkeys(("event", "id", "parent_id", "span_id", "type", "action", "name"), KEEP),
    **dict.fromkeys(("model", "role", "error", "working_time", "scorer", "intermediate"), KEEP),
    "output": {
        **dict.fromkeys(("completion", "error", "time"), KEEP),
        "choices": [{"message": {"content": KEEP}}],
        "usage": dict.fromkeys(("input_tokens", "output_tokens"), KEEP),
    },
}
"""The fields of an event that are read, as a shape for ``pick``."""


class ModelCall(Struct, frozen=True):
    """One call that a scorer made to a model."""

    model: str
    role: str | None
    output: dict[str, Any]
    failed: str | None
    """The error message, or None."""
    seconds: Any

    def text(self, texts: Texts) -> str | None:
        """Return the text that the model answered, or None."""
        return texts.output(self.output) or None


class Transcript:
    """Track the scorers of one sample and their model calls, event by event."""

    def __init__(self) -> None:
        """Start with no events."""
        self._calls: dict[str, list[ModelCall]] = {}
        """Model calls by the span of their scorer."""
        self._within: dict[str, str] = {}
        """The scorer's span around each span, by span id."""
        self._names: dict[str, str] = {}
        self._scored: dict[str, str] = {}
        """The scorer's span, by the name of its score."""
        self._step = ""
        """The open step of a scorer. Older logs have steps in place of spans."""
        self.failed_scorer: str | None = None
        """The scorer that was running when the sample failed, or None."""

    def take(self, event: Any) -> None:
        """Read the next event."""
        if not isinstance(event, dict):
            return
        kind = event.get("event")
        if kind == "span_begin":
            self._begin(_text(event.get("id")), event)
        elif kind == "step":
            self._take_step(event)
        elif kind == "model":
            if (calls := self._calls.get(self._span(event))) is not None:
                calls.append(_call(event))
        elif kind == "score" and not event.get("intermediate"):
            span = self._span(event)
            self._scored.setdefault(_text(event.get("scorer")) or self._names.get(span, ""), span)
        elif kind == "error" and self.failed_scorer is None:
            self.failed_scorer = self._unfinished_scorer()

    def calls(self, score: str) -> list[ModelCall]:
        """Return the model calls of the scorer behind a score."""
        return self._calls.get(self._scored.get(score, ""), [])

    def knows(self, score: str) -> bool:
        """Return True if the events name the scorer behind this score."""
        return score in self._scored

    def failed_calls(self) -> list[ModelCall]:
        """Return the model calls of the scorer that failed."""
        spans = [span for span, name in self._names.items() if name == self.failed_scorer]
        return self._calls[spans[-1]] if spans else []

    def _begin(self, span: str, event: dict[str, Any]) -> None:
        if event.get("type") == "scorer":
            self._names[span] = _text(event.get("name"))
            self._calls[span] = []
            self._within[span] = span
        elif above := self._within.get(_text(event.get("parent_id"))):
            self._within[span] = above

    def _take_step(self, event: dict[str, Any]) -> None:
        if event.get("type") != "scorer":
            return
        self._step = ""
        if event.get("action") == "begin":
            self._step = f"step {len(self._names)}"
            self._begin(self._step, event)

    def _span(self, event: dict[str, Any]) -> str:
        return self._within.get(_text(event.get("span_id")), self._step)

    def _unfinished_scorer(self) -> str | None:
        scored = set(self._scored.values())
        waiting = [name for span, name in self._names.items() if span not in scored]
        return waiting[-1] if waiting else None


def _call(event: dict[str, Any]) -> ModelCall:
    output = record(event.get("output"))
    failed = event.get("error") or output.get("error")
    seconds = event.get("working_time")
    return ModelCall(
        model=_text(event.get("model")),
        role=_text(event.get("role")) or None,
        output=output,
        failed=failed if isinstance(failed, str) else None,
        seconds=seconds if seconds is not None else output.get("time"),
    )


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
