"""Braintrust: one case a row, its scores by the name of the scorer."""

import json
from typing import Any

import pytest

from tests.reports.tablekit import lines, refusal, scores, table


def case(name: str, marks: Any, **more: Any) -> dict[str, Any]:
    row = {"id": name, "span_id": name, "root_span_id": name, "is_root": True, "input": {"q": 1}}
    row |= {"output": "out", "expected": "ref", "scores": marks, "metadata": {"key": "sk-secret"}}
    return {**row, "error": None, "tags": ["x"], "experiment_id": "e", **more}


CASES = (
    case("1", {"Factuality": 0.6, "Levenshtein": None, "exact": True}),
    case("2", {"Factuality": 0.6}, is_root=False, root_span_id="1"),
    case("3", None, error="rate limit", output=None),
)


@pytest.mark.parametrize(
    "text", [json.dumps(CASES), lines(*CASES), json.dumps({"events": CASES, "cursor": None})]
)
def test_scorers_are_jurors_and_known_questions_are_verdicts_of_their_own(text: str) -> None:
    report, (question, other, first, failed) = table(text)
    assert report.format == "braintrust"
    assert first.pop("provenance")["pointer"] in {"$[0]", "line 1", "$.events[0]"}
    assert question["case"] == {"test": "1", "tags": ["x"], "dimension": "Factuality"}
    assert (question["id"], scores(question)) == ("1 / Factuality", {"Factuality": 0.6})
    assert (other["id"], scores(other)) == ("1 / Levenshtein", {"Levenshtein": None})
    assert first == {
        "id": "1", "case": {"test": "1", "tags": ["x"]}, "input": '{\n  "q": 1\n}', "output": "out",
        "reference": "ref", "jurors": [{"id": "exact", "pass": True}],
    }  # fmt: skip
    assert (failed["id"], failed["decision"], failed["jurors"]) == ("3", "error", [])
    assert "sk-secret" not in json.dumps([first, failed, report.header, report.notes])
    assert "columns not read: experiment_id" in report.notes
    assert "a span inside a case is not read; the case has its scores (1x)" in report.notes


@pytest.mark.parametrize(
    "text",
    [
        'id,input,output,expected,scores\n1,a,b,c,"{""F"": 0.5, ""G"": 1}"\n2,a,b,c,{}\n',
        "id,input,output,expected,scores.F,scores.G\n1,a,b,c,0.5,1\n2,a,b,c,,\n",
    ],
)
def test_csv_with_scores_in_one_column_or_several(text: str) -> None:
    report, (first, second) = table(text)
    assert report.format == "braintrust"
    assert (scores(first), second["jurors"]) == ({"F": 0.5, "G": 1}, [])


def test_results_of_the_sdk_need_no_ids() -> None:
    row = {"input": "a", "output": "b", "expected": "c", "scores": {"F": 0.5}, "error": None}
    report, bodies = table(json.dumps([row, row]))
    assert (report.format, [body["id"] for body in bodies]) == ("braintrust", ["row 1", "row 2"])


def test_scores_that_are_none_are_refused_with_their_place() -> None:
    start = "id,input,output,expected,scores\n1,a,b,c,"
    assert 'line 2, column "scores": must be an object in JSON' in refusal(start + "{x\n")
    assert "$[0].scores: must be an object, found 1" in refusal(json.dumps([case("1", 1)]))
    # A score that cannot be read is a ballot that is not understood; here there is no other.
    assert "$[0].scores.F: must be a number" in refusal(json.dumps([case("1", {"F": [1]})]))


WHOLE = (json.dumps(CASES), lines(*CASES))
