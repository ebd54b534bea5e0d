"""The juries of a sample of an Inspect log: panels, other scorers, and checks."""

from typing import Any

import pytest

from reviewdesk.errors import ReportError
from tests.reports.inspectkit import (
    NAN,
    bodies,
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


def _jurors(scores: Any) -> list[Any]:
    jurors: list[Any] = one(log(sample("a", scores)))["jurors"]
    return jurors


def test_several_scorers_are_one_jury_without_a_decision() -> None:
    document = log(sample("a", {"own": "C", QA: "C"}), sample("b", {"own": "I", QA: "I"}))
    for body in bodies(document):
        assert [juror["id"] for juror in body["jurors"]] == ["own", QA]
        assert not body.keys() & {"decision", "score", "label", "escalate_for_review"}
    assert notes_of(document)[0].endswith("states no decision (2x)")


def test_scorers_that_ask_no_model_are_checks() -> None:
    events = [*scoring("match"), *scoring("own"), *scoring("asks", call("v/m", "C"))]
    scores = {"match": "C", "own": True, "asks": 1, "unseen": 0.5, "includes": "I"}
    document = log(sample("a", scores, events=events), scorers=["match", "own", "includes"])
    body = one(document)
    # no events tell of "unseen", so nobody knows; "includes" is a rule in code by its name
    assert [juror["id"] for juror in body["jurors"]] == ["asks", "unseen"]
    passes = {"match": True, "own": True, "includes": False}
    assert {check["name"]: check["pass"] for check in body["checks"]} == passes


def test_a_check_is_no_ballot_and_leaves_the_one_scorers_decision() -> None:
    found = {"match": score("I", explanation="differs"), "f1": 0.25, "exact": 1, QA: "C"}
    body = one(log(sample("a", found)))
    assert (body["decision"], [juror["id"] for juror in body["jurors"]]) == ("pass", [QA])
    assert body["checks"] == [
        {"name": "match", "pass": False, "reason": "differs"},
        {"name": "f1", "pass": None, "reason": "score 0.25"},
        {"name": "exact", "pass": True},
    ]


def test_a_sample_of_checks_alone_keeps_what_the_log_decides() -> None:
    document = log(sample("a", {"match": "C"}), sample("b", {"match": "I", "includes": "C"}))
    first, second = bodies(document)
    assert (first["decision"], first["jurors"], len(first["checks"])) == ("pass", [], 1)
    assert ("decision" in second, second["jurors"], len(second["checks"])) == (False, [], 2)
    assert "a sample that no model graded has checks and no ballots (2x)" in notes_of(document)


def test_a_panel_beside_other_scorers_is_a_verdict_with_its_own_consensus() -> None:
    scores = {QA: panel("C", "C", "C", "I"), "tone": "I", "match": "C", "facts": 0.4}
    document = log(sample("a", scores), sample("b", {QA: panel(NAN, "C", "I"), "tone": "C"}))
    report = opened(document)
    found = list(report.verdicts())
    assert len(found) == 4
    assert [(one["id"], one.get("decision"), one.get("score")) for one in found] == [
        (f"a/{QA}", "pass", 1.0),
        ("a", None, None),
        (f"b/{QA}", "inconclusive", None),
        ("b", "pass", 1.0),
    ]
    assert [[juror.get("pass") for juror in one["jurors"]] for one in found] == [
        [True, True, False],
        [False, None],
        [True, False],
        [True],
    ]
    assert [[check["name"] for check in one.get("checks") or ()] for one in found[:2]] == [
        ["match"],
        ["match"],
    ]
    assert found[2]["escalate_for_review"] is True
    assert "escalate_for_review" not in found[3]


def test_two_panels_are_two_verdicts_each_with_its_rubric() -> None:
    scorers = [grading("v/a", "v/b"), grading("v/c", "v/d", name="facts")]
    for scorer, text in zip(scorers, ("Be kind.", "Be right."), strict=True):
        scorer["options"]["instructions"] = text
    scores = {QA: panel("C", "C", "C"), "facts": panel("I", "I", "I")}
    first, second = bodies(log(sample("a", scores), scorers=scorers))
    assert [(one["id"], one["rubric"], one["decision"]) for one in (first, second)] == [
        (f"a/{QA}", "Be kind.", "pass"),
        ("a/facts", "Be right.", "fail"),
    ]
    assert [juror["id"] for juror in second["jurors"]] == ["v/c", "v/d"]


def test_a_panel_that_had_decided_keeps_its_decision_when_another_scorer_breaks_off() -> None:
    events = [*scoring("panel"), *scoring("tone", call("v/b", "", error="gone"), key="")]
    failed = {"error": {"message": "gone"}, "events": [*events, {"event": "error"}]}
    found = bodies(log(sample("a", {"panel": panel("C", "C", "C")}, **failed)))
    assert [(one["id"], one["decision"]) for one in found] == [("a/panel", "pass"), ("a", "error")]
    assert [juror["status"] for juror in found[1]["jurors"]] == ["error"]


def test_a_value_that_is_not_where_it_is_looked_for_is_unknown() -> None:
    odd, known = _jurors({"odd": [[1]], "own": 0})
    assert (odd["status"], odd["meta"]) == ("unknown", {"unread": ["value"]})
    assert known["score"] == 0
    nowhere = {"result": 0.9, "explanation": "good"}
    document = log(sample("a"))
    document["samples"][0]["scores"] = {"own": nowhere, QA: {"value": "C"}, "bare": "I"}
    own, qa, bare = one(document)["jurors"]
    assert own == {
        "id": "own",
        "reason": "good",
        "status": "unknown",
        "meta": {"unread": ["result"]},
    }
    assert (qa["pass"], bare["pass"]) == (True, False)
    document["samples"][0]["scores"] = {"own": nowhere}
    with pytest.raises(ReportError, match=r"has 1 ballot, and no answer .*seen in them: result"):
        bodies(document)


def test_a_sample_that_failed_has_no_ballots() -> None:
    failed = {"error": {"message": "out of memory", "traceback": "secret", "traceback_ansi": "x"}}
    body = one(log(sample("a", **failed)))
    assert (body["decision"], body["jurors"]) == ("error", [])
    assert body["meta"] == {"error": "out of memory"}
    scored = log(sample("a", {"match": "I"}, events=[{"event": "error"}], **failed))
    assert one(scored)["jurors"] == []
    assert notes_of(scored) == ["the scores of a sample that failed itself are left out (1x)"]


def test_a_scorer_that_broke_off_is_a_failed_ballot_beside_those_that_scored() -> None:
    failed = {"error": {"message": "no such deployment"}}
    lost = call("v/b", "", error="no such deployment")
    events = [*scoring("match"), *scoring(QA, call("v/a", "C"), lost, key=""), {"event": "error"}]
    document = log(
        sample("a", {"match": "C"}, events=events, **failed),
        scorers=["match", grading("v/a", "v/b")],
    )
    body = one(document)
    assert body["decision"] == "error"
    assert body["checks"] == [{"name": "match", "pass": True}]
    assert body["jurors"] == [
        {"id": "v/b", "model": "v/b", "status": "error", "error": {"message": "no such deployment"}}
    ]
