"""Labels as the APIs of other tools take them, held to the types of their SDKs where installed."""

import inspect
import uuid
from typing import Any

import pytest

from reviewdesk.reports.labels.writer import NAME, TOOLS, feedback

RUN = "0f2c5d8e-3d52-4f5c-9d63-6f3f6f0f8a11"
ORIGINS = {
    "langfuse": {"trace": "t1", "observation": "o9", "queue": "q1"},
    "langsmith": {"run": RUN}, "phoenix": {"span": "s1", "trace": "t1"},
    "promptfoo": {"result": "r1"}, "argilla": {"record": "7"}, "mlflow": {"trace": "tr-1"},
}  # fmt: skip


def row(truth: str, origin: dict[str, str] | None, **more: Any) -> dict[str, Any]:
    return {
        "item_hash": "ab", "reviewer": "ann", "truth": truth, "note": "too short",
        "tags": ["tone"], "time": "2026-11-27T13:05:24+00:00", "origin": origin, **more,
    }  # fmt: skip


def body(tool: str, truth: str = "fail", **more: Any) -> dict[str, Any]:
    made = feedback(tool, row(truth, ORIGINS[tool], **more))
    assert made is not None
    return made


@pytest.mark.parametrize("tool", TOOLS)
def test_a_label_without_the_ids_of_the_tool_is_left_out(tool: str) -> None:
    assert feedback(tool, row("pass", None)) is None
    assert feedback(tool, row("pass", {"elsewhere": "x"})) is None


def test_langfuse_gets_booleans_and_one_id_for_one_label() -> None:
    made = body("langfuse")
    assert made == {
        "id": made["id"], "traceId": "t1", "observationId": "o9", "queueId": "q1", "name": NAME,
        "value": 0.0, "dataType": "BOOLEAN", "comment": "too short",
        "metadata": {"reviewer": "ann", "tags": ["tone"], "labelled_at": row("", {})["time"]},
    }  # fmt: skip
    assert body("langfuse", "pass")["id"] == made["id"]
    assert body("langfuse", reviewer="bo")["id"] != made["id"]
    unsure = body("langfuse", "unsure")
    assert (unsure["value"], unsure["dataType"]) == ("unsure", "CATEGORICAL")


def test_promptfoo_takes_no_unsure_label() -> None:
    assert feedback("promptfoo", row("unsure", ORIGINS["promptfoo"])) is None
    made = body("promptfoo", "pass")
    assert made["result_id"] == "r1"
    assert made["component_result"]["assertion"] == {"type": "human"}
    assert (made["component_result"]["pass"], made["component_result"]["score"]) == (True, 1.0)


@pytest.mark.slow
@pytest.mark.parametrize("truth", ["pass", "fail", "unsure"])
def test_the_types_of_langfuse_take_it(truth: str) -> None:
    types = pytest.importorskip("langfuse.api", reason="langfuse is not installed")
    core = pytest.importorskip("langfuse.api.core.pydantic_utilities")
    found = core.parse_obj_as(types.CreateScoreRequest, body("langfuse", truth))
    assert (found.trace_id, found.observation_id, found.queue_id) == ("t1", "o9", "q1")


@pytest.mark.parametrize("truth", ["pass", "fail", "unsure"])
def test_the_types_of_langsmith_take_it(truth: str) -> None:
    schemas = pytest.importorskip("langsmith.schemas", reason="langsmith is not installed")
    found = schemas.FeedbackCreate(**{"trace_id": None, **body("langsmith", truth)})
    assert (str(found.run_id), found.key, found.value) == (RUN, NAME, truth)


@pytest.mark.parametrize("truth", ["pass", "fail", "unsure"])
def test_the_types_of_phoenix_take_it(truth: str) -> None:
    v1 = pytest.importorskip("phoenix.client.__generated__.v1", reason="phoenix is not installed")
    made = body("phoenix", truth)
    wanted = v1.SpanAnnotationData
    assert wanted.__required_keys__ <= made.keys() <= wanted.__annotations__.keys()
    assert made["result"].keys() <= v1.AnnotationResult.__annotations__.keys()


@pytest.mark.slow
@pytest.mark.parametrize("truth", ["pass", "fail", "unsure"])
def test_the_types_of_argilla_take_it(truth: str) -> None:
    argilla = pytest.importorskip("argilla", reason="argilla is not installed")
    made = body("argilla", truth)
    first = argilla.Response(**made["responses"][0], user_id=uuid.UUID(RUN))
    assert (made["id"], first.question_name, first.value) == ("7", NAME, truth)


@pytest.mark.slow
@pytest.mark.parametrize("truth", ["pass", "fail", "unsure"])
def test_the_types_of_mlflow_take_it(truth: str) -> None:
    entities = pytest.importorskip("mlflow.entities", reason="mlflow is not installed")
    tracing = pytest.importorskip("mlflow.tracing.assessment")
    made = body("mlflow", truth)
    assert made.keys() <= inspect.signature(tracing.log_feedback).parameters.keys()
    source = entities.AssessmentSource(**made.pop("source"))
    found = entities.Feedback(source=source, **made)
    assert (found.trace_id, found.value, found.source.source_type) == ("tr-1", truth, "HUMAN")
