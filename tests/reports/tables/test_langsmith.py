"""LangSmith: feedback a row, and experiments with a column per feedback key."""

import json
from typing import Any

from tests.reports.tablekit import lines, scores, table

TIME = "2024-05-05T23:23:11.077838Z"


def feedback(key: str, score: Any, source: str = "model", **more: Any) -> dict[str, Any]:
    row: dict[str, Any] = {"id": "f", "created_at": TIME, "session_id": "s", "run_id": "r1"}
    row |= {"key": key, "score": score, "value": None, "comment": None, "correction": None}
    return {**row, "feedback_source": {"type": source, "user_id": more.pop("user", None)}, **more}


RUNS = lines(
    feedback("correct", 0.9, comment="because"),
    feedback("tone", None, "evaluator", value="polite"),
    feedback("safe", True, "api"),
    feedback("user", 0, "app", user="bo", comment="no"),
    feedback("correct", 0.1, run_id="r2"),
)

# What to_pandas() of the SDK's experiment results names its columns.
COLUMNS = (
    "inputs.question,outputs.answer,outputs.steps,error,reference.answer,feedback.correct,"
    "feedback.tone,execution_time,example_id,id\n"
)
EXPERIMENT = (
    COLUMNS
    + "q,a,,,ra,0.9,polite,1.5,e1,r1\n"
    + "q,a2,s,,ra,0.2,,1.5,e1,r2\n"
    + "q2,,,boom,,,,0.1,e2,r3\n"
)


def test_the_feedback_of_a_run_is_one_jury() -> None:
    report, (first, question, second) = table(RUNS)
    tone = {"id": "tone", "label": "polite", "pass": None, "at": TIME}
    assert (question["case"]["dimension"], question["jurors"]) == ("tone", [tone])
    assert report.format == "langsmith"
    assert first == {
        "id": "r1",
        "case": {"test": "r1"},
        "jurors": [
            {"id": "correct", "score": 0.9, "reason": "because", "at": TIME},
            {"id": "safe", "pass": True, "at": TIME},
        ],
        "human": {"label": "fail", "by": "bo", "note": "no", "at": TIME},
        "provenance": {"pointer": "line 1"},
        "meta": {"origin": {"run": "r1", "session": "s"}},
    }
    assert (second["id"], scores(second)) == ("r2", {"correct": 0.1})
    assert "columns not read: id, correction" in report.notes


def test_an_experiment_has_a_verdict_a_run_and_question() -> None:
    report, bodies = table(EXPERIMENT)
    question = bodies.pop(1)
    assert question["case"] == {"test": "e1", "dimension": "tone"}
    assert question["jurors"] == [{"id": "tone", "label": "polite", "pass": None}]
    assert report.format == "langsmith"
    assert "cannot be told from the evaluators'" in report.notes[0]
    origins = [body.pop("meta")["origin"] for body in bodies]
    assert origins[0] == {"run": "r1", "example": "e1"}
    assert bodies == [
        {
            "id": "e1 / correct", "case": {"test": "e1", "dimension": "correct"}, "input": "q",
            "output": "a", "reference": "ra", "rubric": "correct",
            "jurors": [{"id": "correct", "score": 0.9}], "provenance": {"pointer": "line 2"},
        },
        {
            "id": "e1", "case": {"test": "e1", "dimension": "correct"}, "input": "q",
            "output": '{\n  "answer": "a2",\n  "steps": "s"\n}', "reference": "ra",
            "rubric": "correct", "jurors": [{"id": "correct", "score": 0.2}],
            "provenance": {"pointer": "line 3"},
        },
        # A run that failed has no jury, and is no failed answer.
        {
            "id": "e2", "case": {"test": "e2"}, "input": "q2", "decision": "error", "jurors": [],
            "provenance": {"pointer": "line 4"},
        },
    ]  # fmt: skip


def test_json_rows_of_an_experiment() -> None:
    row = {"inputs.q": "x", "feedback.ok": True, "feedback.n": 3, "example_id": "e", "id": "r"}
    report, (body,) = table(json.dumps([row]))
    assert report.format == "langsmith"
    assert body["jurors"] == [{"id": "ok", "pass": True}, {"id": "n", "raw_score": 3}]


WHOLE = (RUNS, EXPERIMENT)
