"""Labels as request bodies for other tools' APIs, addressed by the ids that a run kept.

Shapes: langfuse 5.0.4 (``CreateScoreRequest``), langsmith 0.15.1 (``FeedbackCreate``),
arize-phoenix-client 3.5.0 (``SpanAnnotationData``), argilla 2.8.0 (``Response`` of a record),
mlflow 3.17.2 (``log_feedback``), and the rating of a promptfoo result.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any, TypeAlias

from reviewdesk.domain.records import Truth
from reviewdesk.reports.wording import JsonObject

Row: TypeAlias = Mapping[str, Any]
"""A label in the form of a full export, with ``origin``: the tool's ids of its verdict."""

NAME = "human_review"
"""The name of the score, feedback or annotation in the tool."""
_SPACE = uuid.UUID("5b0f3c1e-7d2b-4f6a-9a55-2f0f0b9f4f11")
"""The namespace of the ids, so that a label that is sent twice is stored once."""

_TOOLS: Mapping[str, tuple[set[str], JsonObject, bool]] = {
    "langfuse": ({"trace", "observation", "session"}, {
        "id": "id", "traceId": "origin.trace", "observationId": "origin.observation",
        "sessionId": "origin.session", "queueId": "origin.queue", "name": "name", "value": "value",
        "dataType": "type", "comment": "note", "metadata": "about",
    }, True),
    "langsmith": ({"run"}, {
        "id": "id", "run_id": "origin.run", "trace_id": "origin.trace", "key": "name",
        "score": "score", "value": "truth", "comment": "note",
        "feedback_source": {"type": "=api", "metadata": "about"},
    }, True),
    # An annotation replaces an earlier one with the same name and identifier.
    "phoenix": ({"span"}, {
        "span_id": "origin.span", "name": "name", "annotator_kind": "=HUMAN",
        "result": {"label": "truth", "score": "score", "explanation": "note"},
        "metadata": "about", "identifier": "reviewer",
    }, True),
    "promptfoo": ({"result"}, {
        "result_id": "origin.result",
        "component_result": {
            "pass": "passed", "score": "score", "reason": "reason", "comment": "note",
            "assertion": {"type": "=human"},
        },
    }, False),
    "argilla": ({"record"}, {"id": "origin.record", "responses": "answers"}, True),
    "mlflow": ({"trace"}, {
        "trace_id": "origin.trace", "span_id": "origin.span", "name": "name", "value": "truth",
        "source": {"source_type": "=HUMAN", "source_id": "reviewer"}, "rationale": "note",
        "metadata": {"labelled_at": "time"},
    }, True),
}  # fmt: skip
"""For each tool: the ids, of which one is needed, the body, and whether it takes unsure labels.

A body names the facts that stand at its keys; ``=text`` is the text itself.
"""
TOOLS = tuple(_TOOLS)


def feedback(tool: str, row: Row) -> JsonObject | None:
    """Return a label as ``tool`` takes it, or ``None`` if the tool has no place or word for it."""
    needed, body, takes_unsure = _TOOLS[tool]
    origin = row["origin"] or {}
    if needed.isdisjoint(origin) or (row["truth"] == Truth.UNSURE and not takes_unsure):
        return None
    score = {Truth.PASS: 1.0, Truth.FAIL: 0.0}.get(row["truth"])
    answers = {NAME: row["truth"], f"{NAME}_note": row["note"]}
    facts = {
        **row,
        **{f"origin.{name}": value for name, value in origin.items()},
        "id": str(uuid.uuid5(_SPACE, f"{row['item_hash']} {row['reviewer']}")),
        "name": NAME,
        "score": score,
        "passed": score == 1,
        # A boolean score is 1 or 0; an unsure label is a separate category.
        "value": row["truth"] if score is None else score,
        "type": "CATEGORICAL" if score is None else "BOOLEAN",
        "reason": row["note"] or f"rated by {row['reviewer']}",
        "about": {"reviewer": row["reviewer"], "tags": row["tags"], "labelled_at": row["time"]},
        "answers": [{"question_name": key, "value": one} for key, one in answers.items() if one],
    }
    return _filled(body, facts)


def _filled(body: JsonObject, facts: JsonObject) -> JsonObject:
    """Return a body with the facts that it names, without those that are null."""
    made: JsonObject = {}
    for key, one in body.items():
        if isinstance(one, dict):
            made[key] = _filled(one, facts)
        else:
            made[key] = one[1:] if one.startswith("=") else facts.get(one)
    return {key: one for key, one in made.items() if one is not None}
