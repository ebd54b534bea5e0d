"""What the scores of an Inspect log become: ballots, decisions, human labels."""

import json
import re
from typing import Any

import pytest

from reviewdesk.errors import ReportError, UsageError
from tests.reports.inspectkit import (
    NAN,
    call,
    grading,
    log,
    notes_of,
    one,
    opened,
    panel,
    sample,
    score,
    scoring,
)

QA = "model_graded_qa"


def _jurors(scores: dict[str, Any], **options: Any) -> list[dict[str, Any]]:
    jurors: list[dict[str, Any]] = one(log(sample("a", scores)), **options)["jurors"]
    return jurors


WHOLE = {
    "id": "a", "case": {"test": "a", "suite": "quiz", "epoch": 1}, "input": "asked",
    "output": "answered", "reference": "expected", "rubric": "Be.",
    "generator": {"model": "maker/m"}, "decision": "pass", "score": 1.0,
    "jurors": [
        {
            "id": QA,
            "model": "v/strict",
            "role": "grader",
            # a quarter of a second
            "latency_ms": 250.0, "tokens_in": 7, "tokens_out": 3, "score": 1.0, "pass": True,
            "label": "C", "reason": "well done",
        }
    ],
    "provenance": {"pointer": "/samples/0", "run_id": "r"},
}  # fmt: skip


def test_a_whole_sample() -> None:
    events = scoring(QA, call("v/strict", "well done", working_time=0.25, role="grader"))
    events[1]["output"]["usage"] = {"input_tokens": 7, "output_tokens": 3, "total_tokens": 10}
    document = log(
        sample("a", {QA: score("C", explanation="well done", answer="x")}, events=events),
        scorers=[{"name": QA, "options": {"model": {"model": "v/strict"}, "instructions": "Be."}}],
    )
    report = opened(document)
    assert report.header == {
        "schema": "reviewdesk.report/1",
        "title": "quiz",
        "created_at": "2026-01-02T03:04:05+00:00",
        "producer": {
            "name": "inspect_ai", "version": "0.3.285", "format": "inspect", "run_id": "r",
        },
    }  # fmt: skip
    assert list(report.verdicts()) == [WHOLE]
    assert report.notes == []


@pytest.mark.parametrize(
    ("value", "ballot"),
    [
        ("C", {"score": 1.0, "pass": True, "label": "C"}),
        ("I", {"score": 0.0, "pass": False, "label": "I"}),
        ("P", {"score": 0.5, "pass": None, "label": "P"}),
        ("N", {"pass": None, "label": "N", "status": "abstained"}),
        (True, {"score": 1.0, "pass": True}),
        (False, {"score": 0.0, "pass": False}),
        (0.7, {"score": 0.7}), (1, {"score": 1}), (4, {"raw_score": 4}),
        (-0.1, {"raw_score": -0.1}), ("0.25", {"score": 0.25}), ("8", {"raw_score": 8.0}),
        ("yes", {"score": 1.0, "pass": True, "label": "yes"}),
        ("accept", {"pass": True, "label": "accept"}),
        ("REJECT", {"pass": False, "label": "REJECT"}),
        ("so-so", {"pass": None, "label": "so-so"}),
        ("  ", {"pass": None, "status": "abstained"}),
    ],
)  # fmt: skip
def test_a_value_as_a_ballot(value: Any, ballot: dict[str, Any]) -> None:
    body = one(log(sample("a", {"own": value})))
    assert body["jurors"] == [{"id": "own", **ballot}]
    # the one scorer decides, of an answer of its own
    decisions: dict[Any, str] = {True: "pass", False: "fail"}
    assert body.get("decision") == decisions.get(ballot.get("pass"))
    if "status" not in ballot:
        assert body.get("score") == ballot.get("score")
        assert body.get("label") == ("so-so" if value == "so-so" else None)


def test_words_and_scales_that_a_person_explains() -> None:
    body = one(log(sample("a", {"own": "so-so"})), fail_labels=("So-So",))
    assert (body["decision"], body["jurors"][0]["pass"]) == ("fail", False)
    # partial credit counts as a pass where somebody says so; its score stays one half
    body = one(log(sample("a", {"own": "P"})), pass_labels=("p",))
    assert (body["decision"], body["score"]) == ("pass", 0.5)
    # (4 - 1) / (5 - 1) = 0.75
    (juror,) = _jurors({"own": 4}, scale=(1.0, 5.0))
    assert juror == {"id": "own", "score": 0.75, "raw_score": 4, "scale": [1.0, 5.0]}
    (juror,) = _jurors({"own": 9}, scale=(1.0, 5.0))
    assert juror == {"id": "own", "raw_score": 9, "scale": [1.0, 5.0]}
    (juror,) = _jurors({"own": 1}, models={"own": "v/m"})
    assert juror["model"] == "v/m"
    with pytest.raises(UsageError, match="--judge-columns means nothing"):
        opened(log(sample()), judge_columns=("a",), format="inspect")


def test_what_decides_nothing_is_counted_with_a_way_out() -> None:
    (note, hint) = notes_of(log(sample("a", {"own": "so-so"})))
    assert note.startswith("a score in words that decide nothing gives no vote")
    assert hint == (
        'the grade "so-so" is not a decision: name it with --pass-label or --fail-label (1x)'
    )
    assert "--scale reads it (2x)" in notes_of(log(sample("a", {"x": 5, "y": 7})))[0]


def test_values_in_objects_and_lists_and_votes_without_names_are_ballots() -> None:
    (a, b, c) = _jurors({"own": score({"tone": 1, "facts": "I", "none": None}, explanation="e")})
    assert a == {"id": "own.tone", "score": 1, "reason": "e"}
    assert b == {"id": "own.facts", "score": 0.0, "pass": False, "label": "I", "reason": "e"}
    assert c == {"id": "own.none", "pass": None, "status": "abstained", "reason": "e"}
    assert [juror["score"] for juror in _jurors({"own": [1, 0, 0.5]})] == [1, 0, 0.5]
    body = one(log(sample("a", {"own": panel("C", "C", "I")})))
    assert [juror["id"] for juror in body["jurors"]] == ["own 1", "own 2"]


def test_a_panels_votes_are_joined_to_its_models() -> None:
    models = ("v/strict", "v/kind", "v/prose")
    calls = (
        call("v/kind", "fine. GRADE: C"),
        call("v/strict", "poor. GRADE: I"),
        call("v/prose", "hm"),
    )
    document = log(
        sample("a", {QA: panel(NAN, "I", "C", "[no grade: hm]")}, events=scoring(QA, *calls)),
        scorers=[grading(*models)],
    )
    report = opened(document)
    (body,) = report.verdicts()
    strict, kind, prose = body["jurors"]
    assert [juror["model"] for juror in body["jurors"]] == list(models)
    assert (strict["pass"], strict["reason"]) == (False, "poor. GRADE: I")
    assert (kind["pass"], kind["reason"]) == (True, "fine. GRADE: C")
    assert prose == {
        "id": "v/prose",
        "model": "v/prose",
        "status": "parse_fail",
        "error": {"type": "grader_failed", "message": "no grade: hm"},
    }
    assert body["decision"] == "inconclusive"
    assert body["escalate_for_review"] is True
    assert body["escalation_reasons"] == [f"no consensus: {QA} gave no value"]
    assert report.notes == ["replaced 1 number NaN or Infinity by null"]


def test_seats_are_told_apart_by_their_turn_of_which_the_last_answer_counts() -> None:
    calls = (call("v/a", "first"), call("v/b", "other"), call("v/a", "second"))
    document = log(
        sample("a", {QA: panel("C", "C", "C", "I")}, events=scoring(QA, *calls)),
        scorers=[grading("v/a", "v/a", "v/b")],
    )
    found = [(juror["id"], juror["reason"]) for juror in one(document)["jurors"]]
    assert found == [("v/a", "first"), ("v/a#2", "second"), ("v/b", "other")]
    again = (call("v/a", "", error="rate limit"), call("v/a", "at last"), call("v/b", "b"))
    scores = {QA: panel("C", "C", "C")}
    scorers = [grading("v/a", "v/b")]
    body = one(log(sample("a", scores, events=scoring(QA, *again)), scorers=scorers))
    assert [juror["reason"] for juror in body["jurors"]] == ["at last", "b"]
    twins = [grading("v/a", "v/a")]
    body = one(log(sample("a", scores, events=scoring(QA, *again)), scorers=twins))
    # one answer for two seats: whose it is nobody can say
    assert all("reason" not in juror for juror in body["jurors"])


def test_models_bound_to_a_role_sit_on_the_panel() -> None:
    roles = {"model_roles": {"grader": [{"model": "v/a"}, {"model": "v/b"}]}}
    document = log(sample("a", {QA: panel("C", "C", "I")}), scorers=[QA], spec=roles)
    assert [juror["model"] for juror in one(document)["jurors"]] == ["v/a", "v/b"]
    alone = log(sample("a", {QA: "C"}), scorers=[QA], spec={"model_roles": {"grader": "v/c"}})
    assert one(alone)["jurors"][0]["model"] == "v/c"
    # without a role the model under test grades itself
    assert one(log(sample("a", {QA: "C"}), scorers=[QA]))["jurors"][0]["model"] == "maker/m"


def test_scorers_in_a_panel_are_its_seats_and_those_of_one_name_are_told_apart() -> None:
    options = {
        "scorers": [{"name": "tone", "params": {}}, {"name": "qa", "params": {"model": "m"}}]
    }
    document = log(
        sample("a", {"multi_scorer": panel(0.5, 0.5, True)}),
        scorers=[{"name": "multi_scorer", "options": options}],
    )
    tone, qa = one(document)["jurors"]
    assert tone == {"id": "tone", "score": 0.5}
    assert qa == {"id": "qa", "model": "m", "score": 1.0, "pass": True}
    scorers = [grading("v/a"), grading("v/b"), grading("v/c")]
    scores = {QA: "C", f"{QA}1": "I", f"{QA}2": "C"}
    found = one(log(sample("a", scores), scorers=scorers))["jurors"]
    assert [(juror["id"], juror["model"]) for juror in found] == [
        (QA, "v/a"),
        (f"{QA}1", "v/b"),
        (f"{QA}2", "v/c"),
    ]


def test_a_panel_whose_votes_are_not_in_the_log_is_one_ballot() -> None:
    document = log(sample("a", {QA: "C"}), scorers=[grading("v/a", "v/b")])
    (juror,) = one(document)["jurors"]
    assert "model" not in juror
    assert notes_of(document) == [
        "a panel's votes are not in the log: its consensus is one ballot (1x)"
    ]


def test_a_jury_of_which_nobody_answered_is_an_error() -> None:
    for value in (panel(NAN, "[x]", "[y]"), score(NAN, reason="grader_failed", explanation="x")):
        body = one(log(sample("a", {QA: value})))
        assert body["decision"] == "error"
        assert body["escalate_for_review"] is True
        assert all("score" not in juror and "pass" not in juror for juror in body["jurors"])


@pytest.mark.parametrize(
    ("reason", "error", "status"),
    [
        ("grader_failed", None, "parse_fail"),
        ("scoring_failed", None, "error"),
        (None, "boom", "error"),
        (None, "Request timed out.", "timeout"),
        ("refusal", None, "abstained"),
        ("no_response", None, "abstained"),
    ],
)
def test_why_a_scorer_gave_no_value(reason: str | None, error: str | None, status: str) -> None:
    events = scoring("own", call("v/m", "", **({"error": error} if error else {})))
    value = score(NAN, reason=reason, explanation="because")
    body = one(log(sample("a", {"own": value}, events=events)))
    (juror,) = body["jurors"]
    assert juror["status"] == status
    assert "score" not in juror
    said = juror["reason"] if status == "abstained" else juror["error"]["message"]
    assert said == (error or "because")
    assert body["decision"] == ("inconclusive" if status == "abstained" else "error")


def test_older_logs_have_steps_for_spans_and_scorers_with_the_results() -> None:
    events = [
        {"event": "step", "action": "begin", "type": "solver", "name": "generate"},
        call("maker/m", "answer"),
        {"event": "step", "action": "begin", "type": "scorer", "name": QA},
        call("v/a", "GRADE: C"),
        {"event": "score", "score": {"value": "C"}},
        {"event": "step", "action": "end", "type": "scorer", "name": QA},
        call("v/late", "after"),
    ]
    document = log(sample("a", {QA: score("C", explanation="GRADE: C")}, events=events))
    del document["eval"]["scorers"]
    document["results"] = {"scores": [{"name": "x", "scorer": QA, "params": {}}]}
    (juror,) = one(document)["jurors"]
    assert (juror["model"], juror["reason"]) == ("v/a", "GRADE: C")


def test_a_log_without_samples_names_the_option() -> None:
    for document in (
        log(),
        {**log(), "samples": None},
        {"eval": log()["eval"], "status": "started"},
    ):
        with pytest.raises(ReportError, match=r"Inspect log without samples.*log_samples"):
            opened(document)


@pytest.mark.parametrize(
    ("status", "note"),
    [
        ("started", "interrupted log: .* 1 of 6 samples are in it"),
        ("error", 'the run did not succeed: its status is "error"; 1 of 6 samples are in it'),
        ("cancelled", 'its status is "cancelled"'),
    ],
)
def test_a_run_that_did_not_end_is_noted(status: str, note: str) -> None:
    spec = {"dataset": {"samples": 3}, "config": {"epochs": 2}}
    (found,) = notes_of(log(sample("a", {"x": "C"}), status=status, spec=spec))
    assert re.search(note, found)


def test_what_is_no_log_is_refused_under_its_name() -> None:
    for document in ({"samples": [sample()]}, {"eval": {}, "samples": [sample()]}, [log(sample())]):
        with pytest.raises(ReportError, match=r"\$\.eval: is missing, or does not describe a run"):
            opened(document, format="inspect")
    with pytest.raises(ReportError, match="continues after the end of the log"):
        opened(json.dumps(log(sample())).encode() * 2)
