"""Answers under unknown keys, decisions beside a jury, foreign amounts, and notes of an import."""

import json
from typing import Any

import pytest

from reviewdesk.reports import read
from reviewdesk.reports.mapping import values
from tests.helpers import source
from tests.reports.foreignkit import only, opened, refusal
from tests.reports.tablekit import long, table, verdicts
from tests.reports.tablekit import refusal as table_refusal


def _evaluatorq(*values: Any, **vote: Any) -> list[Any]:
    """Rows as evaluatorq writes them: each vote says under ``value`` what it answered."""
    votes = [
        {"model": f"m{at}", "replacement": False, "success": True, "error": None, "value": value}
        for at, value in enumerate(values)
    ]
    votes[0].update(vote)
    score = {"value": True, "explanation": "e", "pass": True, "jury": {"votes": votes}}
    scored = [{"evaluatorName": "tone", "score": score}]
    return [{"dataPoint": {}, "jobResults": [{"jobName": "j", "evaluatorScores": scored}]}]


def test_a_file_of_which_no_ballot_was_understood_is_refused_with_its_keys() -> None:
    told = refusal(_evaluatorq(True, 0.5, "yes"))
    assert "has 3 ballots, and no answer in them was understood" in told
    assert "(seen in them: replacement, success, value)" in told
    assert told.endswith("and open it again.")


def test_what_was_not_understood_is_unknown_and_never_failed() -> None:
    report, (body,) = opened(_evaluatorq(True, False, **{"pass": True}))
    known, unknown = body["jurors"]
    assert known["pass"] is True
    assert (unknown["status"], unknown["meta"]["unread"][-1]) == ("unknown", "value")
    # what stands around the panel alone is its decision
    assert body["decision"] == "pass"
    assert report.notes[-1].startswith("1 of 2 ballots say nothing that was understood")


@pytest.mark.parametrize(
    ("said", "status"),
    [
        ({"score": None}, None),
        ({"score": None, "extra": 1}, None),
        ({"model": "m", "latency_ms": 3}, None),
        ({"status": "abstained", "grade": 4}, "abstained"),
        ({"error": "boom", "grade": 4}, "error"),
        ({"grade": 4}, "unknown"),
        ({"reason": "I think so"}, "unknown"),
        ({"score": "8/10"}, None),
        ({"score": "~8 of 10"}, "unknown"),
        ({"verdict": {"value": 1}}, "unknown"),
        ({"verdict": "maybe"}, None),
        ({"score": 7}, None),
        ({"status": "unknown"}, "unknown"),
        ({"status": "not_asked"}, "not_asked"),
    ],
)
def test_how_a_juror_without_an_answer_is_read(said: dict[str, Any], status: str | None) -> None:
    jurors = [{"name": "a", **said}, {"name": "b", "pass": True}]
    body = only({"name": "t", "escalate_for_review": False, "jurors": jurors})
    assert body["jurors"][0].get("status") == status


def test_a_file_of_failures_and_abstentions_opens() -> None:
    jurors = [{"name": "a", "error": "x"}, {"name": "b", "score": None}]
    assert len(only({"name": "t", "jurors": jurors})["jurors"]) == 2
    jurors = [{"name": "a", "status": "unknown"}, {"name": "b", "score": None}]
    assert len(only({"name": "t", "jurors": jurors})["jurors"]) == 2


def _cross(**critic: Any) -> Any:
    critics = [{"critic_id": "a", "confidence": 0.9, **critic}, {"critic_id": "b", "kind": "KEEP"}]
    return {"query_id": "q", "consensus": "KEEP", "verdicts": critics}


def _deepeval(**metric: Any) -> Any:
    metrics = [{"name": "M (a)", "threshold": 0.5, **metric}, {"name": "M (b)", "success": True}]
    return {"testCases": [{"name": "t", "metricsData": metrics}]}


def _promptfoo(**result: Any) -> Any:
    said = [result, {"pass": True, "score": 1}]
    parts = [
        {"assertion": {"type": "llm-rubric", "value": "ok", "metric": name}, **one}
        for name, one in zip("ab", said, strict=True)
    ]
    row = {"promptIdx": 0, "testCase": {}, "gradingResult": {"componentResults": parts}}
    return {"evalId": "e", "results": {"results": [row]}}


@pytest.mark.parametrize("of_tool", [_cross, _deepeval, _promptfoo])
def test_every_reader_says_unknown(of_tool: Any) -> None:
    for said, status in (({"outcome_v2": "good"}, "unknown"), ({}, None)):
        first, second = only(of_tool(**said))["jurors"]
        assert (first.get("status"), second.get("status")) == (status, None)
    assert only(of_tool(outcome_v2=1))["jurors"][0]["meta"]["unread"] == ["outcome_v2"]


def test_rows_of_a_table_whose_answer_is_elsewhere_are_unknown() -> None:
    rows = [{"item": "a", "judge": "j", "level": 3}, {"item": "a", "judge": "k", "score": 1}]
    (body,) = verdicts("".join(json.dumps(row) + "\n" for row in rows), format="table")
    assert [one.get("status") for one in body["jurors"]] == ["unknown", None]
    assert body["jurors"][0]["meta"] == {"unread": ["level"]}
    told = table_refusal(long(["a", "j", "", 3], columns="item,judge,error,level"))
    assert "(seen in them: level)" in told
    # an empty cell of the score says that there is none
    (body,) = verdicts(long(["a", "j", "", 3], columns="item,judge,score,level"))
    assert "status" not in body["jurors"][0]


@pytest.mark.parametrize(
    "row",
    [
        {"id": "a", "output": "x", "scores": {"j": 0.5}},
        {"id": "a", "output": "x", "judgement": "good"},
        {"id": "a", "output": "x", "input": "i", "score": 0.5},
    ],
)
def test_judged_rows_are_no_cases_that_nobody_has_judged(row: dict[str, Any]) -> None:
    told = refusal([row, row], lines=True)
    assert "nobody has judged" not in told
    assert "scores" in told or "judge" in told


def test_cases_that_nobody_has_judged_are_still_told_apart() -> None:
    row = {"id": "a", "output": "x", "input": "i", "checks": [], "tags": ["t"]}
    assert "is a file of cases that nobody has judged yet" in refusal([row, row], lines=True)


@pytest.mark.parametrize(
    ("stated", "decision", "label"),
    [
        ("KEEP", "pass", None), ("reject", "fail", None), ("SPLIT", None, "SPLIT"),
        (True, "pass", None),
    ],
)  # fmt: skip
def test_a_decision_beside_a_jury_is_never_dropped(stated: Any, decision: Any, label: Any) -> None:
    jury = [{"name": "a", "pass": True}]
    for key in ("decision", "consensus", "outcome", "final_verdict"):
        body = only({"name": "t", "jurors": jury, key: stated})
        assert (body.get("decision"), body.get("label")) == (decision, label)
    # all its jurors failed, and the decision stands
    body = only({"name": "t", "jurors": [{"name": "a", "error": "x"}], "decision": "fail"})
    assert body["decision"] == "fail"


def test_a_decision_in_a_table_is_the_panels() -> None:
    rows = [["x", "a", 1, 1, "fail"], ["x", "b", 0, 0, "fail"]]
    columns = "item,judge,score,pass,decision"
    assert verdicts(long(*rows, columns=columns))[0]["decision"] == "fail"
    # one that differs from ballot to ballot is none of the panel
    rows[1][4] = "pass"
    report, (body,) = table(long(*rows, columns=columns))
    assert "decision" not in body
    assert any("differ in their decision" in note for note in report.notes)


def test_a_forced_reader_says_itself_what_a_file_lacks() -> None:
    wide = "task,a,b\nx,1,0\n"
    assert "has no column that names the judge" in table_refusal(wide, format="table")
    told = table_refusal(long(["a", "j", 1]), format="langfuse")
    assert "does not have the columns of a Langfuse export" in told
    # a file that another reader would take is read by the one that is named
    cross = _cross(kind="KEEP", verdict="PASS")
    assert opened([cross])[0].format == "cross-judge"
    assert opened([cross], format="mcptest")[0].format == "mcptest"


def test_an_unknown_ballot_of_a_canonical_report_has_no_keys_to_name() -> None:
    jurors = [{"id": "a", "status": "unknown"}, {"id": "b", "pass": True}]
    body = {"id": "v", "case": {"test": "t"}, "jurors": jurors}
    report, _ = opened({"schema": "reviewdesk.report/1", "verdicts": [body]})
    unknown = "1 of 2 ballots say nothing that was understood, and count as unknown"
    assert report.notes == [unknown]


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (0, 0), (1, 1), (382, 382), (-1, None), (1.0, None), (0.5, None), (True, None),
        ("3", None), (None, None), ([], None),
    ],
)  # fmt: skip
def test_a_count_is_a_whole_number_from_zero(value: Any, number: int | None) -> None:
    found = values.count(value)
    assert (type(found), found) == (type(number), number)


def notes(data: bytes, name: str = "file.json") -> list[str]:
    found = read(source(data, name))
    assert list(found.verdicts())
    return found.notes


def test_an_id_of_two_juries_is_made_unique() -> None:
    jury = {"name": "same", "jurors": [{"id": "j", "score": 0.9, "pass": True}]}
    found = notes(json.dumps({"results": [jury, jury, jury]}).encode())
    assert "made 2 ids unique with #2 and so on" in found
    assert any(note.startswith("shape not verified") for note in found)
