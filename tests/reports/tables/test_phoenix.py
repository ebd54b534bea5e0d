"""Phoenix: annotations of spans from its API and its dataframes, and tables of evaluations."""

import json
from typing import Any

import pytest

from tests.reports.tablekit import lines, long, scores, table


def note(name: str, kind: str, label: Any, score: Any, **more: Any) -> dict[str, Any]:
    result = {"label": label, "score": score, "explanation": more.pop("why", None)}
    row = {"id": "a", "span_id": "s1", "name": name, "annotator_kind": kind, "result": result}
    return {**row, "identifier": "", "metadata": {"tokens": 3}, **more}


NOTES = (
    note("correctness", "LLM", "correct", 1.0, why="fits"),
    note("correctness", "LLM", "incorrect", 0.0, identifier="second"),
    note("relevance", "LLM", None, 0.4),
    note("too long", "CODE", None, 0, why="900 words"),
    note("correctness", "HUMAN", "incorrect", 0, identifier="bo", why="no"),
    note("note", "HUMAN", None, None, why="look at this"),
    note("relevance", "LLM", None, 0.5, span_id="s2"),
)
JURY = [
    {"id": "correctness", "score": 1.0, "label": "correct", "pass": True, "reason": "fits"},
    {"id": "second", "score": 0.0, "label": "incorrect", "pass": False},
]
FLAT = (
    "span_id,id,annotation_name,annotator_kind,identifier,result.label,result.score,"
    "result.explanation"
)


@pytest.mark.parametrize(
    "text",
    [json.dumps({"data": NOTES, "next_cursor": None}), json.dumps(NOTES), lines(*NOTES)],
)
def test_the_annotations_of_a_span_are_one_jury(text: str) -> None:
    report, (first, other, checked, second) = table(text)
    assert report.format == "phoenix"
    assert (other["case"]["dimension"], scores(other)) == ("relevance", {"relevance": 0.4})
    check = {"name": "too long", "pass": False, "reason": "900 words"}
    assert (checked["id"], checked["checks"]) == ("s1", [check])
    first.pop("provenance")
    assert first.pop("meta") == {"origin": {"span": "s1"}}
    assert first == {
        "id": "s1 / correctness", "case": {"test": "s1", "dimension": "correctness"},
        "rubric": "correctness", "jurors": JURY,
        "human": {"label": "fail", "by": "bo", "note": "no"},
    }  # fmt: skip
    assert (second["id"], scores(second)) == ("s2", {"relevance": 0.5})
    assert "columns not read: id, metadata" in report.notes
    assert "a note on a span judges nothing and is not read (1x)" in report.notes


def test_a_dataframe_as_csv_says_the_same() -> None:
    rows = [
        [row["span_id"], "a", row["name"], row["annotator_kind"], row["identifier"]]
        + ["" if value is None else value for value in row["result"].values()]
        for row in NOTES
    ]
    report, (first, *_) = table(long(*rows, columns=FLAT))
    assert (report.format, first["jurors"]) == ("phoenix", JURY)
    assert first["human"]["by"] == "bo"


def test_a_table_of_one_evaluation() -> None:
    report, (first, second) = table(
        "context.span_id,label,score,explanation\na,correct,1,good\nb,unsure,0.5,\n"
    )
    assert report.format == "phoenix"
    assert first["jurors"] == [
        {"id": "evaluation", "score": 1, "label": "correct", "pass": True, "reason": "good"}
    ]
    assert second["jurors"] == [{"id": "evaluation", "score": 0.5, "label": "unsure", "pass": None}]


WHOLE = (json.dumps({"data": NOTES}), lines(*NOTES))
