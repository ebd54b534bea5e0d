"""Labels as request bodies for other tools' APIs, addressed by the ids that a run kept.

Shapes: langfuse 5.0.4 (``CreateScoreRequest``), langsmith 0.15.1 (``FeedbackCreate``),
arize-phoenix-client 3.5.0 (``SpanAnnotationData``), argilla 2.8.0 (``Response`` of a record),
mlflow 3.17.2 (``log_feedback``), and the rating of a promptfoo result.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from reviewdesk.domain.records import Truth
from reviewdesk.reports.wording import JsonObject

Row: TypeAlias = Mapping[str, Any]
"""A label in the form of a full export, with ``origin``: the tool's ids of its verdict."""

NAME = "human_review"
"""The name of the score, feedback or annotation in the tool."""
_SPACE = uuid.UUID("5b0f3c1e-7d2b-4f6a-9a55-2f0f0b9f4f11")
"""The namespace of the ids, so that a label that is sent twice is stored once."""


def _id(row: Row) -> str:
    return str(uuid.uuid5(_SPACE, f"{row['item_hash']} {row['reviewer']}"))


def _score(row: Row) -> float | None:
    return {Truth.PASS: 1.0, Truth.FAIL: 0.0}.get(row["truth"])


def _about(row: Row) -> JsonObject:
    return {"reviewer": row["reviewer"], "tags": row["tags"], "labelled_at": row["time"]}


def _langfuse(row: Row, origin: Mapping[str, str]) -> JsonObject:
    score = _score(row)
    place = {"traceId": "trace", "observationId": "observation", "sessionId": "session"}
    return {
        "id": _id(row),
        **{key: origin.get(name) for key, name in place.items()},
        "queueId": origin.get("queue"),
        "name": NAME,
        # A boolean score is 1 or 0; an unsure label is a separate category.
        "value": row["truth"] if score is None else score,
        "dataType": "CATEGORICAL" if score is None else "BOOLEAN",
        "comment": row["note"],
        "metadata": _about(row),
    }


def _langsmith(row: Row, origin: Mapping[str, str]) -> JsonObject:
    return {
        "id": _id(row),
        "run_id": origin.get("run"),
        "trace_id": origin.get("trace"),
        "key": NAME,
        "score": _score(row),
        "value": row["truth"],
        "comment": row["note"],
        "feedback_source": {"type": "api", "metadata": _about(row)},
    }


def _phoenix(row: Row, origin: Mapping[str, str]) -> JsonObject:
    result = {"label": row["truth"], "score": _score(row), "explanation": row["note"]}
    return {
        "span_id": origin.get("span"),
        "name": NAME,
        "annotator_kind": "HUMAN",
        "result": {key: value for key, value in result.items() if value is not None},
        "metadata": _about(row),
        # An annotation replaces an earlier one with the same name and identifier.
        "identifier": row["reviewer"],
    }


def _promptfoo(row: Row, origin: Mapping[str, str]) -> JsonObject:
    graded: JsonObject = {
        "pass": row["truth"] == Truth.PASS,
        "score": _score(row) or 0.0,
        "reason": row["note"] or f"rated by {row['reviewer']}",
        "comment": row["note"],
        "assertion": {"type": "human"},
    }
    return {"result_id": origin.get("result"), "component_result": _filled(graded)}


def _argilla(row: Row, origin: Mapping[str, str]) -> JsonObject:
    answers = {NAME: row["truth"], f"{NAME}_note": row["note"]}
    responses = [
        {"question_name": name, "value": value} for name, value in answers.items() if value
    ]
    return {"id": origin.get("record"), "responses": responses}


def _mlflow(row: Row, origin: Mapping[str, str]) -> JsonObject:
    return {
        "trace_id": origin.get("trace"),
        "span_id": origin.get("span"),
        "name": NAME,
        "value": row["truth"],
        "source": {"source_type": "HUMAN", "source_id": row["reviewer"]},
        "rationale": row["note"],
        "metadata": {"labelled_at": row["time"]},
    }


def _filled(body: Mapping[str, Any]) -> JsonObject:
    return {key: value for key, value in body.items() if value is not None}


_Body: TypeAlias = Callable[[Row, Mapping[str, str]], JsonObject]
_TOOLS: Mapping[str, tuple[frozenset[str], _Body, bool]] = {
    "langfuse": (frozenset({"trace", "observation", "session"}), _langfuse, True),
    "langsmith": (frozenset({"run"}), _langsmith, True),
    "phoenix": (frozenset({"span"}), _phoenix, True),
    "promptfoo": (frozenset({"result"}), _promptfoo, False),
    "argilla": (frozenset({"record"}), _argilla, True),
    "mlflow": (frozenset({"trace"}), _mlflow, True),
}
"""For each tool: the ids, of which one is needed, the body, and whether it takes unsure labels."""
TOOLS = tuple(_TOOLS)


def feedback(tool: str, row: Row) -> JsonObject | None:
    """Return a label as ``tool`` takes it, or ``None`` if the tool has no place or word for it."""
    needed, body, takes_unsure = _TOOLS[tool]
    origin = row["origin"] or {}
    if needed.isdisjoint(origin) or (row["truth"] == Truth.UNSURE and not takes_unsure):
        return None
    return _filled(body(row, origin))
