"""Langfuse: one score a row, in three spellings."""

import json
from typing import Any

import pytest

from tests.reports.tablekit import lines, long, scores, table

# The header of the scores table's CSV export.
COLUMNS = (
    "id,traceId,sessionId,datasetRunId,timestamp,source,name,dataType,value,stringValue,comment,"
    "metadata,observationId,traceName,userId,traceTags,environment"
)
TIME = "2025-08-06T10:00:00.000Z"


def row(source: str, name: str, kind: str, value: Any, word: str = "", **more: str) -> list[Any]:
    trace, comment = more.get("trace", "t1"), more.get("comment", "")
    start = ["s", trace, more.get("session", ""), "", TIME, source, name, kind, value, word]
    return [*start, comment, "{}", more.get("observation", ""), "chat", "u", '["x"]', "default"]


ROWS = (
    row("EVAL", "fits", "NUMERIC", 0.8, comment="fine"),
    row("EVAL", "fits", "NUMERIC", 0.3, trace="t2", observation="o1"),
    row("EVAL", "tone", "CATEGORICAL", 2, "correct"),
    row("API", "safe", "BOOLEAN", 1, "True"),
    row("EVAL", "fits", "NUMERIC", 0.6),
    row("ANNOTATION", "right", "BOOLEAN", 0, "False", comment="no"),
    row("EVAL", "length", "NUMERIC", 120),
    row("API", "essay", "TEXT", "", "some words"),
)
EXPORT = long(*ROWS, columns=COLUMNS)


def test_the_scores_of_a_trace_are_one_jury() -> None:
    report, (first, second, question) = table(EXPORT)
    assert (question["id"], question["case"]["dimension"]) == ("t1 / tone", "tone")
    assert question["jurors"] == [{"id": "tone", "label": "correct", "pass": True, "at": TIME}]
    assert (report.format, report.header["producer"]["name"]) == ("langfuse", "langfuse")
    assert first == {
        "id": "t1",
        "case": {"test": "chat", "tags": ["x"]},
        "jurors": [
            {"id": "fits", "score": 0.8, "reason": "fine", "at": TIME},
            {"id": "fits#2", "score": 0.6, "at": TIME},
            {"id": "safe", "score": 1, "pass": True, "at": TIME},
            {"id": "length", "raw_score": 120, "at": TIME},
        ],
        "human": {"label": "fail", "note": "no", "at": TIME},
        "provenance": {"pointer": "line 2"},
        "meta": {"origin": {"trace": "t1"}},
    }
    assert (second["id"], scores(second)) == ("t2/o1", {"fits": 0.3})


def test_every_evaluator_has_its_scale_and_what_was_not_read_is_said() -> None:
    notes = "\n".join(table(EXPORT)[0].notes)
    assert "columns not read: id, metadata, userId, environment" in notes
    assert "a row of the type TEXT or CORRECTION, which is no score, is not read (1x)" in notes
    assert "--scale LOW..HIGH (1x, from 120 to 120)" in notes
    rows = [row("EVAL", "yes-no", "NUMERIC", 1), row("EVAL", "stars", "NUMERIC", 1)]
    rows += [row("EVAL", "stars", "NUMERIC", 5, trace="t2")]
    _, (first, _) = table(long(*rows, columns=COLUMNS))
    # The 5 tells that 1 star is no full mark; it tells nothing of the other evaluator.
    assert [juror.get("score") for juror in first["jurors"]] == [1, None]


def test_what_a_score_belongs_to() -> None:
    rows = [row("EVAL", "a", "NUMERIC", 1, trace="", session="s1")]
    assert table(long(*rows, columns=COLUMNS))[1][0]["id"] == "s1"
    rows += [row("EVAL", "a", "NUMERIC", 1, trace="")]
    report, bodies = table(long(*rows, columns=COLUMNS))
    assert [body["id"] for body in bodies] == ["s1", "row 2"]
    assert "a row without an id is named by its number (1x)" in report.notes


BUCKET = {
    "id": "s1", "timestamp": "2025-08-06 10:00:00.000000", "trace_id": "t1", "observation_id": None,
    "name": "fits", "value": 0.5, "source": "EVAL", "comment": "r", "data_type": "NUMERIC",
    "string_value": None, "author_user_id": None,
}  # fmt: skip
API = {"id": "s1", "traceId": "t1", "name": "fits", "value": 0.5, "source": "EVAL",
       "comment": "r", "dataType": "NUMERIC", "authorUserId": None}  # fmt: skip


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (lines(BUCKET, {**BUCKET, "trace_id": "t2"}), "line 1"),
        (json.dumps([API, {**API, "traceId": "t2"}]), "$[0]"),
        (json.dumps({"data": [API, {**API, "traceId": "t2"}], "meta": {"page": 1}}), "$.data[0]"),
    ],
)
def test_json_lines_of_the_bucket_and_answers_of_the_api(text: str, place: str) -> None:
    report, (first, _) = table(text)
    assert report.format == "langfuse"
    assert first == {
        "id": "t1", "case": {"test": "t1"},
        "jurors": [{"id": "fits", "score": 0.5, "reason": "r"}],
        "provenance": {"pointer": place}, "meta": {"origin": {"trace": "t1"}},
    }  # fmt: skip


def test_who_annotated_is_said() -> None:
    human = {**API, "source": "ANNOTATION", "value": 1, "dataType": "BOOLEAN", "authorUserId": "bo"}
    _, (body,) = table(json.dumps([API, human]))
    assert body["human"] == {"label": "pass", "by": "bo", "note": "r"}


WHOLE = (EXPORT, lines(BUCKET, BUCKET), json.dumps({"data": [API]}))
